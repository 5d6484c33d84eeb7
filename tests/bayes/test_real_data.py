"""Hierarchical models of published data: they mix, and say what is known of these data."""

import numpy as np
import pandas as pd
import pytest
import real_data
from scipy.stats import spearmanr

from hmetad.base.notice import notices
from hmetad.bayes.predict import predict
from hmetad.compare.contrasts import contrast
from hmetad.compare.verdicts import decide

pytestmark = pytest.mark.slow
QUIET = {"progressbar": False, "quiet": True, "random_seed": 1}


def problems(draws):
    """What the sampler's diagnostics object to."""
    return [n for n in notices(draws) if n.code in ("divergences", "rhat")]


def mean_and_sd(values):
    return float(values.mean()), float(values.std())


def correlations(draws, tasks):
    """Posterior mean and P(> 0) of every pair of tasks."""
    corr = draws["posterior"]["log_m_task|subject_corr"]
    first, second = (np.asarray(corr[dim].values) for dim in corr.dims[2:])
    assert sorted(first) == sorted(tasks)
    return {
        (a, b): (
            float(corr[:, :, i, j].mean()),
            float((corr[:, :, i, j] > 0).mean()),
        )
        for i, a in enumerate(first)
        for j, b in enumerate(second)
        if i < j
    }


@pytest.fixture(scope="module")
def stored(shared):
    """Maximum-likelihood M of the authors, per subject."""
    table = pd.read_csv(shared / "data" / "rouault2018" / "stored_mle_fits_exp1.csv")
    return table.set_index("subject")["M_ratio"]


def test_the_group_of_rouault_is_that_of_their_single_fits(shared, stored):
    draws = real_data.fit_rouault2018(shared / "data", "group", **QUIET)
    assert problems(draws) == []
    posterior = draws["posterior"].to_dataset()
    median = float(np.exp(posterior["log_m_Intercept"]).mean())
    assert median == pytest.approx(stored.median(), abs=0.1)
    own = posterior["log_m"].mean(["chain", "draw"])
    alone = stored.loc[posterior["subject"].values].to_numpy()
    assert spearmanr(own, alone).statistic > 0.8
    spread = mean_and_sd(posterior["log_m_1|subject_sigma"])[0]
    assert spread < np.log(alone[alone > 0]).std()


def test_regression_on_age_mixes_and_has_the_sign_of_the_single_fits(shared, stored):
    draws = real_data.fit_rouault2018(shared / "data", **QUIET)
    assert problems(draws) == []
    posterior = draws["posterior"].to_dataset()
    mean, sd = mean_and_sd(posterior["log_m_scale(covariate)"])
    age = posterior["covariate"].values
    rho = spearmanr(age, stored.loc[posterior["subject"].values])
    assert sd < 0.05
    assert np.sign(mean) == np.sign(rho.statistic) or abs(mean) < 2 * sd


def test_four_tasks_have_six_correlations(shared):
    draws = real_data.fit_mazancieux2020(shared / "data", **QUIET)
    assert problems(draws) == []
    found = correlations(draws, ["EF", "EM", "SM", "VP"])
    assert len(found) == 6
    # Published, by another model: five of the six are significant. With 40 trials in each cell
    # this one, which does not take the type-1 parameters for known, is less certain of each.
    assert all(mean > 0 for mean, _ in found.values()), found
    assert np.mean([positive for _, positive in found.values()]) > 0.75, found


def test_two_tasks_of_bang_have_one_correlation(shared):
    draws = real_data.fit_bang2019(shared / "data", tune=1500, **QUIET)
    assert problems(draws) == []
    ((mean, _),) = correlations(draws, ["coarse", "fine"]).values()
    assert mean > 0
    # Mean meta-d′ over mean d′ of single fits: 1.16/1.55 and 1.24/1.64.
    medians = np.exp(draws["posterior"]["log_m_task"].mean(["chain", "draw"]))
    np.testing.assert_allclose(medians, 0.75, atol=0.1)


def test_models_and_tasks_cross(shared):
    draws = real_data.fit_michael2026(shared / "data", target_accept=0.95, **QUIET)
    conditions = predict(draws)
    assert conditions["cell"].values.tolist() == ["BoolQ", "HaluEval"]
    verdict = decide(contrast(conditions, var="log_m", over="task"), rope=(-0.1, 0.1))
    assert len(verdict.table()) == 1
    assert {"log_m_1|llm_sigma", "log_m_1|llm:task_sigma"} <= set(draws["posterior"].data_vars)
