"""Estimates with their errors in a hierarchical normal model: meta-analysis of any measure.

Estimates and a formula → DataTree of draws, as fits of counts are.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import gammaincc

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import seed_or_none, whole
from hmetad.base.errors import CardError, FormulaError, NumberError, nearest
from hmetad.base.labels import check_same_names
from hmetad.base.memory import refuse_memory
from hmetad.base.notice import Notice, notice_of
from hmetad.base.notice_registry import limit
from hmetad.base.threads import usable_cpus
from hmetad.bayes.chains import Request, sample_together
from hmetad.bayes.convergence import convergence_notices, sampling_flags
from hmetad.bayes.estimates_data import Estimates, read_estimates
from hmetad.bayes.finish import with_variable_notices
from hmetad.bayes.fit import TUNE, fit_attributes
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.program import Program
from hmetad.bayes.rounds import MOST_DRAWS
from hmetad.bayes.start import mixed_start
from hmetad.counts.resample import seed_entropy
from hmetad.likelihood.families.normal import parameter_name
from hmetad.likelihood.priors import POSITIVE, Prior
from hmetad.specs.design import parse_design
from hmetad.specs.formula import block_factors, formula_columns, parse_formula
from hmetad.specs.identification import same_effect_notices
from hmetad.specs.layout import FormulaLayout, Layout, layout_of
from hmetad.specs.spec import ModelSpec

BYTES = 8
# Prior SDs of coefficients, in standard deviations of the estimates.
WIDE = 5.0
# Least eigenvalue of a correlation matrix of estimates of which none follows from others.
SINGULAR = 1e-10


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
    r"""Posterior of a hierarchical normal model of estimates with standard errors.

    For measures without a likelihood, such as AUROC2, gamma or Brier scores of models in
    benchmarks, or of participants in conditions; and for meta-analysis.

    Parameters
    ----------
    estimates : DataFrame, Dataset, DataArray or DataTree
        A table with a row for each estimate, a Dataset with dim cell, or draws: of
        `measures.resample_trials` or `resample`, of a fit, or of any quantity, with dims cell and
        draw. For draws, their mean and their full covariance are used, which preserves dependence
        between cells, such as shared items; draws of a posterior include its prior.
    formula : str
        The quantity, and its formula in Wilkinson's notation: ``"auroc2 ~ 0 + model + (1 | set)
        + (1 | model:set)"``. Without an effect of each estimate, such as the last term, the model
        attributes all unexplained differences to errors.
    se : str, optional
        Column or variable with the standard errors; of a Dataset by default "auroc2_se" for
        "auroc2". None with draws.
    link : {"identity", "log", "logit", "fisher_z"}
        Scale of the normal distributions; "logit" for estimates between 0 and 1, "fisher_z" between
        -1 and 1. Draws are transformed one by one, standard errors by the delta method. Draws at an
        end of this range are moved inward by half a unit, 1/(2n) of the range for n trials (without
        trials, by half the distance to the nearest draw); estimates only if trials are known.
    priors : mapping of str to Prior, optional
        By variable. Coefficients take a Normal prior; group SDs HalfNormal, Exponential, Gamma,
        LogNormal, UniformTimesHalfNormal, or the positive half of StudentT with mu=0 (nu=1 is
        half-Cauchy); correlations LKJ.
    draws, chains : int, optional
        Draws kept per chain, and chains of nutpie. With 400 draws or more, chains continue to at
        most 8,000 draws while R̂ is above 1.01 or ESS is below 400.
    seed : int, optional
        Seed; by default a random one, recorded in the attrs.

    Returns
    -------
    DataTree
        posterior: the quantity of every cell (with a link on both scales, as in logit_auroc2 and
        auroc2), coefficients, effects, their SDs and correlations, named as in `hmetad.fit`;
        observed_data: estimate, se, covariance, and trials where they are known; sample_stats:
        those of any fit, and p_fit, the probability of a worse fit. `contrast`, `decide`, `rank`,
        `predict`, `save_fit`, `load_fit` and `bayes.predict_estimates` take it. attrs: formula,
        link, spec with the priors, seed, versions and notices: those of chains;
        ``"undefined-draws"`` for cells with up to 5 % undefined draws, which are excluded from that
        cell only; ``"estimates-left-out"`` for cells with more, or without a standard error;
        ``"estimates-at-edge"``; ``"estimates-misfit"`` if p_fit is below .01.

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
    5 s / SD of their column), group SDs HalfNormal(s), correlations LKJ(2). The spec has them. The
    covariance of n cells from N draws is multiplied by (N - 1)/(N - n - 2), since its inverse is
    too large (Hartlap et al. 2007). Source: Rubin (1981b); Gelman et al. (2013), section 5.4.

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
    taken = [name, "estimate", "se", "covariance", "trials", "cell_bis", "cell", "chain", "draw"]
    check_same_names(columns, taken)
    data = read_estimates(estimates, name, se, link, columns)
    check_same_names(data.cells.columns, taken)
    program = estimates_program(data, name, link, right, priors or {})
    kept = sum(variable.size for variable in program.layout.variables)
    refuse_memory("draws", str(draws), BYTES * draws * chains * (2 * len(data.values) + kept))
    entropy = seed_entropy(seed)
    options = {
        "draws": draws,
        "tune": TUNE,
        "chains": chains,
        "cores": min(chains, usable_cpus()),
        # nutpie takes seeds of 64 bits.
        "random_seed": int(np.random.default_rng(entropy).integers(2**31)),
        "quiet": True,
    }
    [of_formula] = program.layout.formulas.values()
    start = mixed_start(of_formula, data.values, data.covariance.diagonal(), None)
    # Fewer draws are never enough, and more are drawn as they are requested.
    may_go_on = draws * chains >= limit("ess") and draws <= MOST_DRAWS
    request = Request(options, may_go_on=may_go_on)
    tree = sample_together(replace(program, known_start=start), request)
    said = {"formula": f"{name} ~ {right}", "seed": str(entropy), "method": "nuts"}
    return finish_estimates(tree, data, program, said)


