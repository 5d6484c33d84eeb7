"""Type-2 measures against print, SciPy, scikit-learn, every single pair, and their symmetries."""

from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import (
    kendalltau,
    mannwhitneyu,
    norm,
    pearsonr,
    random_table,
    rankdata,
    somersd,
)
from sklearn.metrics import roc_auc_score, roc_curve

import hmetad
from hmetad import (
    InputError,
    contrast,
    fit_mle,
    from_nr,
    notices,
    simulate_counts,
)
from hmetad.counts import type2_counts
from hmetad.counts.reversed_scales import confidence_z, reversed_scale
from hmetad.measures import (
    auroc2,
    calibration,
    gamma,
    mean_confidence,
    meta_delta,
    overconfidence,
    phi,
    type2_roc,
    type2_zroc,
    v_statistic,
)

g_pairs = partial(gamma, estimator="pairs")
g_gaussian = partial(gamma, estimator="gaussian")
ORDINAL = [auroc2, gamma, g_pairs, g_gaussian, v_statistic]
# Measures with one value. A measure without one of the properties that tests ask of all of them
# has tests of its own, beside this list.
SINGLE = [*ORDINAL, phi]
RESULTS = [*SINGLE, type2_roc, type2_zroc, mean_confidence]
# (correct, rating) of one observer, with at least one right and one wrong trial.
TABLES = arrays(np.int64, (2, 4), elements=st.integers(0, 12)).filter(lambda x: x.sum(-1).all())
MANY = arrays(np.int64, (12, 2, 4), elements=st.integers(0, 6))
# Higham & Higham (2018), Table 1: the ten bins have all the margins that the text prints, of which
# few tables are possible. Wrong, then right.
TEN_BINS = np.array([[7, 5, 2, 2, 1, 1, 1, 1, 0, 0], [0, 0, 1, 2, 2, 4, 0, 6, 4, 11]])
CHANCES = [0.5, 0.6, 0.8, 1.0]


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


def cells_of(result, code):
    return [notice.cells for notice in notices(result) if notice.code == code]


def binormal(delta, sigma, criteria, trials=(50.0, 50.0)):
    """Expected table where wrong trials are N(0, 1) and right ones N(δ, σ)."""
    edges = np.concatenate([[-np.inf], criteria, [np.inf]])
    return type2(np.stack([trials[0] * areas(edges), trials[1] * areas((edges - delta) / sigma)]))


def areas(edges):
    """Areas of N(0, 1) between edges, each on the side of 0 where it keeps its digits."""
    return np.where(edges[:-1] > 0, -np.diff(norm.sf(edges)), np.diff(norm.cdf(edges)))


def true_gamma(delta, sigma):
    return 2 * norm.cdf(delta / np.hypot(1, sigma)) - 1


def gamma_of_line(false_alarms, hits):
    """Gamma of the straight line through the points of a z-ROC."""
    slope, intercept = np.polyfit(norm.ppf(false_alarms), norm.ppf(hits), 1)
    return pytest.approx(2 * norm.cdf(intercept / np.sqrt(1 + slope**2)) - 1, abs=1e-12)


# --- print ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bins", "concordant", "discordant", "tied", "printed"),
    [(10, 554, 28, 18, 0.904), (5, 540, 24, 36, 0.915), (2, 425, 15, 160, 0.932)],
)
def test_gamma_of_pairs_grows_as_bins_get_fewer_as_printed(
    bins, concordant, discordant, tied, printed
):
    values = TEN_BINS.reshape(2, bins, -1).sum(axis=-1)
    assert counted_pairs(values) == (concordant, discordant, tied)
    table = type2(values)
    assert g_pairs(table).item() == pytest.approx(printed, abs=5e-4)
    assert g_pairs(table).item() == (concordant - discordant) / (concordant + discordant)
    assert v_statistic(table).item() == concordant / (concordant + discordant)
    assert auroc2(table).item() == (concordant + tied / 2) / 600
    assert gamma(table).item() == (concordant - discordant) / 600


