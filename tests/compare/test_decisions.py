"""Verdicts follow from intervals, null and region of practical equivalence."""

import json
from dataclasses import FrozenInstanceError

import arviz as az
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from hmetad.bayes.fit import fit
from hmetad.commands.compared import decisions_answer
from hmetad.compare import decisions as judged
from hmetad.compare import words
from hmetad.compare.cells import one_variable
from hmetad.compare.contrasts import contrast
from hmetad.compare.verdicts import decide, decide_normal
from hmetad.counts.resample import resample
from hmetad.errors import InputError
from hmetad.mle.meta_d import fit_mle
from hmetad.monte_carlo import INDEPENDENT
from hmetad.notice import Notice, notices, with_notices
from hmetad.report.contents.tables import decision_table
from hmetad.report.page.records import decisions_record
from hmetad.simulate.simulate import simulate_counts

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
    # 1 % of the draws lie in the ROPE: more than outside the interval, less than the margin.
    draws = normal_draws(0.1 + 2.326 * 0.02)
    table = decide(draws, rope=ROPE, ci_prob=0.995).table()
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
    draws[0, :201, 0] = np.nan
    table = decide(draws, rope=ROPE).table()
    assert table["verdict"].tolist() == ["unreliable", "different"]
    assert table["withheld"].tolist() == ["undefined", ""]
    assert table["statistical"][0] is None


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


@pytest.mark.parametrize("missing", ["pair", "draw"])
def test_draws_of_nothing_are_refused(missing):
    with pytest.raises(InputError, match=f"draws: got none: {missing} of length 0"):
        decide(normal_draws(0.3).isel({missing: []}), rope=ROPE)


def test_errors_go_with_their_estimates_or_are_refused():
    estimate = xr.DataArray([0.3, 0.0], {"cell": ["a", "b"]}, name="log_m")
    se = xr.DataArray([0.05, 0.02], {"cell": ["a", "b"]})
    table = decide_normal(estimate, se, rope=ROPE).table()
    assert table["sd"].tolist() == [0.05, 0.02]
    assert decide_normal(estimate, se.isel(cell=1), rope=ROPE).table()["sd"].tolist() == [0.02] * 2
    assert decide_normal(estimate, se.values, rope=ROPE).table()["sd"].tolist() == [0.05, 0.02]
    with pytest.raises(InputError, match=r"other labels.*se\.sel\(cell="):
        decide_normal(estimate, se.isel(cell=[1, 0]), rope=ROPE)


@pytest.mark.parametrize(
    ("estimate", "se", "labels", "message"),
    [
        ([0.1, 0.2, 0.3], [0.1, 0.2], None, r"se: got shape \(2,\), allowed is one number, or 3"),
        ([0.1, 0.2], [0.1, np.nan, -1.0], None, r"se: got shape \(3,\)"),
        ([0.1, 0.2], [np.nan, 0.0], None, "se: got 0.0, allowed is standard errors above 0"),
        ([0.1, 0.2], 0.1, ["a"], "labels: got 1 labels, allowed is one for each of 2"),
        ([[0.1, 0.2]], 0.1, None, r"estimate: got shape \(1, 2\)"),
        (xr.DataArray([[0.1]], dims=("a", "b")), 0.1, None, "estimate: got dims"),
    ],
)
def test_estimates_errors_and_labels_that_do_not_belong_together_are_refused(
    estimate, se, labels, message
):
    with pytest.raises(InputError, match=message):
        decide_normal(estimate, se, rope=ROPE, labels=labels)


def test_the_rope_has_no_default():
    with pytest.raises(TypeError, match="rope"):
        decide(normal_draws(0.3))


def test_cells_can_be_judged_as_well_as_pairs():
    draws = normal_draws(0.3).rename(pair="cell").assign_coords(model=("cell", ["GPT-5"]))
    table = decide(draws, rope=ROPE).table()
    assert table.columns[:2].tolist() == ["label", "model"]
    one = decide(draws.isel(cell=0), rope=ROPE).table()
    pd.testing.assert_frame_equal(one, table, check_like=True)
    with pytest.raises(InputError, match="one more dim"):
        decide(draws.expand_dims("response"), rope=ROPE)


