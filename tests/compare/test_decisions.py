"""Decisions say what they are: as a table, as text, as a record, and on the page."""

import json
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from drawn_cells import drawn_cells, said

from hmetad import InputError, Notice, contrast, decide, decide_normal, notices, rank
from hmetad.base.notice import with_notices
from hmetad.base.notice_registry import about_alone, codes
from hmetad.report import decisions_record

ROPE = (-0.1, 0.1)


def normal_draws(*centres, attrs=None):
    noise = np.random.default_rng(0).normal(0, 0.02, (4, 1000, len(centres)))
    return drawn_cells(noise + np.array(centres), attrs=attrs)


def test_cells_and_coefficients_can_be_judged_as_well_as_pairs():
    draws = normal_draws(0.3)
    table = decide(draws, rope=ROPE).table()
    assert table.columns[:2].tolist() == ["label", "model"]
    one = decide(draws.isel(cell=0), rope=ROPE).table()
    pd.testing.assert_frame_equal(one, table, check_like=True)
    with pytest.raises(InputError, match="one more dim"):
        decide(draws.expand_dims("response"), rope=ROPE)
    slope = draws.isel(cell=0, drop=True).rename("log_m_age")
    table = decide(slope, rope=ROPE).table()
    assert table[["label", "verdict"]].values.tolist() == [["log_m_age", "different"]]


ERRORS = {
    code.name for code in codes().values() for x in code.texts.values() if x.severity == "error"
}


@pytest.mark.parametrize("code", sorted(ERRORS))
def test_every_error_withholds_what_rests_on_its_cells_and_nothing_else(code):
    draws = normal_draws(0.3, 0.6, 0.9, attrs=said((code, ["m0"])))
    assert decide(draws, rope=ROPE).table()["withheld"].tolist() == [code, "", ""]
    pairs = decide(contrast(draws, over="model"), rope=ROPE).table()
    assert (pairs["withheld"] != "").tolist() == [True, True, False]
    assert set(rank(draws, over="model")["withheld"].values) == {code}
    estimate = draws.mean(["chain", "draw"], keep_attrs=True)
    assert decide_normal(estimate, 0.01, rope=ROPE).table()["withheld"].tolist() == [code, "", ""]
    dprime = decide(draws.rename("dprime"), rope=ROPE).table()["withheld"].tolist()
    assert dprime == ["" if about_alone(code) else code, "", ""]


def test_an_error_about_a_cell_withholds_the_verdict_on_each_pair_with_it():
    pairs = {"left": ("pair", ["a", "a", "c"]), "right": ("pair", ["b", "c", "b"])}
    estimate = xr.DataArray([0.5] * 3, pairs, ["pair"], "log_m", said(("rhat", ["c"])))
    table = decide_normal(estimate, 0.01, rope=ROPE).table()
    assert table["withheld"].tolist() == ["", "rhat", "rhat"]


@pytest.mark.parametrize(
    ("values", "decided"),
    [
        (normal_draws(0.3), lambda x: decide(x, rope=ROPE)),
        (xr.DataArray([0.3], {"cell": ["a"]}), lambda x: decide_normal(x, 0.1, rope=ROPE)),
    ],
    ids=["draws", "estimates"],
)
def test_no_table_of_decisions_gets_two_columns_of_one_name(values, decided):
    free = decided(values.assign_coords(left=("cell", ["x"]), kind=("cell", ["y"]))).table()
    assert free[["left", "kind"]].to_numpy().tolist() == [["x", "y"]]
    for name in decided(values.drop_vars("model", errors="ignore")).table().columns:
        with pytest.raises(InputError, match=f"by: .*got '{name}'"):
            decided(values.assign_coords({name: ("cell", ["x"])}))


def test_labels_are_shown_whole_and_cannot_write_to_the_terminal_or_page():
    shown = decide_normal([0.3], 0.1, rope=ROPE, labels=["a\x1b[2J\nb"])
    assert "a\\x1b[2J b" in repr(shown)
    assert len(repr(shown).splitlines()) == 3
    label = "x" * 200
    shown = decide_normal([0.3, 0.3], 0.1, rope=ROPE, labels=[label, "<a>"])
    assert label in repr(shown)
    assert label in shown._repr_html_()
    assert "&lt;a&gt;" in shown._repr_html_()
    assert {"sd", "p_value", "full_verdict", "withheld"} <= set(shown.table())


def test_many_decisions_are_shown_in_part_and_counted():
    many = decide_normal(np.zeros(2000), 0.1, rope=ROPE)
    assert len(repr(many).splitlines()) < 70
    assert "2000 of estimate" in repr(many)
    assert many._repr_html_().count("<tr>") < 70


def test_decisions_keep_the_notices_of_their_draws_and_cannot_be_changed():
    shift = Notice("shift", "warning", "Look.", ("p0",))
    decisions = decide(with_notices(normal_draws(0.3), [shift]), rope=ROPE)
    assert notices(decisions) == notices(decisions.results) == [shift]
    with pytest.raises(FrozenInstanceError):
        decisions.rope = (-1.0, 1.0)


def test_a_correction_that_asks_for_more_draws_says_how_many():
    values = np.random.default_rng(1).normal(0.3, 0.05, (2000, 1))
    draws = drawn_cells(values, "auroc2")
    assert notices(decide(draws, rope=ROPE).results) == []
    decisions = decide(draws, rope=ROPE, comparisons=91)
    (found,) = notices(decisions.results)
    assert found.code == "draws-for-level"
    # Ten draws beyond each end of an interval of 1 − .05/91 are 36,400.
    assert "37,000" in found.message
    assert found.message in repr(decisions)
    assert found.message in decisions._repr_html_()
    record = json.loads(json.dumps(decisions_record(decisions)))
    assert record["notices"][0]["message"] == found.message
