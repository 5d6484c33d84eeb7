"""A plan says what studies of that size would find: its referees are theory and brute force."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from hmetad import InputError, fit_mle, from_nr
from hmetad.likelihood.kernels.meta_d import expected_information
from hmetad.simulate import plan_trials, size_needed
from hmetad.simulate.plan import VERDICTS, share_and_error

ROPE = (-0.1, 0.1)


def theoretical_se(trials, d, m_ratio, levels=4, gap=0.5):
    """Standard error of log M at c = 0 by the expected information.

    There d′ and meta-d′ are orthogonal to c and, by symmetry, d′ to meta-d′ and the gaps.
    """
    m = d * m_ratio
    inner = 2 * (levels - 1)
    at = np.array([[d, 0, m, m, 0, 0, *[gap] * inner, 1]])
    full = expected_information(np.full((1, 2), trials / 2), at)[0]
    # d; one m for both responses; the gaps. κ is given, as in the fit.
    to_full = np.zeros((len(full), 2 + inner))
    to_full[0, 0] = to_full[2, 1] = to_full[3, 1] = 1
    to_full[6 : 6 + inner, 2:] = np.eye(inner)
    covariance = np.linalg.inv(to_full.T @ full @ to_full)
    return np.sqrt(covariance[0, 0] / d**2 + covariance[1, 1] / m**2)


def test_half_widths_are_those_of_the_fisher_information_in_large_samples():
    plan = plan_trials(trials=[50_000], m_ratio=(1.0, 0.6), rope=ROPE, n=2000, seed=1)
    z = stats.norm.isf(0.025)
    expected = np.array([theoretical_se(50_000, 1.5, m) for m in (1.0, 0.6)])
    # An estimated error moves with M̂, by 2 % in a study of this size; the median of 2000 by .06 %.
    found, error = (plan[f"log_m_half_width{end}"].squeeze().to_numpy() for end in ("", "_se"))
    assert (abs(found - z * expected) < 4 * error).all()
    assert (error < 0.001 * found).all()
    both, error = (plan[f"half_width{end}"].item() for end in ("", "_se"))
    assert abs(both - z * np.hypot(*expected)) < 4 * error


def answers_of_ideal_observers(rng, d, options, trials, studies, gap=0.5):
    """Counts of right and wrong by rating, from evidence for every option; M is 1.

    Confidence is the lead of the chosen option over the second, in the unit of two options.
    """
    tables = np.zeros((studies, 2, 4), int)
    for study in range(studies):
        evidence = rng.normal(size=(trials, options))
        evidence[:, 0] += d / np.sqrt(2)
        second, first = np.sort(evidence, axis=1)[:, -2:].T
        rating = np.minimum((first - second) / (np.sqrt(2) * gap), 3).astype(int)
        np.add.at(tables[study], ((evidence[:, 0] == first).astype(int), rating), 1)
    return tables


@pytest.mark.integration
@pytest.mark.parametrize(("options", "trials"), [(4, 2000), (3, 500)])
def test_of_more_options_intervals_are_as_wide_as_estimates_of_observers_spread(options, trials):
    studies = 300
    plan = plan_trials(trials=[trials], m_ratio=1.0, dprime=2.0, options=options, n=studies, seed=1)
    drawn = answers_of_ideal_observers(np.random.default_rng(2), 2.0, options, trials, studies)
    coords = {"cell": [str(i) for i in range(studies)], "options": ("cell", [options] * studies)}
    counts = xr.DataArray(drawn, coords, ("cell", "correct", "rating"))
    log_m = fit_mle(counts)["log_m"].to_numpy()
    expected = stats.norm.isf(0.025) * log_m.std(ddof=1)
    found = plan["log_m_half_width"].item()
    # The error of a standard deviation of 300 studies is 4 %.
    assert found == pytest.approx(expected, rel=4 * 0.041)
    assert abs(log_m.mean()) < 4 * log_m.std() / np.sqrt(studies) + 0.02
    assert plan["undefined"].item() == 0


def areas(m, edges):
    """Shares of the ratings, given stimulus and response, with SciPy alone."""
    cdf = stats.norm.cdf(edges, loc=m)
    return np.diff(cdf) / (cdf[-1] - cdf[0])


def brute_counts(rng, d, m_ratio, trials, levels=4):
    """One study's nR_S1 and nR_S2 at c = 0, drawn response by response."""
    outward = np.append(0.5 * np.arange(levels), np.inf)
    rows = []
    for sign in (-1, 1):
        right = rng.binomial(trials // 2, stats.norm.cdf(d / 2))
        n = {sign: right, -sign: trials // 2 - right}
        low = rng.multinomial(n[-1], areas(sign * m_ratio * d / 2, -outward[::-1]))
        high = rng.multinomial(n[1], areas(sign * m_ratio * d / 2, outward))
        rows.append([*low, *high])
    return rows


def word(estimates, errors):
    """Verdict on a difference, in plain arithmetic."""
    half = 1.959964 * np.hypot(*errors)
    middle = estimates[0] - estimates[1]
    if not np.isfinite(half + middle):
        return "unreliable"
    if middle - half > ROPE[1] or middle + half < ROPE[0]:
        return "different"
    return "negligible" if ROPE[0] <= middle - half and middle + half <= ROPE[1] else "inconclusive"


def test_probabilities_agree_with_brute_force():
    rng, n = np.random.default_rng(7), 2000
    studies = [brute_counts(rng, 1.5, m, 400) for _ in range(n) for m in (1.6, 0.7)]
    fitted = fit_mle(from_nr(*zip(*studies, strict=True)))
    pairs = (fitted[name].to_numpy().reshape(n, 2) for name in ("log_m", "log_m_se"))
    words = [word(*pair) for pair in zip(*pairs, strict=True)]
    brute = np.array([words.count(v) / n for v in VERDICTS])
    plan = plan_trials(trials=[400], m_ratio=(1.6, 0.7), rope=ROPE, n=4000, seed=2)
    found = plan["probability"].sel(trials=400).to_numpy()
    assert 0.2 < brute[0] < 0.95
    error = np.sqrt(brute * (1 - brute) / n) + plan["probability_se"].sel(trials=400).to_numpy()
    assert (abs(found - brute) < 4 * error).all()


def test_probability_of_different_is_that_of_the_normal_approximation():
    trials, ratios = 6400, (1.0, 0.75)
    plan = plan_trials(trials=[trials], m_ratio=ratios, rope=ROPE, n=4000, seed=3)
    se = np.hypot(*(theoretical_se(trials, 1.5, m) for m in ratios))
    effect = np.log(ratios[0] / ratios[1])
    z = stats.norm.isf(0.025)
    expected = stats.norm.sf((ROPE[1] + z * se - effect) / se)
    found = plan["probability"].sel(verdict="different").item()
    assert found == pytest.approx(expected, abs=4 * plan["probability_se"].max().item() + 0.01)
    assert plan.attrs["truth"] == "different"


def test_mean_of_subjects_has_the_interval_of_the_t_test():
    sd, rho, subjects = 0.4, 0.5, 12
    plan = plan_trials(
        trials=[10_000], m_ratio=(1.0, 1.0), subjects=subjects, between_sd=sd, correlation=rho,
        rope=(-0.3, 0.3), n=500, seed=4,
    )  # fmt: skip
    own = 2 * theoretical_se(10_000, 1.5, 1.0) ** 2
    spread = np.sqrt((2 * sd**2 * (1 - rho) + own) / subjects)
    # The SD of twelve values has the median √(χ²₁₁ median / 11).
    median = spread * np.sqrt(stats.chi2.median(subjects - 1) / (subjects - 1))
    expected = stats.t.isf(0.025, subjects - 1) * median
    found, error = (plan[name].item() for name in ("half_width", "half_width_se"))
    assert found == pytest.approx(expected, abs=4 * error + 0.01 * expected)
    assert plan.attrs["truth"] == "negligible"


def test_cells_without_log_m_are_counted_and_their_studies_unreliable():
    plan = plan_trials(trials=[40], dprime=1.0, m_ratio=(0.3, 0.3), rope=ROPE, n=1000, seed=6)
    undefined = plan["undefined"].sel(trials=40)
    unreliable = plan["probability"].sel(trials=40, verdict="unreliable").item()
    assert (undefined > 0.1).all()
    # Both cells are needed, and they are independent.
    expected = 1 - np.prod(1 - undefined.to_numpy())
    assert unreliable == pytest.approx(expected, abs=0.04)
    np.testing.assert_allclose(plan["probability"].sum("verdict"), 1)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("n", [10, 1000])
def test_errors_of_proportions_are_those_of_wilson_s_interval(share, n):
    low, high = stats.binomtest(round(share * n), n).proportion_ci(method="wilson")
    error = share_and_error(share, n)[1]
    assert error == pytest.approx((high - low) / 2 / stats.norm.isf(0.025))
    assert error > 0


def test_intervals_cover_the_true_difference_as_often_as_they_say():
    plan = plan_trials(trials=[3200], m_ratio=(1.0, 0.7), rope=ROPE, seed=1)
    assert plan["studies"].item() == 1000
    assert abs(plan["coverage"].item() - 0.95) < 4 * plan["coverage_se"].item()
    narrow = plan_trials(trials=[3200], m_ratio=(1.0, 0.7), rope=ROPE, ci_prob=0.5, seed=1)
    assert abs(narrow["coverage"].item() - 0.5) < 4 * narrow["coverage_se"].item()


def test_one_condition_is_planned_for_precision_and_judged_if_there_is_a_rope():
    only = plan_trials(trials=[200, 800], m_ratio=0.8, n=200, seed=8)
    assert "probability" not in only
    assert only["condition"].size == 1
    assert only.attrs["judged"] == "log M"
    np.testing.assert_allclose(only["half_width"], only["log_m_half_width"].squeeze())
    judged = plan_trials(trials=[200, 800], m_ratio=0.8, rope=ROPE, n=200, seed=8)
    assert judged.drop_dims("verdict").equals(only)


def test_several_comparisons_widen_the_intervals_and_the_same_seed_gives_the_same_plan():
    asked = {"trials": [400], "rope": ROPE, "n": 100, "seed": 9}
    one, again, nine = (plan_trials(**asked, comparisons=m) for m in (1, 1, 9))
    assert one.identical(again)
    ratio = stats.norm.isf(0.025 / 9) / stats.norm.isf(0.025)
    np.testing.assert_allclose(nine["half_width"], one["half_width"] * ratio)


def test_needed_trials_reach_what_is_wanted():
    plan = plan_trials(trials=[100, 1600, 25_600], m_ratio=0.8, rope=ROPE, n=500, seed=10)
    wanted = 0.8
    needed = size_needed(plan, probability=wanted, verdict="different")
    assert 1600 < needed < 25_600
    precise = int(size_needed(plan, half_width=0.15))
    again = plan_trials(trials=[precise], m_ratio=0.8, n=500, seed=11)
    # Half-widths fall as 1/√trials, so that interpolation is near exact.
    assert again["half_width"].item() == pytest.approx(0.15, rel=0.05)
    assert size_needed(plan, half_width=10) == 100
    assert np.isnan(size_needed(plan, half_width=0.001))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"m_ratio": (1.0, 0.8)}, "rope: .*got none"),
        ({"m_ratio": (1.0, 0.8, 0.6), "rope": ROPE}, r"m_ratio.*got"),
        ({"m_ratio": 1.0, "dprime": 0.0}, "d′ above 0"),
        ({"m_ratio": 1.0, "dprime": (1.0, 2.0)}, r"dprime.*got"),
        ({"m_ratio": 1.0, "trials": [1]}, "trials: .*got 1"),
        ({"m_ratio": 1.0, "c": np.nan}, "c: .*got nan"),
        ({"m_ratio": 1.0, "between_sd": 0.2}, "two subjects"),
        ({"m_ratio": 1.0, "correlation": 0.5}, "two conditions"),
        ({"n": 10**12, "rope": ROPE}, "n: .*got 1000000000000, which takes .* TB or more"),
    ],
)
def test_wrong_arguments_are_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        plan_trials(**wrong)


