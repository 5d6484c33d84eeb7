"""What a formula says about the cells of a table: columns for coefficients, and groups.

Formula in Wilkinson's notation and a table of cells → Design. `formulae`, the library under
Bambi, codes every expression; this file adds the groups, (expression | factor), whose effects are
correlated, or independent where the bar is doubled.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr
from formulae import design_matrices
from formulae.environment import Environment
from numpy.typing import NDArray

from hmetad.errors import InputError, nearest
from hmetad.specs.expressions import Expression
from hmetad.specs.formula import block_factors, describe_terms
from hmetad.specs.grammar import GroupTerm, parse_formula

__all__ = [
    "Block",
    "Design",
    "Term",
    "cell_table",
    "parse_design",
]

type Floats = NDArray[np.float64]
type Labels = NDArray[np.str_] | None

# All that a formula can reach beside the columns and the transforms of formulae.
REACHABLE = Environment([{"log": np.log, "exp": np.exp, "sqrt": np.sqrt}])
MAX_COLUMNS = 10_000


@dataclass(frozen=True)
class Term:
    """One term of an expression, evaluated for every cell.

    Parameters
    ----------
    name : str
        As formulae and Bambi name it; ``"Intercept"``, within a block ``"1"``.
    columns : array, shape (cells, columns)
    labels : array of str, or None
        What the columns stand for; None where there is one number per cell.
    is_level : bool
        Whether the coefficients are values of the parameter (an intercept, or one mean per
        level) rather than differences or slopes.
    """

    name: str
    columns: Floats
    labels: Labels
    is_level: bool


@dataclass(frozen=True)
class Block:
    """Effects that differ between the groups of a factor: one pair of brackets of a formula.

    Parameters
    ----------
    name : str
        The expression as written, without its intercept, and the factor: ``"task|subject"``.
    factor : str
        One column of the cells, or several joined by ``:``.
    groups : array of str, shape (groups,)
    index : array of int, shape (cells,)
        The group that each cell belongs to.
    terms : tuple of Term
    is_correlated : bool
        Whether several effects of a group are correlated.
    """

    name: str
    factor: str
    groups: NDArray[np.str_]
    index: NDArray[np.int64]
    terms: tuple[Term, ...]
    is_correlated: bool

    @property
    def columns(self) -> Floats:
        """Columns of all terms side by side, (cells, effects)."""
        return np.hstack([term.columns for term in self.terms])


@dataclass(frozen=True)
class Design:
    """Everything that a formula says of one parameter.

    Parameters
    ----------
    parameter, formula : str
    common : tuple of Term
        Terms whose coefficients are the same for all groups.
    blocks : tuple of Block
        Terms whose coefficients differ between groups.
    """

    parameter: str
    formula: str
    common: tuple[Term, ...]
    blocks: tuple[Block, ...]

    @property
    def columns(self) -> Floats:
        """Columns of all common terms side by side, (cells, coefficients)."""
        cells = len(self.blocks[0].index) if self.blocks else len(self.common[0].columns)
        return np.hstack([np.empty((cells, 0)), *(term.columns for term in self.common)])


def parse_design(
    parameter: str,
    formula: str,
    cells: pd.DataFrame,
    new: pd.DataFrame | None = None,
    *,
    may_correlate: bool = True,
) -> Design:
    """Evaluate a formula on the cells that a model is fitted to, or on new ones.

    Parameters
    ----------
    parameter : str
        The parameter that it is for, named in errors and results.
    formula : str
        Such as ``"1 + task + (1 + task | subject) + (1 | item)"``; no response on the left.
    cells : DataFrame
        One row per cell, one column per coordinate.
    new : DataFrame, optional
        Cells to evaluate it for, coded and standardised as `cells` are. Their blocks keep the
        groups of `cells`; a group that is not among them has index -1.
    may_correlate : bool, optional
        False for parameters of several numbers a cell, whose effects stay uncorrelated.

    Returns
    -------
    Design

    Raises
    ------
    InputError
        If the formula cannot be read, names a column that is not there, has columns that are
        sums of others, a level or a group that the cells lack, or a factor with one group.

    Examples
    --------
    >>> cells = pd.DataFrame({"subject": ["1", "1", "2", "2"], "task": ["a", "b", "a", "b"]})
    >>> design = parse_design("log_m", "1 + task + (0 + task | subject)", cells)
    >>> [term.name for term in design.common], design.blocks[0].name
    (['Intercept', 'task'], 'task|subject')
    >>> design.blocks[0].columns.shape, design.blocks[0].index.tolist()
    ((4, 2), [0, 0, 1, 1])
    """
    argument = f"formula of {parameter}"
    parsed = parse_formula(formula, argument)
    common = parse_terms(parsed.common, cells, new, argument)
    blocks = tuple(
        parse_block(group, factor, may_correlate, cells, new, argument)
        for group in parsed.group_terms
        for factor in block_factors(group)
    )
    if not common and not blocks:
        raise InputError(argument, repr(formula), "at least an intercept: '1'")
    effects = [f"{term.name}|{block.factor}" for block in blocks for term in block.terms]
    if len(set(effects)) < len(effects):
        raise InputError(argument, f"{formula!r}", "each effect of a factor once")
    if new is None and common:
        refuse_rank_deficient(common, argument)
    return Design(parameter, formula, common, blocks)


def cell_table(labelled: xr.DataArray | xr.Dataset) -> pd.DataFrame:
    """Coordinates of the cells, a row each: what formulas may name."""
    coords = {str(n): v.values for n, v in labelled.coords.items() if v.dims == ("cell",)}
    return pd.DataFrame(coords).drop(columns="cell")


def parse_terms(
    expression: Expression, cells: pd.DataFrame, new: pd.DataFrame | None, argument: str
) -> tuple[Term, ...]:
    """Terms of an expression without groups."""
    refuse_unknown(set(expression.columns), cells, argument)
    terms = describe_terms(expression, argument).terms
    if not terms:
        return ()
    refuse_text_as_numbers(expression, cells, argument)
    refuse_too_wide([term.var_names for term in terms], cells, argument)
    try:
        with np.errstate(all="ignore"):
            as_read = calculable(cells, expression)
            matrix = design_matrices(
                expression.text, as_read, na_action="error", env=REACHABLE
            ).common
            evaluated = (
                matrix if new is None else matrix.evaluate_new_data(calculable(new, expression))
            )
    except Exception as error:
        # formulae raises many kinds; each names what it could not do.
        if new is not None:
            raise InputError("cells", f"{error}", "levels of the fit") from error
        got = f"{expression.text!r} ({error})"
        raise InputError(argument, got, "Wilkinson's notation") from error
    values = np.asarray(evaluated.design_matrix, dtype=float)
    if not np.isfinite(values).all():
        step = "A logarithm or a quotient of 0 is none, nor is a value that is missing."
        raise InputError(argument, repr(expression.text), "finite numbers in every cell", step)
    return tuple(
        as_term(name, term, values[:, matrix.slices[name]]) for name, term in matrix.terms.items()
    )


def refuse_text_as_numbers(expression: Expression, cells: pd.DataFrame, argument: str) -> None:
    """Raise where a formula calculates with a column that has no numbers."""
    for name in sorted(expression.numeric):
        if cells[name].dtype.kind not in "biuf":
            step = "Text is for factors: write the column alone, or S(column)."
            raise InputError(argument, f"text in {name!r} to calculate with", "numbers", step)


def calculable(cells: pd.DataFrame, expression: Expression) -> pd.DataFrame:
    """Cells whose whole numbers that a formula calculates with are floats, which do not wrap."""
    whole = {
        name: float
        for name in expression.numeric
        if name in cells and cells[name].dtype.kind in "iu"
    }
    return cells.astype(whole)


def refuse_too_wide(terms: Sequence[set[str]], cells: pd.DataFrame, argument: str) -> None:
    """Raise where terms of factors with many levels would have more columns than can be."""
    levels = {
        name: 1 if cells[name].dtype.kind in "iuf" else cells[name].nunique()
        for name in set().union(*terms) & set(cells.columns)
    }
    width = sum(math.prod(levels.get(name, 1) for name in names) for names in terms)
    if width > MAX_COLUMNS:
        step = "Write factors with many levels as groups: (1 | subject)."
        raise InputError(argument, f"{width} columns", f"at most {MAX_COLUMNS}", step)


def refuse_unknown(names: set[str], cells: pd.DataFrame, argument: str) -> None:
    """Raise where an expression names what no cell has."""
    known = {str(name) for name in cells.columns}
    for name in sorted(names - known):
        step = f"{nearest(name, known)} Others come by count_trials(by=..., covariates=...)."
        raise InputError(argument, repr(name), "columns of the cells", step)


def as_term(name: str, term: object, columns: Floats) -> Term:
    """Term from formulae's own, whose attributes differ by kind."""
    levels = getattr(term, "levels", None)
    kind = getattr(term, "kind", "")
    if columns.shape[1] == 1 and levels is None:
        labels = None
    else:
        size = columns.shape[1]
        named = range(size) if levels is None or len(levels) != size else levels
        labels = np.array([str(label) for label in named])
    is_level = kind == "intercept" or bool(getattr(term, "spans_intercept", False))
    return Term(name, columns, labels, is_level)


