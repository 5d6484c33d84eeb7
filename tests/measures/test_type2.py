"""Type-2 measures against print, SciPy, scikit-learn, every single pair, and their symmetries."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import kendalltau, norm, pearsonr, somersd
from sklearn.metrics import roc_auc_score, roc_curve

from hmetad.counts.counting import count_correct
from hmetad.counts.tables import type2_counts
from hmetad.counts.vectors import from_nr
from hmetad.errors import InputError
from hmetad.measures.type2 import auroc2, gamma, mean_confidence, phi, type2_roc, v_statistic
from hmetad.notice import notices

g_pairs = partial(gamma, estimator="pairs")
g_gaussian = partial(gamma, estimator="gaussian")
# Measures with one value. The tests over this list ask that
# - its middle is 0 (½ of auroc2 and v_statistic): the value at chance, and the point about which it
#   turns when the ratings are reversed or right and wrong are exchanged;
# - all counts times one number give the same value;
# - a cell without right or without wrong trials is NaN, with the notices of its table, and other
#   cells keep their values;
# - a count table is measured by its right and wrong trials; coordinates, attrs and names are kept.
# A measure without one of these properties has tests of its own, beside this list.
SINGLE = [auroc2, gamma, g_pairs, g_gaussian, v_statistic, phi]

# (correct, rating) of one observer, with at least one right and one wrong trial.
# The first of many examples waits for compiled code to be read from disk.
calm = settings(deadline=None)
fewer = settings(max_examples=25, deadline=None)
TABLES = arrays(np.int64, (2, 4), elements=st.integers(0, 12)).filter(
    lambda x: x.sum(axis=-1).all()
)

MANY = arrays(np.int64, (12, 2, 4), elements=st.integers(0, 6))

# Higham & Higham (2018), Table 1: the ten bins have all the margins that the text prints, of which
# few tables are possible. Wrong, then right.
TEN_BINS = np.array([[7, 5, 2, 2, 1, 1, 1, 1, 0, 0], [0, 0, 1, 2, 2, 4, 0, 6, 4, 11]])


def type2(values, **coords):
    """Type-2 table of an array (..., correct, rating)."""
    values = np.asarray(values)
    dims = ("draw", "cell", "correct", "rating")[4 - values.ndim :]
    return xr.DataArray(values, coords, dims, name="counts")


def trials_of(values):
    """Correctness and rating of every single trial of a table (correct, rating)."""
    is_right, index = (np.repeat(x.ravel(), values.ravel()) for x in np.indices(values.shape))
    return is_right, index + 1


def counted_pairs(values):
    """Concordant, discordant and tied pairs, each pair looked at."""
    is_right, rating = trials_of(values)
    difference = rating[is_right == 1][:, None] - rating[is_right == 0][None, :]
    return (difference > 0).sum(), (difference < 0).sum(), (difference == 0).sum()


def codes(result):
    return [notice.code for notice in notices(result)]


def rebinned(values, bins):
    return values.reshape(2, bins, -1).sum(axis=-1)


def binormal(delta, sigma, criteria, trials=(50.0, 50.0)):
    """Expected table where wrong trials are N(0, 1) and right ones N(δ, σ)."""
    edges = np.concatenate([[-np.inf], criteria, [np.inf]])
    return type2(np.stack([trials[0] * areas(edges), trials[1] * areas((edges - delta) / sigma)]))


def areas(edges):
    """Areas of N(0, 1) between edges, each on the side of 0 where it keeps its digits."""
    return np.where(edges[:-1] > 0, -np.diff(norm.sf(edges)), np.diff(norm.cdf(edges)))


def true_gamma(delta, sigma):
    return 2 * norm.cdf(delta / np.hypot(1, sigma)) - 1


# --- print ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bins", "concordant", "discordant", "tied", "printed"),
    [(10, 554, 28, 18, 0.904), (5, 540, 24, 36, 0.915), (2, 425, 15, 160, 0.932)],
)
def test_gamma_of_pairs_grows_as_bins_get_fewer_as_printed(
    bins, concordant, discordant, tied, printed
):
    values = rebinned(TEN_BINS, bins)
    assert counted_pairs(values) == (concordant, discordant, tied)
    table = type2(values)
    assert g_pairs(table).item() == pytest.approx(printed, abs=5e-4)
    assert g_pairs(table).item() == (concordant - discordant) / (concordant + discordant)
    assert v_statistic(table).item() == concordant / (concordant + discordant)
    assert auroc2(table).item() == (concordant + tied / 2) / 600
    assert gamma(table).item() == (concordant - discordant) / 600


def test_the_printed_curve_is_drawn():
    curve = type2_roc(type2(TEN_BINS))
    at = curve.set_index(point="at_least")
    # 90+, 30+, 20+, 10+ and 0+ are the bins from 10, 4, 3, 2 and 1 upward.
    rates = at.sel(point=[10, 4, 3, 2, 1])
    assert rates["hit_rate"].round(2).values.tolist() == [0.37, 0.97, 1, 1, 1]
    assert rates["false_alarm_rate"].values.tolist() == [0, 0.3, 0.4, 0.65, 1]
    assert auroc2(type2(TEN_BINS)).item() == pytest.approx(0.94, abs=5e-3)


def test_the_two_by_two_table_of_higham():
    table = type2([[17, 3], [5, 25]])
    assert counted_pairs(table.values) == (425, 15, 160)
    assert g_pairs(table).item() == pytest.approx(410 / 440)
    assert gamma(table).item() == pytest.approx(410 / 600)


@pytest.mark.parametrize(
    ("sigma", "delta", "exceptions"),
    [
        (1, 0.5, set()),
        (1, 2, set()),
        (1.25, 0.5, {(6, "liberal"), (10, "liberal"), (101, "liberal")}),
        (1.25, 2, {(101, "liberal")}),
    ],
)
def test_which_gamma_is_nearer_the_true_one_is_as_printed(sigma, delta, exceptions):
    # Expected tables; of the printed 17 of 18 equal-variance cases one is turned by sampling.
    truth, nearer = true_gamma(delta, sigma), set()
    for K in (6, 10, 101):
        for bias in ("liberal", "unbiased", "conservative"):
            lowest = 0.0 if bias == "conservative" else -2.0
            highest = delta if bias == "liberal" else delta + 2 * sigma
            table = binormal(delta, sigma, np.linspace(lowest, highest, K - 1))
            trapezoid, pairs = gamma(table).item(), g_pairs(table).item()
            assert g_gaussian(table).item() == pytest.approx(truth, abs=1e-12)
            if sigma == 1:
                assert trapezoid < truth < pairs
            if abs(pairs - truth) < abs(trapezoid - truth):
                nearer.add((K, bias))
    assert nearer == exceptions


def test_the_published_areas_of_33_language_models_are_reproduced(shared):
    folder = shared / "data" / "cacioli2026_profile_atlas"
    files = sorted((folder / "raw").glob("*.csv.gz"))
    trials = pd.concat([pd.read_csv(path, dtype={"item_id": str}) for path in files])
    trials = trials.drop_duplicates(["model", "item_id", "domain"])
    trials["confidence"] += 1
    summary = pd.read_csv(folder / "atlas_summary_matrix.csv")
    trials["model"] = trials["model"].map(published_names(trials, summary))
    domains = {"applied_professional": "Applied", "factual_recall": "Factual"}
    domains |= {"humanities": "Human.", "social_moral": "Social", "natural_science": "Science"}
    trials["domain"] = trials["domain"].map(domains | {"formal_reasoning": "Formal"})
    counts = count_correct(trials, by=["model", "domain"], correct="is_correct", ratings=101)
    published = pd.read_csv(folder / "atlas_bootstrap_cis.csv")
    published = published.set_index(published["model"] + " | " + published["domain"])
    assert counts.sizes["cell"] == len(published) == 198
    published = published.loc[counts["cell"].values]
    np.testing.assert_array_equal(counts.sum(["correct", "rating"]), published["n"])
    # Published with four decimals.
    np.testing.assert_allclose(auroc2(counts), published["auroc"], rtol=0, atol=5.001e-5)
    whole = counts.groupby("model").sum()
    aggregate = summary.set_index("model").loc[whole["model"].values, "aggregate"]
    # Published in full.
    np.testing.assert_allclose(auroc2(whole), aggregate, rtol=1e-13)


def published_names(trials, summary):
    """Published name of each model: that with its trials and accuracy, and its family's name."""
    names = {}
    for model, rows in trials.groupby("model"):
        alike = summary[
            (summary["n"] == len(rows)) & np.isclose(summary["acc"], rows["is_correct"].mean())
        ]
        own = [name for name in alike["model"] if name.split()[0].split("-")[0].lower() in model]
        (names[model],) = own
    return names


