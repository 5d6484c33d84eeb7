"""A page of a fit begins with one sentence: the answer, from the same decisions as its table."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from report.made_fit import made_fit

import hmetad
from hmetad.report.contents.answer import answer_sentence
from hmetad.report.page.blocks import Figure, Prose, Table
from hmetad.report.page.report import Report

QUIET = {"progressbar": False, "quiet": True, "random_seed": 1, "draws": 60, "chains": 2}


def decided(means, rope=(-0.1, 0.1), **coords):
    """Decisions on the groups of cells with these means of M, in each of their tasks."""
    drawn = np.random.default_rng(1).normal(np.array(means), 0.02, (2, 500, len(means)))
    named = {name: ("cell", list(own)) for name, own in coords.items()}
    cells = {"cell": [" | ".join(x) for x in zip(*coords.values(), strict=True)], **named}
    draws = xr.Dataset({"m_ratio": (("chain", "draw", "cell"), drawn)}, cells)
    within = [name for name in coords if name != "group"]
    over = hmetad.contrast(draws, var="m_ratio", over="group", within=within, independent=False)
    return hmetad.decide(over, rope=rope)


@pytest.mark.parametrize(
    ("means", "rope", "words"),
    [
        (
            (0.5, 0.9),
            (-0.1, 0.1),
            r"M-ratio is lower for patient than for control in vision, by 0.4",
        ),
        ((0.9, 0.5), (-0.1, 0.1), r"M-ratio is higher for patient than for control in vision, by"),
        ((0.5, 0.9), (-0.1, 0.1), "different at ± 0.1."),
        ((0.5, 0.5), (-0.1, 0.1), "negligible at ± 0.1."),
        ((0.5, 0.9), (-0.4, 0.1), "inconclusive at a ROPE of −0.4 to 0.1."),
    ],
)
def test_one_comparison_is_told_with_its_side_place_size_and_verdict(means, rope, words):
    made = decided(means, rope, group=["patient", "control"], task=["vision"] * 2)
    said = answer_sentence(made)
    assert words in said
    row = made.table().iloc[0]
    size = [abs(row[x]) for x in ("mean", "lower", "upper")]
    assert all(f"{x:.2f}" in said for x in size)
    assert said.count(". ") == 0


def test_several_comparisons_are_counted_by_verdict_and_the_first_of_each_named():
    made = decided((0.5, 0.51, 0.9, 1.3, 1.7), group=[*"abcde"])
    said, table = answer_sentence(made), made.table()
    number = (table["verdict"] == "different").sum()
    assert said.startswith(f"Of 10 comparisons of M-ratio at ± 0.1, {number} are different (")
    first, *_ = table[table["verdict"] == "different"]["label"]
    assert f"({first}: " in said
    assert f"{number - 2} more" in said
    assert "1 is negligible (" in said


def test_without_a_verdict_the_reason_is_told():
    draws = decided((0.5, 0.9), group=["a", "b"])
    bad = hmetad.decide_normal([np.nan], [0.1], rope=(-0.1, 0.1), labels=["a − b"])
    assert answer_sentence(bad) == "There is no verdict on estimate (a − b): undefined draws."
    assert "no verdict" not in answer_sentence(draws)


def test_a_bayes_factor_that_was_asked_for_stands_with_the_verdict():
    made = decided((0.5, 0.9), group=["a", "b"])
    found = {"bf10": 12.3, "bf10_half": 20.0, "bf10_double": 6.2}
    results = made.results.assign({k: ("pair", [x]) for k, x in found.items()})
    results = results.assign(bf10_bound=("pair", [""]))
    said = answer_sentence(replace(made, results=results))
    assert said.endswith("different at ± 0.1; BF₁₀ = 12 by the fit's prior (with priors half and "
                         "twice as wide: 20 and 6.2).")  # fmt: skip


def test_a_fit_without_comparisons_tells_the_population_then_its_figure_then_the_table():
    people = [f"p{i:02d}" for i in range(12)]
    coords = {"subject": people * 2, "task": ["memory"] * 12 + ["vision"] * 12}
    coords["age"] = np.arange(24.0)
    counts = hmetad.simulate_counts([1.5] * 24, trials=200, coords=coords, seed=1)
    fit = hmetad.fit(counts, "group", conditions="task", **QUIET)
    page = hmetad.report.fit_report(fit)
    answer, figure, *rest = page.blocks
    assert isinstance(answer, Prose)
    assert answer.heading == "Answer"
    population = hmetad.predict(fit)["m_ratio"].mean(["chain", "draw"]).values
    for task, mean in zip(("memory", "vision"), population, strict=True):
        assert f"{mean:.2f} [" in answer.paragraphs[0]
        assert f"({task}" in answer.paragraphs[0]
    assert isinstance(figure, Figure)
    assert "alone (open" in figure.caption
    tables = {block.name: block for block in rest if isinstance(block, Table)}
    assert next(iter(tables)) == "population"
    described = tables["descriptives"]
    measured = hmetad.measure(counts)
    assert described.columns[:4] == ("Condition", "Participants", "Trials", "Accuracy")
    assert [row[:3] for row in described.rows] == [("memory", 12, 2400), ("vision", 12, 2400)]
    accuracy = measured["share_right"].values[:12]
    assert str(described.rows[0][3]) == f"{accuracy.mean():.2f} ({accuracy.std(ddof=1):.2f})"
    aged = hmetad.fit(counts, "group", conditions="task", predictors="age", **QUIET)
    assert "age 11.5" in hmetad.report.fit_report(aged).blocks[0].paragraphs[0]


def test_figures_of_a_page_are_files_to_insert(tmp_path):
    fit = made_fit(["a", "b"], ["x"])
    page = hmetad.report.fit_report(fit)
    files = page.save_figures(tmp_path / "new")
    names = [block.name for block in page.blocks if isinstance(block, Figure)]
    assert {file.name for file in files} == {f"{x}.{y}" for x in names for y in ("svg", "pdf")}
    assert all(file.stat().st_size > 1000 for file in files)
    assert Report("R", ()).save_figures(tmp_path) == []