def estimates_program(
    data: Estimates, name: str, link: str, right: str, given: Mapping[str, Prior]
) -> Program:
    """Estimates, formula and priors as any model of cells that can be sampled."""
    parameter = parameter_name(name, link)
    design = parse_design(parameter, right, data.cells)
    designs, formula = {parameter: design}, {parameter: right}
    bare = ModelSpec("estimates", likelihood="normal", formula=formula, quantity=name, link=link)
    scale = np.sqrt(data.covariance.diagonal())
    correlation = data.covariance / scale[:, None] / scale
    precision = np.diag(correlation)[:, None] / scale[:, None] ** 2
    if (data.covariance != np.diag(data.covariance.diagonal())).any():
        if np.linalg.eigvalsh(correlation)[0] < SINGULAR:
            step = "Leave out cells that follow from others."
            raise NumberError("estimates", "a singular covariance", "estimates of their own", step)
        precision = np.linalg.inv(correlation) / scale[:, None] / scale
    columns = {str(key): ("cell", np.array(x.tolist())) for key, x in data.cells.items()}
    outcomes = xr.DataArray(
        np.column_stack([data.values, precision]),
        {"cell": data.cells.index.to_numpy(dtype=str), **columns},
        ("cell", "estimate"),
    )
    layout = layout_of(outcomes, bare, designs)
    spec = replace(bare, priors=estimates_priors(data, layout.formulas[parameter], layout, given))
    layout = layout_of(outcomes, spec, designs)
    made = [*layout.coords, *(one.name for one in layout.variables), *spec.record.results]
    check_same_names(columns, made)
    return Program(outcomes, spec, designs, {}, layout)


def estimates_priors(
    data: Estimates, formula: FormulaLayout, layout: Layout, given: Mapping[str, Prior]
) -> dict[str, Prior]:
    """Priors of all variables: those that are given, else as wide as the estimates differ."""
    values = data.values
    scale = float(values.std(ddof=1)) or float(np.sqrt(data.covariance.diagonal().mean()))
    priors = {**layout.priors}
    for term, variable in zip(formula.design.common, formula.coefficients, strict=True):
        spread = float(term.columns.std(axis=0).max())
        width = WIDE * scale / (1 if term.is_level or spread == 0 else spread)
        centre = float(values.mean()) if term.is_level else 0.0
        priors[variable.name] = Prior("Normal", mu=centre, sigma=width)
    sds = {variable.name for block in formula.blocks for variable in block.sds}
    priors |= {name: Prior("HalfNormal", sigma=scale) for name in sds}
    for name, prior in given.items():
        if name not in priors:
            raise CardError("priors", repr(name), "a variable", nearest(name, priors))
        kinds = (*POSITIVE, "StudentT") if name in sds else (priors[name].dist,)
        if prior.dist not in kinds:
            raise CardError(f"prior of {name}", prior.dist, ", ".join(kinds))
        if prior.dist == "StudentT" and prior.parameters["mu"] != 0:
            allowed = "a StudentT with mu=0, taken above 0"
            raise CardError(f"prior of {name}", repr(prior), allowed)
    return {**priors, **given}


