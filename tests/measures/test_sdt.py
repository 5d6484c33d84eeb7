"""Type-1 measures against print, SciPy, simulation and their own identities."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm

from hmetad import InputError, fit_dmc, fit_mle, from_nr, notices, sdt, uvsdt
from hmetad.measures import z_test
from hmetad.measures.sdt import type1_rates, z_scores

# Servajean & Servajean (2026), Table S2: hits, misses, false alarms, correct rejections, the
# printed c and the printed half-width of its 95 % interval.
TABLE_S2 = {
    "GPT-5, A, S1": (10867, 175, 1679, 7279, -0.6304, 0.0330),
    "GPT-5, A, none": (10049, 934, 272, 8745, 0.2532, 0.0308),
    "GPT-5, A, S2": (7946, 3100, 66, 8888, 0.9289, 0.0452),
    "GPT-5, B, S1": (5283, 52, 2488, 2177, -1.2098, 0.0537),
    "GPT-5, C, S1": (4349, 33, 3075, 1543, -1.4297, 0.0644),
    "Mistral-Medium-2508, B, none": (4431, 904, 460, 4205, 0.1666, 0.0317),
    "Mistral-Medium-2508, C, S2": (2864, 2096, 451, 4589, 0.5743, 0.0300),
    "DeepSeek-V3.2-Exp, A, none": (10242, 921, 305, 8532, 0.2149, 0.0300),
    "DeepSeek-V3.2-Exp, C, S2": (2248, 2702, 314, 4736, 0.8260, 0.0323),
    # Printed .7667 is .76677 truncated, and ±.0356 a misprint of ±.03595.
    "GPT-5, C, S2": (3537, 1333, 84, 5046, 0.7668, 0.0465),
    "GPT-5, C, none": (4478, 364, 428, 4730, -0.0265, 0.0359),
}
QUANTITIES = ["dprime", "c", "c_prime", "ln_beta"]


def table_2x2(hits, misses, false_alarms, rejections, **coords):
    """Count table without confidence."""
    nR_S1 = np.stack([rejections, false_alarms], axis=-1)
    return from_nr(nR_S1, np.stack([misses, hits], axis=-1), **coords)


def labelled(values):
    """Count table of an array (cell, stimulus, response, rating)."""
    nR = np.concatenate([values[..., 0, ::-1], values[..., 1, :]], axis=-1)
    return from_nr(nR[:, 0], nR[:, 1])


def codes(result):
    return [notice.code for notice in notices(result)]


# --- referees -------------------------------------------------------------------------------


@pytest.mark.parametrize("row", TABLE_S2.values(), ids=TABLE_S2)
def test_printed_criteria_and_half_widths_are_reproduced(row):
    *cells, c, half_width = row
    estimates = sdt(table_2x2(*cells))
    # Half a unit of the last printed digit.
    assert estimates["c"].item() == pytest.approx(c, abs=5e-5)
    assert norm.ppf(0.975) * estimates["c_se"].item() == pytest.approx(half_width, abs=5e-5)


@settings(max_examples=50)
@given(arrays(np.int64, (3, 2, 2, 4), elements=st.integers(1, 400)))
def test_estimates_and_errors_are_those_of_scipys_normal_quantiles(values):
    estimates = sdt(labelled(values))
    said = values.sum(axis=-1)
    F, H = (said[:, s, 1] / said[:, s].sum(axis=-1) for s in (0, 1))
    zH, zF = norm.ppf(H), norm.ppf(F)
    vH = H * (1 - H) / (said[:, 1].sum(axis=-1) * norm.pdf(zH) ** 2)
    vF = F * (1 - F) / (said[:, 0].sum(axis=-1) * norm.pdf(zF) ** 2)
    d, c, var_d, cov = zH - zF, -(zH + zF) / 2, vH + vF, (vF - vH) / 2
    expected = {"hit_rate": H, "false_alarm_rate": F, "dprime": d, "c": c, "ln_beta": d * c}
    expected |= {"dprime_se": np.sqrt(var_d), "c_se": np.sqrt(var_d) / 2, "cov_dprime_c": cov}
    for name, value in expected.items():
        # 1e-9: SciPy's z(H) near 1 carries the rounding of H, ours that of 1 − H.
        np.testing.assert_allclose(estimates[name], value, rtol=1e-9, atol=1e-12, err_msg=name)
    # Errors of the ratio and the product follow by their gradients.
    is_off_chance = estimates["dprime"].values != 0
    names = ("dprime", "c", "dprime_se", "c_se", "cov_dprime_c")
    d, c, d_se, c_se, cov = (estimates[name].values[is_off_chance] for name in names)
    ratio = [c**2 / d**4 * d_se**2, c_se**2 / d**2, -2 * c / d**3 * cov]
    product = [c**2 * d_se**2, d**2 * c_se**2, 2 * c * d * cov]
    for name, terms in (("c_prime_se", ratio), ("ln_beta_se", product)):
        # The terms cancel: the rounding is relative to their size, not to that of their sum.
        off = np.abs(estimates[name].values[is_off_chance] ** 2 - sum(terms))
        assert (off <= 1e-9 * sum(np.abs(term) for term in terms)).all()
    # Confidence does not matter, and swapping the labels mirrors the bias alone.
    xr.testing.assert_equal(estimates, sdt(labelled(values.sum(axis=-1, keepdims=True))))
    swapped = sdt(labelled(values[:, ::-1, ::-1]))
    for name, sign in (("dprime", 1), ("c", -1), ("ln_beta", -1), ("dprime_se", 1), ("c_se", 1)):
        np.testing.assert_allclose(swapped[name], sign * estimates[name], rtol=1e-12, atol=1e-15)


def test_standard_errors_are_the_spread_of_simulated_estimates():
    H, F, n_S2, n_S1, tables = 0.84, 0.30, 4000, 2500, 20_000
    rng = np.random.default_rng(20260101)
    hits, false_alarms = rng.binomial(n_S2, H, tables), rng.binomial(n_S1, F, tables)
    simulated = sdt(table_2x2(hits, n_S2 - hits, false_alarms, n_S1 - false_alarms))
    truth = sdt(table_2x2(H * n_S2, n_S2 - H * n_S2, F * n_S1, n_S1 - F * n_S1))
    for name in QUANTITIES:
        # An SD of 20 000 draws has a relative error of 0.5 %; 2 % is four of them.
        spread = simulated[name].std("cell", ddof=1).item()
        assert spread == pytest.approx(truth[f"{name}_se"].item(), rel=0.02)
    covariance = np.cov(simulated["dprime"], simulated["c"])[0, 1]
    # The covariance is a difference of two variances, each known to 1 %.
    bound = 0.04 * truth["dprime_se"].item() * truth["c_se"].item()
    assert covariance == pytest.approx(truth["cov_dprime_c"].item(), abs=bound)


# --- corrections ----------------------------------------------------------------------------


@pytest.mark.parametrize("K", [1, 3, 49])
def test_cell_adds_half_a_trial_whatever_k(K):
    values = np.ones((2, 2, K))
    assert type1_rates(values, "cell").hits == K + 0.5
    assert type1_rates(values, 1 / (2 * K)).hits == pytest.approx(K + 0.5)


def test_loglinear_is_hautus_rule_and_a_number_is_added_to_every_cell():
    estimates = sdt(from_nr([50, 0], [12, 38]), correction="loglinear")
    assert estimates["hit_rate"] == 38.5 / 51
    assert estimates["false_alarm_rate"] == 0.5 / 51
    assert estimates["dprime"].item() == pytest.approx(norm.ppf(38.5 / 51) - norm.ppf(0.5 / 51))
    assert "undefined-dprime" not in codes(estimates)
    estimates = sdt(from_nr([40, 10, 0, 0], [2, 10, 12, 26]), correction=0.002)
    assert estimates["hit_rate"].item() == pytest.approx(38.004 / 50.008, rel=1e-14)


@pytest.mark.parametrize("function", [sdt, uvsdt, fit_mle, fit_dmc])
@pytest.mark.parametrize("correction", ["loglinear", "cell", 0.5])
def test_no_correction_makes_a_d_prime_of_a_stimulus_without_trials(function, correction):
    table = from_nr([[9, 7, 2, 1], [10, 5, 3, 2]], [[3, 4, 5, 9], [0, 0, 0, 0]])
    found = function(table, correction=correction)
    assert found["dprime"].isnull().values.tolist() == [False, True]
    code = "roc-undefined" if function is uvsdt else "undefined-dprime"
    (said,) = [notice for notice in notices(found) if notice.code == code]
    assert said.cells == (table["cell"].values[1],)


@pytest.mark.parametrize("correction", ["none", "loglinear", "cell", 0.002, np.float64(0.25), 1])
def test_the_correction_is_recorded_as_text_or_number(correction, tmp_path):
    estimates = sdt(from_nr([40, 10], [10, 40]), correction=correction)
    assert estimates.attrs["correction"] == correction
    assert type(estimates.attrs["correction"]) in (str, float)
    estimates.to_netcdf(tmp_path / "estimates.nc", engine="h5netcdf")


# --- undefined and extreme ------------------------------------------------------------------


@pytest.mark.parametrize("row", [(50, 0, 9, 41), (0, 50, 9, 41), (41, 9, 0, 50), (41, 9, 50, 0)])
def test_a_rate_of_zero_or_one_is_nan_with_a_notice(row):
    two = np.array([row, (40, 10, 10, 40)]).T
    estimates = sdt(table_2x2(*two, who=["ceiling", "fine"]))
    said = notices(estimates)[-1]
    assert (said.code, said.cells) == ("undefined-dprime", ("ceiling",))
    for name in [*QUANTITIES, *(f"{name}_se" for name in QUANTITIES), "cov_dprime_c"]:
        assert np.isnan(estimates[name].values).tolist() == [True, False], name
    assert np.isfinite(estimates[["hit_rate", "false_alarm_rate"]].to_array()).all()
    alone = notices(sdt(table_2x2(*row).isel(cell=0)))[-1]
    assert (alone.code, alone.cells) == ("undefined-dprime", ())


def test_a_stimulus_never_shown_has_no_rate():
    estimates = sdt(from_nr([40, 10], [0, 0]))
    assert np.isnan(estimates["hit_rate"])
    assert estimates["false_alarm_rate"] == 0.2
    assert codes(estimates) == ["one-stimulus", "few-trials", "undefined-dprime"]


def test_at_chance_only_the_relative_criterion_is_undefined_and_below_it_dprime_is_negative():
    estimates = sdt(from_nr([70, 30], [140, 60]))
    assert (estimates["dprime"], estimates["ln_beta"]) == (0, 0)
    assert np.isnan([estimates["c_prime"], estimates["c_prime_se"]]).all()
    assert np.isfinite(estimates["dprime_se"])
    assert notices(estimates) == []
    estimates = sdt(from_nr([30, 70], [70, 30]))
    assert estimates["dprime"].item() == pytest.approx(2 * norm.ppf(0.3))
    assert estimates["c"].item() == pytest.approx(0, abs=1e-15)


def test_an_extreme_rate_keeps_its_quantile():
    z, variance = z_scores([1.0, 1e18], [1e18, 1.0])
    # 1 − 1e-18 is 1 in floating point; norm.isf has the quantile.
    np.testing.assert_allclose(z, [-norm.isf(1e-18), norm.isf(1e-18)], rtol=1e-12)
    assert variance[0] == variance[1]
    assert np.isfinite(z_scores([1e-300], [1.0])[1])


def test_cells_dims_coordinates_and_notices_are_those_of_the_table():
    counts = from_nr([[40, 10], [3, 2]], [[10, 40], [1, 4]], model=["a", "b"], size=[1, 2])
    estimates = sdt(counts)
    assert estimates.sizes == {"cell": 2}
    assert set(estimates.coords) == {"cell", "model", "size"}
    xr.testing.assert_equal(estimates["model"], counts["model"])
    assert notices(estimates) == notices(counts) != []
    xr.testing.assert_equal(sdt(counts.isel(cell=1)), estimates.isel(cell=1))
    draws = sdt(counts.expand_dims(draw=3).transpose("rating", "draw", ...))
    assert draws["c"].dims == ("draw", "cell")
    np.testing.assert_array_equal(draws["c"][2], estimates["c"])


# --- z-test ---------------------------------------------------------------------------------


def two_models():
    """Task B of Servajean & Servajean (2026), Table S2, without risk, and one mirrored cell."""
    rows = np.array([(4801, 534, 722, 3943), (4431, 904, 460, 4205), (3943, 722, 534, 4801)]).T
    return sdt(table_2x2(*rows, model=["GPT-5", "Mistral", "mirror"]))


def test_a_difference_is_tested_against_its_own_error(tmp_path):
    estimates = two_models()
    test = z_test(estimates, "c", "GPT-5", "Mistral")
    left, right = estimates.sel(cell="GPT-5"), estimates.sel(cell="Mistral")
    se, z = np.hypot(left["c_se"], right["c_se"]).item(), test["z"].item()
    assert test["difference"].item() == pytest.approx((left["c"] - right["c"]).item())
    assert test["se"].item() == pytest.approx(se)
    assert z == pytest.approx(test["difference"].item() / se)
    assert test["p"].item() == pytest.approx(2 * norm.sf(abs(z)))
    # The p of a large z is not rounded to zero.
    assert abs(z) > 12
    assert 0 < test["p"].item() < 1e-30
    assert test["difference"].attrs["units"] == "SD of the evidence"
    test.to_netcdf(tmp_path / "test.nc", engine="h5netcdf")
    equal = z_test(estimates, "dprime", "GPT-5", "mirror")
    assert equal["difference"].item() == pytest.approx(0, abs=1e-14)
    assert equal["p"].item() == pytest.approx(1, abs=1e-12)


def test_pairs_come_in_the_order_asked_with_their_labels():
    test = z_test(two_models(), "c", ["Mistral", "GPT-5"], ["GPT-5", "mirror"])
    assert test.sizes == {"pair": 2}
    assert test["left"].to_numpy().tolist() == ["Mistral", "GPT-5"]
    assert test["right"].to_numpy().tolist() == ["GPT-5", "mirror"]
    assert set(test.coords) == {"left", "right"}
    assert (np.sign(test["difference"]) == [1, -1]).all()


def test_an_undefined_cell_gives_an_undefined_test():
    estimates = sdt(from_nr([[50, 0], [40, 10]], [[10, 40], [10, 40]]))
    assert np.isnan(z_test(estimates, "dprime", "1", "2")["p"])
    assert notices(z_test(estimates, "dprime", "1", "2")) == notices(estimates)


# --- refused --------------------------------------------------------------------------------


@pytest.mark.parametrize("correction", ["hautus", 0, np.nan, np.inf, True, None, [0.5], 1 + 2j])
def test_any_other_correction_is_refused(correction):
    message = r"correction: .*'none', 'loglinear', 'cell', or a num.*got "
    with pytest.raises(InputError, match=message):
        sdt(from_nr([40, 10], [10, 40]), correction=correction)


@pytest.mark.parametrize(
    ("var", "left", "right", "message"),
    [
        ("c", "GPT5", "Mistral", "left: Did you mean 'GPT-5'.*got 'GPT5'"),
        ("c", ["GPT-5", "mirror"], "Mistral", "right: .*got 1 cells for 2 in left"),
        ("c", "GPT-5", "GPT-5", "'GPT-5' on both sides"),
        ("c", [], [], "left: .*got no cell"),
        ("d_prime", "GPT-5", "Mistral", r"var: .*Did you mean 'dprime'.*got 'd_prime'"),
    ],
)
def test_what_cannot_be_compared_is_refused(var, left, right, message):
    with pytest.raises(InputError, match=message):
        z_test(two_models(), var, left, right)
