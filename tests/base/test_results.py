"""One table says what every result is, and functions return what stands there, no more or less."""

import tomllib

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from public_names import PUBLIC_NAMES

import hmetad
from hmetad.base.results import TABLE, about, attrs_of, find_result, names_of, results
from hmetad.commands.measures import columns
from hmetad.measures.catalogue import function_of, numbers_of_trials
from hmetad.text.names import axis_name, column_name, heading, symbol, unit

COUNTS = hmetad.from_nr([52, 32, 35, 37, 26, 12, 4, 2], [2, 5, 15, 22, 33, 38, 40, 45])
TRIALS = pd.DataFrame(
    [(1, 0.9, 0), (0, 0.4, 1), (1, 0.7, 0), (1, 0.8, 0), (0, 0.6, 0), (1, 0.5, 0)] * 20,
    columns=["correct", "confidence", "left_out"],
)
MEMBERS = xr.DataArray([["a", "b"]], dims=["trial", "member"])
SURE = xr.DataArray([[0.6, 0.7]], dims=["trial", "member"])
DRAWS = xr.DataArray(
    np.random.default_rng(1).normal([0, 1], 0.2, (4, 100, 2)),
    dims=("chain", "draw", "cell"),
    coords={"cell": ["a", "b"], "model": ("cell", ["a", "b"])},
    name="log_m",
)
ESTIMATORS = {"mle": hmetad.fit_mle}
# By the sections of the table.
RETURNED = {
    "sdt": lambda: hmetad.sdt(COUNTS),
    "fit_mle": lambda: hmetad.fit_mle(COUNTS, s="estimate"),
    "fit_dmc": lambda: hmetad.fit_dmc(COUNTS),
    "uvsdt": lambda: hmetad.uvsdt(COUNTS),
    "type2_roc": lambda: hmetad.measures.type2_roc(COUNTS),
    "information": lambda: hmetad.information.meta_information(COUNTS),
    "information_of_correctness": lambda: hmetad.information.meta_information(
        hmetad.counts.type2_counts(COUNTS)
    ),
    "information_bounds": lambda: hmetad.information.information_bounds(0.7, 0.5),
    "type1_roc_bounds": lambda: hmetad.information.type1_roc_bounds(0.3, 0.7),
    "type2_roc_bounds": lambda: hmetad.information.type2_roc_bounds(0.3, 0.7),
    "normal_noise_information": lambda: hmetad.information.normal_noise_information(1.0),
    "noise_information": lambda: hmetad.information.noise_information(0.7),
    "calibration": lambda: hmetad.measures.calibration(TRIALS),
    "scale_report": lambda: hmetad.measures.scale_report(TRIALS),
    "overconfidence": lambda: hmetad.measures.overconfidence(
        COUNTS, probabilities=[0.5, 0.7, 0.9, 1]
    ),
    "meta_delta": lambda: hmetad.measures.meta_delta(hmetad.fit_mle(COUNTS)).to_dataset(),
    "accuracy_by_confidence": lambda: hmetad.measures.accuracy_by_confidence(TRIALS),
    "abstention": lambda: numbers_of_trials(
        hmetad.counts.type2_counts(COUNTS).rename("counts"), penalty=1.0
    ).drop_vars(["trials", "share_right"]),
    "selective_prediction": lambda: hmetad.measures.selective_prediction(TRIALS, tolerance=0.1),
    "group_bounds": lambda: hmetad.groups.group_bounds([0.7, 0.7, 0.7]),
    "combine_predictions": lambda: hmetad.groups.combine_predictions(MEMBERS, SURE),
    "rank": lambda: hmetad.rank(DRAWS, over="model"),
    "model_frequencies": lambda: hmetad.compare.model_frequencies(
        pd.DataFrame({"a": [-10.0, -12.0], "b": [-11.0, -15.0]})
    ),
    "recover": lambda: hmetad.simulate.recover(ESTIMATORS, dprime=[1.0], trials=[200], n=4, seed=1),
}


@pytest.mark.parametrize("section", RETURNED)
def test_a_function_returns_the_results_of_its_section(section):
    returned = RETURNED[section]()
    assert set(map(str, returned.data_vars)) == set(names_of(section))
    for name, values in returned.data_vars.items():
        told = find_result(name, section)
        assert values.attrs["long_name"].startswith(told.means.partition("{")[0])
        assert values.attrs.get("units", told.unit) == told.unit


@pytest.mark.parametrize("has_stimulus", [True, False])
def test_measure_returns_what_the_table_says_it_measures(has_stimulus):
    measured = hmetad.measure(COUNTS if has_stimulus else hmetad.counts.type2_counts(COUNTS))
    expected = {x.name for x in results() if x.measured and (has_stimulus or not x.stimulus)}
    assert set(map(str, measured.data_vars)) == expected
    assert attrs_of("auroc2", "type2").items() <= measured["auroc2"].attrs.items()


def test_entries_are_whole():
    functions = {x.rpartition(".")[2] for x in PUBLIC_NAMES} | {"numbers_of_trials"}
    for result in results():
        assert result.means, result
        assert result.title, result
        assert {result.page, result.terminal} <= {"", "estimate", "interval"}, result
        assert result.function.rpartition(".")[2] in functions, result
        assert callable(function_of(result)), result


def test_what_the_first_of_a_name_says_is_not_said_again():
    first = {}
    for section in tomllib.loads(TABLE.read_text(encoding="utf-8")).values():
        for name, own in section["results"].items():
            for key in ("means", "symbol", "heading", "column", "about"):
                assert key not in own or own[key] != first.get(name, {}).get(key), name
            first.setdefault(name, own)


def test_a_unit_is_that_of_the_result_else_of_its_section_else_of_the_first_of_its_name():
    assert find_result("c_prime").unit == "1"
    assert find_result("dprime", "fit_mle").unit == "SD of the S1 evidence"
    assert find_result("dprime", "fit_dmc").unit == "SD of the evidence"
    assert unit("meta_d") == "SD of the evidence"
    assert unit("trials") == unit("m_ratio") == unit("reaction_time") == ""


def test_names_on_axes_pages_and_terminals_come_from_one_entry():
    assert (symbol("auroc2"), heading("auroc2"), column_name("auroc2")) == ("AUROC2",) * 3
    assert (symbol("hit_rate"), heading("hit_rate")) == ("hit_rate", "Hits")
    assert (column_name("share_right"), column_name("rank_lower", "rank")) == ("correct", "from")
    assert axis_name("meta_i") == "meta-I (bit)"


def test_a_terminal_shows_what_its_entries_ask_for():
    shown = columns()
    assert list(shown)[:3] == ["cell", "trials", "share_right"]
    assert {"m_ratio_lower": "from", "rmi_upper": "to"}.items() <= shown.items()
    assert "phi" not in shown


def test_only_quantities_of_m_rest_on_it():
    assert {x.name for x in results() if x.about == "M"} == {"m", "m_ratio", "log_m"}
    assert about("meta_d") == "meta-d′"
    assert about("some_log_m") == ""