# --- other implementations ------------------------------------------------------------------


@calm
@given(TABLES)
def test_the_area_is_that_of_scikit_learn(values):
    is_right, rating = trials_of(values)
    expected = roc_auc_score(is_right, rating)
    assert auroc2(type2(values)).item() == pytest.approx(expected, abs=1e-14)


@calm
@given(TABLES)
def test_the_points_of_the_curve_are_those_of_scikit_learn(values):
    is_right, rating = trials_of(values)
    false_alarm_rate, hit_rate, lowest = roc_curve(is_right, rating, drop_intermediate=False)
    used = [5, *map(int, lowest[1:])]
    curve = type2_roc(type2(values)).set_index(point="at_least").sel(point=used)
    np.testing.assert_allclose(curve["false_alarm_rate"], false_alarm_rate, rtol=1e-14)
    np.testing.assert_allclose(curve["hit_rate"], hit_rate, rtol=1e-14)


@calm
@given(TABLES)
def test_the_area_is_that_under_the_points_of_the_curve(values):
    curve = type2_roc(type2(values))
    area = np.trapezoid(curve["hit_rate"], curve["false_alarm_rate"])
    assert auroc2(type2(values)).item() == pytest.approx(area, abs=1e-14)


@calm
@given(TABLES)
def test_trapezoid_gamma_is_somers_d_of_rating_given_correctness(values):
    assume((values.sum(axis=0) > 0).sum() > 1)
    used = values[:, values.sum(axis=0) > 0]
    assert gamma(type2(values)).item() == pytest.approx(somersd(used).statistic, abs=1e-14)