def test_the_printed_curve_is_drawn():
    at = type2_roc(type2(TEN_BINS)).set_index(point="at_least")
    # 90+, 30+, 20+, 10+ and 0+ are the bins from 10, 4, 3, 2 and 1 upward.
    rates = at.sel(point=[10, 4, 3, 2, 1])
    assert rates["hit_rate"].round(2).values.tolist() == [0.37, 0.97, 1, 1, 1]
    assert rates["false_alarm_rate"].values.tolist() == [0, 0.3, 0.4, 0.65, 1]
    assert auroc2(type2(TEN_BINS)).item() == pytest.approx(0.94, abs=5e-3)


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


# --- other implementations ------------------------------------------------------------------


@given(TABLES)
def test_areas_and_points_are_those_of_scikit_learn(values):
    is_right, rating = trials_of(values)
    false_alarm_rate, hit_rate, lowest = roc_curve(is_right, rating, drop_intermediate=False)
    whole = type2_roc(type2(values))
    curve = whole.set_index(point="at_least").sel(point=[5, *map(int, lowest[1:])])
    np.testing.assert_allclose(curve["false_alarm_rate"], false_alarm_rate, rtol=1e-14)
    np.testing.assert_allclose(curve["hit_rate"], hit_rate, rtol=1e-14)
    area = auroc2(type2(values)).item()
    assert area == pytest.approx(roc_auc_score(is_right, rating), abs=1e-14)
    under = np.trapezoid(whole["hit_rate"], whole["false_alarm_rate"])
    assert area == pytest.approx(under, abs=1e-14)


@given(TABLES)
def test_pairs_are_counted_one_by_one_and_scipy_agrees(values):
    concordant, discordant, tied = counted_pairs(values)
    table, is_used = type2(values), values.sum(axis=0) > 0
    trapezoid, pairs, v = gamma(table), g_pairs(table), v_statistic(table)
    assert trapezoid.item() == (concordant - discordant) / (concordant + discordant + tied)
    if is_used.sum() > 1:
        somers = somersd(values[:, is_used]).statistic
        assert trapezoid.item() == pytest.approx(somers, abs=1e-14)
        untied = (values.sum() ** 2 - (values.sum(axis=0) ** 2).sum()) / 2
        share = np.sqrt(values[0].sum() * values[1].sum() / untied)
        tau = kendalltau(*trials_of(values)).statistic
        assert trapezoid.item() * share == pytest.approx(tau, abs=1e-13)
    if concordant + discordant == 0:
        assert np.isnan([pairs, v]).all()
        assert codes(pairs)[-1] == codes(v)[-1] == "all-one-rating"
    else:
        assert pairs.item() == (concordant - discordant) / (concordant + discordant)
        assert v.item() == pytest.approx((1 + pairs.item()) / 2, abs=1e-15)


@given(TABLES)
def test_phi_is_pearsons_r_and_mean_confidence_the_mean_over_the_trials(values):
    is_right, rating = trials_of(values)
    found, means = phi(type2(values)), mean_confidence(type2(values))
    if np.unique(rating).size == 1:
        assert np.isnan(found)
        assert codes(found)[-1] == "all-one-rating"
    else:
        assert found.item() == pytest.approx(pearsonr(is_right, rating).statistic, abs=1e-13)
    of_right, of_wrong = rating[is_right == 1].mean(), rating[is_right == 0].mean()
    assert means["confidence_right"].item() == pytest.approx(of_right, rel=1e-14)
    assert means["confidence_wrong"].item() == pytest.approx(of_wrong, rel=1e-14)
    assert means["confidence_difference"].item() == pytest.approx(of_right - of_wrong, abs=1e-14)


# --- the Gaussian estimator -----------------------------------------------------------------


@settings(max_examples=50)
@given(st.floats(-2, 3), st.floats(0.4, 2.5), st.integers(3, 9))
def test_gamma_of_two_gaussians_is_found_wherever_the_criteria_are(delta, sigma, K):
    table = binormal(delta, sigma, np.linspace(-1.5, 2.0, K - 1), trials=(30.0, 170.0))
    # Rates are sums of positive areas, which keep their digits in both tails.
    assert g_gaussian(table).item() == pytest.approx(true_gamma(delta, sigma), abs=1e-12)


