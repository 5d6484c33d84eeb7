"""Correlation between people of a parameter with another one, or with a column such as an age.

Fit (DataTree), a parameter, and another or a column → DataArray (chain, draw) of the correlation in
the population. Nothing is fitted again.
"""

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hmetad.arguments import check_inputs, describe_value, is_number, whole, with_posterior
from hmetad.bayes.correlation_grid import correlation_table, draw_correlations
from hmetad.bayes.group_parts import groups_of
from hmetad.bayes.reliance import notices_of_variables
from hmetad.errors import InputError, nearest
from hmetad.notice import Notice, notice_attrs, notice_of
from hmetad.notice_registry import limit
from hmetad.results import attrs_of
from hmetad.specs.design import Block, Design, Term, cell_table
from hmetad.specs.designs import designs_of
from hmetad.specs.formula import formula_columns
from hmetad.specs.spec import ModelSpec, spec_of

__all__ = ["group_correlation"]

type Floats = NDArray[np.float64]

NAME = "group_correlation"
# What is left of a column beside the others, of its own spread.
LEAST_LEFT = 1e-6


def positive(argument: str, value: object) -> None:
    """Refuse what is no finite number above 0."""
    if not is_number(value) or not 0 < float(value) < np.inf:  # type: ignore[arg-type]
        raise InputError(argument, describe_value(value), "a finite number above 0")


@check_inputs(fit=with_posterior, eta=positive, seed=whole(0))
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
    spec, observed = spec_of(fit), fit["observed_data"].to_dataset()["counts"]
    designs = designs_of(observed, spec)
    effect_of(first, designs, spec, by, "first")
    others: dict[str, str | float] = {"first": first, "second": second, "by": by}
    if second in designs:
        effect_of(second, designs, spec, by, "second")
        if second == first:
            raise InputError("second", repr(second), f"another parameter than {first}")
        model, places = groups_of(fit, by, most=500)
        pair = f"{first}_1|{by}", f"{second}_1|{by}"
        table = correlation_table(model, [*places.values()], pair, seed)
        shape = fit["posterior"].sizes["chain"], fit["posterior"].sizes["draw"]
        values, k = draw_correlations(table, shape, eta, seed)
        said = weights_notice(k)
        others |= {"eta": eta, "pareto_k": k}
        rests_on = [spec.named(f"{name}_sigma") for name in pair]
    else:
        term = term_of(second, first, designs[first], cell_table(observed))
        values, rests_on = column_correlation(fit, spec, designs[first], term, by)
        said = []
    by_variable = notices_of_variables(fit)
    concerning = [one for name in rests_on for one in by_variable[name]]
    attrs = attrs_of(NAME) | others | notice_attrs(list(dict.fromkeys([*concerning, *said])))
    coords = {name: fit["posterior"][name].values for name in ("chain", "draw")}
    return xr.DataArray(values, coords, ("chain", "draw"), NAME, attrs)


def effect_of(name: str, designs: dict[str, Design], spec: ModelSpec, by: str, which: str) -> Block:
    """The one effect of each group on a parameter, or an error."""
    able = [key for key in designs if single_effects(designs[key], spec, by)]
    if name not in able:
        got = f"{name!r}, without an effect (1 | {by}) of its own"
        allowed = ", ".join(able) or f"a parameter with (1 | {by}) in its formula"
        raise InputError(which, got, allowed, nearest(name, able))
    return single_effects(designs[name], spec, by)[0]


def single_effects(design: Design, spec: ModelSpec, by: str) -> list[Block]:
    """Blocks with one effect, the same for all cells of a group."""
    if spec.extra_dims(design.parameter):
        return []
    found = [block for block in design.blocks if block.factor == by]
    has_one = len(found) == 1 and [term.name for term in found[0].terms] == ["1"]
    return found if has_one else []


def term_of(column: str, first: str, design: Design, cells: pd.DataFrame) -> Term:
    """The term of a formula that is a column of numbers, or an error."""
    naming = [t for t in design.common if column in formula_columns([f"0 + {t.name}"])]
    if column not in cells or not naming:
        known = [t.name for t in design.common if t.name != "Intercept"]
        allowed = "a parameter, or a column in the formula of " + first
        step = f"Fit with formula={{'{first}': '{design.formula} + {column}'}}."
        if column not in cells:
            step = nearest(column, [*map(str, cells), *known])
        raise InputError("second", repr(column), allowed, step)
    if len(naming) > 1 or naming[0].labels is not None:
        names = ", ".join(t.name for t in naming)
        got = f"{column!r}, in the terms {names}"
        step = "Look at the coefficients themselves."
        raise InputError("second", got, "a column of numbers in one term", step)
    return naming[0]


def column_correlation(
    fit: xr.DataTree, spec: ModelSpec, design: Design, term: Term, by: str
) -> tuple[Floats, list[str]]:
    """Draws (chain, draw) of the correlation with a term, and the variables they rest on."""
    block = next(block for block in design.blocks if block.factor == by)
    number = np.bincount(block.index)

    def means(columns: Floats) -> Floats:
        """Means over the cells of each group."""
        return np.stack([np.bincount(block.index, x) / number for x in columns.T], axis=1)

    x = means(term.columns)
    if not np.allclose(term.columns, x[block.index]):
        got = f"{term.name}, which differs within {by}"
        raise InputError("second", got, f"a column with one value for each {by}")
    rest = [one.columns for one in design.common if one.name != term.name]
    others = np.hstack([np.ones((len(x), 1)), *map(means, rest)])
    left = x - others @ np.linalg.lstsq(others, x)[0]
    spread = np.sqrt((left**2).sum() / max(1, len(x) - np.linalg.matrix_rank(others)))
    if spread <= LEAST_LEFT * np.abs(x).max():
        got = f"{term.name}, which the other terms of the formula determine"
        raise InputError("second", got, f"a column that says more of each {by}")
    names = [f"{design.parameter}_{term.name}", f"{design.parameter}_1|{by}_sigma"]
    named = [spec.named(name) for name in names]
    slope, sd = (fit["posterior"][name].transpose("chain", "draw").to_numpy() for name in named)
    return slope * spread / np.hypot(slope * spread, sd), named


def weights_notice(k: float) -> list[Notice]:
    """Notice where weights cannot be trusted."""
    return [] if k <= limit("correlation-k") else [notice_of("correlation-k")]
