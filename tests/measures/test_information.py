"""Information measures against print, scikit-learn, enumeration and their own identities."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import hypergeom, multinomial, norm
from sklearn.metrics import mutual_info_score

from hmetad.base.errors import InputError
from hmetad.base.notice import notices
from hmetad.counts.counting import count_trials
from hmetad.counts.resample import resample
from hmetad.counts.tables import type2_counts
from hmetad.counts.vectors import from_nr
from hmetad.measures import information
from hmetad.measures.ideal_observers import (
    binary_entropy,
    information_bounds,
    normal_noise_information,
)
from hmetad.measures.information import information_of_tables, meta_information

# Meyen et al. (2025), Table 1: stimuli −1 and +1 by four responses.
TABLE_1 = from_nr([84, 56, 48, 12], [4, 56, 64, 76])
# Acc ½: every response is as frequent for either stimulus. Acc 1: none is.
CHANCE = from_nr([20, 30, 10, 40], [20, 30, 10, 40])
CEILING = from_nr([20, 30, 0, 0], [0, 0, 10, 40])
# Right 70 of 100 times, whatever response and rating.
CONSTANT = from_nr([14, 28, 12, 6], [6, 12, 28, 14])
GUESS_OR_KNOW = from_nr([40, 30, 30, 0], [0, 30, 30, 40])

TABLES = arrays(np.int64, (2, 2, 3), elements=st.integers(0, 40))
# Each pair tells the stimulus, which leaves no meta-I, and a small d′ makes a small divisor.
TELLS_ALL = np.array([[[16, 23, 0], [34, 0, 0]], [[0, 0, 24], [0, 18, 0]]])
# Sums of a dozen logarithms.
ROUNDING = 1e-12


def codes(result):
    return {notice.code for notice in notices(result)}


def table_of(n):
    """Count table of an array (stimulus, response, rating)."""
    return from_nr(*np.concatenate([n[:, 0, ::-1], n[:, 1]], axis=-1))


def type2_table(wrong, right):
    """Type-2 table of one cell."""
    coords = {"cell": ["all"], "correct": ["wrong", "right"]}
    return xr.DataArray([[wrong, right]], coords, ("cell", "correct", "rating"))


def trials_of(n):
    """Row and column of every trial of a table."""
    row, column = np.nonzero(n)
    times = n[row, column]
    return np.repeat(row, times), np.repeat(column, times)


def mutual_information(n):
    """I(row; column) by scikit-learn, in bits."""
    return mutual_info_score(*trials_of(n)) / np.log(2)


# --- print ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("accuracy", 0.7),
        ("info", 0.2590280),
        ("lower", 0.1187091),
        ("upper", 0.4),
        ("meta_i", 0.1403189),
        ("meta_i2r", 0.1592197),
        ("rmi", 0.4988390),
        ("meta_i1r", 2.495055),
        ("meta_i1r_accuracy", 2.495055),
    ],
)
def test_table_1_of_the_paper(name, printed):
    # Half a unit of the last printed digit.
    half = 5e-7 if printed > 1 else 5e-8
    assert meta_information(TABLE_1)[name].item() == pytest.approx(printed, abs=half)


def test_without_ratings_unequal_accuracy_of_the_responses_is_what_is_left():
    biased = meta_information(from_nr([90, 10], [40, 60]))
    assert biased["meta_i"].item() == pytest.approx(0.0254, abs=5e-5)
    assert biased["rmi"].item() == pytest.approx(0.0815, abs=5e-5)
    assert "response-bias" in codes(biased)
    assert "response-bias" not in codes(meta_information(from_nr([75, 25], [25, 75])))


def test_unequal_accuracy_is_noticed_where_it_is_clear_and_large():
    # The same shares from a tenth of the trials: χ² is .7.
    assert "response-bias" not in codes(meta_information(from_nr([9, 1], [4, 6])))
    # Clear in 400,000 trials (χ² is 159), but two thousandths of meta-I.
    large = from_nr([87_000, 58_000, 44_000, 11_000], [6_000, 58_000, 62_000, 74_000])
    assert "response-bias" not in codes(meta_information(large))
    ratings = from_nr([60, 30, 6, 4], [20, 20, 20, 40])
    assert "response-bias" in codes(meta_information(ratings))


# statConfR's six subjects: meta-I, by the d′, by the accuracy, I₂ʳ, RMI.
MASKORI = {
    1: (0.1154252, 1.300914, 1.384554, 0.1434999, 0.3687714),
    2: (0.2034822, 2.781828, 2.815966, 0.2432133, 0.6708776),
    3: (0.1921722, 1.549884, 2.038785, 0.2529526, 0.6001439),
    4: (0.2223333, 2.403126, 2.429517, 0.2884294, 0.6969924),
    5: (0.2277498, 2.922673, 2.945799, 0.2774337, 0.7380805),
    6: (0.1648054, 2.232405, 2.276843, 0.1969847, 0.5433609),
}


@pytest.fixture(scope="module")
def maskori(shared):
    """Count tables of six subjects."""
    trials = pd.read_csv(shared / "data" / "hellmann2023_maskori" / "MaskOri.csv.gz")
    trials = trials[trials["participant"] <= 6]
    response = trials["stimulus"].where(trials["correct"] == 1, 90 - trials["stimulus"])
    return count_trials(
        trials.drop(columns="correct").assign(response=response, rating=trials["rating"] + 1),
        by="participant",
        confidence="rating",
    )


@pytest.mark.parametrize(("column", "name"), [(0, "meta_i"), (3, "meta_i2r"), (4, "rmi")])
def test_statconfrs_values_of_six_subjects(maskori, column, name):
    printed = [row[column] for row in MASKORI.values()]
    # Half a unit of the last printed digit.
    np.testing.assert_allclose(meta_information(maskori)[name], printed, rtol=0, atol=5e-8)


def test_statconfrs_ratios_to_normal_noise_differ_by_two_known_terms(maskori):
    """Its divisor has 1 − H₂(p₊) on top, and a d′ with stimulus and response exchanged."""
    measures = meta_information(maskori)
    rates = maskori.sum("rating").values.astype(float)
    on_top = 1 - binary_entropy(rates[:, 0].sum(axis=1) / rates.sum(axis=(1, 2)))
    z = norm.ppf(rates[:, 1] / rates.sum(axis=1))
    divisors = [
        normal_noise_information(d)["meta_i"].values + on_top
        for d in (z[:, 1] - z[:, 0], 2 * norm.ppf(measures["accuracy"]))
    ]
    for column, divisor in enumerate(divisors, start=1):
        printed = [row[column] for row in MASKORI.values()]
        np.testing.assert_allclose(measures["meta_i"] / divisor, printed, rtol=0, atol=5e-7)


# --- brute force ------------------------------------------------------------------------------


@pytest.mark.integration
@settings(max_examples=60)
@example(TELLS_ALL, np.zeros((2, 3), bool))
@given(TABLES, arrays(np.bool_, (2, 3)))
def test_informations_bounds_ratios_and_symmetries(n, is_swapped):
    assume(n.sum() > 0)
    measures = meta_information(table_of(n))
    table = n.reshape(2, -1)
    # Right or wrong once every response predicts the stimulus that is more frequent under it.
    recoded = np.stack([table.min(axis=0), table.max(axis=0)])
    info, meta_i, accuracy = (measures[name].item() for name in ("info", "meta_i", "accuracy"))
    assert info == pytest.approx(mutual_information(table), abs=ROUNDING)
    assert meta_i == pytest.approx(mutual_information(recoded), abs=ROUNDING)
    assert accuracy == pytest.approx(recoded[1].sum() / n.sum())
    bounds = information_bounds(accuracy, n.sum(axis=(1, 2)).max() / n.sum())
    for name in ("lower", "upper"):
        np.testing.assert_allclose(measures[name].item(), bounds[name], atol=ROUNDING)
    surplus = info - measures["lower"].item()
    assert meta_i == pytest.approx(surplus, abs=ROUNDING)
    if 0.5 < accuracy < 1:
        room, rmi = (measures["upper"] - measures["lower"]).item(), measures["rmi"].item()
        assert rmi == pytest.approx(surplus / room, abs=1e-9)
        assert -1e-9 <= rmi <= 1 + 1e-9
        left = meta_i / binary_entropy(accuracy).item()
        assert measures["meta_i2r"].item() == pytest.approx(left, abs=ROUNDING)
    else:
        assert measures["rmi"].isnull().item()
        assert "undefined-rmi" in codes(measures)
    # Which stimulus a response stands for is of no account: the prior changes with it, and cancels.
    swapped = meta_information(table_of(np.where(is_swapped, n[::-1], n)))
    for name in ("meta_i", "meta_i2r", "rmi", "meta_i1r_accuracy"):
        np.testing.assert_allclose(measures[name], swapped[name], rtol=1e-9, atol=ROUNDING)
    # Nor is the order of stimuli, responses and ratings.
    turned = meta_information(table_of(n[::-1, ::-1, ::-1]))
    for name in measures.data_vars:
        np.testing.assert_allclose(measures[name], turned[name], rtol=1e-9, atol=ROUNDING)


def test_a_normal_noise_observer_with_many_ratings_has_a_ratio_of_1():
    d = 1.3
    edges = np.concatenate([np.linspace(-5, 0, 201), np.linspace(0, 5, 201)[1:]])
    n = np.stack([np.diff(norm.cdf(edges, mean)) for mean in (-d / 2, d / 2)])
    measures = information_of_tables(np.stack([n[:, 199::-1], n[:, 200:]], axis=1)[None])
    # 200 ratings a side lose some 1e-4 of the information.
    for name in ("meta_i1r", "meta_i1r_accuracy"):
        assert measures[name][0] == pytest.approx(1, abs=1e-3)


# --- limits -----------------------------------------------------------------------------------


def test_constant_confidence_is_at_the_lower_bound_and_who_guesses_or_knows_at_the_upper():
    constant, knows = meta_information(CONSTANT), meta_information(GUESS_OR_KNOW)
    assert constant["rmi"].item() == pytest.approx(0, abs=ROUNDING)
    assert constant["meta_i"].item() == pytest.approx(0, abs=ROUNDING)
    assert knows["rmi"].item() == pytest.approx(1, abs=ROUNDING)
    assert knows["info"].item() == pytest.approx(knows["upper"].item(), abs=ROUNDING)


@pytest.mark.parametrize(("counts", "accuracy"), [(CHANCE, 0.5), (CEILING, 1.0)])
def test_at_chance_and_at_ceiling_ratios_are_undefined_and_a_notice_says_so(counts, accuracy):
    measures = meta_information(counts)
    assert measures["accuracy"].item() == accuracy
    assert measures["meta_i"].item() == 0
    for name in ("rmi", "meta_i1r", "meta_i1r_accuracy"):
        assert measures[name].isnull().item()
    assert "undefined-rmi" in codes(measures)


def test_without_a_dprime_the_accuracy_still_has_its_ratio():
    measures = meta_information(from_nr([50, 30, 0, 0], [5, 10, 20, 40]))
    assert measures["meta_i1r"].isnull().item()
    assert np.isfinite(measures["meta_i1r_accuracy"].item())
    assert "undefined-dprime" in codes(measures)
    assert "undefined-rmi" not in codes(measures)


def test_without_trials_all_is_undefined_and_one_notice_says_why():
    measures = meta_information(from_nr([[0] * 4, [40, 10, 8, 2]], [[0] * 4, [4, 6, 20, 30]]))
    assert measures.isel(cell=0).isnull().all().to_array().all()
    assert measures.isel(cell=1).notnull().all().to_array().all()
    raised = {notice.code: notice.cells for notice in notices(measures)}
    assert raised["no-trials"] == ("1",)
    assert "undefined-rmi" not in raised


# --- type-2 tables ----------------------------------------------------------------------------


@settings(max_examples=50)
@given(arrays(np.int64, (2, 4), elements=st.integers(0, 40)))
def test_of_a_type2_table_confidence_and_correctness_are_compared(n):
    assume(n.sum() > 0)
    measures = meta_information(type2_table(*n))
    assert set(measures.data_vars) == {"share_right", "meta_i", "meta_i2r", "rmi"}
    told, entropy = mutual_information(n), binary_entropy(n[1].sum() / n.sum()).item()
    assert measures["share_right"].item() == n[1].sum() / n.sum()
    assert measures["meta_i"].item() == pytest.approx(told, abs=ROUNDING)
    if 0 < n[1].sum() < n.sum():
        assert measures["meta_i2r"].item() == pytest.approx(told / entropy, abs=ROUNDING)
    else:
        assert measures["meta_i2r"].isnull().item()
        assert "undefined-rmi" in codes(measures)


def test_rmi_of_a_type2_table_is_that_of_responses_of_equal_accuracy():
    counts = from_nr([40, 30, 20, 10], [10, 20, 30, 40])
    ours, pooled = meta_information(counts), meta_information(type2_counts(counts))
    assert pooled["share_right"].item() == ours["accuracy"].item()
    for name in ("meta_i", "meta_i2r", "rmi"):
        assert pooled[name].item() == pytest.approx(ours[name].item(), abs=ROUNDING), name
    guesses_or_knows = meta_information(type2_table([30, 0], [30, 40]))
    assert guesses_or_knows["rmi"].item() == pytest.approx(1, abs=ROUNDING)
    constant = meta_information(type2_table([30, 60], [40, 80]))
    assert constant["rmi"].item() == pytest.approx(0, abs=ROUNDING)


def test_rmi_is_left_out_where_a_rating_is_right_less_than_half_of_the_time():
    measures = meta_information(type2_table([30, 5], [20, 60]))
    assert measures["rmi"].isnull().item()
    assert measures["meta_i"].item() > 0
    assert codes(measures) >= {"rating-below-half"}
    assert "undefined-rmi" not in codes(measures)
    even = meta_information(type2_table([30, 5], [30, 60]))
    assert np.isfinite(even["rmi"].item())


# --- reduction of bias ------------------------------------------------------------------------


def normal_probabilities(d, criteria):
    """Joint probabilities (stimulus, response, rating) of an unbiased observer."""
    edges = np.concatenate([[-np.inf], -np.array(criteria[::-1]), [0], criteria, [np.inf]])
    p = np.stack([np.diff(norm.cdf(edges, mean)) for mean in (-d / 2, d / 2)]) / 2
    K = len(criteria) + 1
    return np.stack([p[:, K - 1 :: -1], p[:, K:]], axis=1)


def test_the_bias_is_subtracted_and_not_added():
    """A toy: truth .080; plug-in .096 on average; with the bias added .109, subtracted .083."""
    p = normal_probabilities(1.448, [0.3, 0.6, 0.9, 1.2])
    truth = information_of_tables(p[None])["meta_i"][0]
    drawn = np.random.default_rng(0).multinomial(200, p.ravel(), size=1500)
    n = drawn.reshape(-1, 2, 2, 5)
    counts = from_nr(*np.moveaxis(np.concatenate([n[:, :, 0, ::-1], n[:, :, 1]], -1), 1, 0))
    plug_in = meta_information(counts)["meta_i"].mean().item()
    reduced = meta_information(counts, debias=200, seed=1)["meta_i"].mean().item()
    # Two standard errors of the mean over 1500 tables are .0018.
    assert truth == pytest.approx(0.080, abs=5e-4)
    assert plug_in == pytest.approx(0.096, abs=0.0018)
    assert reduced == pytest.approx(0.083, abs=0.0022)
    assert 2 * plug_in - reduced == pytest.approx(0.109, abs=0.0022)


def enumerated_mean(n, name, hold):
    """Mean of a plug-in estimate over all tables that may be drawn, by brute force."""
    rows = [n.ravel()] if hold == "none" else [row.ravel() for row in n]
    drawn = []
    for row in rows:
        tables = [x for x in product(range(row.sum() + 1), repeat=row.size) if sum(x) == row.sum()]
        p = multinomial.pmf(tables, row.sum(), row / row.sum())
        drawn.append([(np.array(x), w) for x, w in zip(tables, p, strict=True) if w > 0])
    total, weight = 0.0, 0.0
    for parts in product(*drawn):
        table = np.concatenate([x for x, _ in parts]).reshape(n.shape).astype(float)
        value = information_of_tables(table[None])[name][0]
        w = np.prod([w for _, w in parts])
        if np.isfinite(value):
            total, weight = total + w * value, weight + w
    return total / weight


@pytest.mark.parametrize("hold", ["none", "stimulus"])
@pytest.mark.parametrize("name", ["meta_i", "rmi"])
def test_bias_is_that_of_all_tables_that_may_be_drawn(name, hold):
    counts = from_nr([5, 1], [2, 4])
    plug_in = meta_information(counts)[name].item()
    mean = enumerated_mean(counts.values[0], name, hold)
    reduced = meta_information(counts, debias=40_000, seed=1, hold=hold)
    # Four standard errors of the mean of 40,000 draws with an SD of about .2.
    assert reduced[name].item() == pytest.approx(2 * plug_in - mean, abs=0.004)
    assert abs(mean - plug_in) > 0.01


def enumerated_null(n):
    """Values of I(correct; confidence)/H of all tables (2, 2) with these margins, and their p."""
    ratings, right = n.sum(axis=0), n[1].sum()
    tops = np.arange(max(0, right - ratings[0]), min(right, ratings[1]) + 1)
    tables = [np.array([[ratings[0] - right + x, ratings[1] - x], [right - x, x]]) for x in tops]
    p = hypergeom.pmf(tops, n.sum(), ratings[1], right)
    entropy = binary_entropy(right / n.sum())
    return np.array([mutual_information(x) / entropy for x in tables]), p


def test_the_null_is_that_of_all_tables_that_permutations_may_give():
    table = type2_table([12, 6], [9, 18])
    values, p = enumerated_null(table.values[0])
    found = meta_information(table, permutations=20_000, seed=1).sel(cell="all")
    plug_in = found["meta_i2r"].item()
    null = values @ p
    # Four standard errors of 20,000 permutations.
    far = 4 * np.sqrt((values - null) ** 2 @ p / 20_000)
    assert found["meta_i2r_null"].item() == pytest.approx(null, abs=far)
    assert found["meta_i2r_excess"].item() == pytest.approx(plug_in - null, abs=far)
    reach = p[values >= plug_in - 1e-12].sum()
    far = 4 * np.sqrt(reach * (1 - reach) / 20_000) + 1 / 20_000
    assert found["meta_i2r_p"].item() == pytest.approx(reach, abs=far)
    assert 0.02 < reach < 0.2


# Cacioli (2026, arXiv:2603.25112, revision): eight quantiles of confidence, 2,000 permutations.
# Of a table with these margins the null is the same, whatever confidence tells.
PRINTED_NULLS = {
    "Llama-3-Instruct": (5000, 0.5434, 0.001034),
    "Gemma-2-Instruct": (5000, 0.6004, 0.001046),
    "Llama-3-Instruct, NQ": (3000, 0.21867, 0.002221),
    "Mistral-Instruct, NQ": (3000, 0.10367, 0.003514),
}


@pytest.mark.parametrize("name", PRINTED_NULLS)
def test_printed_means_of_nulls_and_p_come_back(name):
    n, accuracy, printed = PRINTED_NULLS[name]
    right = round(n * accuracy)
    rising = np.full(8, right // 8) + np.array([-7, -5, -3, -1, 1, 3, 5, 7]) * (right // 100)
    rising[-1] += right - rising.sum()
    found = meta_information(type2_table(n // 8 - rising, rising), permutations=2000, seed=1)
    # Two means of 2,000 values each, with the SD of χ² of seven degrees of freedom.
    bits = 2 * n * np.log(2) * binary_entropy(accuracy)
    far = 4 * np.sqrt(2) * np.sqrt(2 * 7 / 2000) / bits
    assert found["meta_i2r_null"].item() == pytest.approx(printed, abs=far)
    # All of their p are 1/2001.
    assert found["meta_i2r_p"].item() == pytest.approx(0.0004997501249375312, rel=1e-12)


def test_permutations_are_those_of_resample_with_a_stimulus_too():
    counts = from_nr([20, 14, 8, 6], [4, 8, 15, 22])
    found = meta_information(counts, permutations=300, seed=3)
    draws = resample(counts, meta_information, n=300, kind="permutation", seed=3)["meta_i2r"]
    np.testing.assert_allclose(found["meta_i2r_null"], draws.mean("draw"), rtol=1e-12)
    both = meta_information(counts, permutations=300, debias=50, seed=3)
    xr.testing.assert_equal(both["meta_i2r_excess"], found["meta_i2r_excess"])


def test_without_errors_or_trials_nothing_is_compared_with_chance():
    cells = [type2_table(*one) for one in (([0, 0], [5, 6]), ([0, 0], [0, 0]), ([3, 4], [0, 0]))]
    table = xr.concat(cells, "cell").assign_coords(cell=["a", "b", "c"])
    found = meta_information(table, permutations=20, seed=1)
    for name in ("null", "excess", "p"):
        assert np.isnan(found[f"meta_i2r_{name}"]).all()
    assert {"undefined-rmi", "no-trials"} <= set(codes(found))


def test_resamples_are_those_of_resample():
    counts = from_nr([[84, 56, 48, 12], [9, 8, 7, 6]], [[4, 56, 64, 76], [3, 5, 8, 14]])
    reduced = meta_information(counts, debias=500, seed=7)
    draws = resample(counts, meta_information, n=500, seed=7)
    for name in ("meta_i", "meta_i1r", "meta_i1r_accuracy", "meta_i2r", "rmi"):
        expected = 2 * meta_information(counts)[name] - draws[name].mean("draw")
        np.testing.assert_allclose(reduced[name], expected, rtol=1e-10)
    for name in ("info", "accuracy", "lower", "upper"):
        np.testing.assert_array_equal(reduced[name], meta_information(counts)[name])


def test_the_same_seed_gives_the_same_answer_in_any_chunks(monkeypatch):
    counts = from_nr([[30, 20, 12, 8]] * 7, [[6, 14, 21, 29]] * 7)
    first = meta_information(counts, debias=300, seed=5)
    xr.testing.assert_identical(first, meta_information(counts, debias=300, seed=5))
    assert len(np.unique(first["rmi"])) == 7
    assert not first.equals(meta_information(counts, debias=300, seed=6))
    for at_once in (70, 1000, 30_000):
        monkeypatch.setattr(information, "AT_ONCE", at_once)
        again = meta_information(counts, debias=300, seed=5)
        np.testing.assert_allclose(again["rmi"], first["rmi"], rtol=1e-12)


def test_a_seed_that_was_made_up_is_recorded():
    first = meta_information(TABLE_1, debias=50)
    again = meta_information(TABLE_1, debias=50, seed=int(first.attrs["seed"]))
    xr.testing.assert_identical(first, again)
    assert first.attrs["debias"] == 50
    assert first.attrs["hold"] == "none"
    assert first["rmi"].attrs["estimate"] == "bias reduced"
    assert first["info"].attrs["estimate"] == "plug-in"
    assert meta_information(TABLE_1)["rmi"].attrs["estimate"] == "plug-in"


def test_resamples_without_an_answer_are_noticed_and_left_out():
    measures = meta_information(from_nr([20, 19, 0, 1], [0, 0, 20, 20]), debias=200, seed=1)
    assert np.isfinite(measures["rmi"].item())
    assert "undefined-resamples" in codes(measures)
    assert "undefined-resamples" not in codes(meta_information(TABLE_1, debias=200, seed=1))
    nothing = meta_information(from_nr([0, 0], [0, 0]), debias=10, seed=1)
    assert nothing["meta_i"].isnull().item()


# --- labels and arguments ---------------------------------------------------------------------


def test_further_dims_and_coordinates_are_kept():
    tables = from_nr(
        [[84, 56, 48, 12], [30, 20, 12, 8]], [[4, 56, 64, 76], [6, 14, 21, 29]], m=["a", "b"]
    )
    draws = xr.concat([tables, tables.isel(cell=[1, 0]).assign_coords(tables.coords)], "draw")
    measures = meta_information(draws.transpose("rating", "draw", "stimulus", "cell", "response"))
    alone = meta_information(tables)
    assert measures["rmi"].dims == ("cell", "draw")
    np.testing.assert_array_equal(measures["rmi"].isel(draw=0), alone["rmi"])
    np.testing.assert_array_equal(measures["rmi"].isel(draw=1), alone["rmi"][::-1])
    assert measures["m"].dims == ("cell",)


@pytest.mark.parametrize(
    ("counts", "options", "message"),
    [
        (type2_counts(TABLE_1), {"hold": "stimulus"}, "no stimulus"),
        (TABLE_1 + 0.25, {"debias": 10}, "not whole"),
        (TABLE_1 - 5, {}, "counts: .*got -1"),
        (type2_counts(TABLE_1).isel(correct=[1, 0]), {}, "correct"),
    ],
)
def test_what_cannot_be_measured_is_refused(counts, options, message):
    with pytest.raises(InputError, match=message):
        meta_information(counts, **options)