def test_two_points_lie_on_the_line_which_may_be_level_or_upright():
    values = [[30, 12, 8], [20, 30, 100]]
    line = gamma_of_line([20 / 50, 8 / 50], [130 / 150, 100 / 150])
    assert g_gaussian(type2(values)).item() == line
    # Of rates .6 whatever the other rate: the area is .6 under a level line, .4 beside an upright.
    level, upright = [[20, 30, 50], [40, 0, 60]], [[40, 0, 60], [20, 30, 50]]
    assert g_gaussian(type2(level)).item() == pytest.approx(0.2, abs=1e-12)
    assert g_gaussian(type2(upright)).item() == pytest.approx(-0.2, abs=1e-12)


@pytest.mark.parametrize(("delta", "sigma"), [(0.0, 1.0), (1.2, 0.7), (1.4, 1.6), (-0.5, 1.25)])
def test_slope_and_d_a_of_two_gaussians_are_found(delta, sigma):
    """Higham & Higham (2018), Eq. 10: A_z = Φ(intercept/√(1 + slope²)); d_a = √2 Φ⁻¹(A_z)."""
    found = type2_zroc(binormal(delta, sigma, [-0.8, -0.1, 0.6, 1.5]))
    area = norm.cdf((delta / sigma) / np.hypot(1, 1 / sigma))
    assert found["type2_slope"].item() == pytest.approx(1 / sigma, abs=1e-12)
    assert found["type2_d_a"].item() == pytest.approx(np.sqrt(2) * norm.ppf(area), abs=1e-12)


def test_an_upright_zroc_has_no_slope_and_a_notice_and_a_level_one_has_slope_0():
    upright, level = ([5, 0, 5], [2, 3, 5]), ([2, 3, 5], [5, 0, 5])
    found = type2_zroc(type2([upright, level, ([10, 0, 0], [4, 3, 3])]))
    np.testing.assert_array_equal(found["type2_slope"], [np.nan, 0, np.nan])
    np.testing.assert_array_equal(np.isnan(found["type2_d_a"]), [False, False, True])
    assert cells_of(found, "undefined-zroc") == [("0", "2")]


def test_points_without_a_z_are_left_out_and_said_so():
    whole, cut = [[30, 12, 8, 4], [20, 30, 60, 90]], [[30, 12, 12, 0], [20, 30, 60, 90]]
    result = g_gaussian(type2([whole, cut], cell=["whole", "cut"]))
    (said,) = notices(result)
    assert (said.code, said.cells, said.severity) == ("zroc-points-left-out", ("cut",), "info")
    assert np.isfinite(result).all()
    # What remains are the points of the lower two criteria.
    line = gamma_of_line([24 / 54, 12 / 54], [180 / 200, 150 / 200])
    assert result.sel(cell="cut").item() == line


@pytest.mark.parametrize(
    "values", [[[60, 60], [60, 60]], [[60, 60, 0], [0, 60, 60]], [[60, 0, 60], [60, 0, 60]]]
)
def test_fewer_than_two_points_make_no_line(values):
    result = g_gaussian(type2(values))
    assert np.isnan(result)
    assert codes(result)[-1] == "undefined-zroc"
    assert "zroc-points-left-out" not in codes(result)


# --- symmetries -----------------------------------------------------------------------------


@pytest.mark.integration
@pytest.mark.parametrize("measure", SINGLE)
@settings(max_examples=25)
@given(values=MANY, place=st.integers(0, 4))
def test_order_turns_the_sign_and_only_shares_matter(measure, values, place):
    middle, straight = 0.5 if measure in (auroc2, v_statistic) else 0.0, measure(type2(values))
    same = [7 * values]
    if measure in ORDINAL:
        # Nor does the share of right trials, nor a rating that nobody used.
        same += [values * np.array([[1], [5]]), np.insert(values, place, 0, axis=-1)]
    for other in same:
        np.testing.assert_allclose(measure(type2(other)), straight, atol=1e-12)
    for turned in (values[..., ::-1], values[:, ::-1]):
        np.testing.assert_allclose(measure(type2(turned)) - middle, middle - straight, atol=1e-12)