@calm
@given(TABLES)
def test_pairs_are_counted_one_by_one(values):
    concordant, discordant, tied = counted_pairs(values)
    table = type2(values)
    assert gamma(table).item() == (concordant - discordant) / (concordant + discordant + tied)
    if concordant + discordant == 0:
        assert np.isnan(g_pairs(table))
        assert np.isnan(v_statistic(table))
        assert codes(g_pairs(table))[-1] == "undefined-gamma"
        assert codes(v_statistic(table))[-1] == "undefined-v"
    else:
        expected = (concordant - discordant) / (concordant + discordant)
        assert g_pairs(table).item() == expected
        assert v_statistic(table).item() == pytest.approx((1 + expected) / 2, abs=1e-15)


@calm
@given(TABLES)
def test_kendalls_tau_follows_from_the_same_pairs(values):
    is_right, rating = trials_of(values)
    assume(np.unique(rating).size > 1)
    concordant, discordant, _ = counted_pairs(values)
    n, of_rating = values.sum(), values.sum(axis=0)
    untied = (n**2 - (of_rating**2).sum()) / 2
    expected = kendalltau(is_right, rating).statistic
    total = values[0].sum() * values[1].sum()
    assert gamma(type2(values)).item() * np.sqrt(total / untied) == pytest.approx(
        expected, abs=1e-13
    )
    assert np.sign(g_pairs(type2(values))) == np.sign(concordant - discordant)


