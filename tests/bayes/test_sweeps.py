"""Many group fits at once on the workers of a cluster are the fits made one by one."""

import os

import numpy as np
import pytest
from distributed import Client, LocalCluster

import hmetad

pytestmark = pytest.mark.integration

MODELS, TASKS, PEOPLE = 3, 2, 8


def group(model, task):
    """Count table of one model in one task, by the persons that it plays."""
    rng = np.random.default_rng([model, task])
    return hmetad.simulate_counts(
        rng.normal(1.5, 0.2, PEOPLE),
        m_ratio=np.exp(rng.normal(-0.2 * model, 0.2, PEOPLE)),
        trials=200,
        coords={"subject": [str(i) for i in range(PEOPLE)]},
        seed=10 * model + task,
    )


def fit_group(counts, seed):
    """A group fit in a few numbers: what a sweep keeps of each."""
    fit = hmetad.fit(counts, "group", draws=200, chains=2, cores=1, random_seed=seed, quiet=True)
    mean = fit["posterior"]["log_m_Intercept"]
    errors = sum(notice.severity == "error" for notice in hmetad.notices(fit))
    return {"mean": float(mean.mean()), "sd": float(mean.std()), "errors": errors}


def test_a_sweep_on_a_cluster_gives_what_single_fits_give(monkeypatch):
    tables = [group(model, task) for model in range(MODELS) for task in range(TASKS)]
    seeds = range(len(tables))
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(__file__))
    workers = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**workers) as cluster, Client(cluster) as client:
        found = client.gather(client.map(fit_group, tables, seeds))
    assert found == [fit_group(*one) for one in zip(tables[:2], seeds, strict=False)] + found[2:]
    assert len(found) == MODELS * TASKS
    means = np.array([one["mean"] for one in found]).reshape(MODELS, TASKS).mean(axis=1)
    assert (np.diff(means) < 0).all()
