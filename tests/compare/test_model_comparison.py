"""The comparison of models is ArviZ's, with its numbers put into words."""

import arviz as az
import numpy as np
import pandas as pd
import pytest

from hmetad import fit, loo, simulate_counts
from hmetad.compare.model_comparison import compare_models
from hmetad.errors import InputError


def result(shift=0.0, scatter=0.0, trials=400, noise=0.01):
    rng = np.random.default_rng(1)
    log_p = rng.normal(-1.5, noise, (4, 250, trials)) + shift
    log_p += scatter * np.random.default_rng(2).normal(size=trials)
    return az.loo(
        az.from_dict({"posterior": {"d": log_p[..., 0]}, "log_likelihood": {"y": log_p}}),
        pointwise=True,
    )


def test_numbers_are_those_of_arviz():
    models = {"a": result(), "b": result(-0.05, 0.3), "c": result(-0.1)}
    found = compare_models(models)
    expected = az.compare(models, round_to="none")
    pd.testing.assert_frame_equal(found.drop(columns="in_words"), expected)
    assert found.index[0] == "a"


def test_words_say_what_differences_and_their_errors_do():
    models = {
        "base": result(),
        "alike": result(-0.005),
        "worse": result(-0.1),
        "unclear": result(-0.025, 0.5),
    }
    words = compare_models(models)["in_words"]
    assert words["base"] == "predicts best"
    assert words["alike"].startswith("predicts as well: the difference, 2.0, is below 4")
    assert words["worse"].startswith("predicts worse: by 40.0, 2 SE are 0.0")
    assert words["unclear"].startswith("not told apart")


def test_words_go_by_the_reference_where_one_is_named():
    words = compare_models({"a": result(), "b": result(-0.1)}, reference="b")["in_words"]
    assert words.to_dict() == {"a": "predicts better: by 40.0, 2 SE are 0.0", "b": "the reference"}


@pytest.mark.filterwarnings("ignore:Estimated shape parameter")
def test_results_that_cannot_be_relied_on_are_named():
    words = compare_models({"a": result(), "b": result(-0.1, noise=4.0)})["in_words"]
    assert "not to be relied on" in words["b"]
    assert "not to be relied on" not in words["a"]


def test_estimates_of_fits_that_were_sampled_badly_are_named():
    counts = simulate_counts(1.5, trials=400, seed=1)
    quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    good = loo(fit(counts, draws=500, chains=2, **quiet))
    bad = loo(fit(counts, method="nuts", draws=60, tune=30, chains=2, **quiet))
    words = compare_models({"good": good, "bad": bad})["in_words"]
    assert "its fit" not in words["good"]
    assert "not to be relied on (" in words["bad"]
    assert "its fit: " in words["bad"]
    assert "few effective draws" in words["bad"]


def test_fits_single_models_and_other_trials_are_refused():
    with pytest.raises(InputError, match=r"hmetad\.loo\(fit\)"):
        compare_models({"a": result(), "b": az.from_dict({"posterior": {"d": np.zeros((1, 4))}})})
    with pytest.raises(InputError, match="two names or more"):
        compare_models({"a": result()})
    with pytest.raises(InputError, match="two names or more"):
        compare_models([result(), result()])
    with pytest.raises(InputError, match="one count table"):
        compare_models({"a": result(), "b": result(trials=399)})
