"""Verdicts follow from intervals, null and region of practical equivalence."""

import arviz as az
import numpy as np
import pytest
import xarray as xr
from drawn_cells import drawn_cells
from scipy.stats import beta, norm

from hmetad import (
    InputError,
    contrast,
    decide,
    decide_normal,
    fit_mle,
    resample,
    simulate_counts,
)
from hmetad.base.monte_carlo import INDEPENDENT
from hmetad.compare.verdicts import interval_words, judge, summarise

ROPE = (-0.1, 0.1)


def normal_draws(*centres, sd=0.02):
    noise = np.random.default_rng(0).normal(0, sd, (4, 1000, len(centres)))
    return drawn_cells(noise + np.array(centres))


def decided(draws, **options):
    return decide(draws, **{"rope": ROPE} | options).table()


def test_the_four_answers():
    table = decided(normal_draws(0.3, 0.06, 0.0, 0.1))
    assert table["verdict"].tolist() == ["different", "negligible", "negligible", "inconclusive"]
    assert table["statistical"].tolist() == [True, True, False, True]


def test_bonferroni_widens_the_interval_to_one_minus_alpha_over_m():
    draws = normal_draws(0.3)
    corrected, alone = decided(draws, comparisons=10), decided(draws, ci_prob=0.995)
    np.testing.assert_allclose(corrected["lower"], alone["lower"])
    quantiles = np.quantile(draws.values.ravel(), [0.0025, 0.9975])
    np.testing.assert_allclose(alone.loc[0, ["lower", "upper"]].astype(float), quantiles)


def test_share_in_the_rope_and_direction_are_those_of_the_draws():
    """Draws on a limit are inside; draws that are the null itself have no direction."""
    draws = normal_draws(0.1, 0.02)
    table, values = decided(draws), draws.values
    inside = ((values >= -0.1) & (values <= 0.1)).mean((0, 1))
    np.testing.assert_allclose(table["in_rope"], inside, rtol=1e-12)
    np.testing.assert_allclose(table["p_direction"], (values > 0).mean((0, 1)), rtol=1e-12)
    rng = np.random.default_rng(1)
    rows = rng.choice([-0.1, 0.1, 0.2], (4, 100, 1))
    assert decided(drawn_cells(rows))["in_rope"].item() == pytest.approx((rows < 0.2).mean())
    rows = rng.choice([-1.0, 0.0, 1.0], (4, 100, 1), p=[0.2, 0.3, 0.5])
    for turned in (rows, -rows):
        found = decided(drawn_cells(turned))["p_direction"].item()
        assert found == pytest.approx((rows > 0).mean())


def test_the_full_posterior_rule_is_kept_apart_from_the_interval_rule():
    # 1 % of the draws lie in the ROPE: more than outside the interval, less than the margin.
    table = decided(normal_draws(0.1 + 2.326 * 0.02), ci_prob=0.995)
    assert table[["verdict", "full_verdict"]].values.tolist() == [["inconclusive", "different"]]


def test_error_of_a_bound_is_that_of_a_quantile():
    errors = decided(normal_draws(*[0.3] * 200))["mcse_lower"]
    # Standard error of a .025 quantile of 4,000 independent normal draws with SD .02; one
    # estimate scatters by a quarter, the mean of 200 by 2 %, and is biased by as much again.
    expected = 0.02 * np.sqrt(0.025 * 0.975 / 4000) / norm.pdf(norm.ppf(0.025))
    assert errors.mean() == pytest.approx(expected, rel=0.1)


def undefined(draws):
    draws[0, :201, 0] = np.nan
    return draws


def drifting(draws):
    draws[0, :, 0] += 0.01
    return draws


@pytest.mark.parametrize(
    ("spoil", "code"),
    [(undefined, "undefined"), (drifting, "rhat"), (lambda x: x * [0, 1], "constant")],
)
def test_draws_that_cannot_be_judged_withhold_their_verdict_alone(spoil, code):
    table = decided(spoil(normal_draws(0.3, 0.3)))
    assert table["verdict"].tolist() == ["unreliable", "different"]
    assert table["withheld"].tolist() == [code, ""]
    assert table["statistical"].tolist() == [None, True]


def test_a_single_chain_is_judged_by_its_halves_and_three_draws_a_chain_are_too_few():
    drift = normal_draws(0.3).isel(chain=[0]) + np.linspace(0, 0.1, 1000)[:, None]
    assert decided(drift)["withheld"].tolist() == ["rhat"]
    few = decided(normal_draws(0.3).isel(draw=slice(3)))
    assert few[["verdict", "withheld"]].values.tolist() == [["unreliable", "few-draws"]]