@calm
@given(TABLES)
def test_phi_is_pearsons_r_over_the_trials(values):
    is_right, rating = trials_of(values)
    if np.unique(rating).size == 1:
        assert np.isnan(phi(type2(values)))
        assert codes(phi(type2(values)))[-1] == "undefined-phi"
    else:
        expected = pearsonr(is_right, rating).statistic
        assert phi(type2(values)).item() == pytest.approx(expected, abs=1e-13)


@calm
@given(TABLES)
def test_mean_confidence_is_the_mean_over_the_trials(values):
    is_right, rating = trials_of(values)
    means = mean_confidence(type2(values))
    of_right, of_wrong = rating[is_right == 1].mean(), rating[is_right == 0].mean()
    assert means["confidence_right"].item() == pytest.approx(of_right, rel=1e-14)
    assert means["confidence_wrong"].item() == pytest.approx(of_wrong, rel=1e-14)
    assert means["confidence_difference"].item() == pytest.approx(of_right - of_wrong, abs=1e-14)


# --- the Gaussian estimator -----------------------------------------------------------------


@calm
@given(st.floats(-2, 3), st.floats(0.4, 2.5), st.integers(3, 9))
def test_gamma_of_two_gaussians_is_found_wherever_the_criteria_are(delta, sigma, K):
    table = binormal(delta, sigma, np.linspace(-1.5, 2.0, K - 1), trials=(30.0, 170.0))
    # Rates are sums of positive areas, which keep their digits in both tails.
    assert g_gaussian(table).item() == pytest.approx(true_gamma(delta, sigma), abs=1e-12)


def test_two_points_lie_on_the_line_exactly():
    values = np.array([[30, 12, 8], [20, 30, 100]])
    F, H = np.array([20 / 50, 8 / 50]), np.array([130 / 150, 100 / 150])
    slope, intercept = np.polyfit(norm.ppf(F), norm.ppf(H), 1)
    expected = 2 * norm.cdf(intercept / np.sqrt(1 + slope**2)) - 1
    assert g_gaussian(type2(values)).item() == pytest.approx(expected, abs=1e-12)


def test_a_line_may_be_level_or_upright():
    level, upright = np.array([[20, 30, 50], [40, 0, 60]]), np.array([[40, 0, 60], [20, 30, 50]])
    # Of rates .6 whatever the other rate: the area is .6 under a level line, .4 beside an upright.
    assert g_gaussian(type2(level)).item() == pytest.approx(0.2, abs=1e-12)
    assert g_gaussian(type2(upright)).item() == pytest.approx(-0.2, abs=1e-12)


def test_gaussian_samples_are_estimated_with_little_bias_and_less_than_by_the_others():
    delta, sigma, rng = 1.0, 1.25, np.random.default_rng(7)
    expected = binormal(delta, sigma, [-0.5, 0.3, 1.1, 1.9], trials=(1.0, 1.0)).values
    wrong, right = (rng.multinomial(n, p, 4000) for n, p in zip((150, 350), expected, strict=True))
    table = type2(np.stack([wrong, right], axis=1))
    truth = true_gamma(delta, sigma)
    bias = {f: abs(f(table).mean().item() - truth) for f in (gamma, g_pairs, g_gaussian)}
    # The mean of 4000 estimates with an SD of .05 is known to .0008; four of these.
    assert bias[g_gaussian] < 0.0032
    assert bias[g_gaussian] < 0.3 * min(bias[gamma], bias[g_pairs])