def finish_estimates(
    tree: xr.DataTree, data: Estimates, program: Program, said: Mapping[str, str]
) -> xr.DataTree:
    """Fit with what was estimated, the columns of the cells, and what is to be known of it."""
    spec, labels = program.spec, program.counts["cell"].values
    columns = {str(name): x for name, x in program.counts.coords.items() if x.dims == ("cell",)}
    groups = {name: group.to_dataset() for name, group in tree.children.items()}
    observed: dict[str, Any] = {
        "estimate": ("cell", data.values),
        "se": ("cell", np.sqrt(data.covariance.diagonal())),
        "covariance": (("cell", "cell_bis"), data.covariance),
    }
    if data.trials is not None:
        observed["trials"] = ("cell", data.trials)
    groups["observed_data"] = xr.Dataset(observed, {"cell_bis": labels})
    true = groups["posterior"][program.likelihood.parameter_of_interest]
    rest = data.values - true.transpose("chain", "draw", "cell").values
    scores = np.linalg.solve(np.linalg.cholesky(data.covariance), rest.reshape(-1, len(labels)).T)
    # Posterior predictive, with χ² as the discrepancy: Gelman et al. (2013), section 6.3.
    p_fit = float(gammaincc(len(labels) / 2, (scores**2).sum(axis=0) / 2).mean())
    groups["sample_stats"] = groups["sample_stats"].assign(p_fit=p_fit)
    for name in ("posterior", "observed_data"):
        groups[name] = groups[name].assign_coords(columns)
    tree = xr.DataTree.from_dict(groups)
    tree.attrs = {
        **fit_attributes(spec, {"random_seed": said["seed"]}),
        **{**spec.choices, **said, "density": "compiled"},
        **{"source": data.source, "kind": "posterior", "cluster": ""},
        "sampler": str(groups["posterior"].attrs["inference_library"]),
    }
    fitted = Fitted(tree, spec, program.layout)
    flags = sampling_flags(fitted)
    of_chains = convergence_notices(fitted, flags)
    is_worse = p_fit < limit("estimates-misfit")
    misfit = [notice_of("estimates-misfit", p=f"{p_fit:.2g}")] if is_worse else []
    alike = [one for design in program.designs.values() for one in same_effect_notices(design)]
    given = [of_conditions(one, fitted, str(true.name)) for one in data.found]
    found = [*given, *of_chains, *misfit, *alike]
    result = with_variable_notices(fitted.saying(found), flags)
    quantity, posterior = said["formula"].partition(" ~ ")[0], result["posterior"].to_dataset()
    if data.ratings:
        rated = posterior[quantity].assign_attrs(ratings=data.ratings)
        result["posterior"] = xr.DataTree(posterior.assign({quantity: rated}))
    return result


def of_conditions(notice: Notice, fitted: Fitted, name: str) -> Notice:
    """The notice of fewer ratings: an error where conditions of the formula differ in how many."""
    columns = fitted.predictors
    if notice.code != "unequal-ratings" or not columns:
        return notice
    is_few = fitted.posterior["cell"].isin(notice.cells).to_numpy()
    shares = fitted.cells.assign(is_few=is_few).groupby(columns)["is_few"].mean()
    differ = shares.max() > shares.min()
    return notice_of("unequal-ratings.compared", notice.cells, name=name) if differ else notice


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
        raise FormulaError("formula", repr(formula), "name ~ formula", step)
    return name, right.strip()


def named_columns(formula: str) -> list[str]:
    """Columns that a formula names, in its common part and as groups."""
    parsed = parse_formula(formula)
    names = sorted(formula_columns([formula]))
    for group in parsed.group_terms:
        names += [*sorted(group.expression.columns)]
        names += [column for factor in block_factors(group) for column in factor.split(":")]
    return list(dict.fromkeys(names))
