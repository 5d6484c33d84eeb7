"""Correlation between people of a parameter with another one, or with a column such as an age.

Fit (DataTree), a parameter, and another or a column → DataArray (chain, draw) of the correlation in
the population. Nothing is fitted again: the fit has independent effects, and the likelihood of each
group with each correlation of a grid is compared with that without. Points of a group's
coefficients come from t distributions for several correlations at once, and are weighted for each
of the grid; only the population's density changes between these.
"""

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import logsumexp

from hmetad.base.arguments import check_inputs, positive, whole, with_posterior
from hmetad.base.errors import InputError, nearest
from hmetad.base.notice import notice_attrs, notice_of
from hmetad.base.notice_registry import limit
from hmetad.base.results import attrs_of
from hmetad.base.variable_names import coefficient_name, effect_name, sd_name
from hmetad.bayes.convergence import variable_notices
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.group_likelihood import Integral, each_group
from hmetad.bayes.weights import places_by_weight, smooth_weights
from hmetad.specs.design import Block, Term
from hmetad.specs.formula import formula_columns

__all__ = ["correlation_draws", "group_correlation"]

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

NAME = "group_correlation"
# Posterior draws at which groups are integrated, about.
MOST_DRAWS = 500
# Fisher's z of the correlations: up to .993.
STEP = 0.1
GRID = STEP * np.arange(-28, 29)
# Points come from distributions with these correlations, so many of each.
ANCHORS, POINTS = (-0.8, 0.0, 0.8), 40
# What is left of a column beside the others, of its own spread.
LEAST_LEFT = 1e-6


@check_inputs(
    fit=with_posterior,
    eta=positive,
    seed=whole(0),
)
def group_correlation(
    fit: xr.DataTree,
    first: str = "log_m",
    second: str = "dprime",
    *,
    by: str = "subject",
    eta: float = 2.0,
    seed: int = 0,
) -> xr.DataArray:
    r"""Correlation between people of log M with d′, with any other parameter, or with a column.

    It is the correlation in the population, in which nobody's estimate has an error: an observed
    correlation of estimates is nearer to 0.

    Parameters
    ----------
    fit : DataTree
        A hierarchical fit whose formulas have an effect ``(1 | subject)`` of each group.
    first : str, optional
        A parameter with such an effect: ``"log_m"``.
    second : str, optional
        Another parameter with such an effect; or a column of numbers that the groups differ in,
        such as a questionnaire's, which the formula of `first` has as a term, ``age`` or
        ``scale(age)``.
    by : str, optional
        Column of the cells with the groups.
    eta : float, optional
        Of the prior of the correlation of two parameters, LKJ(η); not used for a column.
    seed : int, optional
        Of integrals and draws.

    Returns
    -------
    DataArray
        ``group_correlation``, as many draws as the fit has, dims (chain, draw), as `decide` takes
        it, with the notices that concern it. Attrs ``first``, ``second``, ``by``; of two parameters
        also ``eta`` and ``pareto_k``: above .7 the correlation is so strong, or the groups so many,
        that a fit without it does not tell, and the notice ``"correlation-k"`` withholds verdicts.

    Raises
    ------
    InputError
        If `first` or `second` is none of the above, or the fit is none that `hmetad.loo` takes
        with `by`.

    Notes
    -----
    Two parameters. The fit has independent effects. With both effects normal with correlation ρ,
    population values φ and ρ have the posterior

    .. math:: p(\varphi, \rho \mid y) \propto p(\varphi \mid y)\, p(\rho)
              \prod_g \frac{p(y_g \mid \varphi, \rho)}{p(y_g \mid \varphi, 0)}

    where φ is drawn by the fit. All effects of a group are integrated out, by importance sampling,
    on a grid of ρ at some 500 draws of φ. Given terms of the formulas, it is the correlation of
    what these leave.

    A column x. With slope β of a term, σ the standard deviation of the effects, and s_x that of the
    term between the groups, beside all other terms,

    .. math:: \rho = \frac{\beta s_x}{\sqrt{\beta^2 s_x^2 + \sigma^2}}

    is the partial correlation. Its prior is what those of β and σ make it, and the groups at hand
    stand for the spread of x. Errors of measurement of x itself are not taken out. Source:
    Lewandowski, Kurowicka & Joe (2009) for the prior; Vehtari et al. (2024) for the weights.

    Examples
    --------
    >>> from hmetad.bayes.fit import fit
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> people = {"coords": {"subject": list("abcdefgh")}, "trials": 2000, "seed": 1}
    >>> m = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1]
    >>> quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    >>> drawn = fit(simulate_counts(np.linspace(1, 2, 8), m_ratio=m, **people), "group", **quiet)
    >>> bool(group_correlation(drawn).mean() > 0.5)
    True
    """
    fitted = Fitted.of(fit)
    own = effect_of(fitted, first, by, "first")
    others: dict[str, str | float] = {"first": first, "second": second, "by": by}
    said = []
    if second in fitted.designs:
        effect_of(fitted, second, by, "second")
        if second == first:
            raise InputError("second", repr(second), f"another parameter than {first}")
        pair = effect_name(first, "1", by), effect_name(second, "1", by)
        values, k = pair_correlation(fitted, pair, by, eta, seed)
        said = [] if k <= limit("correlation-k") else [notice_of("correlation-k")]
        others |= {"eta": eta, "pareto_k": k}
        names = [sd_name(first, "1", by), sd_name(second, "1", by)]
    else:
        term = term_of(fitted, second, first)
        names = [coefficient_name(first, term.name), sd_name(first, "1", by)]
        spread = own_spread(fitted, first, term, own)
        slope, sd = (fitted.drawn(name).transpose("chain", "draw").to_numpy() for name in names)
        values = slope * spread / np.hypot(slope * spread, sd)
    by_variable = variable_notices(fitted)
    concerning = [one for name in names for one in by_variable[fitted.spec.named(name)]]
    attrs = attrs_of(NAME) | others | notice_attrs([*concerning, *said])
    coords = {name: fitted.posterior[name].values for name in ("chain", "draw")}
    return xr.DataArray(values, coords, ("chain", "draw"), NAME, attrs)