@pytest.mark.parametrize("measure", SINGLE)
def test_chance_certainty_and_large_counts(measure):
    chance = 0.5 if measure in (auroc2, v_statistic) else 0.0
    assert measure(type2([[10, 20, 30], [40, 80, 120]])).item() == pytest.approx(chance, abs=1e-12)
    if measure not in (g_gaussian, phi):
        assert measure(type2([[60, 40, 0, 0], [0, 0, 50, 50]])).item() == 1
    values = np.array([[3, 2, 1], [1, 2, 3]])
    one, many = measure(type2(values)), measure(type2(values * 10**9))
    assert many.item() == pytest.approx(one.item(), rel=1e-14)


def test_phi_goes_by_the_numbers_of_the_ratings():
    values = np.array([[30, 12, 8], [20, 30, 100]])
    assert phi(type2(values, rating=[1, 2, 3])).item() == phi(type2(values)).item()
    of_two = type2(values[:, [0, 2]], rating=[1, 3])
    middle_emptied = phi(type2(values * np.array([1, 0, 1])))
    assert phi(of_two).item() == pytest.approx(middle_emptied.item(), abs=1e-14)
    right = mean_confidence(of_two)["confidence_right"]
    assert right.item() == pytest.approx((20 + 300) / 120)


# --- responses, undefined values, labels ----------------------------------------------------


def test_the_area_of_a_response_is_that_of_its_trials_alone():
    counts = from_nr([36, 24, 17, 20, 10, 12, 9, 2], [1, 4, 10, 11, 19, 18, 28, 39])
    found = auroc2(counts, response_conditional=True)
    assert found.dims == ("cell", "response")
    for response, wrong in (("S1", "S2"), ("S2", "S1")):
        alone = counts.sel(cell="all", response=response)
        values = np.stack([alone.sel(stimulus=wrong), alone.sel(stimulus=response)])
        expected = roc_auc_score(*trials_of(values))
        assert found.sel(response=response).item() == pytest.approx(expected, abs=1e-14)
    curves = type2_roc(type2_counts(counts, response_conditional=True))
    assert curves["hit_rate"].dims == ("cell", "response", "point")
    one_sided = from_nr([40, 30, 0, 0], [10, 20, 30, 40])
    found = auroc2(one_sided, response_conditional=True)
    assert np.isfinite(auroc2(one_sided))
    assert np.isnan(found.values).tolist() == [[False, True]]
    assert "no-errors" in codes(found)


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
    said = [(notice.code, notice.cells) for notice in notices(result) if notice.code in expected]
    assert said == [(code, ("lacking",)) for code in expected]
    assert np.isnan(result.values).tolist() == [True, False]


def test_rates_and_means_of_the_trials_there_are_stay_defined():
    table = type2([[0, 0], [60, 40]])
    curve, means = type2_roc(table), mean_confidence(table)
    assert curve["false_alarm_rate"].isnull().all()
    assert curve["hit_rate"].values.tolist() == [0, 0.4, 1]
    assert codes(curve) == codes(means) == ["no-errors"]
    assert means["confidence_right"].item() == 1.4
    assert np.isnan([means["confidence_wrong"], means["confidence_difference"]]).all()


def test_one_rating_separates_nothing():
    table = type2([[60], [40]])
    assert (auroc2(table).item(), gamma(table).item()) == (0.5, 0)
    for measure in (g_pairs, g_gaussian, v_statistic, phi):
        assert np.isnan(measure(table))
        assert codes(measure(table)) == ["all-one-rating"]
    assert type2_roc(table)["hit_rate"].values.tolist() == [0, 1]


@pytest.mark.parametrize("measure", RESULTS)
def test_tables_of_either_kind_and_cells_alone_give_the_same(measure):
    counts = from_nr([[36, 24, 17, 20], [9, 9, 9, 9]], [[1, 4, 10, 11], [9, 2, 8, 7]], who=[1, 2])
    before = counts.copy(deep=True)
    by_stimulus, by_correctness = measure(counts), measure(type2_counts(counts))
    xr.testing.assert_identical(by_stimulus, by_correctness)
    xr.testing.assert_identical(counts, before)
    xr.testing.assert_identical(by_stimulus["who"], counts["who"])
    assert notices(by_stimulus)[: len(notices(counts))] == notices(counts) != []
    tables = type2(np.random.default_rng(3).integers(0, 40, (3, 5, 2, 4)))
    together = measure(tables.transpose("rating", "draw", "correct", "cell"))
    for draw, cell in ((0, 0), (2, 4), (1, 3)):
        place = {"draw": draw, "cell": cell}
        xr.testing.assert_equal(measure(tables.isel(place)), together.isel(place))