@pytest.mark.parametrize(
    ("rope", "wish", "says"),
    [
        (None, {"probability": 0.8}, "without a ROPE"),
        (None, {}, "got neither"),
        (ROPE, {"probability": 0.8, "verdict": "unsure"}, "verdict: .*got 'unsure'"),
    ],
)
def test_wishes_that_a_plan_cannot_answer_are_refused(rope, wish, says):
    plan = plan_trials(trials=[100, 200], m_ratio=0.8, rope=rope, n=20, seed=1)
    with pytest.raises(InputError, match=says):
        size_needed(plan, **wish)


def crossed_log_m(rng, items, studies, d=(1.5, 1.5, 1.5), sds=(1.0, 0.7)):
    """log M of three ideal observers of the same items, from evidence of four options."""
    found = np.empty((studies, len(d)))
    for study in range(studies):
        lead = np.array(d)[:, None] / np.sqrt(2) + rng.normal(0, sds[0] / np.sqrt(2), items)
        evidence = rng.normal(size=(*lead.shape, 4))
        evidence[..., 0] += lead
        ordered = np.sort(evidence, axis=-1)
        margin = (ordered[..., -1] - ordered[..., -2]) / np.exp(rng.normal(0, sds[1], items))
        rating = np.minimum(margin / (np.sqrt(2) * 0.5), 3).astype(int).ravel()
        is_right = (evidence.argmax(axis=-1) == 0).astype(int).ravel()
        tables = np.zeros((is_right.size, 2, 4), int)
        tables[np.arange(is_right.size), is_right, rating] = 1
        coords = {
            "cell": [str(cell) for cell in range(is_right.size)],
            "subject": ("cell", np.repeat([*"abc"], items)),
            "item": ("cell", np.tile(np.arange(items), len(d))),
            "options": ("cell", [4] * is_right.size),
        }
        counts = xr.DataArray(tables, coords, ("cell", "correct", "rating"))
        found[study] = fit_mle(counts, "alternatives_crossed")["log_m"]
    return found


