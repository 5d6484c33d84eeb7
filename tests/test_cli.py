"""The command line does its work, and bad input ends in one line and exit status 2."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hmetad
from hmetad import cli
from hmetad.bayes.spec import card_names
from hmetad.logs.readers import READERS

HMETAD = [sys.executable, "-c", "from hmetad.cli import main; main()"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Trials of two models in two tasks, and a fit of them."""
    folder = tmp_path_factory.mktemp("cli")
    models, tasks = ["good", "poor", "good", "poor"], ["A", "A", "B", "B"]
    trials = hmetad.simulate_trials(
        [1.5, 1.5, 2.0, 2.0],
        m_ratio=[1.0, 0.3, 1.0, 0.9],
        trials=2000,
        coords={"model": models, "task": tasks},
        seed=1,
    )
    trials.to_csv(folder / "trials.csv", index=False)
    run(folder, "fit", "trials.csv", "--by", "model,task", "--seed", "1", "-o", "fit.nc")
    (folder / "empty.csv").write_text("")
    (folder / "header.csv").write_text("stimulus,response,confidence\n")
    (folder / "semi.csv").write_text("stimulus;response;confidence\n1;1;1\n")
    return folder


def run(folder, *arguments, status=0):
    """Run the command in a folder, through `main`, in a process of its own."""
    done = subprocess.run(
        [*HMETAD, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr
    return done


def test_fit_writes_a_fit_that_says_how_it_was_made(folder):
    fit = hmetad.load_fit(folder / "fit.nc")
    assert fit["posterior"]["model"].values.tolist() == ["good", "good", "poor", "poor"]
    assert fit.attrs["seed"] == "1"


def test_fit_prints_estimates_as_json(folder):
    options = ["--by", "model", "--draws", "50", "--seed", "1", "--json", "-o", "other.nc"]
    rows = json.loads(run(folder, "fit", "trials.csv", *options).stdout)
    assert [row["cell"] for row in rows] == ["good", "poor"]
    assert rows[0]["m_ratio"] > rows[1]["m_ratio"]


def test_grouping_columns_may_be_repeated(folder):
    options = ["--by", "model", "--by", "task", "--draws", "50", "--json", "-o", "other.nc"]
    rows = json.loads(run(folder, "fit", "trials.csv", *options).stdout)
    assert [row["cell"] for row in rows] == ["good | A", "good | B", "poor | A", "poor | B"]


def test_the_version_is_printed():
    assert run(None, "--version").stdout.strip()


def test_compare_judges_each_difference(folder):
    options = ["--var", "log_m", "--over", "model", "--within", "task", "--rope=-0.1,0.1"]
    rows = json.loads(run(folder, "compare", "fit.nc", *options, "--json").stdout)
    verdicts = {row["label"]: row["verdict"] for row in rows}
    assert verdicts["good − poor | A"] == "different"
    assert verdicts["good − poor | B"] == "inconclusive"


def test_compare_writes_a_report_in_every_format(folder):
    options = ["--over", "model", "--within", "task", "--rope=-0.1,0.1"]
    for suffix in (".html", ".md", ".tex"):
        run(folder, "compare", "fit.nc", *options, "-o", f"report{suffix}")
        text = (folder / f"report{suffix}").read_text(encoding="utf-8")
        assert "good" in text
        assert "different" in text
    assert "hmetad compare fit.nc --over model" in (folder / "report.html").read_text()


def test_bonferroni_counts_the_contrasts(folder):
    options = ["--over", "model", "--within", "task", "--rope=-0.1,0.1", "--json"]
    alone, corrected = (
        json.loads(run(folder, "compare", "fit.nc", *options, *more).stdout)[0]
        for more in ([], ["--bonferroni"])
    )
    assert corrected["lower"] < alone["lower"]


def test_models_lists_every_card():
    rows = json.loads(run(None, "models", "--json").stdout)
    assert [row["model"] for row in rows] == card_names()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["fit", "nofile.csv"], "In that folder: empty.csv, header.csv, semi.csv, trials.csv"),
        (["fit", "."], "a folder"),
        (["fit", "empty.csv"], "an empty file"),
        (["fit", "header.csv"], "without rows"),
        (["fit", "semi.csv"], "semicolons"),
        (["fit", "trials.csv", "--response", "respons"], "Did you mean 'response'"),
        (["fit", "trials.csv", "--by", "modle"], "Did you mean 'model'"),
        (["fit", "trials.csv", "--model", "individul"], "Did you mean 'individual'"),
        (["fit", "trials.csv", "-o", "fit.csv"], "a name that ends in .nc"),
        (["fit", "trials.csv", "-o", "nowhere/fit.nc"], "a folder that exists"),
        (["fit", "trials.csv", "--draws", "many"], "--draws"),
        (["fit"], "Missing argument"),
        (["compare", "fit.nc", "--over", "model"], "--rope"),
        (["compare", "fit.nc", "--over", "model", "--rope=0.1,-0.1"], "Write --rope=-0.1,0.1."),
        (["compare", "fit.nc", "--over", "model", "--rope=ten"], "two numbers"),
        (["compare", "fit.nc", "--over", "model", "--rope=-1,1"], "Add to within: task"),
        (["compare", "fit.nc", "--over", "modle", "--rope=-1,1"], "Did you mean 'model'"),
        (["compare", "trials.csv", "--over", "model", "--rope=-1,1"], "no netCDF"),
        (["compare", "nofile.nc", "--over", "model", "--rope=-1,1"], "hmetad fit"),
        (["reproduce", "servajaen2026"], "Did you mean 'servajean2026'"),
        (["reproduce", "servajean2026", "--out", "trials.csv"], "can be written to"),
        (["reproduce", "servajean2026", "--out", "/proc/results"], "can be written to"),
        (["fitt"], "No such command"),
    ],
)
def test_bad_input_ends_in_one_line_and_status_two(folder, arguments, says):
    before = sorted(path.name for path in folder.iterdir())
    done = run(folder, *arguments, status=2)
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert says in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == before, "nothing is left behind"


