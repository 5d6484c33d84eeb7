"""Three studies by conditions, groups and predictors, and by formulas written by hand."""

import json

import numpy as np
import pytest
import xarray as xr
from command_line import run

import hmetad

PEOPLE = [f"p{i}" for i in range(12)]
SHORT = {"draws": 60, "tune": 60, "chains": 2, "random_seed": 1, "progressbar": False}
STUDIES = {
    "difficulty": (
        {"conditions": "difficulty"},
        "1 + S(difficulty) + (1 + S(difficulty) || subject)",
    ),
    "patients": (
        {"groups": "diagnosis", "correlated": "task", "conditions": "task*diagnosis"},
        "1 + S(task)*S(diagnosis) + (0 + task | subject)",
    ),
    "age": ({"predictors": "age"}, "1 + scale(age) + (1 | subject)"),
}


def trials(study):
    levels = {"difficulty": ["easy", "hard"], "patients": ["memory", "vision"]}.get(study, ["one"])
    coords = {
        "subject": np.repeat(PEOPLE, len(levels)),
        "difficulty" if study == "difficulty" else "task": np.tile(levels, 12),
        "diagnosis": np.repeat(["patient", "control"], 6 * len(levels)),
        "age": np.repeat(20.0 + np.arange(12) ** 2, len(levels)),
    }
    d = np.random.default_rng(1).normal(1.5, 0.2, 12 * len(levels))
    return hmetad.simulate_trials(d, m_ratio=0.8, trials=200, coords=coords, seed=1)


@pytest.mark.integration
@pytest.mark.parametrize("study", STUDIES)
def test_a_study_in_words_has_the_posterior_of_its_formulas(study, tmp_path):
    words, formula = STUDIES[study]
    table = trials(study)
    columns = [name for name in table if name in ("subject", "task", "difficulty", "diagnosis")]
    counts = hmetad.count_trials(table, by=columns, covariates=["age"])
    said = hmetad.fit(counts, "group", **words, **SHORT)
    written = hmetad.fit(counts, "group", formula=formula, **SHORT)
    for name, values in written["posterior"].data_vars.items():
        np.testing.assert_array_equal(said["posterior"][name], values)
    (made,) = [one for one in hmetad.notices(said) if one.message.endswith(f": {formula}.")]
    assert made.code == "design"
    hmetad.save_fit(said, tmp_path / "fit.nc")
    loaded = hmetad.load_fit(tmp_path / "fit.nc")
    assert hmetad.bayes.spec_of(loaded).formula["c"] == formula
    given = {role: [text] for role, text in words.items()}
    assert json.loads(loaded.attrs["design"]) == given


@pytest.mark.integration
def test_the_command_line_takes_the_words_and_compares_the_population(tmp_path):
    trials("patients").to_csv(tmp_path / "trials.csv", index=False)
    words = "--groups diagnosis --conditions 'task*diagnosis' --predictors age"
    line = f"fit trials.csv --by subject --model group {words} --draws 60 --seed 1 --no-sensitivity"
    answer = run(tmp_path, f"{line} -o fit.nc --json").answer
    (said,) = [one["message"] for one in answer["notices"] if one["code"] == "design"]
    formula = "1 + S(task)*S(diagnosis) + scale(age) + (1 + S(task) || subject)"
    assert said == f"dprime, c, log_m, log_gap: {formula}."
    ask = "compare fit.nc --over diagnosis --within task --rope=-0.1,0.1 --json"
    plain, flagged = (run(tmp_path, ask + flag).answer for flag in ("", " --population"))
    assert plain["rows"] == flagged["rows"]
    labels = [row["label"] for row in plain["rows"]]
    assert labels == ["patient − control | memory", "patient − control | vision"]
    # People are compared where they are named.
    people = run(tmp_path, "compare fit.nc --over task --within subject --rope=-0.1,0.1 --json")
    assert len(people.answer["rows"]) == len(PEOPLE)


@pytest.mark.integration
def test_population_values_follow_the_words_with_three_levels_and_missing_cells():
    coords = {"subject": np.repeat(PEOPLE, 3), "task": np.tile(["a", "b", "c"], 12)}
    counts = hmetad.simulate_counts([1.5] * 36, trials=200, coords=coords, seed=1)
    draws = hmetad.fit(counts.isel(cell=slice(2, None)), "group", conditions="task", **SHORT)
    population = hmetad.predict(draws)
    effects = draws["posterior"]["log_m_S(task)"]
    last = draws["posterior"]["log_m_Intercept"] - effects.sum("S(task)_dim")
    c = population["log_m"].isel(cell=population["task"].values.tolist().index("c"))
    xr.testing.assert_allclose(c.reset_coords(drop=True).drop_vars("cell", errors="ignore"), last)