# --- overconfidence -------------------------------------------------------------------------


def test_overconfidence_of_stacked_tables_is_that_of_each():
    tables = type2(np.random.default_rng(3).integers(1, 40, (3, 5, 2, 4)))
    together = overconfidence(tables, probabilities=CHANCES)
    alone = overconfidence(tables.isel(draw=1, cell=2), probabilities=CHANCES)
    xr.testing.assert_equal(alone, together.isel(draw=1, cell=2))


def test_overconfidence_is_that_of_trials_with_stated_probabilities():
    coords = {"model": ["a", "b"]}
    trials = hmetad.simulate_trials([1.2, 0.5], trials=400, coords=coords, seed=2)
    found = overconfidence(hmetad.count_trials(trials, by="model"), probabilities=CHANCES)
    right = (trials["stimulus"] == trials["response"]).to_numpy()
    sure = np.array(CHANCES)[trials["confidence"].to_numpy() - 1]
    stated = calibration(trials.assign(correct=right, sure=sure), by="model", confidence="sure")
    for name in ("mean_confidence", "accuracy", "overconfidence"):
        np.testing.assert_allclose(found[name], stated[name], rtol=1e-12)


# --- meta-Δ ---------------------------------------------------------------------------------

# Distances between neighbours, outward from κ; the criteria lie at their sums.
GAPS = np.array([[0.3, 0.4, 0.5], [0.2, 0.6, 0.1]])
DISTANCES = (2.2 / 3, 1.9 / 3)


@pytest.mark.parametrize("c", [0.0, 0.3])
@pytest.mark.parametrize("m_ratio", [0.7, 1.0])
def test_known_criteria_come_back_whatever_c_and_m(c, m_ratio):
    found = fit_mle(simulate_counts(1.5, c, m_ratio, gaps=GAPS, trials=1_000_000, seed=1))
    # Errors of estimates of a million trials: some .005.
    both = meta_delta(found, by_response=True).sel(cell="all")
    np.testing.assert_allclose(both, DISTANCES, atol=0.02)
    assert both.dims == ("response",)
    assert meta_delta(found).item() == pytest.approx(np.mean(DISTANCES), abs=0.015)


def test_meta_delta_of_draws_keeps_their_dims_and_is_compared():
    coords, gaps = {"group": ["sure", "unsure"]}, np.stack([GAPS, GAPS + 0.3])
    counts = simulate_counts([1.5] * 2, gaps=gaps, trials=2000, seed=1, coords=coords)
    draws = fit_mle(counts).expand_dims(chain=2, draw=3)
    found = meta_delta(xr.DataTree.from_dict({"posterior": draws}))
    assert found.dims == ("chain", "draw", "cell")
    # 0.3 more at the first criterion, 0.6 at the second, 0.9 at the third.
    difference = contrast(found, over="group").mean(["chain", "draw"])
    assert abs(difference).item() == pytest.approx(0.6, abs=0.15)


# --- whether confidence follows accuracy: one rule for every estimate of M --------------------

FAINT = [26, 12, 22, 4, 5, 5], [2, 6, 6, 14, 16, 30]
BACKWARD = [10, 20, 60, 5, 5, 40], [40, 5, 5, 60, 20, 10]
CLEAR = [60, 30, 20, 20, 8, 2], [2, 8, 20, 20, 30, 60]


def test_ratings_of_one_response_are_tested_as_scipy_tests_them():
    right, wrong = np.array([50, 20, 8, 2]), np.array([17, 2, 1, 0])
    counts = from_nr([*right[::-1], 0, 0, 0, 0], [*wrong[::-1], 9, 5, 3, 1])
    ratings = (np.repeat([1, 2, 3, 4], numbers) for numbers in (right, wrong))
    test = mannwhitneyu(*ratings, alternative="greater", method="asymptotic", use_continuity=False)
    assert float(confidence_z(counts)[0]) == pytest.approx(norm.isf(test.pvalue))