def test_numbers_of_normal_decisions_are_those_of_the_normal():
    table = decide_normal([0.06], 0.02, rope=ROPE, comparisons=27).table()
    assert table["p_value"][0] == pytest.approx(27 * 2 * norm.sf(3))
    table = decide_normal([0.06, -0.06, 0.0], 0.02, rope=ROPE).table()
    expected = [norm.cdf(3), norm.cdf(3), 0.5]
    np.testing.assert_allclose(table["p_direction"], expected, rtol=1e-12)
    inside = norm.cdf((0.1 - 0.06) / 0.02) - norm.cdf((-0.1 - 0.06) / 0.02)
    np.testing.assert_allclose(table["in_rope"][0], inside, rtol=1e-12)
    assert table["full_verdict"].tolist() == ["negligible", "negligible", "negligible"]
    assert decide_normal([0.07], 0.02, rope=ROPE).table()["full_verdict"][0] == "inconclusive"


@pytest.mark.parametrize(
    ("draws", "options", "message"),
    [
        (normal_draws(0.3), {"rope": (0.1, -0.1)}, "lower < upper"),
        (normal_draws(0.3), {"rope": 0.05}, "Write both limits"),
        (normal_draws(0.3), {"ci_prob": 95}, "probability"),
        (normal_draws(0.3), {"ci_kind": "et"}, "'eti' or 'hdi'"),
        (normal_draws(0.3).assign_attrs(kind="superiority"), {}, "mean of these draws"),
    ],
)
def test_what_cannot_be_judged_is_refused(draws, options, message):
    with pytest.raises(InputError, match=message):
        decided(draws, **options)


def test_the_rope_has_no_default():
    with pytest.raises(TypeError, match="rope"):
        decide(normal_draws(0.3))


def test_errors_go_with_their_estimates():
    estimate = xr.DataArray([0.3, 0.0], {"cell": ["a", "b"]}, name="log_m")
    se = xr.DataArray([0.05, 0.02], {"cell": ["a", "b"]})
    for given_se, used in ((se, [0.05, 0.02]), (se[1], [0.02] * 2), (se.values, [0.05, 0.02])):
        assert decide_normal(estimate, given_se, rope=ROPE).table()["sd"].tolist() == used
    with pytest.raises(InputError, match=r"se\.sel\(cell=.*other labels"):
        decide_normal(estimate, se.isel(cell=[1, 0]), rope=ROPE)


@pytest.mark.parametrize(
    ("estimate", "se", "labels", "message"),
    [
        ([0.1, 0.2, 0.3], [0.1, 0.2], None, r"se: .*Expected one number, or 3.*, got shape \(2,\)"),
        ([0.1, 0.2], [np.nan, 0.0], None, "se: .*Expected standard errors above 0.*, got 0.0"),
        ([0.1, 0.2], 0.1, ["a"], "labels: .*Expected one for each of 2.*, got 1 labels"),
        (xr.DataArray([[0.1]], dims=("a", "b")), 0.1, None, "estimate: .*got dims"),
    ],
)
def test_estimates_errors_and_labels_that_do_not_belong_together_are_refused(
    estimate, se, labels, message
):
    with pytest.raises(InputError, match=message):
        decide_normal(estimate, se, rope=ROPE, labels=labels)


def test_independent_draws_are_not_asked_whether_their_chains_mixed():
    """Sorted draws are the slowest of chains; as draws that no chain made they are as good."""
    plain = drawn_cells(np.sort(np.random.default_rng(1).normal(0.3, 0.02, 300))[:, None])
    [row] = decided(plain.assign_attrs(INDEPENDENT)).to_dict("records")
    assert (row["verdict"], row["withheld"], row["unsettled"]) == ("different", "", "")
    assert np.isnan(row["rhat"])
    # What does not say so is judged as a chain, however it lost its chains.
    chain = plain.expand_dims(chain=[0])
    lost = [plain, chain, chain.isel(chain=0), chain.isel(chain=0, drop=True)]
    # So is the sum or difference of a chain and of independent draws.
    chain = chain.assign_attrs(sampling="nuts")
    drawn = xr.zeros_like(chain).assign_attrs(INDEPENDENT)
    for draws in (*lost, chain + drawn, drawn + chain, chain - drawn):
        [row] = decided(draws).to_dict("records")
        assert (row["verdict"], row["withheld"]) == ("unreliable", "rhat")


def test_draws_of_chains_stay_so_in_a_dataset_that_says_otherwise():
    values = np.sort(np.random.default_rng(1).normal(0.3, 0.02, (1, 300, 2)), axis=1)
    values[..., 1] = values[:, ::-1, 1]
    chain = drawn_cells(values, attrs={"sampling": "nuts"})
    both = xr.Dataset({"log_m": chain}, attrs=INDEPENDENT)
    found = contrast(both, var="log_m", over="model")
    assert decided(found)["withheld"].tolist() == ["rhat"]