def test_each_column_of_a_table_of_decisions_says_what_it_is():
    results = decide(normal_draws(0.3), rope=ROPE).results
    told = {name: x.attrs["long_name"] for name, x in results.data_vars.items()}
    assert told == {c.name: c.means for c in words.COLUMNS if c.name in told}
    assert {"mean", "in_rope", "unsettled"} <= set(told)


def test_a_column_of_the_table_stands_in_one_place(monkeypatch):
    added = words.Column("tail_lower", "effective draws below", "in tail")
    more = (*words.COLUMNS, added)
    for module in (words, judged):
        monkeypatch.setattr(module, "COLUMNS", more)
    decisions = decide(normal_draws(0.3), rope=ROPE)
    table = decisions.table()
    assert table["tail_lower"].item() == pytest.approx(0.025 * table["ess_tail"].item(), rel=0.5)
    assert "tail_lower" in repr(decisions).splitlines()[1]
    assert decision_table(decisions, "").columns[-1] == "In tail"
    assert decisions_answer(decisions).listings[0].columns["tail_lower"] == "in tail"
    assert decisions_record(decisions)["results"][0]["tail_lower"] == table["tail_lower"].item()


def test_no_table_of_decisions_gets_two_columns_of_one_name():
    draws = normal_draws(0.3).rename(pair="cell")
    estimate = xr.DataArray([0.3], {"cell": ["a"]})
    for values, decided in (
        (draws, lambda x: decide(x, rope=ROPE)),
        (estimate, lambda x: decide_normal(x, 0.1, rope=ROPE)),
    ):
        free = decided(values.assign_coords(left=("cell", ["x"]), kind=("cell", ["y"]))).table()
        assert free[["left", "kind"]].to_numpy().tolist() == [["x", "y"]]
        for name in decided(values).table().columns:
            with pytest.raises(InputError, match=f"by: got '{name}'"):
                decided(values.assign_coords({name: ("cell", ["x"])}))


def test_draws_that_do_not_vary_carry_no_verdict():
    table = decide(normal_draws(0.3, 0.4) * [0, 1], rope=ROPE).table()
    assert table["verdict"].tolist() == ["unreliable", "different"]
    assert table["withheld"].tolist() == ["constant", ""]


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


def test_a_coefficient_of_its_own_is_judged_by_its_name():
    slope = normal_draws(0.3).isel(pair=0, drop=True).rename("log_m_age")
    table = decide(slope, rope=ROPE).table()
    assert table[["label", "verdict"]].values.tolist() == [["log_m_age", "different"]]


def test_errors_of_the_whole_fit_withhold_the_verdict_on_a_coefficient():
    said = [
        {"code": "rhat", "severity": "error", "message": "", "cells": ["x"], "source": ""},
        {"code": "dprime-sign", "severity": "error", "message": "", "cells": ["x"], "source": ""},
    ]
    slope = normal_draws(0.3).isel(pair=0, drop=True).assign_attrs(notices=json.dumps(said))
    table = decide(slope, rope=ROPE).table()
    assert table[["verdict", "withheld"]].values.tolist() == [["unreliable", "rhat"]]


def test_chains_that_drift_apart_withhold_the_verdict():
    draws = normal_draws(0.3, 0.3)
    draws[0, :, 1] += 0.01
    table = decide(draws, rope=ROPE).table()
    assert table["verdict"].tolist() == ["different", "unreliable"]
    assert table["withheld"].tolist() == ["", "rhat"]
    assert table["statistical"].tolist() == [True, None]
    # A single chain is judged by its halves.
    drift = normal_draws(0.3).isel(chain=[0]) + np.linspace(0, 0.1, 1000)[:, None]
    assert decide(drift, rope=ROPE).table()["withheld"].tolist() == ["rhat"]