def test_both_responses_are_tested_as_if_their_ratings_were_dealt_at_random():
    right, wrong = [[60, 24, 14, 6], [50, 20, 12, 9]], [[22, 3, 1, 0], [18, 6, 1, 1]]
    counts = from_nr([*right[0][::-1], *wrong[1]], [*wrong[0][::-1], *right[1]])
    observed, dealt, rng = 0.0, 0.0, np.random.default_rng(1)
    for table in np.stack([right, wrong], axis=1):
        ranks = np.unique(rankdata(np.repeat([1, 2, 3, 4], table.sum(0))))
        tables = random_table(table.sum(1), table.sum(0)).rvs(100_000, random_state=rng)
        observed, dealt = observed + table[0] @ ranks, dealt + tables[:, 0] @ ranks
    # Of 100,000 draws the mean is off by .003 standard deviations, and those by 0.2 %.
    expected = (observed - dealt.mean()) / dealt.std()
    assert float(confidence_z(counts)[0]) == pytest.approx(expected, abs=0.02)


def test_fits_say_where_m_is_negative_and_nothing_where_it_is_not_clearly_above_0():
    names = ["faint", "backward", "clear"]
    counts = from_nr(*zip(FAINT, BACKWARD, CLEAR, strict=True), model=names)
    assert 0 < float(confidence_z(counts)[0]) < 1.96 < float(confidence_z(counts)[2])
    fitted = fit_mle(counts)
    assert cells_of(fitted, "meta-d-sign") == []
    assert cells_of(fitted, "negative-meta-d") == [("backward",)]
    # All of a response have one rating; all of it are right.
    for sides in (([30, 0, 0, 10], [12, 0, 0, 28]), ([30, 10, 0, 0], [0, 0, 12, 28])):
        assert np.isnan(confidence_z(from_nr(*sides))[0])


@pytest.mark.parametrize(
    ("backward", "clear", "is_reversed"),
    [(3, 0, True), (2, 0, False), (2, 1, True), (2, 2, False), (0, 3, False)],
)
def test_a_scale_is_reversed_where_confidence_is_clearly_lower_for_right_answers_in_most(
    backward, clear, is_reversed
):
    sides = [BACKWARD] * backward + [CLEAR] * clear
    counts = from_nr(*zip(*sides, strict=True), model=[*range(len(sides))])
    said = [(one.code, one.cells) for one in notices(fit_mle(counts))]
    assert (said[:1] == [("reversed-scale", ())]) == is_reversed
    measured = [(one.code, one.cells) for one in notices(hmetad.measure(counts))]
    assert (measured[:1] == [("reversed-scale", ())]) == is_reversed
    exchanged = counts.copy(data=counts.values[:, ::-1])
    assert "reversed-scale" not in {one.code for one in notices(fit_mle(exchanged))}


def test_many_cells_that_are_hardly_lower_show_a_reversed_scale_and_unclear_ones_do_not():
    coords = {"subject": [*range(40)]}
    for m_ratio, is_reversed in ((-0.6, True), (0.0, False), (0.6, False)):
        counts = simulate_counts(1.0, m_ratio=[m_ratio] * 40, trials=50, coords=coords, seed=1)
        assert bool(cells_of(fit_mle(counts), "reversed-scale")) == is_reversed


def test_correctness_as_the_stimulus_under_another_name_is_at_chance():
    rng = np.random.default_rng(1)
    stimulus, right = rng.integers(0, 2, 2000), rng.random(2000) < 0.75
    response = np.where(right, stimulus, 1 - stimulus)
    trials = pd.DataFrame({"x": right * 1, "y": response, "subject": [*range(10)] * 200})
    trials["sure"] = rng.integers(1, 5, 2000)
    counts = hmetad.count_trials(
        trials, by="subject", stimulus="x", response="y", confidence="sure"
    )
    said = [one for one in notices(fit_mle(counts)) if one.code == "at-chance"]
    assert ["correctness in either" in one.next_step for one in said] == [True]
    assert notices(hmetad.measure(counts))[0].code == "at-chance"
    # The correction makes d′ of a handful of trials small.
    tiny = simulate_counts(0.8, trials=[[1, 1]] * 60, coords={"trial": range(60)}, seed=1)
    assert "at-chance" not in {one.code for one in notices(hmetad.measure(tiny))}
    usual = simulate_counts([0.6] * 4, trials=200, coords={"subject": range(4)}, seed=1)
    assert "at-chance" not in {one.code for one in notices(hmetad.measure(usual))}