def test_what_resamples_says_that_its_draws_are_independent():
    models = {"model": ["a", "b"]}
    counts = simulate_counts([1.5, 2.0], m_ratio=0.8, trials=400, coords=models, seed=1)
    drawn = resample(counts, fit_mle, n=10, seed=1)
    assert INDEPENDENT.items() <= drawn["log_m"].attrs.items()
    between = contrast(drawn, var="log_m", over="model")
    assert INDEPENDENT.items() <= between.attrs.items()


def test_bounds_within_two_monte_carlo_errors_of_a_limit_settle_nothing():
    base = normal_draws(0.0)
    found = decided(base, ci_prob=0.9)
    lower, error = found["lower"][0], found["mcse_lower"][0]
    shifts = [0.1 - lower + k * error for k in (0, 1.9, 2.1)]
    near = xr.concat([base + shift for shift in shifts], "cell")
    table = decided(near, ci_prob=0.9)
    assert table["verdict"].tolist() == ["unreliable", "unreliable", "different"]
    assert table["unsettled"].tolist() == ["verdict", "verdict", ""]
    null = decided(base - lower + error, ci_prob=0.9)
    assert null[["statistical", "unsettled"]].values.tolist() == [[True, "statistical"]]


@pytest.mark.parametrize("kind", ["eti", "hdi"])
def test_errors_of_bounds_are_those_of_arviz(kind):
    noise = np.random.default_rng(0).normal(size=(4, 500, 5))
    steps = np.cumsum(noise, axis=1) * [0, 0.01, 0.02, 0, 0.01] + noise
    draws = np.exp(drawn_cells(steps) / 5)
    found = decide(draws, rope=ROPE, ci_kind=kind).results
    interval = az.eti(draws, prob=0.95) if kind == "eti" else az.hdi(draws, prob=0.95)
    for side, prob in (("lower", 0.025), ("upper", 0.975)):
        np.testing.assert_allclose(found[side], interval.sel(ci_bound=side), rtol=1e-12)
        if kind == "eti":
            expected = az.mcse(draws, method="quantile", prob=prob)
            np.testing.assert_allclose(found[f"mcse_{side}"], expected, rtol=1e-10)
    np.testing.assert_allclose(found["rhat"], az.rhat(draws), rtol=1e-10)


def test_no_verdict_given_is_another_than_that_of_endless_draws():
    rng = np.random.default_rng(2)
    centres = rng.uniform(-0.3, 0.3, 300)
    short = decided(drawn_cells(rng.normal(centres, 0.05, (4, 500, 300))))["verdict"].to_numpy()
    lower, upper = centres - 1.959964 * 0.05, centres + 1.959964 * 0.05
    outside, inside = (lower > 0.1) | (upper < -0.1), (lower >= -0.1) & (upper <= 0.1)
    exact = np.select([outside, inside], ["different", "negligible"], "inconclusive")
    given_verdict = short != "unreliable"
    # Bounds stray beyond 2 of their errors once in twenty, and few lie that near to a limit.
    assert (short[given_verdict] != exact[given_verdict]).mean() < 0.02
    assert 0.7 < given_verdict.mean() < 0.99


def one(lower, upper, in_rope, **errors):
    """What is found of a single quantity, with Monte Carlo errors of 0 but those given."""
    settled = {"mcse_lower": 0.0, "mcse_upper": 0.0, "tail_lower": 100.0, "tail_upper": 100.0}
    settled |= {"in_rope_least": in_rope, "in_rope_most": in_rope}
    values = {"lower": lower, "upper": upper, "in_rope": in_rope} | settled | errors
    return {name: np.array([value]) for name, value in values.items()}


def answers(found, is_withheld=False):
    """Answers to a single quantity."""
    found = judge(found, ROPE, 0.0, np.array([is_withheld]))
    return {name: answer.item() for name, answer in found.items()}


@pytest.mark.parametrize(
    ("lower", "upper", "word"),
    [
        (-0.1, 0.1, "negligible"),
        (0.1, 0.2, "inconclusive"),
        (0.101, 0.2, "different"),
        (-0.2, -0.1, "inconclusive"),
        (-0.2, -0.101, "different"),
        (-0.2, 0.2, "inconclusive"),
        (-0.101, 0.1, "inconclusive"),
        (-0.1, 0.101, "inconclusive"),
    ],
)
def test_an_interval_that_ends_on_a_limit_touches_the_region(lower, upper, word):
    assert interval_words(np.array([lower]), np.array([upper]), ROPE).tolist() == [word]


