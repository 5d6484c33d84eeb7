"""Populations of published sets: what is kept, what is resumed, what a page says."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import hmetad
from hmetad.base.errors import InputError
from hmetad.studies import confidence_database
from hmetad.studies.confidence_database import describe_set, populations_of, survey


def rows_of(name, n=2):
    """Records as of a set, with numbers that are told apart."""
    place = sum(map(ord, name)) % 7
    same = dict.fromkeys([*confidence_database.NORMS, "m_ratio_ml", "c"], 0.5)
    same |= {"set": name, "domain": "memory", "difficulty": "levels", "below_guessing": False}
    same |= {"continuous": False, "people": 30, "trials": 6000, "ratings": 4, "failed": ""}
    same |= {"log_m_error": 0.1, "rhat": 1.001, "ess_bulk": 1000, "seconds": 2.0}
    made = [("", -0.1 * place), ("b", -0.1 * (place + 1))][:n]
    return [same | {"population": x, "log_m": m, "m_ratio": float(np.exp(m))} for x, m in made]


@pytest.fixture
def described(monkeypatch):
    """Names of sets that were fitted, by a stand-in for the fit."""
    names = []

    def describe(name, seed):
        names.append(name)
        return [{**row, "seconds": float(seed)} for row in rows_of(name)]

    monkeypatch.setattr(confidence_database, "describe_set", describe)
    return names


def test_each_set_is_kept_when_it_is_done_and_not_fitted_again(described, tmp_path):
    first = survey(["a", "b"], tmp_path)
    assert described == ["a", "b"]
    (tmp_path / "sets" / "b.json").unlink()
    again = survey(["a", "b", "c"], tmp_path, resume=True)
    assert described == ["a", "b", "b", "c"]
    pd.testing.assert_frame_equal(again[again["set"] != "c"].reset_index(drop=True), first)


def test_results_of_another_seed_or_version_or_cut_off_are_made_anew(described, tmp_path):
    survey(["a"], tmp_path)
    survey(["a"], tmp_path, seed=2, resume=True)
    path = tmp_path / "sets" / "a.json"
    path.write_text(path.read_text()[:50])
    survey(["a"], tmp_path, seed=2, resume=True)
    kept = json.loads(path.read_text())
    path.write_text(json.dumps({**kept, "made": {**kept["made"], "version": "0"}}))
    survey(["a"], tmp_path, seed=2, resume=True)
    assert described == ["a"] * 4


@pytest.mark.usefixtures("described")
@pytest.mark.parametrize("rows", [None, 3, {"set": "a"}, ["a"], [{"people": 30}]])
def test_a_file_of_results_that_was_changed_is_named(rows, tmp_path):
    survey(["a"], tmp_path)
    path = tmp_path / "sets" / "a.json"
    made = json.loads(path.read_text())["made"]
    path.write_text(json.dumps({"made": made, "rows": rows} if rows else {"made": made}))
    with pytest.raises(InputError, match=r"Delete a\.json"):
        survey(["a"], tmp_path, resume=True)


@pytest.mark.usefixtures("described")
def test_a_folder_with_results_is_not_written_over(tmp_path):
    survey(["a"], tmp_path)
    with pytest.raises(InputError, match="resume"):
        survey(["a"], tmp_path)


@pytest.mark.usefixtures("described")
def test_sets_go_to_an_executor_and_come_back_in_order(tmp_path):
    with ThreadPoolExecutor(2) as executor:
        found = survey(["a", "b", "c"], tmp_path, executor=executor)
    assert list(dict.fromkeys(found["set"])) == ["a", "b", "c"]


def test_tasks_and_groups_are_populations_of_their_own():
    coords = {"subject": [*"1122"], "task": [*"xyxy"]}
    counts = hmetad.simulate_counts([1.0, 1.2, 1.4, 1.6], coords=coords, trials=100, seed=1)
    found = dict(populations_of(counts))
    assert [*found] == ["task x", "task y"]
    xr.testing.assert_equal(found["task y"], counts[[1, 3]].drop_vars("task"))


def test_a_set_that_cannot_be_had_is_told_and_the_others_go_on(monkeypatch, tmp_path):
    monkeypatch.setenv("HMETAD_DATA_URL", "http://localhost:9")
    monkeypatch.setattr("hmetad.datasets.RETRIES", 0)
    monkeypatch.setenv("HMETAD_DATA", str(tmp_path))
    (row,) = describe_set("Clark_2018")
    assert "SHA-256" in row["excluded"]


def test_kinds_of_design_are_pooled_over_sets():
    frame = pd.DataFrame([row for name in "abcd" for row in rows_of(name)])
    pooled = confidence_database.pool_kinds(
        confidence_database.kinds_of_design(frame.assign(excluded=np.nan))
    ).set_index("kind")
    assert pooled.loc["all sets", "sets"] == 4
    sets = frame.groupby("set")["log_m"].mean()
    assert pooled.loc["memory", "mean"] == pytest.approx(float(np.exp(sets.mean())), rel=0.02)
    assert pooled.loc["memory", "new_lower"] < pooled.loc["memory", "mean_lower"]


def test_norms_leave_out_the_spread_of_log_m_where_confidence_was_cut_within_people():
    frame = pd.DataFrame([row for name in "abc" for row in rows_of(name, 1)])
    frame = frame.assign(continuous=[True, False, True], excluded=np.nan)
    found = confidence_database.norms_of(frame)
    assert found["log_m_sd"].notna().tolist() == [False, True, False]
    assert found["c_sd"].notna().all()


def test_norms_leave_out_what_failed_and_what_is_small():
    rows = [row for name in "abc" for row in rows_of(name, 1)]
    rows[1] |= {"failed": "rhat"}
    rows[2] |= {"people": 6}
    rows.append({"set": "d", "population": "", "excluded": "4 people"})
    frame = pd.DataFrame(rows)
    assert list(confidence_database.norms_of(frame)["set"]) == ["a"]
    page = confidence_database.report_of(frame, 1).markdown()
    for said in ("the chains fail: rhat", "6 people, of 10", "4 people"):
        assert said in page


@pytest.mark.integration
def test_the_population_of_a_set_is_that_of_its_fit(monkeypatch):
    coords = {"subject": [*"abcdefgh"]}
    counts = hmetad.simulate_counts(np.linspace(1, 2, 8), coords=coords, trials=200, seed=1)
    monkeypatch.setattr(confidence_database, "load", lambda _: counts)
    (row,) = describe_set("Desender_2014")
    fitted = hmetad.fit(counts, "group", random_seed=1, progressbar=False, quiet=True)
    m_ratio = np.exp(fitted["posterior"]["log_m_Intercept"].to_numpy())
    assert row["m_ratio"] == pytest.approx(np.median(m_ratio), rel=0.02)
    assert (row["people"], row["continuous"]) == (8, False)
    assert row["auroc2"] == pytest.approx(float(hmetad.measures.auroc2(counts).mean()))
