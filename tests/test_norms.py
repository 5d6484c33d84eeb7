"""Published populations, and where a value lies among them."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import ttest_1samp

import hmetad
from hmetad import norms
from hmetad.base.errors import InputError
from hmetad.simulate.people import Population, population_of


def test_shares_are_counted_over_published_populations():
    values = norms.populations()["m_ratio"].to_numpy()
    for value in (0.5, 0.8, float(values[0])):
        below = sum(float(one < value) + 0.5 * float(one == value) for one in values) / len(values)
        assert norms.share_below(value) == pytest.approx(below)


def test_shares_have_the_shape_of_the_values_and_keep_what_is_missing():
    found = norms.share_below([[0.0, np.nan], [0.8, 99.0]], "dprime")
    assert found.shape == (2, 2)
    assert found[0, 0] == 0
    assert np.isnan(found[0, 1])
    assert found[1, 1] == 1


def test_usual_values_are_quantiles_of_a_domain():
    own = norms.populations(domain="perception")["auroc2"]
    found = norms.usual([0.25], domain="perception")
    assert found.loc["auroc2", 0.25] == pytest.approx(np.quantile(own, 0.25))
    assert 0.5 < found.loc["auroc2", 0.25] < 0.9


def test_what_is_not_known_is_refused_with_what_is():
    with pytest.raises(InputError, match="perception"):
        norms.populations(domain="percepton")
    with pytest.raises(InputError, match="log_m_sd"):
        norms.share_below(0.7, "log_m_sds")


def test_what_cutting_within_people_shrinks_is_no_norm():
    """Sets with continuous confidence are cut by the quantiles of each participant."""
    found = norms.populations()
    is_cut = found["continuous"]
    assert is_cut.sum() == 38
    for name in ("log_m_sd", "m_reliability"):
        assert found[name].isna().tolist() == is_cut.tolist()
    for name in ("m_ratio", "dprime_sd", "c_sd", "auroc2"):
        assert found[name].notna().all()
    with pytest.raises(InputError, match="population with a known log_m_sd"):
        norms.describe(0.3, quantity="log_m_sd", domain="motor")
    # All of this domain are cut: the spread is the default of a plan.
    assert population_of("mean", {}, pilot="motor").between_sd == Population().between_sd


def test_a_sentence_has_the_value_and_the_shares():
    sentence = norms.describe(0.74, 0.61, 0.88)
    number, shares = len(norms.populations()), norms.share_below([0.74, 0.61, 0.88])
    below, low, high = (f"{100 * share:.0f}" for share in shares)
    assert sentence == (
        f"M 0.74 [0.61, 0.88]: {below} % of {number} published populations have a lower M "
        f"({low} to {high} % over the interval)."
    )


def test_language_models_have_norms_of_their_own():
    models = norms.language_models()
    values = models["ece_debiased"].to_numpy()
    share = norms.share_below(0.1, "ece_debiased", among="language_models")
    assert share == pytest.approx(np.mean(values < 0.1))
    # M of a model whose interval is wide says nothing.
    assert models["m_ratio"].isna().sum() == 1
    with pytest.raises(InputError, match="ece_debiased"):
        norms.share_below(0.1, "log_m_sd", among="language_models")
    with pytest.raises(InputError, match="'memory' among language models"):
        norms.share_below(0.1, among="language_models", domain="memory")


def test_measures_of_people_are_placed_by_their_mean():
    rng = np.random.default_rng(2)
    counts = hmetad.simulate_counts(rng.normal(1.5, 0.2, 9), 0.0, 0.8, trials=300, seed=2)
    measures = hmetad.measure(counts)
    (sentence,) = norms.describe_measures(measures, among="people")
    found = ttest_1samp(measures["auroc2"].values, 0).confidence_interval()
    mean = measures["auroc2"].values.mean()
    number = len(norms.populations())
    assert sentence.startswith(f"Mean AUROC2 {mean:.2f} [{found.low:.2f}, {found.high:.2f}]: ")
    assert f" of {number} published populations have a lower AUROC2 (" in sentence


def test_each_language_model_is_placed_by_what_was_measured():
    rng = np.random.default_rng(3)
    trials = pd.DataFrame({"model": ["a", "b"] * 400, "confidence": rng.uniform(0, 1, 800)})
    trials["correct"] = rng.uniform(size=800) < trials["confidence"]
    measures = hmetad.measures.measure_trials(trials, by="model")
    sentences = norms.describe_measures(measures, among="language_models")
    areas, errors = (measures[x].values for x in ("auroc2", "ece_debiased"))
    own = [
        words
        for cell, area, error in zip("ab", areas, errors, strict=True)
        # Measures of trials have the interval of an area, not that of an error.
        for words in (f"{cell}: AUROC2 {area:.2f} [", f"{cell}: debiased ECE {error:.2f}: ")
    ]
    assert all(map(str.startswith, sentences, own))
    assert len(sentences) == 4
    with pytest.raises(InputError, match="measures"):
        norms.describe_measures(xr.Dataset(), among="people")


def test_plans_begin_from_published_people():
    plan = population_of("mean", {}, pilot="published")
    published = norms.populations()
    assert plan.m_ratio == pytest.approx(published["m_ratio"].median())
    assert plan.between_sd == pytest.approx(published["log_m_sd"].median())
    memory = population_of("mean", {"dprime": 1.0}, pilot="memory")
    assert memory.dprime == 1.0
    with pytest.raises(InputError, match="domain"):
        population_of("mean", {}, pilot="nowhere")


def test_the_figure_has_a_point_for_each_population_and_the_value():
    axes = hmetad.plots.norms(0.74, 0.6, 0.9, domain="perception")
    points = next(line for line in axes.lines if line.get_marker() == "o")
    assert len(points.get_xdata()) == len(norms.populations(domain="perception"))
    assert any(set(np.asarray(line.get_xdata())) == {0.74} for line in axes.lines)