def parse_block(
    group: GroupTerm,
    factor: str,
    may_correlate: bool,
    cells: pd.DataFrame,
    new: pd.DataFrame | None,
    argument: str,
) -> Block:
    """Block of a formula: its expression's columns, and the group of every cell."""
    terms = parse_terms(group.expression, cells, new, argument)
    if not terms:
        got = f"({group.expression.text}|{factor})"
        raise InputError(argument, got, "an effect before the bar")
    parts = factor.split(":")
    refuse_unknown(set(parts), cells, argument)
    groups = unique_in_order(group_labels(cells, parts))
    if len(groups) == 1:
        step = "One group tells nothing of how groups differ: leave its brackets out."
        raise InputError(argument, f"one {factor}: {groups[0]!r}", "at least two groups", step)
    if len(cells[parts].astype(str).drop_duplicates()) > len(groups):
        step = "Rename the levels: their ':' cannot be told from the one between factors."
        raise InputError(argument, f"groups of {factor} with the same name", "names apart", step)
    place = {group: i for i, group in enumerate(groups)}
    asked = cells if new is None else new
    is_said = set(parts) <= set(asked.columns)
    labels = group_labels(asked, parts) if is_said else [""] * len(asked)
    index = np.array([place.get(label, -1) for label in labels], dtype=np.int64)
    renamed = tuple(
        Term("1", t.columns, t.labels, t.is_level) if t.name == "Intercept" else t for t in terms
    )
    effects = sum(term.columns.shape[1] for term in terms)
    name = f"{group.written}|{factor}"
    is_correlated = group.is_correlated and may_correlate and effects > 1
    block = Block(name, factor, np.array(groups), index, renamed, is_correlated)
    if is_correlated and new is None:
        refuse_unseen_correlation(block, argument)
    return block


