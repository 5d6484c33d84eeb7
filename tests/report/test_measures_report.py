"""The report of measures shows them, says what they mean, and what is missing."""

import html

import numpy as np
import pytest

from hmetad import InputError, fit_mle, from_nr, loo, measure, resample_interval
from hmetad.counts.tables import type2_counts
from hmetad.report import measures_report


@pytest.fixture
def counts():
    return from_nr(
        [[84, 56, 48, 12], [36, 24, 17, 20]], [[4, 56, 64, 76], [9, 2, 28, 39]], model=["a", "b"]
    )


def test_every_measure_is_explained(counts):
    found = measure(counts)
    report = measures_report(counts, found, command="hmetad measures t.csv")
    page = report.html()
    for name, values in found.data_vars.items():
        assert html.escape(values.attrs["long_name"]) in page, name
    assert "hmetad measures t.csv" in page
    assert report.markdown().count("**Figure") == 3


def test_right_and_wrong_alone_say_what_they_lack(counts):
    judged = type2_counts(counts)
    page = measures_report(judged, measure(judged)).markdown()
    assert "There is no stimulus in these data" in page
    assert "Type 1" not in page
    assert page.count("**Figure") == 1


def test_intervals_and_likelihood_are_shown_where_they_are(counts):
    def everything(table):
        return measure(table).assign(fit_mle(table)[["meta_d", "m_ratio"]].data_vars)

    found = resample_interval(counts, everything, n=50, seed=1)
    page = measures_report(counts, found).markdown()
    assert "bootstrap of 50 draws" in page
    assert "M-ratio" in page
    for name in ("auroc2", "m_ratio", "dprime"):
        upper = found[name].sel(summary="upper")[0].item()
        assert f"{upper:.3f}" in page, name


def test_curves_are_left_out_where_cells_are_too_many():
    rows = np.tile([36, 24, 17, 20], (9, 1))
    many = from_nr(rows, rows[:, ::-1], model=list("abcdefghi"))
    assert "**Figure" not in measures_report(many, measure(many)).markdown()


def test_measures_of_other_counts_are_refused(counts):
    with pytest.raises(InputError, match="other cells"):
        measures_report(counts, measure(counts.isel(cell=[1, 0])))


def test_counts_are_no_fit(counts):
    with pytest.raises(InputError, match="fit: got DataArray, allowed is a fit"):
        loo(counts)