def test_independent_draws_are_not_asked_whether_their_chains_mixed():
    """Sorted draws are the slowest of chains; as draws that no chain made they are as good."""
    values = np.sort(np.random.default_rng(1).normal(0.3, 0.02, 300))
    plain = xr.DataArray(values[:, None], dims=("draw", "pair"), coords={"pair": ["p"]}, name="x")
    drawn = plain.assign_attrs(INDEPENDENT)
    [row] = decide(drawn, rope=ROPE).table().to_dict("records")
    assert (row["verdict"], row["withheld"], row["unsettled"]) == ("different", "", "")
    assert np.isnan(row["rhat"])
    # What does not say so is judged as a chain, however it lost its chains.
    chain = plain.expand_dims(chain=[0])
    for from_chain in (plain, chain, chain.isel(chain=0), chain.isel(chain=0, drop=True)):
        [row] = decide(from_chain, rope=ROPE).table().to_dict("records")
        assert (row["verdict"], row["withheld"]) == ("unreliable", "rhat")


def test_draws_of_chains_stay_so_beside_independent_ones():
    """Sums, differences and datasets of both are judged by their chains."""
    values = np.sort(np.random.default_rng(1).normal(0.3, 0.02, (1, 300)))
    chain = xr.DataArray(values, dims=("chain", "draw"), name="x", attrs={"sampling": "nuts"})
    drawn = xr.zeros_like(chain).assign_attrs(INDEPENDENT)
    for mixed in (chain + drawn, drawn + chain, chain - drawn):
        [row] = decide(mixed.expand_dims(pair=["p"]), rope=ROPE).table().to_dict("records")
        assert row["withheld"] == "rhat"
    both = xr.Dataset({"x": chain.expand_dims(cell=["a"])}, attrs=INDEPENDENT)
    table = decide(one_variable(both, "x"), rope=ROPE).table()
    assert table["withheld"].tolist() == ["rhat"]


def test_what_resamples_says_that_its_draws_are_independent_and_fits_do_not():
    counts = simulate_counts(
        [1.5, 2.0], m_ratio=0.8, trials=400, coords={"model": ["a", "b"]}, seed=1
    )
    drawn = resample(counts, fit_mle, n=10, seed=1)
    assert INDEPENDENT.items() <= drawn["log_m"].attrs.items()
    between = contrast(drawn, var="log_m", over="model")
    assert INDEPENDENT.items() <= between.attrs.items()
    fitted = fit(counts, draws=50, chains=2, random_seed=1, quiet=True)
    assert fitted["posterior"]["log_m"].attrs["sampling"] == "importance"
    assert not INDEPENDENT.items() <= contrast(fitted, var="log_m", over="model").attrs.items()


def test_independent_draws_are_worth_as_many_as_they_are():
    drawn = normal_draws(*[0.05] * 50).isel(chain=0).assign_attrs(INDEPENDENT)
    row = decide(drawn, rope=ROPE).results
    # The errors of bounds are what 50 repetitions show: their SD is known to a tenth.
    for side in ("lower", "upper"):
        assert float(row[side].std() / row[f"mcse_{side}"].mean()) == pytest.approx(1, abs=0.3)
    # Their bounds are no more sure than those of so many draws: five must lie beyond.
    few = decide(drawn.isel(draw=slice(150)) + 0.3, rope=ROPE).table()
    assert set(few["verdict"]) == {"unreliable"}
    assert set(few["withheld"]) == {""}


def test_bounds_within_two_monte_carlo_errors_of_a_limit_settle_nothing():
    base, limits = normal_draws(0.0), {"rope": ROPE, "ci_prob": 0.9}
    found = decide(base, **limits).results
    lower, error = float(found["lower"][0]), float(found["mcse_lower"][0])
    near = [0.1 - lower + k * error for k in (0, 1.9, 2.1)]
    table = decide(xr.concat([base + shift for shift in near], "pair"), **limits).table()
    assert table["verdict"].tolist() == ["unreliable", "unreliable", "different"]
    assert table["unsettled"].tolist() == ["verdict", "verdict", ""]
    null = decide(base - lower + error, **limits).table()
    assert null["statistical"].tolist() == [True]
    assert null["unsettled"].tolist() == ["statistical"]


