"""A fit whose draws are normal numbers: large designs without sampling."""

import json

import numpy as np
import xarray as xr

import hmetad


def made_fit(models, domains, *, draws=250, chains=4, seed=1):
    """Fit of every model in every domain, as `hmetad.fit` would return it."""
    rng = np.random.default_rng(seed)
    cells = len(models) * len(domains)
    truth = np.repeat(rng.normal(-0.3, 0.3, len(models)), len(domains))
    truth += rng.normal(0, 0.05, cells)
    coords = {
        "model": [model for model in models for _ in domains],
        "domain": [domain for _ in models for domain in domains],
    }
    counts = hmetad.simulate_counts(1.5, 0.2, np.exp(truth), trials=800, coords=coords, seed=seed)

    def drawn(centre, sd):
        return rng.normal(centre, sd, (chains, draws, cells))

    dims = ("chain", "draw", "cell")
    dprime, c, log_m = drawn(1.5, 0.05), drawn(0.2, 0.05), drawn(truth, 0.06)
    steps = np.array([0.4, 0.8, 1.2])
    meta_c = np.exp(log_m) * c
    criteria = np.stack([meta_c[..., None] - steps, meta_c[..., None] + steps], axis=-2)
    values = {
        "dprime": dprime,
        "c": c,
        "log_m": log_m,
        "m_ratio": np.exp(log_m),
        "meta_d": np.exp(log_m) * dprime,
        "meta_c": meta_c,
    }
    posterior = xr.Dataset(
        {name: (dims, x) for name, x in values.items()}
        | {"criteria": ((*dims, "response", "criterion"), criteria)}
        | {"log_gap": ((*dims, "response", "criterion"), np.full_like(criteria, np.log(0.4)))},
        {str(k): v for k, v in counts.coords.items() if v.dims == ("cell",)}
        | {"response": ["S1", "S2"], "criterion": [1, 2, 3]},
    )
    stats = xr.Dataset({"diverging": (dims[:2], np.zeros((chains, draws), dtype=bool))})
    groups = {"posterior": posterior, "sample_stats": stats}
    fit = xr.DataTree.from_dict(groups | {"observed_data": counts.to_dataset(name="counts")})
    fit.attrs = {
        "model": "individual",
        "seed": str(seed),
        "sampler": "no sampler",
        "spec": hmetad.load_model("individual").to_json(),
        "versions": json.dumps({"hmetad": "0", "pymc": "0"}),
    }
    return fit
