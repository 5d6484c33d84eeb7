"""Groups of ArviZ on request: its own functions read them and agree with the package's."""

import arviz as az
import numpy as np
import pytest

import hmetad
from hmetad import InputError
from hmetad.bayes import add_groups
from hmetad.bayes.predictive import mean_counts

QUIET = {"progressbar": False, "quiet": True, "random_seed": 1}


@pytest.fixture(scope="module")
def fitted():
    people = {"coords": {"subject": ["a", "b", "c"]}, "trials": 200, "seed": 1}
    counts = hmetad.simulate_counts([1.2, 1.5, 1.8], m_ratio=[0.6, 0.8, 1.0], **people)
    return hmetad.fit(counts, "group", draws=300, chains=2, **QUIET)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_arviz_has_the_same_leave_one_out_estimate(fitted):
    theirs, ours = az.loo(add_groups(fitted, ["log_likelihood"])), hmetad.loo(fitted)
    assert theirs.n_data_points == ours.n_data_points == 600
    # Both smooth the same weights; ArviZ takes relative efficiency from other variables.
    assert theirs.elpd == pytest.approx(ours.elpd, abs=0.1)
    assert theirs.se == pytest.approx(ours.se, rel=0.02)


def test_trials_are_labelled_with_their_outcome(fitted):
    log_p = add_groups(fitted, "log_likelihood")["log_likelihood"]["counts"]
    table = fitted["observed_data"]["counts"]
    frame = log_p.isel(chain=0, draw=0).to_dataframe()
    seen = frame.groupby(["cell", "stimulus", "response", "rating"]).size()
    for outcome, number in seen.items():
        assert table.sel(dict(zip(seen.index.names, outcome, strict=True))).item() == number
    assert (log_p < 0).all()


def test_predicted_tables_have_the_trials_and_means_of_the_model(fitted):
    whole = add_groups(fitted, ["posterior_predictive"])
    assert "log_likelihood" not in whole
    drawn = whole["posterior_predictive"]["counts"]
    observed = fitted["observed_data"]["counts"]
    totals = observed.sum(["response", "rating"])
    assert (drawn.sum(["response", "rating"]) == totals).all()
    # Mean predicted counts, from probabilities alone; 600 tables have errors of some .3.
    expected = mean_counts(fitted).transpose(*observed.dims)
    np.testing.assert_allclose(drawn.mean(["chain", "draw"]), expected, atol=1.5)
    assert "posterior_predictive" not in fitted


def test_other_groups_are_refused(fitted):
    with pytest.raises(InputError, match="log_likelihood"):
        add_groups(fitted, ["loglikelihood"])
