"""`hmetad fit` writes a fit that says how it was made, and prints its estimates."""

import json

import pandas as pd
import pytest
from command_line import refused, run

import hmetad


def test_the_fit_says_how_it_was_made(folder):
    fit = hmetad.load_fit(folder / "fit.nc")
    assert fit["posterior"]["model"].values.tolist() == ["good", "good", "poor", "poor"]
    assert fit.attrs["seed"] == "1"


def test_json_holds_estimates_convergence_notices_and_seed(folder):
    done = run(folder, "fit trials.csv --by model --draws 50 --seed 1 --json -o other.nc")
    answer, fit = done.answer, hmetad.load_fit(folder / "other.nc")
    assert [row["cell"] for row in answer["rows"]] == ["good", "poor"]
    assert answer["rows"][0]["m_ratio"] > answer["rows"][1]["m_ratio"]
    # Draws by importance sampling have no R̂.
    assert answer["convergence"] == {**hmetad.report.convergence_record(fit), "rhat": None}
    assert [notice["code"] for notice in answer["notices"]] == [n.code for n in hmetad.notices(fit)]
    assert (answer["seed"], answer["model"], answer["written"]) == (1, "individual", ["other.nc"])
    assert answer["versions"] == json.loads(fit.attrs["versions"])


def test_a_seed_that_was_not_given_is_said(folder):
    answer = run(folder, "fit trials.csv --by task --draws 50 --json -o other.nc").answer
    assert str(answer["seed"]) == hmetad.load_fit(folder / "other.nc").attrs["seed"]


def test_grouping_columns_may_be_repeated(folder):
    done = run(folder, "fit trials.csv --by model --by task --draws 50 --json -o other.nc")
    cells = [row["cell"] for row in done.answer["rows"]]
    assert cells == ["good | A", "good | B", "poor | A", "poor | B"]


@pytest.mark.integration
def test_columns_may_be_renamed_and_formulas_given(folder):
    options = "--by subject=model,task --model group --draws 50 --seed 1 -o group.nc"
    formulas = [f"--formula '{name}=1 + task + (1 | subject)'" for name in ("log_m", "dprime")]
    run(folder, f"fit trials.csv {options} {' '.join(formulas)}")
    posterior = hmetad.load_fit(folder / "group.nc")["posterior"]
    assert "log_m_task" in posterior
    assert posterior["subject"].to_numpy().tolist() == ["good", "good", "poor", "poor"]


@pytest.mark.integration
def test_a_higher_target_of_acceptance_takes_smaller_steps(folder):
    steps = []
    for target in ("0.6", "0.99"):
        run(folder, f"fit trials.csv --by model --draws 50 --target-accept {target} -o steps.nc")
        fit = hmetad.load_fit(folder / "steps.nc")
        steps.append(float(fit["sample_stats"]["step_size"].mean()))
    assert steps[1] < steps[0]


def test_a_fit_that_fails_leaves_the_old_one(folder, monkeypatch):
    before = (folder / "fit.nc").read_bytes()
    fit = hmetad.load_fit(folder / "fit.nc")

    def full_disk(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(fit), "to_netcdf", full_disk)
    with pytest.raises(OSError, match="No space"):
        hmetad.save_fit(fit, folder / "fit.nc")
    assert (folder / "fit.nc").read_bytes() == before
    assert not list(folder.glob("*.tmp"))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("fit", "Missing argument"),
        ("fit nofile.csv", "In that folder: "),
        ("fit '*.parquet'", "no table there"),
        ("fit empty.csv", "an empty file"),
        ("fit header.csv", "without rows"),
        ("fit semi.csv", "semicolons"),
        ("fit trials.csv --response respons", "Did you mean 'response'"),
        ("fit trials.csv --by modle", "Did you mean 'model'"),
        ("fit trials.csv --covariates modle", "Did you mean 'model'"),
        ("fit trials.csv --model individul", "Did you mean 'individual'"),
        ("fit trials.csv --model card.toml", "which is no file"),
        ("fit trials.csv --formula a --formula b", "--formula"),
        ("fit trials.csv --formula logm=1", "--formula"),
        ("fit trials.csv --quantiles 1", "rating"),
        ("fit trials.csv --quantiles 4 --confidence sure", "--confidence"),
        ("fit trials.csv --quantiles 4 --quantiles-within modl", "--quantiles-within: got 'modl'"),
        ("fit trials.csv --quantiles-within model", "Add --quantiles"),
        ("fit trials.csv --ratings 3", "rating"),
        ("fit trials.csv --labels a,b", "labels"),
        ("fit trials.csv -o fit.csv", "a name that ends in .nc"),
        ("fit trials.csv -o nowhere/fit.nc", "a folder that exists"),
        ("fit trials.csv -o folder.nc", "a file"),
        ("fit trials.csv --draws many", "--draws"),
        ("fit trials.csv --draws 3", "--draws"),
        ("fit trials.csv --target-accept 1.5", "--target-accept"),
        ("fit trials.csv --seed -1", "--seed"),
        ("fit trials.csv --drows 100", "--draws"),
    ],
)
def test_what_cannot_be_fitted_is_refused(folder, line, says):
    (folder / "folder.nc").mkdir(exist_ok=True)
    assert says in refused(folder, line)


