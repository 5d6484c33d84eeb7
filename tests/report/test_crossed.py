"""Sentences on observers who answered the same items: what they claim follows from the model."""

import pandas as pd
import pytest
from bayes.test_crossed import FORMULA, QUIET, model, table

import hmetad

FEW = {"draws": 20, "tune": 20, "chains": 1, **QUIET}
FIXED = dict.fromkeys(FORMULA, "0 + subject")
FIXED |= {"dprime": "0 + subject + (1 | item)", "log_spread": "0"}
BOTH = FIXED | {"log_spread": "0 + (1 | item)"}


@pytest.fixture(scope="module")
def drawn():
    return hmetad.fit(table(items=12), model(BOTH), **FEW)


def of_m(fit, own, pooled):
    """First sentence on three observers with these medians of M, and of M pooled over items."""
    areas = dict.fromkeys(("auroc2", "auroc2_dprime", "auroc2_log_spread"), 0.7)
    columns = {"m_ratio": own, "pooled_m_ratio": pooled, **areas}
    return hmetad.report.crossed_sentences(fit, pd.DataFrame(columns, range(3)))[0]


def test_confidence_follows_items_equally_only_if_no_loadings_were_chosen(drawn):
    assert "equally for all observers" in of_m(drawn, 1.0, 0.6)
    loaded = drawn.copy()
    loaded["crossed_answers"].attrs |= {"has_loadings": 1}
    assert "to a different degree for each observer" in of_m(loaded, 1.0, 0.6)
    assert "equally" not in of_m(loaded, 1.0, 0.6)


def test_a_model_without_an_effect_on_confidence_does_not_say_that_confidence_follows_items():
    one = hmetad.fit(table(items=12), model(FIXED), **FEW)
    assert "confidence also follows" not in of_m(one, 1.0, 0.6)
    assert "no effect of item on confidence" in of_m(one, 1.0, 0.6)


def test_observers_without_a_pooled_m_have_a_sentence_without_it(drawn):
    said = of_m(drawn, 1.0, float("nan"))
    assert said == "No observer has an M pooled over item: M at the average item stands alone."