def test_a_person_with_many_trials_decides_whether_a_table_is_at_chance():
    people, trials = {"subject": range(4)}, [4000, 20, 20, 20]
    for dprime, is_named in (([0.0, 2.0, 2.0, 2.0], True), ([1.0, 0.0, -0.5, -0.5], False)):
        counts = simulate_counts(dprime, trials=trials, coords=people, seed=1)
        codes = {one.code for one in notices(hmetad.measure(counts)) if not one.cells}
        assert ("at-chance" in codes) == is_named


CONDITIONS = {
    "subject": [*"aabbccddeeff", *"gghhiijjkkll"],
    "group": ["x"] * 12 + ["y"] * 12,
    "level": ["e", "h"] * 12,
}


def twelve_people(is_concerned, dprime=1.5):
    """Twelve people of two groups at two levels, and the same with other counts in some cells."""
    numbers = np.where(is_concerned, dprime, 1.5)
    counts = simulate_counts(numbers, m_ratio=[0.9] * 24, trials=200, coords=CONDITIONS, seed=1)
    turned = np.where(is_concerned[:, None, None, None], counts.values[..., ::-1], counts.values)
    return counts if dprime != 1.5 else counts.copy(data=turned)


@pytest.mark.parametrize("code", ["reversed-scale", "at-chance"])
@pytest.mark.parametrize(
    ("levels", "where"),
    [
        ({"group": "y"}, " (group y)"),
        ({"level": "h"}, " (level h)"),
        ({"group": "x", "level": "h"}, " (group x, level h)"),
        ({"subject": "a"}, None),
        ({"subject": "none"}, None),
    ],
)
def test_each_level_of_a_column_is_asked_whether_its_scale_and_its_responses_are_sound(
    code, levels, where
):
    is_concerned = np.all([np.array(CONDITIONS[x]) == own for x, own in levels.items()], axis=0)
    counts = twelve_people(is_concerned, 1.5 if code == "reversed-scale" else 0.02)
    for found in (fit_mle(counts), hmetad.measure(counts)):
        said = [one for one in notices(found) if one.code == code]
        assert len(said) == (where is not None)
        for one in said:
            assert where in one.message
            assert one.cells == tuple(counts["cell"].values[is_concerned])
            assert one.severity == "error"


def models_with(turned, trials=800, **given):
    """A cell for each of four models, some of which rate backwards."""
    known = {"m_ratio": 0.9} | given
    counts = simulate_counts([1.5] * 4, trials=trials, coords={"model": [*"ABCD"]}, seed=2, **known)
    for place in turned:
        counts.values[place] = counts.values[place, ..., ::-1]
    return counts


def withheld(values, **named):
    """Whether a reversed scale withholds the verdict on each pair of models."""
    pairs = hmetad.contrast(values, over="model", **named)
    table = hmetad.decide(pairs, rope=(-0.02, 0.02)).table()
    return table.set_index("label")["withheld"].str.contains("reversed-scale").to_dict()


def test_a_model_of_one_cell_that_rates_backwards_has_no_verdict_in_draws_and_estimates():
    """And what rests on responses alone has one."""
    counts = models_with([1])
    draws = hmetad.resample(counts, partial(hmetad.measure, errors=False), n=50, seed=1)
    with_b = {f"{a} − {b}": "B" in (a, b) for a, b in combinations("ABCD", 2)}
    for source in (draws, draws["auroc2"]):
        assert withheld(source, var="auroc2", independent=True) == with_b
    assert not any(withheld(draws, var="dprime", independent=True).values())
    fitted = fit_mle(counts)
    for name, number in (("m_ratio", 1), ("meta_d", 1), ("dprime", 0)):
        made = hmetad.decide_normal(fitted[name], 0.1, rope=(-0.1, 0.1)).table()
        assert made["withheld"].str.contains("reversed-scale").tolist() == [False, number, 0, 0]