@pytest.mark.parametrize("wait", [2.0, 10.0])
def test_an_interrupt_ends_with_status_130_and_leaves_nothing(tmp_path, wait):
    command = [*HMETAD, "reproduce", "servajean2026", "--draws", "500000"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [*command, "--out", str(tmp_path / "out")], stdout=pipe, stderr=pipe, text=True
    )
    time.sleep(wait)
    process.send_signal(signal.SIGINT)
    try:
        printed, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert (printed, said) == ("", "hmetad: interrupted; nothing was written\n")
    assert list(tmp_path.iterdir()) == []


def test_a_fit_that_fails_leaves_the_old_one(folder, monkeypatch):
    before = (folder / "fit.nc").read_bytes()
    fit = hmetad.load_fit(folder / "fit.nc")

    def full_disk(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(fit), "to_netcdf", full_disk)
    with pytest.raises(OSError, match="No space"):
        hmetad.save_fit(fit, folder / "fit.nc")
    assert (folder / "fit.nc").read_bytes() == before
    assert not [name for name in os.listdir(folder) if name.endswith(".tmp")]


def test_the_output_can_be_cut_short_by_a_pipe():
    command = f"{sys.executable} -c 'from hmetad.cli import main; main()' models --json | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout == "[\n"
    assert done.stderr == ""


def test_levels_keep_the_type_of_their_coordinate():
    counts = hmetad.simulate_counts([1.0, 2.0], trials=50, coords={"size": [7, 70]}, seed=1)
    posterior = counts.to_dataset()
    result = {"posterior": type("Group", (), {"to_dataset": lambda _: posterior})()}
    assert cli.parse_level(result, "size", "70") == 70
    with pytest.raises(hmetad.InputError, match="'7', '70'"):
        cli.parse_level(result, "size", "8")


def test_measures_prints_and_writes_every_measure(folder):
    options = ["--by", "model,task", "--meta-d", "-o", "measures.csv"]
    done = run(folder, "measures", "trials.csv", *options)
    assert "AUROC2" in done.stdout
    table = pd.read_csv(folder / "measures.csv")
    counts = hmetad.count_trials(pd.read_csv(folder / "trials.csv"), by=["model", "task"])
    assert table["m_ratio"].to_numpy() == pytest.approx(hmetad.fit_mle(counts)["m_ratio"])
    assert table["rmi"].to_numpy() == pytest.approx(hmetad.measure(counts)["rmi"])


def test_measures_of_right_and_wrong_alone_with_intervals_as_json(folder):
    trials = pd.read_csv(folder / "trials.csv")
    trials["hit"] = (trials.pop("stimulus") == trials.pop("response")).astype(int)
    trials.to_csv(folder / "judged.csv", index=False)
    options = ["--by", "model", "--correct", "hit", "--interval", "--draws", "50", "--seed", "1"]
    rows = json.loads(run(folder, "measures", "judged.csv", *options, "--json").stdout)
    assert [row["cell"] for row in rows] == ["good", "poor"]
    assert all(row["auroc2_lower"] < row["auroc2"] < row["auroc2_upper"] for row in rows)
    assert "dprime" not in rows[0]


def test_meta_d_of_right_and_wrong_alone_is_refused_in_one_line(folder):
    options = ["--by", "model", "--correct", "hit", "--meta-d", "-o", "never.csv"]
    done = run(folder, "measures", "judged.csv", *options, status=2)
    assert done.stderr.count("\n") == 1
    assert "stimulus" in done.stderr
    assert not (folder / "never.csv").exists()


@pytest.mark.parametrize(
    ("kind", "log", "options"),
    [
        ("lm-eval", "lm_eval/house__dummy", []),
        ("lm-eval", "lm_eval/house__fixed", ["--answer-filter", "first", "--field", "confidence"]),
        ("inspect", "inspect", ["--task", "colours"]),
    ],
)
def test_logs_become_trials_measures_and_a_report(tmp_path, kind, log, options):
    source = Path(__file__).parent / "logs" / "data" / log
    done = run(tmp_path, "import", kind, str(source), *options, "-o", "trials.csv")
    assert "Written: trials.csv" in done.stderr
    trials = pd.read_csv(tmp_path / "trials.csv").dropna(subset=["confidence", "correct"])
    trials["rating"] = (trials["confidence"] > trials["confidence"].median()) + 1
    trials.to_csv(tmp_path / "rated.csv", index=False)
    judged = ["--correct", "correct", "--confidence", "rating", "--ratings", "2"]
    run(tmp_path, "measures", "rated.csv", "--by", "model", *judged, "-o", "page.html")
    assert "There is no stimulus" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_import_of_a_table_parses_confidence_and_counts_what_it_cannot(tmp_path):
    (tmp_path / "raw.csv").write_text("ok,sure\n1,85%\n0,20%\n1,very likely\n0,dunno\n")
    options = ["--columns", "correct=ok,confidence=sure", "--words", "very likely=0.9"]
    done = run(tmp_path, "import", "table", "raw.csv", *options, "-o", "out.csv")
    assert "rejected" in done.stderr
    assert pd.read_csv(tmp_path / "out.csv")["confidence"].tolist()[:3] == [0.85, 0.2, 0.9]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["csv", "raw.csv"], "kind: got 'csv'"),
        (["table", "none.csv"], "no such file"),
        (["table", "raw.csv", "--words", "sure"], "--words"),
        (["inspect", "raw.csv", "--grades", "P=maybe"], "true or false"),
        (["lm-eval", "raw.csv"], "raw.csv"),
    ],
)
def test_import_refuses_in_one_line(tmp_path, options, said):
    (tmp_path / "raw.csv").write_text("ok,sure\n1,85%\n")
    done = run(tmp_path, "import", *options, "-o", "out.csv", status=2)
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out.csv").exists()


