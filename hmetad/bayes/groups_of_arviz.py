"""Groups of ArviZ that a fit has only when asked, since they are large.

Fit (DataTree) → the same with log likelihoods of trials, and counts that were predicted.
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from hmetad.arguments import check_inputs, with_posterior
from hmetad.bayes.cell_results import OUTCOME
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.loo import trial_log_likelihood
from hmetad.bayes.observe import drawn_counts
from hmetad.errors import InputError, nearest
from hmetad.memory import refuse_memory

__all__ = ["add_groups"]

GROUPS = ("log_likelihood", "posterior_predictive")
BYTES = 8


@check_inputs(fit=with_posterior)
def add_groups(
    fit: xr.DataTree, groups: str | Sequence[str] = GROUPS, *, seed: int = 0
) -> xr.DataTree:
    r"""Fit with the groups that ArviZ's own checks and comparisons need.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` or `hmetad.load_fit` returned.
    groups : str or sequence of str, optional
        ``"log_likelihood"``, ``"posterior_predictive"``, or both.
    seed : int, optional
        Of the predicted counts.

    Returns
    -------
    DataTree
        A copy. ``log_likelihood`` has ``counts``, dims (chain, draw, trial): log P(response,
        rating | stimulus) of every trial; along trial stand cell, stimulus, response and rating.
        ``posterior_predictive`` has ``counts``, dims (chain, draw, cell, stimulus, response,
        rating): a table for every draw, with the observed numbers of trials of each stimulus.

    Raises
    ------
    InputError
        If there is no such group, or it does not fit into memory.

    See Also
    --------
    hmetad.loo : The same estimate as ``arviz.loo``, from one row for all trials that are alike.

    Examples
    --------
    >>> from hmetad.bayes.fit import fit
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    >>> drawn = fit(simulate_counts(1.5, trials=300, seed=1), draws=100, chains=2, **quiet)
    >>> whole = add_groups(drawn)
    >>> whole["log_likelihood"]["counts"].sizes["trial"]
    300
    >>> bool((whole["posterior_predictive"]["counts"].sum("rating").sum("response") == 150).all())
    True
    """
    wanted = [groups] if isinstance(groups, str) else list(groups)
    for name in wanted:
        if name not in GROUPS:
            hint = nearest(str(name), GROUPS)
            raise InputError("groups", repr(name), ", ".join(map(repr, GROUPS)), hint)
    observed = fit["observed_data"].to_dataset()["counts"].transpose(*OUTCOME)
    samples = fit["posterior"].sizes["chain"] * fit["posterior"].sizes["draw"]
    trials = int(observed.sum())
    if "log_likelihood" in wanted:
        refuse_memory("groups", f"{trials} trials at {samples} draws", BYTES * samples * trials)
    made, log_p = fit.copy(), trial_log_likelihood(Fitted.of(fit))
    if "log_likelihood" in wanted:
        made["log_likelihood"] = xr.DataTree(by_trial(log_p, observed))
    if "posterior_predictive" in wanted:
        totals = observed.sum(["response", "rating"]).to_numpy()
        drawn = drawn_counts(np.random.default_rng(seed), totals, log_p.to_numpy())
        made["posterior_predictive"] = xr.DataTree(log_p.copy(data=drawn).to_dataset(name="counts"))
    return made


def by_trial(log_p: xr.DataArray, observed: xr.DataArray) -> xr.Dataset:
    """Log probabilities of outcomes, each as often as it was observed."""
    places = np.repeat(np.arange(observed.size), observed.to_numpy().ravel())
    flat = log_p.stack(trial=OUTCOME).isel(trial=places).reset_index("trial")
    return flat.transpose("chain", "draw", "trial").to_dataset(name="counts")