def test_people_of_groups_that_are_resampled_are_asked_in_their_groups():
    counts = twelve_people(np.array(CONDITIONS["group"]) == "y")
    draws = hmetad.resample(counts, hmetad.measures.auroc2, n=20, cluster="subject", seed=1)
    pairs = hmetad.contrast(draws, var="auroc2", over="group", within="level", independent=True)
    table = hmetad.decide(pairs, rope=(-0.02, 0.02)).table()
    assert table["withheld"].str.contains("reversed-scale").all()
    assert table["verdict"].eq("unreliable").all()


@pytest.mark.integration
def test_of_400_tables_without_a_reversed_scale_fewer_than_one_has_a_model_said_to_be_reversed():
    """Confidence says nothing: nearer to a reversed scale no honest table is."""
    tables = 2000
    counts = simulate_counts([1.5] * 6 * tables, m_ratio=0.0, trials=300, seed=1)
    values = counts.values.reshape(tables, 6, 2, 2, 4)
    like = simulate_counts([1.5] * 6, coords={"model": [*"ABCDEF"]}, trials=300, seed=1)
    alarms = sum(bool(reversed_scale(like.copy(data=x), "reversed-scale")) for x in values)
    assert alarms <= tables / 400


def test_a_level_is_asked_where_it_is_of_no_person_whom_a_model_pools():
    """Of five cells of one person it is told in a table of people, and not of a population."""
    coords = {"subject": [*"aaaaabbbbbccccc"], "task": [*"vwxyz"] * 3}
    counts = simulate_counts(1.5, m_ratio=[0.9] * 15, trials=400, coords=coords, seed=1)
    counts.values[:5] = counts.values[:5, ..., ::-1]
    assert reversed_scale(counts, "reversed-scale")[0].cells == tuple(counts["cell"].values[:5])
    assert reversed_scale(counts, "reversed-scale", ["subject"]) == []


def test_of_one_response_without_errors_it_is_not_said_that_no_trial_was_wrong():
    counts = from_nr([30, 10, 0, 0], [4, 6, 12, 28], subject=["a"])
    said = [one for one in notices(hmetad.measure(counts)) if one.code == "no-errors"]
    assert [one.message[:39] for one in said] == ["There are no errors with response S2: h"]
    both = from_nr([30, 10, 0, 0], [0, 0, 12, 28], subject=["a"])
    said = [one for one in notices(hmetad.measure(both)) if one.code == "no-errors"]
    assert [one.message[:20] for one in said] == ["There are no errors:"]


# --- refused --------------------------------------------------------------------------------

NO_CHANCES = [[0.5, 1], [0.5, 0.6, 0.8, 1.2], [0.5, 0.8, 0.6, 1], 0.5]
TABLE = type2([[30, 12, 8, 5], [20, 30, 40, 60]])
COUNTS = from_nr([30, 12, 8, 5], [5, 10, 20, 40])


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        *[(f, {"counts": TABLE[0, :3]}, "counts: .*got dims") for f in RESULTS],
        (gamma, {"estimator": "goodman"}, r"estimator: .*'trapezoid', 'pairs' or 'gaussian'.*got "),
        (auroc2, {"response_conditional": True}, "response_conditional"),
        *[(overconfidence, {"probabilities": x}, "probabilities") for x in NO_CHANCES],
        (meta_delta, {"counts": COUNTS}, "estimates"),
        (meta_delta, {"counts": hmetad.sdt(COUNTS)}, "without meta_c, criteria"),
        (meta_delta, {"counts": fit_mle(COUNTS).drop_vars("meta_c")}, "without meta_c"),
    ],
)
def test_what_cannot_be_measured_is_refused(function, options, message):
    table = options.get("counts", TABLE)
    others = {name: value for name, value in options.items() if name != "counts"}
    with pytest.raises(InputError, match=message):
        function(table, **others)
