"""`hmetad compare` asks what `contrast`, `decide` and `rank` are asked, and says what they say."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from command_line import changed_fit, refused, run

import hmetad

ASK = "compare fit.nc --over model --within task --rope=-0.1,0.1"


@pytest.fixture(scope="module")
def fit(folder):
    return hmetad.load_fit(folder / "fit.nc")


def verdicts(done):
    return {row["label"]: row["verdict"] for row in done.answer["rows"]}


def test_each_difference_is_judged(folder):
    done = run(folder, f"{ASK} --json")
    assert verdicts(done) == {"good − poor | A": "different", "good − poor | B": "inconclusive"}


def test_json_holds_everything_that_the_decisions_do(folder, fit):
    answer = run(folder, f"{ASK} --json").answer
    draws = hmetad.contrast(fit, var="log_m", over="model", within="task")
    record = hmetad.report.decisions_record(hmetad.decide(draws, rope=(-0.1, 0.1)))
    assert answer["rows"] == json.loads(json.dumps(record.pop("results")))
    assert {name: answer[name] for name in record} == record
    assert answer["seed"] == 1
    assert answer["model"] == "individual"
    assert answer["fits"]["fit"]["versions"] == json.loads(fit.attrs["versions"])
    assert answer["fits"]["fit"]["file"] == "fit.nc"


def test_all_others_are_compared_with_a_reference(folder):
    options = "compare fit.nc --over model --within task --rope=-0.1,0.1 --json"
    rows = [
        run(folder, f"{options} {option} good").answer["rows"]
        for option in ("--against", "--reference")
    ]
    assert rows[0] == rows[1]
    assert [row["label"] for row in rows[0]] == ["poor − good | A", "poor − good | B"]


def test_weights_of_ones_own_come_from_a_table(folder, fit):
    done = run(folder, f"{ASK} --matrix weights.csv --json")
    half = pd.DataFrame({"good": [0.5], "poor": [-0.5]}, index=["half"])
    draws = hmetad.contrast(fit, var="log_m", over="model", within="task", matrix=half)
    expected = hmetad.decide(draws, rope=(-0.1, 0.1)).table()
    assert [row["label"] for row in done.answer["rows"]] == ["half | A", "half | B"]
    assert [row["mean"] for row in done.answer["rows"]] == expected["mean"].tolist()


def test_weights_find_levels_that_are_numbers(tmp_path, fit):
    sizes = ("cell", [7, 7, 70, 70])
    hmetad.save_fit(
        changed_fit(fit, lambda part: part.assign_coords(size=sizes)), tmp_path / "fit.nc"
    )
    (tmp_path / "weights.csv").write_text("contrast,7,70\nsize,-1,1\n")
    ask = "compare fit.nc --over size --within task --rope=-1,1 --json"
    weighted = run(tmp_path, f"{ask} --matrix weights.csv").answer["rows"][0]
    pair = run(tmp_path, f"{ask} --against 7").answer["rows"][0]
    assert pair["label"] == "70 − 7 | A"
    assert weighted["mean"] == pytest.approx(pair["mean"], abs=1e-12)
    assert "There are: '7', '70'" in refused(tmp_path, f"{ask} --against 8")


def test_superiority_is_a_probability_without_a_verdict(folder, fit):
    done = run(folder, "compare fit.nc --over model --within task --kind superiority --json")
    log_m = fit["posterior"]["log_m"]
    above = log_m.sel(cell="good | A") > log_m.sel(cell="poor | A")
    assert done.answer["rows"][0]["p_superior"] == pytest.approx(float(above.mean()))
    assert "verdict" not in done.answer["rows"][0]


def test_a_quantity_is_judged_as_it_is_where_no_levels_are_compared(folder, fit):
    done = run(folder, "compare fit.nc --var m_ratio --null 1 --rope=0.9,1.1 --json")
    expected = hmetad.decide(fit["posterior"]["m_ratio"], rope=(0.9, 1.1), null=1)
    assert [row["label"] for row in done.answer["rows"]] == fit["posterior"]["cell"].values.tolist()
    assert list(verdicts(done).values()) == expected.table()["verdict"].tolist()


def with_coefficients(part):
    """Draws with the coefficients of a factor of three levels, as a formula would give them."""
    rng = np.random.default_rng(1)
    values = rng.normal([0.5, 0.0], 0.02, (*(part.sizes[dim] for dim in ("chain", "draw")), 2))
    dims = ("chain", "draw", "log_m_task_dim")
    effect = xr.DataArray(values, dims=dims, coords={"log_m_task_dim": ["B", "C"]})
    return part.assign(log_m_task=effect)


def test_coefficients_are_judged(tmp_path, fit):
    changed = with_coefficients(fit["posterior"].to_dataset())
    hmetad.save_fit(fit.assign(posterior=xr.DataTree(changed)), tmp_path / "fit.nc")
    ask = "compare fit.nc --var log_m_task --rope=-0.1,0.1 --json"
    assert verdicts(run(tmp_path, ask)) == {"B": "different", "C": "negligible"}
    compared = run(tmp_path, f"{ask} --over task --reference C")
    assert verdicts(compared) == {"B − C": "different"}


def test_separate_fits_are_compared_as_independent_ones(folder):
    ask = "compare good.nc poor.nc --over fit --within task --rope=-0.1,0.1"
    done = run(folder, f"{ask} --json")
    assert [row["label"] for row in done.answer["rows"]] == ["good − poor | A", "good − poor | B"]
    assert done.answer["pairing"] == "independent"
    assert done.answer["seed"] is None
    assert {name: one["seed"] for name, one in done.answer["fits"].items()} == {
        "good": 1,
        "poor": 1,
    }
    assert "separate-fits" in {notice["code"] for notice in done.answer["notices"]}
    assert "as if independent" in run(folder, ask).stdout


def test_fits_are_named_by_the_user(folder):
    ask = "compare a=good.nc b=poor.nc --over fit --within task --rope=-0.1,0.1 --rank"
    answer = run(folder, f"{ask} --json").answer
    assert [row["label"] for row in answer["rows"]] == ["a − b | A", "a − b | B"]
    assert {row["fit"] for row in answer["ranks"]} == {"a", "b"}


def test_ranks_stand_after_the_decisions(folder, fit):
    done = run(folder, f"{ASK} --rank --json")
    ranks = hmetad.compare.rank_table(hmetad.rank(fit, var="log_m", over="model", within="task"))
    assert [row["p_best"] for row in done.answer["ranks"]] == ranks["p_best"].tolist()
    assert [row["rank_upper"] for row in done.answer["ranks"]] == ranks["rank_upper"].tolist()
    assert all(isinstance(row["rank_upper"], int) for row in done.answer["ranks"])
    shown = run(folder, f"{ASK} --rank").stdout
    assert shown.index("verdict") < shown.index("P(best)")


def test_other_choices_are_tried(folder, tmp_path, monkeypatch):
    # What other choices give is tested where they are made; here it is as if nothing changed.
    choices = ["κ = c instead of κ = M·c", "priors of M half as wide"]
    monkeypatch.setattr(hmetad, "sensitivity", lambda fit, **_: dict.fromkeys(choices, fit))
    page = tmp_path / "page.md"
    for ask in (ASK, ASK.replace("fit.nc --over model", "good.nc poor.nc --over fit")):
        answer = run(folder, f"{ask} --sensitivity --json -o {page}").answer
        assert list(answer["sensitivity"]) == choices
        for record in answer["sensitivity"].values():
            assert record["results"] == answer["rows"]
        assert "under any of the 2 alternative choices: κ = c" in page.read_text(encoding="utf-8")


def test_bonferroni_counts_the_contrasts(folder):
    alone, corrected = (run(folder, f"{ASK} --json {more}").answer for more in ("", "--bonferroni"))
    assert corrected["comparisons"] == 2
    assert corrected["rows"][0]["lower"] < alone["rows"][0]["lower"]


@pytest.mark.parametrize("suffix", [".html", ".md", ".tex"])
def test_a_report_is_written_in_every_format(folder, tmp_path, suffix):
    path = tmp_path / f"report{suffix}"
    run(folder, f"{ASK} -o {path}")
    page = path.read_text(encoding="utf-8")
    assert "good" in page
    assert "different" in page
    assert "hmetad compare fit.nc" in page.replace("\\", "")


def test_the_report_of_separate_fits_holds_them_all(folder, tmp_path):
    path = tmp_path / "report.md"
    run(folder, f"compare good.nc poor.nc --over fit --within task --rope=-0.1,0.1 -o {path}")
    page = path.read_text(encoding="utf-8")
    assert page.count("Does the model fit") == 2
    assert page.index("good − poor") < page.index("Does the model fit")


def test_rows_are_written_and_printed_alike(folder, tmp_path):
    for suffix in ("csv", "json"):
        path = tmp_path / f"rows.{suffix}"
        printed = run(folder, f"{ASK} --format {suffix} -o {path}").stdout
        written = path.read_text(encoding="utf-8")
        if suffix == "json":
            answer = json.loads(printed)
            assert answer.pop("written") == [str(path)]
            assert json.loads(written) == answer
        else:
            assert written == printed


def test_csv_has_the_numbers_in_full(folder):
    rows = list(csv.DictReader(io.StringIO(run(folder, f"{ASK} --format csv").stdout)))
    answer = run(folder, f"{ASK} --json").answer
    assert [float(row["mean"]) for row in rows] == [row["mean"] for row in answer["rows"]]


def test_tables_are_printed_for_pages(folder):
    assert "| good − poor \\| A |" in run(folder, f"{ASK} --format markdown").stdout
    assert r"\begin{tabular}{lrrrrrrl}" in run(folder, f"{ASK} --format latex").stdout


def test_who_compares_conditions_of_a_population_is_told_of_its_coefficients(folder):
    fit = hmetad.load_fit(folder / "fit.nc")
    posterior = fit["posterior"].to_dataset()
    effect = posterior["log_m"].isel(cell=[0], drop=True).rename(cell="log_m_model_dim")
    fit["posterior"] = posterior.assign(log_m_model=effect)
    hmetad.save_fit(fit, folder / "population.nc")
    said = refused(folder, "compare population.nc --over model --rope=-1,1")
    assert "Compare within each: --within task; or over all: --pool task." in said
    assert "Conditions of the population are compared by --population." in said
    run(folder, "compare population.nc --var log_m_model --rope=-1,1")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("compare", "Missing argument"),
        ("compare fit.nc --over model", "--rope: got nothing"),
        ("compare fit.nc --over model --rope=0.1,-0.1", "Write --rope=-0.1,0.1."),
        ("compare fit.nc --over model --rope=ten", "two numbers"),
        ("compare fit.nc --over model --rope=nan,1", "--rope"),
        ("compare fit.nc --over model --rope=-1,1", "Compare within each: --within task"),
        ("compare fit.nc --over modle --rope=-1,1", "Did you mean 'model'"),
        ("compare trials.csv --over model --rope=-1,1", "no netCDF"),
        ("compare nofile.nc --over model --rope=-1,1", "hmetad fit"),
        (f"{ASK} --var log_mm", "--var: got 'log_mm'"),
        ("compare fit.nc --var log_mm --rope=-1,1", "Did you mean 'log_m'"),
        ("compare fit.nc --var criteria --rope=-1,1", "one number a place"),
        (f"{ASK} --reference god", "Did you mean 'good'"),
        (f"{ASK} --matrix none.csv", "no such file"),
        (f"{ASK} --matrix empty.csv", "an empty file"),
        (f"{ASK} --matrix trials.csv", "--matrix"),
        (f"{ASK} --matrix weights.txt", "weights.txt"),
        (f"{ASK} --matrix unknown.csv", "Did you mean 'good'"),
        (f"{ASK} --matrix unbalanced.csv", "sum 0"),
        (f"{ASK} --matrix narrow.csv", "two levels or more"),
        (f"{ASK} --matrix weights.csv --against good", "one of the two"),
        (f"{ASK} --kind superiority", "leave --rope out"),
        (f"{ASK} --kind superior", "--kind"),
        (f"{ASK} --kind log_ratio", "It is a logarithm already"),
        ("compare fit.nc --over model --within task --kind superiority -o page.html", ".csv"),
        ("compare fit.nc --within task --rope=-1,1", "--over: got nothing, with --within"),
        ("compare fit.nc --rank --rope=-1,1", "--over: got nothing, with --rank"),
        ("compare fit.nc --kind superiority", "--over: got nothing, with --kind"),
        ("compare fit.nc fit.nc --over fit --rope=-1,1", "Write fit1=fit.nc fit2=fit.nc."),
        ("compare a=fit.nc a=good.nc --over fit --rope=-1,1", "fits with names of their own"),
        ("compare =fit.nc --over model --rope=-1,1", "name=file.nc"),
        ("compare a= --over model --rope=-1,1", "name=file.nc"),
        ("compare good.nc poor.nc --rope=-1,1", "Write --over fit"),
        (f"{ASK} -o page.pdf", "--output"),
        (f"{ASK} -o nowhere/page.html", "a folder that exists"),
        (f"{ASK} -o .", "--output"),
        (f"{ASK} --format yaml", "--format"),
        (f"{ASK} --format csv --json", "one of the two"),
        (f"{ASK} --format csv --rank -o page.html", "One CSV is one table"),
        (f"{ASK} --sensitivity --format csv", "One CSV is one table"),
        ("compare fit.nc --over model --kind superiority --sensitivity", "--sensitivity"),
        (f"{ASK} --rank -o rows.csv", "One CSV is one table"),
        (f"{ASK} --ci-prob 95", "--ci-prob: got 95"),
        (f"{ASK} --null nan", "--null"),
    ],
)
def test_what_cannot_be_answered_is_refused(folder, line, says):
    (folder / "unknown.csv").write_text("contrast,goood,poor\nhalf,1,-1\n")
    (folder / "unbalanced.csv").write_text("contrast,good,poor\nhalf,1,1\n")
    (folder / "narrow.csv").write_text("good,poor\n1,-1\n")
    assert says in refused(folder, line)


def test_the_same_command_prints_the_same_table(folder):
    first, second = (run(folder, ASK).stdout for _ in range(2))
    assert first == second
    assert np.all([word in first for word in ("different", "inconclusive", "ROPE -0.1 to 0.1")])


def test_conditions_of_a_population_and_measures_are_compared(tmp_path):
    coords = {"subject": [f"s{i}" for i in range(6)] * 2, "task": ["a"] * 6 + ["b"] * 6}
    counts = hmetad.simulate_counts([1.5] * 12, coords=coords, trials=300, seed=1)
    quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    formula = {"log_m": "1 + task + (1 | subject)"}
    fit = hmetad.fit(counts, "group", formula=formula, draws=60, tune=100, chains=2, **quiet)
    hmetad.save_fit(fit, tmp_path / "people.nc")
    line = "compare people.nc --population --over task --rope=-0.1,0.1"
    (row,) = json.loads(run(tmp_path, f"{line} --json").stdout)["rows"]
    assert row["label"] == "a − b"
    assert row["mean"] == pytest.approx(-fit["posterior"]["log_m_task"].values.mean())
    (row,) = json.loads(run(tmp_path, f"{line} --var auroc2 --json").stdout)["rows"]
    draws = hmetad.bayes.predict_measures(fit, "auroc2")["auroc2"]
    mean = float(draws.sel(cell="a").mean() - draws.sel(cell="b").mean())
    assert row["mean"] == pytest.approx(mean)
    said = refused(tmp_path, f"{line} --var auroc")
    assert "auroc" in said