def test_report_of_a_fit_and_of_a_folder_of_fits(folder):
    run(folder, "report", "fit.nc", "-o", "one.html", "--question", "Who knows more?")
    assert "Who knows more?" in (folder / "one.html").read_text(encoding="utf-8")
    fits = folder / "fits"
    fits.mkdir(exist_ok=True)
    for name in ("first", "second"):
        (fits / f"{name}.nc").write_bytes((folder / "fit.nc").read_bytes())
    run(folder, "report", "fits", "-o", "all.md")
    page = (folder / "all.md").read_text(encoding="utf-8")
    assert page.count("Does the model fit") == 2


def test_columns_may_be_renamed_and_formulas_given(folder):
    options = ["--by", "subject=model,task", "--model", "group", "--draws", "50", "--seed", "1"]
    formulas = ["log_m=1 + task + (1 | subject)", "dprime=1 + task + (1 | subject)"]
    given = [part for formula in formulas for part in ("--formula", formula)]
    run(folder, "fit", "trials.csv", *options, *given, "-o", "group.nc")
    fit = hmetad.load_fit(folder / "group.nc")
    assert "log_m_task" in fit["posterior"]
    assert fit["posterior"]["subject"].to_numpy().tolist() == ["good", "good", "poor", "poor"]
    done = run(folder, "fit", "trials.csv", *options, "--formula", "a", "--formula", "b", status=2)
    assert "--formula" in done.stderr


def test_data_sets_are_fetched_by_name_only(folder):
    done = run(folder, "import", "dataset", "michael", "-o", "never.csv", status=2)
    assert "Did you mean 'michael2026'?" in done.stderr
    options = ["--field", "sure", "-o", "never.csv"]
    done = run(folder, "import", "dataset", "michael2026", *options, status=2)
    assert "--field" in done.stderr
    assert not (folder / "never.csv").exists()


def test_continuous_confidence_becomes_quantiles(folder):
    trials = pd.read_csv(folder / "trials.csv")
    rng = np.random.default_rng(1)
    trials["confidence"] = (trials["confidence"] + rng.random(len(trials))) / 5
    trials.to_csv(folder / "continuous.csv", index=False)
    options = ["--by", "model", "--quantiles", "3", "--json"]
    rows = json.loads(run(folder, "measures", "continuous.csv", *options).stdout)
    rated = trials.assign(confidence=hmetad.bin_confidence(trials["confidence"], 3))
    expected = hmetad.auroc2(hmetad.count_trials(rated, by="model")).to_numpy()
    assert [row["auroc2"] for row in rows] == pytest.approx(expected.tolist())
    done = run(folder, "measures", "continuous.csv", "--by", "model", status=2)
    assert "bin_confidence" in done.stderr


def test_the_page_of_measures_can_be_made_again(folder):
    options = ["--by", "model", "--interval", "--draws", "20", "-o", "again.html"]
    run(folder, "measures", "trials.csv", *options)
    page = (folder / "again.html").read_text(encoding="utf-8")
    assert "--draws 20 -o again.html --seed " in page


def test_kinds_of_logs_are_those_that_are_read():
    assert set(cli.KINDS) == set(READERS)


def test_the_command_starts_without_the_libraries_that_count():
    code = "import sys, hmetad.cli; print([x for x in ('pandas', 'xarray') if x in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
