"""Sampling a problem with PyMC: its samplers, other backends, and draws kept on disk.

Problem and options of `pymc.sample` → DataTree.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymc as pm
import xarray as xr

from hmetad.arguments import refuse_same_names
from hmetad.bayes.model import initial_values, pymc_model
from hmetad.bayes.problem import Problem
from hmetad.bayes.zarr_store import sample_to_folder
from hmetad.lazy import import_without

__all__ = ["sample_pymc"]


def sample_pymc(
    problem: Problem,
    options: Mapping[str, Any],
    counts: xr.DataArray,
    store: str | Path | None,
    attrs: Mapping[str, str],
) -> xr.DataTree:
    """Draw from the posterior of a problem with PyMC.

    Parameters
    ----------
    problem : Problem
    options : mapping of str to object
        Of `pymc.sample`.
    counts : DataArray
        The count table as it was given.
    store : str, Path or None
        Folder that keeps the draws while they come.
    attrs : mapping of str to str
        Attributes of the fit, which a store keeps too.

    Returns
    -------
    DataTree
    """
    model = pymc_model(problem)
    refuse_same_names(counts.coords, model.named_vars)
    start = initial_values(problem, model)
    if store is not None:
        nutpie = import_without("nutpie", "arviz")
        compiled = nutpie.compile_pymc_model(model, initial_points=dict(start))
        return sample_to_folder(compiled, counts, store, attrs, options)
    with model, without_remarks(options.get("progressbar") is False):
        tree: xr.DataTree = pm.sample(**{"initvals": start, **options})
    posterior = tree["posterior"].to_dataset()
    return tree.assign(posterior=xr.DataTree(problem.without_offsets(posterior)))


@contextmanager
def without_remarks(is_quiet: bool) -> Iterator[None]:
    """Only warnings of PyMC: without a progress bar, no list of variables is shown either."""
    log = logging.getLogger("pymc")
    level = log.level
    if is_quiet:
        log.setLevel(max(level, logging.WARNING))
    try:
        yield
    finally:
        log.setLevel(level)
