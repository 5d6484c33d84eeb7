"""Estimates with their errors in a hierarchical normal model: meta-analysis of any measure.

Estimates and a formula → DataTree of draws, as fits of counts are.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.arguments import check_inputs, refuse_same_names, seed_or_none, whole
from hmetad.bayes.estimates_data import Estimates, read_estimates
from hmetad.bayes.estimates_tree import estimates_tree
from hmetad.bayes.normal_model import normal_model
from hmetad.bayes.normal_sampling import sample_normal
from hmetad.counts.resample import seed_entropy
from hmetad.errors import InputError
from hmetad.likelihood.priors import Prior
from hmetad.memory import refuse_memory
from hmetad.specs.design import parse_design
from hmetad.specs.formula import block_factors, formula_columns, parse_formula

__all__ = ["fit_estimates", "parameter_name", "sides_of"]

BYTES = 8


@check_inputs(skip=("estimates",), draws=whole(50), chains=whole(1, 100), seed=seed_or_none)
def fit_estimates(
    estimates: pd.DataFrame | xr.DataArray | xr.Dataset | xr.DataTree,
    formula: str,
    *,
    se: str | None = None,
    link: str = "identity",
    priors: Mapping[str, Prior] | None = None,
    draws: int = 1000,
    chains: int = 4,
    seed: int | None = None,
) -> xr.DataTree:
    r"""Posterior of a hierarchical normal model of estimates that have errors.

    For measures without a likelihood of their own, such as AUROC2, gamma or Brier scores of models
    in sets of items, or of people in conditions; and for meta-analysis.

    Parameters
    ----------
    estimates : DataFrame, Dataset, DataArray or DataTree
        A table with a row for each estimate, a Dataset with dim cell, or draws: of
        `measures.resample_trials` or `resample`, of a fit, or of any quantity, with dims cell and
        draw. Of draws their mean and their whole covariance are taken, so that what cells share,
        such as items, is kept; draws of a posterior contain its prior.
    formula : str
        The quantity, and its formula in Wilkinson's notation: ``"auroc2 ~ 0 + model + (1 | set)
        + (1 | model:set)"``. Without effects for each estimate, such as the last, all of their
        differences that the rest does not explain are taken for errors.
    se : str, optional
        Column or variable with the standard errors; of a Dataset by default "auroc2_se" for
        "auroc2". None with draws.
    link : {"identity", "log", "logit", "fisher_z"}
        Scale of the normal distributions; "logit" for estimates between 0 and 1, "fisher_z" between
        -1 and 1. Draws are transformed one by one, standard errors by the delta method. Draws at an
        end of that range are moved in by half a unit, 1/(2n) of the range for n trials (without
        trials by half the distance of the nearest draw); estimates where trials are known.
    priors : mapping of str to Prior, optional
        By variable. Coefficients take a Normal prior; group SDs HalfNormal, Exponential, Gamma,
        LogNormal, UniformTimesHalfNormal, or StudentT with mu=0, of which the positive half counts
        (nu=1 is half-Cauchy); correlations LKJ.
    draws, chains : int, optional
        Independent draws in each of so many parts, called chains as in other fits.
    seed : int, optional
        Seed; a random one, found in the attrs, where none is given.

    Returns
    -------
    DataTree
        posterior: the quantity of every cell (with a link on both scales, as in logit_auroc2 and
        auroc2), coefficients, effects, their SDs and correlations, named as in `hmetad.fit`;
        observed_data: estimate, se, covariance, and trials where they are known; sample_stats:
        pareto_k, effective_draws, and p_fit, the probability of a worse fit. `contrast`, `decide`,
        `rank`, `save_fit`, `load_fit` and `bayes.predict_estimates` take it. attrs: formula, link,
        priors, seed, versions and notices: ``"undefined-draws"`` of cells of which up to 5 % of
        the draws are undefined, which are left out of that cell alone; ``"estimates-left-out"`` of
        cells of which more are, or without an error; ``"estimates-at-edge"``;
        ``"estimates-misfit"`` where p_fit is below .01, ``"pareto-k"`` where draws are bad.

    Raises
    ------
    InputError
        If the formula, a column, a prior or the link cannot be used, fewer than 2 or more than 2000
        estimates are defined, there are fewer than 5 draws a cell, or their covariance is singular.

    Notes
    -----
    .. math:: y \sim N(\theta, \Sigma), \quad \theta = X\beta + \sum_b Z_b u_b, \quad
              u_{bg} \sim N(0, \Omega_b)

    Default priors, with s the standard deviation of the estimates on the scale of the link:
    intercepts and means of levels Normal(mean of the estimates, 5 s), other coefficients Normal(0,
    5 s / SD of their column), group SDs HalfNormal(s), correlations LKJ(2). attrs["priors"] has
    them. β and u are integrated out; SDs and correlations are drawn by importance sampling from
    their exact density, β and u given them exactly, so that draws are independent. The covariance
    of n cells from N draws is multiplied by (N - 1)/(N - n - 2), since its inverse is too large
    (Hartlap et al. 2007). Source: Rubin (1981b); Gelman et al. (2013), section 5.4.

    Examples
    --------
    >>> schools = pd.DataFrame({"school": list("ABCDEFGH")})
    >>> schools["effect"] = [28, 8, -3, 7, -1, 1, 18, 12]
    >>> schools["se"] = [15, 10, 16, 11, 9, 11, 10, 18]
    >>> found = fit_estimates(schools, "effect ~ 1 + (1 | school)", se="se", seed=1)
    >>> round(float(found["posterior"]["effect_Intercept"].mean()))
    8
    """
    name, right = sides_of(formula)
    columns = named_columns(right)
    taken = [name, "estimate", "se", "covariance", "trials", "cell_bis"]
    refuse_same_names(columns, taken)
    data = read_estimates(estimates, name, se, link, columns)
    refuse_same_names(data.cells.columns, taken)
    parameter = parameter_name(name, link)
    design = parse_design(parameter, right, data.cells)
    model = normal_model(data, design, priors)
    refuse_singular(data)
    size = sum(block.columns.shape[1] * len(block.groups) for block in design.blocks)
    refuse_memory("draws", str(draws), BYTES * draws * chains * (2 * len(data.values) + size))
    entropy = seed_entropy(seed)
    found = sample_normal(model, draws * chains, np.random.default_rng(entropy))
    said = {"formula": f"{name} ~ {right}", "seed": str(entropy)}
    return estimates_tree(data, model, found, name, link, (chains, draws), said)


def sides_of(formula: str) -> tuple[str, str]:
    """Quantity and formula on the two sides of a tilde.

    Examples
    --------
    >>> sides_of("auroc2 ~ 1 + (1 | set)")
    ('auroc2', '1 + (1 | set)')
    """
    left, tilde, right = formula.partition("~")
    name = left.strip()
    if not tilde or not name.isidentifier() or "~" in right or not right.strip():
        step = "Write the quantity on the left: 'auroc2 ~ model + (1 | set)'."
        raise InputError("formula", repr(formula), "name ~ formula", step)
    return name, right.strip()


def parameter_name(name: str, link: str) -> str:
    """Name of a quantity on the scale of its link.

    Examples
    --------
    >>> parameter_name("auroc2", "logit"), parameter_name("auroc2", "identity")
    ('logit_auroc2', 'auroc2')
    """
    return name if link == "identity" else f"{link}_{name}"


def named_columns(formula: str) -> list[str]:
    """Columns that a formula names, in its common part and as groups."""
    parsed = parse_formula(formula)
    names = sorted(formula_columns([formula]))
    for group in parsed.group_terms:
        names += [*sorted(group.expression.columns)]
        names += [column for factor in block_factors(group) for column in factor.split(":")]
    return list(dict.fromkeys(names))


def refuse_singular(data: Estimates) -> None:
    """Raise where estimates determine each other."""
    scale = np.sqrt(data.covariance.diagonal())
    correlation = data.covariance / scale[:, None] / scale
    if np.linalg.eigvalsh(correlation)[0] < 1e-10:
        step = "Leave out cells that follow from others."
        raise InputError("estimates", "a singular covariance", "estimates of their own", step)