def effect_of(fitted: Fitted, name: str, by: str, argument: str) -> Block:
    """The one effect of each group on a parameter, the same for all its cells, or an error."""
    able = {}
    for parameter, design in fitted.designs.items():
        own = [block for block in design.blocks if block.factor == by]
        is_single = len(own) == 1 and [term.name for term in own[0].terms] == ["1"]
        if is_single and not fitted.spec.extra_dims(parameter):
            able[parameter] = own[0]
    if name not in able:
        got = f"{name!r}, without an effect (1 | {by}) of its own"
        allowed = ", ".join(able) or f"a parameter with (1 | {by}) in its formula"
        raise InputError(argument, got, allowed, nearest(name, able))
    return able[name]


def term_of(fitted: Fitted, column: str, first: str) -> Term:
    """The term of a formula that is a column of numbers, or an error."""
    design, cells = fitted.designs[first], fitted.cells
    naming = [t for t in design.common if column in formula_columns([f"0 + {t.name}"])]
    if column not in cells or not naming:
        known = [t.name for t in design.common if t.name != "Intercept"]
        allowed = "a parameter, or a column in the formula of " + first
        step = f"Fit with formula={{'{first}': '{design.formula} + {column}'}}."
        if column not in cells:
            step = nearest(column, [*map(str, cells), *known])
        raise InputError("second", repr(column), allowed, step)
    if len(naming) > 1 or naming[0].labels is not None:
        got = f"{column!r}, in the terms {', '.join(t.name for t in naming)}"
        step = "Look at the coefficients themselves."
        raise InputError("second", got, "a column of numbers in one term", step)
    return naming[0]


