"""Tables of estimates hold what contrasts are made of."""

import numpy as np
import pytest
import xarray as xr
from report.made_fit import made_fit

import hmetad


@pytest.fixture
def fit():
    return made_fit(["A", "B"], ["x"])


def with_log_m(fit, change):
    posterior = fit["posterior"].to_dataset()
    return fit.assign(posterior=xr.DataTree(posterior.assign(log_m=change(posterior["log_m"]))))


def test_log_m_has_its_mean_and_equal_tailed_interval(fit):
    frame = hmetad.report.estimate_table(fit, ci_prob=0.9)
    draws = fit["posterior"]["log_m"].transpose("cell", ...).to_numpy().reshape(2, -1)
    np.testing.assert_allclose(frame["log_m"], draws.mean(axis=1))
    for side, tail in (("lower", 0.05), ("upper", 0.95)):
        expected = np.quantile(draws, tail, axis=1)
        # ArviZ's quantiles of 1000 draws may lie a neighbour further.
        np.testing.assert_allclose(frame[f"log_m_{side}"], expected, atol=2e-3)


@pytest.mark.parametrize(("share", "is_beyond"), [(0.04, False), (0.06, True)])
def test_log_m_that_is_undefined_in_many_draws_has_no_mean(fit, share, is_beyond):
    number = fit["posterior"].sizes["draw"] * share
    holed = with_log_m(fit, lambda x: x.where((x["draw"] >= number) | (x["cell"] != x["cell"][0])))
    frame = hmetad.report.estimate_table(holed)
    columns = ["log_m", "log_m_lower", "log_m_upper"]
    assert frame[columns].isna().to_numpy().tolist() == [[is_beyond] * 3, [False] * 3]
    assert frame["m_ratio"].notna().all()
    if not is_beyond:
        kept = fit["posterior"]["log_m"].transpose("cell", ...)[0, :, round(number) :]
        assert frame["log_m"][0] == pytest.approx(float(kept.mean()))


def test_without_log_m_the_rest_is_as_it_was(fit):
    posterior = fit["posterior"].to_dataset().drop_vars("log_m")
    frame = hmetad.report.estimate_table(fit.assign(posterior=xr.DataTree(posterior)))
    whole = hmetad.report.estimate_table(fit)
    assert frame.equals(whole.drop(columns=["log_m", "log_m_lower", "log_m_upper"]))


def test_the_report_keeps_its_columns(fit):
    (table,) = [
        block
        for block in hmetad.report.fit_report(fit).blocks
        if getattr(block, "name", "") == "estimates"
    ]
    assert len(table.columns) == 13
    assert not any("log" in name for name in table.columns)


def test_a_grouping_column_called_like_a_bound_is_refused(fit):
    posterior = fit["posterior"].to_dataset().assign_coords(c_lower=("cell", ["a", "b"]))
    fit = fit.assign(posterior=xr.DataTree(posterior))
    with pytest.raises(hmetad.InputError, match="by: got 'c_lower'"):
        hmetad.report.estimate_table(fit)
    with pytest.raises(hmetad.InputError, match="by: got 'c_lower'"):
        hmetad.plots.by(fit, "c", x="c_lower", hue=None)
