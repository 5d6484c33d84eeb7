"""Outputs with a label and a verdict become labelled counts, and the pool's counts."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from judged_trials import nq301, outputs, partly_labelled

import hmetad
from hmetad import InputError, count_judged, resample, resample_interval, sdt, uvsdt
from hmetad.base.notice_registry import about_alone
from hmetad.counts.resample import clusters_of
from hmetad.measures import auroc2, type2_roc

COLUMNS = {"by": (), "label": "human", "verdict": "verdict"}


def codes(table):
    return [notice.code for notice in hmetad.notices(table)]


def test_labels_stand_for_stimuli_and_unlabelled_rows_are_the_pool():
    table = count_judged(outputs(), **COLUMNS)
    assert table.dims == ("cell", "stimulus", "response", "rating")
    assert table.isel(cell=0, rating=0).values.tolist() == [[2, 1], [1, 2]]
    assert table["pool"].dims == ("cell", "response", "rating")
    assert table["pool"].isel(cell=0, rating=0).values.tolist() == [1, 1]
    assert table.attrs["labels"] == "[0, 1]"


def test_ratings_are_cut_within_each_verdict_of_each_judge_the_surest_highest():
    one = outputs(judge="a")
    two = one.assign(judge="b", score=one["score"] / 100)
    table = count_judged(
        pd.concat([one, two]), **COLUMNS | {"by": "judge"}, score="score", ratings=4
    )
    assert table.sizes["rating"] == 4
    assert table.sel(cell="a").values.tolist() == table.sel(cell="b").values.tolist()
    # Verdict 1 by score: .6 (pool), .7 (bad), .8 (good), .9 (good).
    assert table.sel(cell="a", response="S2", stimulus="S2").values.tolist() == [0, 0, 1, 1]
    assert table["pool"].sel(cell="a", response="S2").values.tolist() == [1, 0, 0, 0]
    # Verdict 0: .4 (pool) is the least sure fail, .1 (bad) the surest.
    assert table["pool"].sel(cell="a", response="S1").values.tolist() == [1, 0, 0, 0]
    assert table.sel(cell="a", response="S1", stimulus="S1").values.tolist() == [0, 1, 0, 1]


def test_grades_are_ratings_cut_at_the_grade_that_passes():
    trials = outputs(grade=[5, 4, 3, 1, 2, 4, 5, 3])
    table = count_judged(trials, by=(), label="human", verdict=None, score="grade", threshold=4)
    assert table.sel(cell="all", stimulus="S2").values.tolist() == [[1, 0, 0], [1, 1, 0]]
    assert table.sel(cell="all", stimulus="S1").values.tolist() == [[0, 1, 1], [1, 0, 0]]
    assert "grades of column 'grade'" in table.attrs["ratings_rule"]


def test_the_labelled_part_is_an_ordinary_table(shared):
    table = count_judged(
        nq301(shared).drop(columns="item"), by=(), label="human", verdict="bem", score="bem_score"
    )
    found = sdt(table)
    for name, value in {"hit_rate": 0.734069, "false_alarm_rate": 0.106825, "c": 0.309213}.items():
        assert found[name].item() == pytest.approx(value, abs=1e-6)
    assert found["dprime"].item() == pytest.approx(1.868757, abs=1e-6)
    assert found["dprime_se"].item() == pytest.approx(0.079988, abs=1e-6)
    # Quantiles of another rule put the cuts a row or two elsewhere.
    curve = uvsdt(table)
    assert curve["dprime"].item() == pytest.approx(1.638, abs=0.003)
    assert curve["s"].item() == pytest.approx(0.831, abs=0.003)


def test_the_pool_is_kept_by_selection_by_files_and_by_sums_over_clusters(shared, tmp_path):
    trials = partly_labelled(nq301(shared))
    table = count_judged(trials, by="item", label="human", verdict="bem", score="bem_score")
    one = count_judged(
        trials.drop(columns="item"), by=(), label="human", verdict="bem", score="bem_score"
    )
    pooled = clusters_of(table, "item").pooled
    assert (pooled["pool"].values == one["pool"].values).all()
    assert (pooled.values == one.values).all()
    assert int(one["pool"].sum()) == 1192
    table.to_netcdf(tmp_path / "judged.nc")
    with xr.open_dataarray(tmp_path / "judged.nc") as read:
        assert read.load().identical(table)
    assert table.isel(cell=[3])["pool"].values.tolist() == [table["pool"].values[3].tolist()]
    interval = resample_interval(table, sdt, cluster="item", n=50, seed=1)
    assert interval.sizes["cell"] == 1


@pytest.mark.parametrize("words", [("pass", "fail"), (True, False), ("yes", "no"), ("1", "0")])
def test_usual_words_for_good_and_bad_are_understood(words):
    told = [words[0] if verdict else words[1] for verdict in outputs()["verdict"]]
    table = count_judged(outputs(verdict=told), **COLUMNS)
    assert (table.values == count_judged(outputs(), **COLUMNS).values).all()


QUICK = [sdt, uvsdt, type2_roc, auroc2]
SLOW = [
    hmetad.fit_mle,
    hmetad.measure,
    partial(resample, statistic=hmetad.measure, n=2, seed=1),
    partial(hmetad.fit_mle, model="gaussian_noise"),
]


@pytest.mark.parametrize(
    "function", [*QUICK, *(pytest.param(one, marks=pytest.mark.integration) for one in SLOW)]
)
def test_results_of_the_labelled_part_have_no_counts_of_the_pool(shared, function):
    trials = partly_labelled(nq301(shared), number=700).drop(columns="item")
    judges = pd.concat([trials.assign(judge=name, v=trials[name]) for name in ("bem", "gpt4")])
    columns = {"by": "judge", "label": "human", "verdict": "v", "score": "bem_score"}
    table = count_judged(judges, **columns)
    xr.testing.assert_identical(function(table), function(table.drop_vars("pool")))


def test_swapping_the_names_of_good_and_bad_keeps_dprime_and_turns_c(shared):
    trials = nq301(shared).drop(columns="item")
    columns = {"by": (), "label": "human", "verdict": "bem"}
    one, other = (sdt(count_judged(trials, **columns, good=good)) for good in (1, 0))
    assert one["dprime"].item() == pytest.approx(other["dprime"].item())
    assert one["c"].item() == pytest.approx(-other["c"].item())


def test_rows_without_a_verdict_are_counted_in_a_notice():
    trials = outputs(verdict=["pass", "pass", None, "fail", "fail", "pass", "pass", "fail"])
    table = count_judged(trials, **COLUMNS)
    told = next(one for one in hmetad.notices(table) if one.code == "rows-dropped")
    assert "verdict (1)" in told.message
    assert int(table.sum() + table["pool"].sum()) == 7


def test_a_score_that_is_the_verdict_adds_nothing_and_says_so():
    table = count_judged(outputs(score=outputs()["verdict"]), **COLUMNS, score="score")
    assert table.sizes["rating"] == 1
    assert "score-is-verdict" in codes(table)


def test_errors_that_judges_share_are_noticed(shared):
    trials = nq301(shared).assign(item=range(1490))
    rng = np.random.default_rng(1)
    flipped = (trials["human"] + (rng.uniform(size=1490) < 0.2)) % 2
    judges = {"gpt4": trials["gpt4"], "davinci": trials["davinci003"], "apart": flipped}
    long = pd.concat([trials.assign(judge=name, v=v) for name, v in judges.items()])
    columns = {"label": "human", "verdict": "v"}
    for by in ("judge", ["judge", "item"]):
        (said,) = [
            one
            for one in hmetad.notices(count_judged(long, by=by, **columns))
            if one.code == "shared-errors"
        ]
        wrong = [trials["human"] != judges[name] for name in ("gpt4", "davinci")]
        partial = [x - x.groupby(trials["human"]).transform("mean") for x in wrong]
        assert f"gpt4 and davinci (φ = {np.corrcoef(*partial)[0, 1]:.2f})" in said.message
        assert "apart" not in said.message
    # Systems have other outputs to the same items.
    systems = long.rename(columns={"judge": "model"}).assign(human=[*trials["human"]] * 3)
    systems.loc[systems["model"] == "gpt4", "human"] = 1 - trials["human"]
    assert "shared-errors" not in codes(count_judged(systems, by="model", **columns))


def test_few_labels_of_a_class_are_noticed():
    assert "few-labels" in codes(count_judged(outputs(), **COLUMNS))


def test_m_of_a_score_whose_cut_is_the_verdict_is_withheld_and_no_other_quantity():
    trials = outputs(judge=["a", "b"] * 4, stated=[0.9, 0.3, 0.6, 0.2, 0.8, 0.4, 0.5, 0.7])
    columns = COLUMNS | {"by": "judge"}
    cut = count_judged(trials, **columns, score="score")
    told = {one.code: one for one in hmetad.notices(cut)}["verdict-is-score-cut"]
    assert (told.severity, about_alone(told.code)) == ("error", "M")
    assert "verdict-is-score-cut" not in codes(count_judged(trials, **columns))
    assert "verdict-is-score-cut" not in codes(count_judged(trials, **columns, score="stated"))
    rng = np.random.default_rng(1)
    for name, verdicts in (("log_m", {"unreliable"}), ("pass_rate", {"different", "inconclusive"})):
        draws = xr.DataArray(
            rng.normal([0, 1], 0.1, (1, 500, 2)),
            cut["cell"].coords,
            ("chain", "draw", "cell"),
            name,
        )
        draws = hmetad.contrast(draws.assign_attrs(notices=cut.attrs["notices"]), over="judge")
        assert set(hmetad.decide(draws, rope=(-0.1, 0.1)).table()["verdict"]) <= verdicts


def test_labels_of_a_single_annotator_are_his():
    trials = outputs(item=range(8), rater="x")
    assert "one-annotator" in codes(count_judged(trials, **COLUMNS))
    # Who used a system is not who labelled its outputs.
    users = outputs(item=[1] * 8, user=range(8), verdict=1)
    assert "one-annotator" not in codes(count_judged(users, **COLUMNS))
    both = outputs(item=range(8), rater=["x", "y"] * 4)
    assert "one-annotator" not in codes(count_judged(both, **COLUMNS))


BAD = {
    "no label": ({"human": [None] * 8}, {}, "no label"),
    "one class": ({"human": [1] * 6 + [None] * 2}, {}, "the single label 1"),
    "three labels": ({"human": ["a", "b", "c", "a", "b", "c", None, None]}, {}, "'c' (2 outputs)"),
    "unparsed verdict": (
        {"verdict": ["pass", "fail", "VERDICT: 7", "fail", "pass", "fail", "pass", "fail"]},
        {},
        "'VERDICT: 7' (1 outputs)",
    ),
    "unknown good": ({}, {"good": "fine"}, "'fine'"),
    "contradicts": ({}, {"score": "score", "threshold": 0.75}, "2 rows"),
    "reversed score": (
        {"score": np.arange(8.0)},
        {"score": "score", "many": 30},
        "score=-trials['score']",
    ),
    "no verdict": ({}, {"verdict": None}, "threshold"),
    "threshold alone": ({}, {"threshold": 0.5}, "score"),
    "duplicated": ({"item": [1, 1, 2, 3, 4, 5, 6, 7], "score": 0.5, "verdict": 1}, {}, "twice"),
    "two labels": (
        {"item": [1, 1, 2, 3, 4, 5, 6, 7], "human": [1, 0, 1, 0, 0, 0, None, None], "verdict": 1,
         "score": 0.5},
        {},
        "annotator",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line(name):
    columns, options, text = BAD[name]
    options = dict(options)
    trials = pd.concat([outputs(**columns)] * options.pop("many", 1))
    with pytest.raises(InputError) as caught:
        count_judged(trials, **COLUMNS | options)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_column_that_says_who_labelled_makes_two_labels_two_cells():
    trials = pd.concat(
        [outputs(item=range(8), annotator="a"), outputs(item=range(8), annotator="b")]
    )
    assert count_judged(trials, **COLUMNS | {"by": "annotator"}).sizes["cell"] == 2
    with pytest.raises(InputError, match="annotator"):
        count_judged(trials, **COLUMNS)