def refuse_unseen_correlation(block: Block, argument: str) -> None:
    """Raise where no group is seen under two conditions, so that no correlation can be seen."""
    columns = block.columns
    for group in range(len(block.groups)):
        if np.linalg.matrix_rank(columns[block.index == group]) > 1:
            return
    raise InputError(
        argument,
        f"({block.name.replace('|', ' | ')}), and no {block.factor} seen under two conditions",
        "correlated effects of groups that have cells in two conditions or more",
        "Leave the effect out of the brackets, or write || for effects without a correlation.",
    )


def group_labels(cells: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """Name of the group that each cell belongs to."""
    texts = [[str(value) for value in cells[name].tolist()] for name in columns]
    return [":".join(row) for row in zip(*texts, strict=True)]


def unique_in_order(labels: Sequence[str]) -> list[str]:
    """Labels once each, in the order of their first appearance."""
    return list(dict.fromkeys(labels))


def refuse_rank_deficient(common: Sequence[Term], argument: str) -> None:
    """Raise where a common column is a sum of others, and so has no coefficient of its own."""
    columns = np.empty((len(common[0].columns), 0))
    for term in common:
        columns = np.hstack([columns, term.columns])
        if np.linalg.matrix_rank(columns) < columns.shape[1]:
            others = ", ".join(t.name for t in common if t is not term) or "each other"
            raise InputError(
                argument,
                f"{term.name!r}, whose columns are sums of those of {others}",
                "terms that can be told apart in these cells",
                "Leave one of them out, or fit more levels.",
            )
