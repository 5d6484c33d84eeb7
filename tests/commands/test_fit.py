"""`hmetad fit` writes a fit that says how it was made, and prints its estimates."""

import json

import pandas as pd
import pytest
from command_line import refused, run

import hmetad
from hmetad.commands.fit import FitOptions, with_words


def test_json_holds_estimates_convergence_notices_and_seed(folder):
    line = "fit trials.csv --by model --by task --draws 50 --json -o other.nc"
    answer, fit = run(folder, line).answer, hmetad.load_fit(folder / "other.nc")
    cells = [row["cell"] for row in answer["rows"]]
    assert cells == ["good | A", "good | B", "poor | A", "poor | B"]
    assert answer["rows"][0]["m_ratio"] > answer["rows"][2]["m_ratio"]
    # Draws by importance sampling have no R̂.
    assert answer["convergence"] == {**hmetad.report.convergence_record(fit), "rhat": None}
    assert [notice["code"] for notice in answer["notices"]] == [n.code for n in hmetad.notices(fit)]
    # The seed was not given.
    assert str(answer["seed"]) == fit.attrs["seed"]
    assert (answer["model"], answer["written"]) == ("individual", ["other.nc"])
    assert answer["versions"] == json.loads(fit.attrs["versions"])


@pytest.mark.integration
@pytest.mark.parametrize("people", [8, 41])
def test_the_population_is_printed_first_and_cells_only_if_they_are_few_or_requested(
    people, tmp_path
):
    m_ratio, coords = [-0.6, *[0.8] * (people - 1)], {"subject": range(people)}
    trials = hmetad.simulate_trials(1.5, m_ratio=m_ratio, trials=200, coords=coords, seed=1)
    trials.to_csv(tmp_path / "trials.csv", index=False)
    line = "fit trials.csv --by subject --model group --seed 1 --draws 100 -o fit.nc"
    shown = run(tmp_path, line)
    population, cells = shown.stdout.find("SD of log M-ratio"), shown.stdout.rfind("withheld for")
    assert (0 < population < cells) == ("--cells" not in shown.stderr) == (people <= 40)
    assert [*tmp_path.glob("fit_sensitivity/M_normal*.nc")]
    line += " --no-sensitivity"
    table, of_cells = (run(tmp_path, f"{line} --format csv{x}").stdout for x in ("", " --cells"))
    assert (table[:14], of_cells[:5]) == ("kind,quantity,", "cell,")
    rows = run(tmp_path, f"{line} --json").answer["rows"]
    assert ["meta-d-sign" in row["withheld"] for row in rows] == [True] + [False] * (people - 1)


def test_columns_may_be_renamed_and_one_formula_is_for_all_parameters(folder, monkeypatch):
    asked = {}

    def stopped(counts, _, **given):
        asked.update(given, counts=counts)
        raise hmetad.InputError("fit", "enough", "no more")

    monkeypatch.setattr(hmetad, "fit", stopped)
    formula = "1 + task + (1 | subject)"
    line = "fit trials.csv --by subject=model,task --model group --target-accept 0.9 -o group.nc"
    refused(folder, f"{line} --formula 'all={formula}' --formula 'log_m=1'")
    assert asked["counts"]["subject"].to_numpy().tolist() == ["good", "good", "poor", "poor"]
    every = hmetad.load_model("group").formula_parameters
    assert asked["target_accept"] == 0.9
    assert asked["formula"] == {**dict.fromkeys(every, formula), "log_m": "1"}


@pytest.mark.parametrize("within", ["", "--quantiles-within model"])
def test_continuous_confidence_becomes_quantiles(folder, within):
    trials = pd.read_csv(folder / "continuous.csv")
    # One of the two is sure throughout: over all trials, it would have the upper ratings alone.
    trials.loc[trials["model"] == trials["model"].iloc[0], "confidence"] += 10
    trials.to_csv(folder / "sure.csv", index=False)
    done = run(folder, f"measures sure.csv --by model --quantiles 3 {within} --json")
    own = trials["model"] if within else None
    rated = trials.assign(confidence=hmetad.bin_confidence(trials["confidence"], 3, within=own))
    expected = hmetad.measures.auroc2(hmetad.count_trials(rated, by="model")).to_numpy()
    assert [row["auroc2"] for row in done.answer["rows"]] == pytest.approx(expected.tolist())
    assert "with --quantiles 4" in refused(folder, "measures continuous.csv --by model")


def test_labels_are_those_of_the_column_whatever_its_type(tmp_path):
    trials = hmetad.simulate_trials(1.0, m_ratio=1.0, trials=200, c=0.5, seed=1)
    numbers = {"S1": 1, "S2": 2}
    numbered = trials.replace({"stimulus": numbers, "response": numbers})
    numbered.to_csv(tmp_path / "numbered.csv", index=False)
    ask = "measures numbered.csv --json --labels"
    c, swapped = (run(tmp_path, f"{ask} {x}").answer["rows"][0]["c"] for x in ("1,2", "2,1"))
    assert c == pytest.approx(-swapped)
    assert c == run(tmp_path, ask.replace(" --labels", "")).answer["rows"][0]["c"]
    assert "labels" in refused(tmp_path, f"{ask} 1,3")
    # Beside missing values pandas writes 1.0.
    gaps = numbered.astype(object)
    gaps.loc[0, ["stimulus", "response"]] = None
    gaps.to_csv(tmp_path / "numbered.csv", index=False)
    for labels in ("1,2", "1.0,2.0"):
        assert run(tmp_path, f"{ask} {labels}").answer["rows"]


def test_every_model_card_is_listed(tmp_path):
    rows = run(tmp_path, "models --json").answer["rows"]
    assert [row["model"] for row in rows] == hmetad.bayes.card_names()
    assert "individual" in run(tmp_path, "models").stdout


def test_words_name_columns_of_the_file_whatever_signs_their_names_have(tmp_path):
    (tmp_path / "a.csv").write_text("who,a+b,age,task\n")
    asked = FitOptions(file=tmp_path / "a.csv", by=("subject=who",), covariates=("age",))
    words = {"conditions": ["a+b", "`a+b`*task"], "correlated": "task", "predictors": ["age"]}
    made = with_words(asked, words)
    assert made.by == ("subject=who", "a+b", "task")
    assert made.covariates == ("age",)