@pytest.mark.integration
def test_of_crossed_items_intervals_are_as_wide_as_estimates_of_observers_spread():
    studies = 12
    plan = plan_trials(
        trials=[200], m_ratio=1.0, options=4, item_sds=(1.0, 0.7), others=2, n=studies, seed=1
    )
    log_m = crossed_log_m(np.random.default_rng(2), 200, studies)
    # Of 36 estimates the error of a standard deviation is 12 %, and M of 3 observers goes together.
    expected = stats.norm.isf(0.025) * log_m.std(ddof=1)
    assert plan["half_width"].item() == pytest.approx(expected, rel=3 * 0.12)
    assert plan["undefined"].item() == 0


@pytest.mark.integration
def test_crossed_items_need_more_questions_where_they_differ_more():
    ask = {"trials": [200], "m_ratio": 1.0, "options": 4, "others": 1, "n": 5, "seed": 1}
    easy, hard = (plan_trials(**ask, item_sds=sds)["half_width"].item() for sds in (0, (2.0, 1.0)))
    alone = plan_trials(trials=[200], m_ratio=1.0, options=4, n=400, seed=1)["half_width"].item()
    assert easy == pytest.approx(alone, rel=0.25)
    assert hard > 1.2 * easy


@pytest.mark.parametrize(
    ("wrong", "argument"),
    [
        ({"item_sds": 1.0, "m_ratio": 1.0}, "item_sds"),
        ({"item_sds": (1.0, 2.0, 3.0)}, "item_sds"),
        ({"item_sds": -1.0}, "item_sds"),
        ({"others": 2}, "others"),
        ({"item_sds": 1.0, "c": 0.5}, "c"),
    ],
)
def test_items_that_one_observer_answers_or_that_are_none_are_refused(wrong, argument):
    with pytest.raises(InputError, match=rf"^{argument}: "):
        plan_trials(**{"trials": [100], "rope": ROPE, "n": 2, **wrong})