def test_continuous_confidence_becomes_quantiles(folder):
    rows = run(folder, "measures continuous.csv --by model --quantiles 3 --json").answer["rows"]
    trials = pd.read_csv(folder / "continuous.csv")
    rated = trials.assign(confidence=hmetad.bin_confidence(trials["confidence"], 3))
    expected = hmetad.measures.auroc2(hmetad.count_trials(rated, by="model")).to_numpy()
    assert [row["auroc2"] for row in rows] == pytest.approx(expected.tolist())
    assert "by --quantiles 4" in refused(folder, "measures continuous.csv --by model")


def test_quantiles_can_be_those_of_each_subject(folder):
    ask = "measures sure.csv --by model --quantiles 3 --quantiles-within model --json"
    trials = pd.read_csv(folder / "continuous.csv")
    # One of the two is sure throughout: over all trials, it would have the upper ratings alone.
    trials.loc[trials["model"] == trials["model"].iloc[0], "confidence"] += 10
    trials.to_csv(folder / "sure.csv", index=False)
    within = hmetad.bin_confidence(trials["confidence"], 3, within=trials["model"])
    rated = trials.assign(confidence=within)
    expected = hmetad.measures.auroc2(hmetad.count_trials(rated, by="model")).to_numpy()
    found = [row["auroc2"] for row in run(folder, ask).answer["rows"]]
    assert found == pytest.approx(expected.tolist())
    apart = ask.replace("--quantiles-within model ", "")
    assert found != [row["auroc2"] for row in run(folder, apart).answer["rows"]]


def test_labels_are_those_of_the_column_whatever_its_type(tmp_path):
    trials = hmetad.simulate_trials(1.0, m_ratio=1.0, trials=200, c=0.5, seed=1)
    numbered = trials.replace({"stimulus": {"S1": 1, "S2": 2}, "response": {"S1": 1, "S2": 2}})
    numbered.to_csv(tmp_path / "numbered.csv", index=False)
    ask = "measures numbered.csv --json"
    c, swapped = (
        run(tmp_path, f"{ask} --labels {labels}").answer["rows"][0]["c"]
        for labels in ("1,2", "2,1")
    )
    assert c == pytest.approx(-swapped)
    assert c == run(tmp_path, ask).answer["rows"][0]["c"]
    assert "labels" in refused(tmp_path, "measures numbered.csv --labels 1,3")


def test_labels_are_whole_numbers_beside_missing_values(tmp_path):
    trials = hmetad.simulate_trials(1.0, m_ratio=1.0, trials=200, seed=1)
    numbers = {"S1": 1, "S2": 2}
    trials = trials.replace({"stimulus": numbers, "response": numbers}).astype(object)
    trials.loc[0, ["stimulus", "response"]] = None
    trials.to_csv(tmp_path / "gaps.csv", index=False)
    for labels in ("1,2", "1.0,2.0"):
        assert run(tmp_path, f"measures gaps.csv --json --labels {labels}").answer["rows"]