def test_points_without_a_z_are_left_out_and_said_so():
    whole, cut = [[30, 12, 8, 4], [20, 30, 60, 90]], [[30, 12, 12, 0], [20, 30, 60, 90]]
    result = g_gaussian(type2([whole, cut], cell=["whole", "cut"]))
    assert codes(result) == ["zroc-points-left-out"]
    assert notices(result)[0].cells == ("cut",)
    assert notices(result)[0].severity == "info"
    assert np.isfinite(result).all()
    # What remains are the points of the lower two criteria.
    F, H = np.array([24 / 54, 12 / 54]), np.array([180 / 200, 150 / 200])
    slope, intercept = np.polyfit(norm.ppf(F), norm.ppf(H), 1)
    expected = 2 * norm.cdf(intercept / np.sqrt(1 + slope**2)) - 1
    assert result.sel(cell="cut").item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "values", [[[60, 60], [60, 60]], [[60, 60, 0], [0, 60, 60]], [[60, 0, 60], [60, 0, 60]]]
)
def test_fewer_than_two_points_make_no_line(values):
    result = g_gaussian(type2(values))
    assert np.isnan(result)
    assert codes(result)[-1] == "undefined-gamma"
    assert "zroc-points-left-out" not in codes(result)


# --- symmetries -----------------------------------------------------------------------------


@pytest.mark.parametrize("measure", SINGLE)
@fewer
@given(values=MANY)
def test_turning_the_scale_around_turns_the_sign(measure, values):
    straight, turned = measure(type2(values)), measure(type2(values[..., ::-1]))
    assert_mirrored(measure, straight, turned)


@pytest.mark.parametrize("measure", SINGLE)
@fewer
@given(values=MANY)
def test_exchanging_right_and_wrong_turns_the_sign(measure, values):
    straight, exchanged = measure(type2(values)), measure(type2(values[:, ::-1]))
    assert_mirrored(measure, straight, exchanged)


def assert_mirrored(measure, one, other):
    middle = 0.5 if measure in (auroc2, v_statistic) else 0.0
    np.testing.assert_allclose(other - middle, middle - one, atol=1e-12)


@pytest.mark.parametrize("measure", [auroc2, gamma, g_pairs, g_gaussian, v_statistic])
@fewer
@given(values=MANY, place=st.integers(0, 4))
def test_a_rating_that_nobody_used_changes_nothing_of_an_ordinal_measure(measure, values, place):
    padded = np.insert(values, place, 0, axis=-1)
    np.testing.assert_allclose(measure(type2(padded)), measure(type2(values)), atol=1e-14)


@pytest.mark.parametrize("measure", SINGLE)
@fewer
@given(values=MANY)
def test_only_shares_matter(measure, values):
    np.testing.assert_allclose(measure(type2(7 * values)), measure(type2(values)), atol=1e-12)


@pytest.mark.parametrize("measure", [auroc2, gamma, g_pairs, g_gaussian, v_statistic])
@fewer
@given(values=MANY)
def test_the_share_of_right_trials_does_not_matter_to_the_curve(measure, values):
    weighted = values * np.array([[1], [5]])
    np.testing.assert_allclose(measure(type2(weighted)), measure(type2(values)), atol=1e-12)


@pytest.mark.parametrize("measure", SINGLE)
def test_confidence_that_knows_nothing_is_at_chance(measure):
    chance = 0.5 if measure in (auroc2, v_statistic) else 0.0
    table = type2([[10, 20, 30], [40, 80, 120]])
    assert measure(table).item() == pytest.approx(chance, abs=1e-12)


@pytest.mark.parametrize("measure", [auroc2, gamma, g_pairs, v_statistic])
def test_confidence_that_knows_all_is_at_1(measure):
    assert measure(type2([[60, 40, 0, 0], [0, 0, 50, 50]])).item() == 1