def own_spread(fitted: Fitted, parameter: str, term: Term, block: Block) -> float:
    """Standard deviation of a term between groups, beside all other terms of the formula."""
    number, by = np.bincount(block.index), block.factor

    def means(columns: Floats) -> Floats:
        """Means over the cells of each group."""
        return np.stack([np.bincount(block.index, x) / number for x in columns.T], axis=1)

    x = means(term.columns)
    if not np.allclose(term.columns, x[block.index]):
        got = f"{term.name}, which differs within {by}"
        raise InputError("second", got, f"a column with one value for each {by}")
    common = fitted.designs[parameter].common
    rest = [means(one.columns) for one in common if one.name != term.name]
    others = np.hstack([np.ones((len(x), 1)), *rest])
    left = x - others @ np.linalg.lstsq(others, x)[0]
    spread = np.sqrt((left**2).sum() / max(1, len(x) - np.linalg.matrix_rank(others)))
    if spread <= LEAST_LEFT * np.abs(x).max():
        got = f"{term.name}, which the other terms of the formula determine"
        raise InputError("second", got, f"a column that says more of each {by}")
    return float(spread)


def pair_correlation(
    fitted: Fitted, pair: tuple[str, str], by: str, eta: float, seed: int
) -> tuple[Floats, float]:
    """Draws (chain, draw) of the correlation of two effects, and the Pareto k of their weights."""

    def ratios(integral: Integral, rng: np.random.Generator) -> Floats:
        """Log likelihood of one group with each correlation less that without, (draws, grid)."""
        own = np.array([integral.places[name] for name in pair])
        sd, precision = integral.sd[:, own], integral.precision
        proposals = [
            integral.proposal(with_correlation(precision, own, sd, rho)) for rho in ANCHORS
        ]
        points = np.concatenate([one.draw(POINTS, rng)[0] for one in proposals], axis=1)
        log_q = logsumexp([one.log_density(points) for one in proposals], axis=0)
        log_w = integral.log_joint(points) - log_q
        log_w -= logsumexp(log_w, axis=1, keepdims=True)
        u, v = np.moveaxis((points - integral.mean[:, None])[..., own] / sd[:, None], -1, 0)
        found = [logsumexp(log_w + log_ratio(u, v, rho), axis=1) for rho in np.tanh(GRID)]
        return np.stack(found, axis=1)

    _, found = each_group(fitted, by, MOST_DRAWS, ratios, seed)
    sizes = fitted.posterior.sizes
    table = np.sum([*found.values()], axis=0)
    return correlation_draws(table, (sizes["chain"], sizes["draw"]), eta, seed)


def with_correlation(precision: Floats, own: Integers, sd: Floats, rho: float) -> Floats:
    """Precisions of coefficients of which two, so far independent, are correlated."""
    changed, (i, j) = precision.copy(), own
    changed[:, own, own] = 1 / (sd**2 * (1 - rho**2))
    changed[:, i, j] = changed[:, j, i] = -rho / (sd.prod(axis=1) * (1 - rho**2))
    return changed


def log_ratio(u: Floats, v: Floats, rho: float) -> Floats:
    """Log density of two standard normal numbers with a correlation less that without."""
    left = 1 - rho**2
    ratio: Floats = -(rho**2 * (u**2 + v**2) - 2 * rho * u * v) / (2 * left) - np.log(left) / 2
    return ratio


def correlation_draws(
    table: Floats, shape: tuple[int, int], eta: float, seed: int
) -> tuple[Floats, float]:
    """Draws of the correlation, and the Pareto k of the weights of the rows.

    From log likelihoods with each correlation less that without, (draws, grid), and the prior
    LKJ(η), p(ρ) ∝ (1 − ρ²)^(η − 1).

    Examples
    --------
    >>> draws, _ = correlation_draws(np.zeros((100, len(GRID))), (4, 1000), eta=1.0, seed=1)
    >>> draws.shape, bool(abs(draws.std() - 3**-0.5) < 0.02)
    ((4, 1000), True)
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])
    # By Fisher's z there is one more factor 1 − ρ².
    log_p = table - 2 * eta * np.log(np.cosh(GRID))
    log_rows = logsumexp(log_p, axis=1)
    weights, k = smooth_weights(log_rows)
    number = shape[0] * shape[1]
    rows = places_by_weight(np.exp(weights), number, rng)
    cumulative = np.exp(log_p - log_rows[:, None]).cumsum(axis=1)
    uniform = rng.random(number) * cumulative[rows, -1]
    cells = (cumulative[rows] < uniform[:, None]).sum(axis=1).clip(max=len(GRID) - 1)
    z = GRID[cells] + STEP * (rng.random(number) - 0.5)
    return rng.permutation(np.tanh(z)).reshape(shape), k