def test_a_null_on_the_bound_is_not_excluded_and_shares_of_the_margin_are_inconclusive():
    for lower, upper, expected in ((0.0, 1.0, False), (-1.0, 0.0, False), (0.01, 1.0, True)):
        assert answers(one(lower, upper, 0.0))["statistical"] == expected
    shares = (0.024, 0.025, 0.5, 0.975, 0.976)
    found = [answers(one(-1.0, 1.0, share))["full_verdict"] for share in shares]
    assert found == ["different", *["inconclusive"] * 3, "negligible"]


@pytest.mark.parametrize(
    ("quantity", "errors", "unsettled"),
    [
        ((0.3, 0.5, 0.0), {}, set()),
        ((0.12, 0.5, 0.0), {"mcse_lower": 0.011}, {"verdict"}),
        ((0.12, 0.5, 0.0), {"mcse_upper": 0.011}, set()),
        ((-0.5, -0.12, 0.0), {"mcse_upper": 0.011}, {"verdict"}),
        ((0.01, 0.5, 0.4), {"mcse_lower": 0.006}, {"statistical"}),
        ((0.3, 0.5, 0.02), {"in_rope_most": 0.03}, {"full_verdict"}),
        ((-0.05, 0.05, 0.98), {"in_rope_least": 0.97}, {"full_verdict"}),
        # A bound with few draws beyond it may lie anywhere further out: on the far side away
        # from the region, on the near side across it.
        ((0.3, 0.5, 0.0), {"tail_upper": 4.9}, set()),
        ((0.3, 0.5, 0.0), {"tail_lower": 4.9}, {"statistical", "verdict"}),
        ((0.3, 0.5, 0.0), {"tail_lower": 5.0}, set()),
        ((-0.5, -0.3, 0.0), {"tail_upper": 4.9}, {"statistical", "verdict"}),
        ((-0.5, -0.3, 0.0), {"tail_upper": 5.0}, set()),
    ],
)
def test_each_answer_is_unsettled_by_the_bound_that_it_hangs_on(quantity, errors, unsettled):
    found = answers(one(*quantity, **errors))["unsettled"]
    assert {*filter(None, found.split(", "))} == unsettled


def test_withheld_answers_say_nothing_and_unsettled_ones_keep_the_others():
    whole = {"statistical": True, "verdict": "different", "full_verdict": "different"}
    assert answers(one(0.3, 0.5, 0.0)) == whole | {"unsettled": ""}
    none = {"statistical": False, "verdict": "unreliable", "full_verdict": "unreliable"}
    unsure = one(0.3, 0.5, 0.02, in_rope_most=0.03)
    assert answers(unsure, is_withheld=True) == none | {"unsettled": ""}
    part = whole | {"full_verdict": "unreliable", "unsettled": "full_verdict"}
    assert answers(unsure) == part


def slow_chains(centre):
    """Chains of 4 × 1000 draws about a centre, of which each leans on the one before."""
    noise = np.random.default_rng(1).normal(size=(1, 4, 1000))
    for t in range(1, 1000):
        noise[..., t] += 0.9 * noise[..., t - 1]
    return centre + 0.005 * noise


def summary_of(rows, is_hdi=False):
    return summarise(rows, ROPE, null=0.0, level=0.95, is_hdi=is_hdi)


@pytest.mark.parametrize("centre", [1.0, 0.0, 0.1])
def test_a_share_is_as_uncertain_as_the_correlation_of_its_draws_makes_it(centre):
    rows = slow_chains(centre)
    found = summary_of(rows)
    inside = abs(rows[0]) <= 0.1
    share = inside.mean()
    assert found["in_rope"].tolist() == [share]
    draws = xr.DataArray(rows[0], dims=("chain", "draw"))
    if centre == 0.1:
        effective = float(az.ess(draws.copy(data=inside.astype(float)), method="mean"))
    else:
        # Where all draws agree, the tails say it.
        effective = min(float(az.ess(draws, method="quantile", prob=p)) for p in (0.025, 0.975))
    # Far fewer than the 4000 that a row of equal indicators would be taken for.
    assert effective < 1000
    a, b = effective * share + 1, effective * (1 - share) + 1
    assert found["in_rope_least"][0] == pytest.approx(beta.ppf(0.025, a, b), rel=1e-6)
    assert found["in_rope_most"][0] == pytest.approx(beta.ppf(0.975, a, b), rel=1e-6)


@pytest.mark.parametrize("is_hdi", [False, True])
def test_rows_in_parts_are_summarised_as_each_by_itself(is_hdi):
    """200 rows are four parts; whatever a row's part is, its numbers are its own."""
    rows = np.random.default_rng(1).normal(0.1, 0.1, (200, 4, 1000))
    together = summary_of(rows, is_hdi)
    for i in (0, 64, 65, 66, 130, 199):
        for name, values in summary_of(rows[[i]], is_hdi).items():
            np.testing.assert_allclose(together[name][i], values[0], rtol=1e-12, err_msg=name)