def test_a_share_near_the_margin_of_the_full_rule_settles_nothing():
    # 2.5 % of these lie in the ROPE, give or take .25 % of Monte Carlo error.
    table = decide(normal_draws(0.1 + 1.96 * 0.02, 0.1 + 2.5 * 0.02), rope=ROPE).table()
    assert table["full_verdict"].tolist() == ["unreliable", "different"]
    assert table["unsettled"][0].endswith("full_verdict")


def test_a_bound_beyond_the_draws_may_lie_anywhere_further_out():
    """2,000,000 comparisons of 4,000 draws: the bound is the last draw, and says nothing."""
    draws = normal_draws(0.5, 0.0, 0.1)
    table = decide(draws, rope=ROPE, comparisons=2_000_000).table()
    assert table["verdict"].tolist() == ["unreliable", "unreliable", "inconclusive"]


def test_three_draws_a_chain_are_too_few():
    table = decide(normal_draws(0.3).isel(draw=slice(3)), rope=ROPE).table()
    assert table[["verdict", "withheld"]].values.tolist() == [["unreliable", "few-draws"]]


@pytest.mark.parametrize("kind", ["eti", "hdi"])
def test_errors_of_bounds_are_those_of_arviz(kind):
    noise = np.random.default_rng(0).normal(size=(4, 500, 5))
    steps = np.cumsum(noise, axis=1) * [0, 0.01, 0.02, 0, 0.01] + noise
    draws = xr.DataArray(steps, dims=("chain", "draw", "pair"))
    found = decide(draws, rope=ROPE, ci_kind=kind).results
    interval = az.eti(draws, prob=0.95) if kind == "eti" else az.hdi(draws, prob=0.95)
    np.testing.assert_allclose(found["lower"], interval.sel(ci_bound="lower"), rtol=1e-12)
    np.testing.assert_allclose(found["upper"], interval.sel(ci_bound="upper"), rtol=1e-12)
    np.testing.assert_allclose(found["rhat"], az.rhat(draws), rtol=1e-10)
    if kind == "eti":
        for side, prob in (("lower", 0.025), ("upper", 0.975)):
            expected = az.mcse(draws, method="quantile", prob=prob)
            np.testing.assert_allclose(found[f"mcse_{side}"], expected, rtol=1e-10)


def test_no_verdict_given_is_another_than_that_of_endless_draws():
    rng = np.random.default_rng(2)
    centres = rng.uniform(-0.3, 0.3, 300)
    draws = xr.DataArray(rng.normal(centres, 0.05, (4, 500, 300)), dims=("chain", "draw", "pair"))
    short = decide(draws, rope=ROPE).results["verdict"].values
    lower, upper = centres - 1.959964 * 0.05, centres + 1.959964 * 0.05
    outside, inside = (lower > 0.1) | (upper < -0.1), (lower >= -0.1) & (upper <= 0.1)
    exact = np.select([outside, inside], ["different", "negligible"], "inconclusive")
    given = short != "unreliable"
    # Bounds stray beyond 2 of their errors once in twenty, and few lie that near to a limit.
    assert (short[given] != exact[given]).mean() < 0.02
    assert 0.7 < given.mean() < 0.99


def test_notices_of_a_contrast_stay_with_its_decisions():
    said = json.dumps([{"code": "separate-fits", "severity": "warning", "cells": []}])
    results = decide(normal_draws(0.3).assign_attrs(notices=said), rope=ROPE).results
    assert results.attrs["notices"] == said