def test_phi_goes_by_the_numbers_of_the_ratings():
    values = np.array([[30, 12, 8], [20, 30, 100]])
    assert phi(type2(values, rating=[1, 2, 3])).item() == phi(type2(values)).item()
    of_two = phi(type2(values[:, [0, 2]], rating=[1, 3]))
    middle_emptied = phi(type2(values * np.array([1, 0, 1])))
    assert of_two.item() == pytest.approx(middle_emptied.item(), abs=1e-14)
    means = mean_confidence(type2(values[:, [0, 2]], rating=[1, 3]))
    assert means["confidence_right"].item() == pytest.approx((20 + 300) / 120)


# --- responses ------------------------------------------------------------------------------


def test_the_area_of_a_response_is_that_of_its_trials_alone():
    counts = from_nr([36, 24, 17, 20, 10, 12, 9, 2], [1, 4, 10, 11, 19, 18, 28, 39])
    areas = auroc2(counts, response_conditional=True)
    assert areas.dims == ("cell", "response")
    for response, wrong, right in (("S1", "S2", "S1"), ("S2", "S1", "S2")):
        alone = counts.sel(cell="all", response=response)
        values = np.stack([alone.sel(stimulus=wrong), alone.sel(stimulus=right)])
        is_right, rating = trials_of(values)
        expected = roc_auc_score(is_right, rating)
        assert areas.sel(response=response).item() == pytest.approx(expected, abs=1e-14)
    curves = type2_roc(type2_counts(counts, response_conditional=True))
    assert curves["hit_rate"].dims == ("cell", "response", "point")


def test_a_response_without_errors_is_undefined_by_itself():
    counts = from_nr([40, 30, 0, 0], [10, 20, 30, 40])
    areas = auroc2(counts, response_conditional=True)
    assert np.isfinite(auroc2(counts))
    assert np.isnan(areas.sel(response="S2"))
    assert np.isfinite(areas.sel(response="S1"))
    assert "no-errors" in codes(areas)


def test_a_type2_table_has_no_responses():
    with pytest.raises(InputError, match="response_conditional"):
        auroc2(type2([[40, 30], [30, 40]]), response_conditional=True)


# --- undefined ------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", SINGLE)
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([[0, 0, 0], [60, 50, 40]], ["no-errors"]),
        ([[60, 50, 40], [0, 0, 0]], ["no-rights"]),
        ([[0, 0, 0], [0, 0, 0]], ["empty-ratings", "few-trials"]),
    ],
)
def test_without_both_kinds_of_trials_it_is_nan_with_a_notice(measure, values, expected):
    fine = [[60, 50, 40], [40, 50, 60]]
    result = measure(type2([values, fine], cell=["lacking", "fine"]))
    of_lacking = [notice for notice in notices(result) if notice.code in expected]
    assert [notice.code for notice in of_lacking] == expected
    assert all(notice.cells == ("lacking",) for notice in of_lacking)
    assert np.isnan(result.sel(cell="lacking"))
    assert np.isfinite(result.sel(cell="fine"))


def test_rates_and_means_of_the_trials_there_are_stay_defined():
    table = type2([[0, 0], [60, 40]])
    curve, means = type2_roc(table), mean_confidence(table)
    assert curve["false_alarm_rate"].isnull().all()
    assert curve["hit_rate"].values.tolist() == [0, 0.4, 1]
    assert codes(curve) == codes(means) == ["no-errors"]
    assert means["confidence_right"].item() == 1.4
    assert np.isnan(means["confidence_wrong"])
    assert np.isnan(means["confidence_difference"])


def test_one_rating_separates_nothing():
    table = type2([[60], [40]])
    assert auroc2(table).item() == 0.5
    assert gamma(table).item() == 0
    for measure, code in ((g_pairs, "gamma"), (g_gaussian, "gamma"), (v_statistic, "v")):
        assert np.isnan(measure(table))
        assert codes(measure(table)) == [f"undefined-{code}"]
    assert codes(phi(table)) == ["undefined-phi"]
    assert type2_roc(table)["hit_rate"].values.tolist() == [0, 1]


