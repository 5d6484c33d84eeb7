"""The page of signals: which is best, every number with its interval, and differences."""

import numpy as np
import pandas as pd
import pytest

from hmetad.base.errors import InputError
from hmetad.logs import signals
from hmetad.report import signals_report
from hmetad.report.page.blocks import Figure, Prose, Table
from hmetad.select import compare_signals, signal_differences


@pytest.fixture(scope="module")
def results():
    """Two models whose lead says which answers are right, and whose other signals do not."""
    rng = np.random.default_rng(3)
    first, parts = rng.uniform(0.4, 0.9, 400), []
    for model in "ab":
        lead = rng.uniform(0, 2 * first - 0.7).clip(0)
        p = np.stack([first, first - lead, *([(1 - 2 * first + lead) / 2] * 2)], axis=1).clip(0)
        correct = rng.uniform(size=400) < np.minimum(1.6 * lead, 1)
        rows = {"model": model, "item": range(400), "correct": correct}
        parts.append(pd.DataFrame(rows).assign(option_probabilities=p.tolist()))
    trials = signals(pd.concat(parts, ignore_index=True))
    return compare_signals(trials, by="model", options=None, n=200, seed=1)


@pytest.fixture(scope="module")
def page(results):
    return signals_report(*results, title="Signals of two models", command="hmetad measures a.csv")


def table(page, name):
    (found,) = [x for x in page.blocks if isinstance(x, Table) and x.name == name]
    return found


def test_the_best_signal_is_named(page):
    said = {x.heading: " ".join(x.paragraphs) for x in page.blocks if isinstance(x, Prose)}
    assert "lead is best by AUROC2" in said["Answer"]
    assert "200 draws by item" in said["Answer"]
    assert "hmetad measures a.csv" in said["How to make this page again"]


def test_tables_have_what_was_measured(page, results):
    found, draws = results
    shown = table(page, "by-signal")
    assert shown.columns == ("Model", "Signal", "AUROC2")
    assert [row[:2] for row in shown.rows][:2] == [("a", "top_probability"), ("a", "lead")]
    assert [row[2].values for row in shown.rows] == [
        tuple(x) for x in found["auroc2"].values.tolist()
    ]
    differences = table(page, "by-right")
    first = signal_differences(found, draws).iloc[0]
    assert differences.rows[0][:3] == ("a", "top_probability", "lead")
    assert differences.rows[0][3].values[0] == first["auroc2"]
    assert len(differences.rows) == 6


def test_the_figure_has_a_row_for_each_model_and_says_its_numbers(page):
    (figure,) = [x for x in page.blocks if isinstance(x, Figure)]
    assert "a | lead (AUROC2): 0." in figure.alt
    ax = figure.draw.axes[0]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["a", "b"]
    labels = [text.get_text() for text in figure.draw.legends[0].get_texts()]
    assert labels == ["top_probability", "lead", "minus_entropy"]


def test_it_is_refused_without_signals(results):
    found, draws = results
    with pytest.raises(InputError, match="those of compare_signals"):
        signals_report(found, draws.drop_vars("signal"))
    with pytest.raises(InputError, match="those of compare_signals"):
        signals_report(draws, draws)
