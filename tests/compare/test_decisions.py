"""Verdicts follow from intervals, null and region of practical equivalence."""

import arviz as az
import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from hmetad.compare.decisions import decide, decide_normal
from hmetad.counts.checks import RESERVED_NAMES
from hmetad.errors import InputError

ROPE = (-0.1, 0.1)


def normal_draws(*centres, sd=0.02, seed=0):
    noise = np.random.default_rng(seed).normal(0, sd, (4, 1000, len(centres)))
    return xr.DataArray(
        noise + np.array(centres),
        dims=("chain", "draw", "pair"),
        coords={"pair": [f"p{i}" for i in range(len(centres))]},
        name="log_m",
    )


def test_the_four_answers():
    table = decide(normal_draws(0.3, 0.06, 0.0, 0.1), rope=ROPE).table()
    assert table["verdict"].tolist() == ["different", "negligible", "negligible", "inconclusive"]
    assert table["statistical"].tolist() == [True, True, False, True]


def test_equal_tailed_interval_is_that_of_the_quantiles():
    draws = normal_draws(0.3)
    table = decide(draws, rope=ROPE, ci_prob=0.9).table()
    quantiles = np.quantile(draws.values.ravel(), [0.05, 0.95])
    np.testing.assert_allclose(table.loc[0, ["lower", "upper"]].astype(float), quantiles)


def test_highest_density_interval_is_that_of_arviz():
    draws = np.exp(normal_draws(0.3, sd=0.5))
    table = decide(draws, rope=ROPE, ci_kind="hdi").table()
    np.testing.assert_allclose(
        table.loc[0, ["lower", "upper"]].astype(float), az.hdi(draws, prob=0.95).values[0]
    )


def test_bonferroni_widens_the_interval_to_one_minus_alpha_over_m():
    draws = normal_draws(0.3)
    corrected = decide(draws, rope=ROPE, comparisons=10).table()
    alone = decide(draws, rope=ROPE, ci_prob=0.995).table()
    np.testing.assert_allclose(corrected["lower"], alone["lower"])


def test_share_in_the_rope_and_direction_are_those_of_the_draws():
    draws = normal_draws(0.1, 0.02)
    table = decide(draws, rope=ROPE).table()
    values = draws.values
    np.testing.assert_allclose(
        table["in_rope"], ((values >= -0.1) & (values <= 0.1)).mean((0, 1)), rtol=1e-12
    )
    np.testing.assert_allclose(table["p_direction"], (values > 0).mean((0, 1)), rtol=1e-12)


def test_the_full_posterior_rule_is_kept_apart_from_the_interval_rule():
    draws = normal_draws(0.135, sd=0.0175)
    table = decide(draws, rope=ROPE, ci_prob=0.999).table()
    assert table[["verdict", "full_verdict"]].values.tolist() == [["inconclusive", "different"]]


def test_error_of_a_bound_is_that_of_a_quantile():
    wide = normal_draws(*[0.3] * 200)
    errors = decide(wide, rope=ROPE).results["mcse_lower"]
    # Standard error of a .025 quantile of 4,000 independent normal draws with SD .02; one
    # estimate scatters by a quarter, the mean of 200 by 2 %, and is biased by as much again.
    expected = 0.02 * np.sqrt(0.025 * 0.975 / 4000) / norm.pdf(norm.ppf(0.025))
    assert float(errors.mean()) == pytest.approx(expected, rel=0.1)


def test_undefined_draws_withhold_the_verdict():
    draws = normal_draws(0.3, 0.3)
    draws[0, 0, 0] = np.nan
    table = decide(draws, rope=ROPE).table()
    assert table["verdict"].tolist() == ["unreliable", "different"]
    assert not table["statistical"][0]


def test_normal_decisions_agree_with_those_of_many_draws():
    draws = normal_draws(0.3, 0.06, 0.1, 0.01)
    by_draws = decide(draws, rope=ROPE).table()
    by_normal = decide_normal([0.3, 0.06, 0.1, 0.01], 0.02, rope=ROPE).table()
    assert by_draws["verdict"].tolist() == by_normal["verdict"].tolist()
    np.testing.assert_allclose(by_draws["in_rope"], by_normal["in_rope"], atol=0.02)


@given(st.floats(-0.5, 0.5), st.floats(0.001, 0.3), st.integers(1, 50))
def test_p_value_and_interval_say_the_same(estimate, se, comparisons):
    table = decide_normal([estimate], se, rope=ROPE, comparisons=comparisons).table()
    p = table["p_value"][0]
    if abs(p - 0.05) > 1e-9:
        assert table["statistical"][0] == (p < 0.05)


def test_p_value_is_that_of_the_z_test_times_the_comparisons():
    table = decide_normal([0.06], 0.02, rope=ROPE, comparisons=27).table()
    assert table["p_value"][0] == pytest.approx(27 * 2 * norm.sf(3))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rope": (0.1, -0.1)}, "lower < upper"),
        ({"rope": ROPE, "ci_prob": 95}, "probability"),
        ({"rope": ROPE, "comparisons": 0}, "at least 1"),
        ({"rope": ROPE, "ci_kind": "et"}, "'eti' or 'hdi'"),
    ],
)
def test_arguments_out_of_range_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        decide(normal_draws(0.3), **arguments)


def test_the_rope_has_no_default():
    with pytest.raises(TypeError, match="rope"):
        decide(normal_draws(0.3))


def test_cells_can_be_judged_as_well_as_pairs():
    draws = normal_draws(0.3).rename(pair="cell").assign_coords(model=("cell", ["GPT-5"]))
    table = decide(draws, rope=ROPE).table()
    assert table.columns[:2].tolist() == ["label", "model"]
    with pytest.raises(InputError, match="one more dim"):
        decide(draws.isel(cell=0), rope=ROPE)


def test_every_column_of_a_table_of_decisions_is_refused_as_a_grouping_name():
    table = decide(normal_draws(0.3), rope=ROPE).table()
    normal = decide_normal([0.3], 0.1, rope=ROPE).table()
    assert set(table.columns) | set(normal.columns) <= RESERVED_NAMES


def test_draws_that_do_not_vary_carry_no_verdict():
    table = decide(normal_draws(0.3, 0.4) * [0, 1], rope=ROPE).table()
    assert table["verdict"].tolist() == ["unreliable", "different"]


def test_zeros_and_ones_of_superiority_are_refused():
    with pytest.raises(InputError, match="mean of these draws"):
        decide(normal_draws(0.3).assign_attrs(kind="superiority"), rope=ROPE)


def test_a_single_number_is_no_rope():
    with pytest.raises(InputError, match="Write both limits"):
        decide(normal_draws(0.3), rope=0.05)


def test_direction_and_full_rule_of_normal_decisions_are_those_of_the_normal():
    table = decide_normal([0.06, -0.06, 0.0], 0.02, rope=ROPE).table()
    expected = [norm.cdf(3), norm.cdf(3), 0.5]
    np.testing.assert_allclose(table["p_direction"], expected, rtol=1e-12)
    inside = norm.cdf((0.1 - 0.06) / 0.02) - norm.cdf((-0.1 - 0.06) / 0.02)
    np.testing.assert_allclose(table["in_rope"][0], inside, rtol=1e-12)
    assert table["full_verdict"].tolist() == ["negligible", "negligible", "negligible"]
    assert decide_normal([0.07], 0.02, rope=ROPE).table()["full_verdict"][0] == "inconclusive"