def test_large_counts_lose_no_digits():
    values = np.array([[3, 2, 1], [1, 2, 3]])
    for measure in SINGLE:
        one, many = measure(type2(values)), measure(type2(values * 10**9))
        assert many.item() == pytest.approx(one.item(), rel=1e-14)


# --- labels ---------------------------------------------------------------------------------

RESULTS = [*SINGLE, type2_roc, mean_confidence]


def variables(result):
    return result.data_vars.values() if isinstance(result, xr.Dataset) else [result]


@pytest.mark.parametrize("measure", RESULTS)
def test_a_count_table_is_measured_by_its_right_and_wrong_trials(measure):
    counts = from_nr([[36, 24, 17, 20], [9, 9, 9, 9]], [[1, 4, 10, 11], [9, 2, 8, 7]], who=[1, 2])
    by_stimulus, by_correctness = measure(counts), measure(type2_counts(counts))
    xr.testing.assert_identical(by_stimulus, by_correctness)
    xr.testing.assert_identical(by_stimulus["who"], counts["who"])
    assert notices(by_stimulus)[: len(notices(counts))] == notices(counts) != []


@pytest.mark.parametrize("measure", RESULTS)
def test_every_variable_says_what_it_is_and_can_be_saved(measure, tmp_path):
    result = measure(type2([[[30, 12, 8], [20, 30, 100]]], cell=["a"]))
    for variable in variables(result):
        assert {"long_name", "units", "source"} <= variable.attrs.keys()
        assert all(variable.attrs[name] for name in ("long_name", "units", "source"))
    result.to_netcdf(tmp_path / "result.nc", engine="h5netcdf")


@pytest.mark.parametrize("measure", RESULTS)
def test_cells_and_further_dims_are_measured_each_by_itself(measure):
    rng = np.random.default_rng(3)
    tables = type2(rng.integers(0, 40, (3, 5, 2, 4)))
    together = measure(tables.transpose("rating", "draw", "correct", "cell"))
    for draw, cell in ((0, 0), (2, 4), (1, 3)):
        alone = measure(tables.isel(draw=draw, cell=cell))
        part = together.isel(draw=draw, cell=cell)
        for one, other in zip(variables(alone), variables(part), strict=True):
            assert one.dims == other.dims
            np.testing.assert_array_equal(one, other)


def test_the_names_are_those_of_the_functions_and_the_estimator_is_recorded():
    table = type2([[30, 12, 8], [20, 30, 100]])
    assert [f(table).name for f in SINGLE] == ["auroc2", *["gamma"] * 3, "v_statistic", "phi"]
    assert [f(table).attrs["estimator"] for f in (gamma, g_pairs, g_gaussian)] == [
        "trapezoid",
        "pairs",
        "gaussian",
    ]
    assert set(type2_roc(table).coords) == {"point", "at_least"}


@pytest.mark.parametrize("measure", RESULTS)
def test_the_counts_are_not_changed(measure):
    counts = type2([[30, 12, 0], [20, 30, 0]])
    before = counts.copy(deep=True)
    measure(counts)
    xr.testing.assert_identical(counts, before)


@pytest.mark.parametrize("measure", RESULTS)
def test_what_is_no_table_is_refused(measure):
    with pytest.raises(InputError, match="counts: got dims"):
        measure(xr.DataArray([1, 2, 3], dims="rating"))


@pytest.mark.parametrize("estimator", ["goodman", "", None, 1])
def test_any_other_estimator_is_refused(estimator):
    with pytest.raises(InputError, match=r"estimator: got .*'trapezoid', 'pairs' or 'gaussian'"):
        gamma(type2([[30, 12], [20, 30]]), estimator=estimator)


def test_notices_are_text_that_files_keep():
    result = phi(type2([[[60], [40]]], cell=["a"]))
    assert json.loads(result.attrs["notices"])[0]["cells"] == ["a"]