def test_decisions_as_text_are_a_short_table_with_three_decimals():
    text = repr(decide(normal_draws(0.3, 0.0), rope=ROPE, comparisons=2))
    first, heads, *rows = text.splitlines()
    said = "Decisions: 2 of log_m; ROPE -0.1 to 0.1; null 0; 97.5 % intervals (eti)"
    assert first == f"{said}; Bonferroni's correction for 2 comparisons"
    columns = ["label", "mean", "lower", "upper", "p_direction", "in_rope", "statistical"]
    assert heads.split() == [*columns, "verdict"]
    assert [row.split()[0] for row in rows] == ["p0", "p1"]
    assert rows[0].split()[1] == "0.300"


def test_labels_cannot_write_to_the_terminal():
    judged = decide_normal([0.3], 0.1, rope=ROPE, labels=["a\x1b[2J\nb"])
    assert "a\\x1b[2J b" in repr(judged)
    assert len(repr(judged).splitlines()) == 3


def test_reasons_are_shown_where_there_are_any():
    judged = decide_normal([0.3, np.nan], [0.1, 0.1], rope=ROPE, labels=["<a>", "b"])
    assert "withheld" in repr(judged)
    assert "undefined" in judged._repr_html_()
    assert "&lt;a&gt;" in judged._repr_html_()
    unsure = decide(normal_draws(0.14), rope=ROPE)
    assert unsure.results["unsettled"].item() != ""
    assert "unsettled" in repr(unsure)


def test_long_labels_are_shown_whole_and_the_table_stays_complete():
    label = "x" * 200
    judged = decide_normal([0.3], [0.1], rope=ROPE, labels=[label])
    assert label in repr(judged)
    assert label in judged._repr_html_()
    assert {"sd", "p_value", "full_verdict", "withheld"} <= set(judged.table())


def test_many_decisions_are_shown_in_part_and_counted():
    number = 2000
    judged = decide_normal(np.zeros(number), 0.1, rope=ROPE)
    assert len(repr(judged).splitlines()) < 70
    assert "2000 of estimate" in repr(judged)
    assert judged._repr_html_().count("<tr>") < 70


def test_notices_are_read_from_decisions():
    said = Notice("shift", "warning", "Look.", ("p0",))
    judged = decide(with_notices(normal_draws(0.3), [said]), rope=ROPE)
    assert notices(judged) == notices(judged.results) == [said]


def test_decisions_cannot_be_changed():
    decisions = decide(normal_draws(0.3), rope=ROPE)
    with pytest.raises(FrozenInstanceError):
        decisions.rope = (-1.0, 1.0)


def test_an_error_about_a_cell_withholds_the_verdict_on_each_pair_with_it():
    said = [{"code": "rhat", "severity": "error", "message": "", "cells": ["c"], "source": ""}]
    pairs = {"left": ("pair", ["a", "a", "c"]), "right": ("pair", ["b", "c", "b"])}
    estimate = xr.DataArray(
        [0.5, 0.5, 0.5], pairs, ["pair"], "log_m", {"notices": json.dumps(said)}
    )
    table = decide_normal(estimate, 0.01, rope=ROPE).table()
    assert table["withheld"].tolist() == ["", "rhat", "rhat"]


def test_a_correction_that_asks_for_more_draws_says_how_many():
    draws = xr.DataArray(
        np.random.default_rng(1).normal(0.3, 0.05, (2000, 1)),
        dims=("draw", "cell"),
        coords={"cell": ["a"]},
        name="auroc2",
    )
    assert notices(decide(draws, rope=(-0.1, 0.1)).results) == []
    decisions = decide(draws, rope=(-0.1, 0.1), comparisons=91)
    (found,) = notices(decisions.results)
    assert found.code == "draws-for-level"
    # Ten draws beyond each end of an interval of 1 − .05/91 are 36,400.
    assert "37,000" in found.message
    assert found.message in repr(decisions)
    assert found.message in decisions._repr_html_()
    assert json.loads(json.dumps(decisions_record(decisions)))["notices"][0]["message"] == (
        found.message
    )
