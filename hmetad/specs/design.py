"""What a formula says about the cells of a table: columns for coefficients, and groups.

Formula in Wilkinson's notation and a table of cells → Design. `formulae`, the library under
Bambi, codes every expression; this file adds the groups, (expression | factor), whose effects are
correlated, or independent where the bar is doubled.
"""

import math
from collections.abc import Collection, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from formulae import design_matrices
from formulae.environment import Environment
from numpy.typing import NDArray

from hmetad.counts.columns import as_text
from hmetad.errors import InputError, nearest
from hmetad.specs.formula import (
    Expression,
    GroupTerm,
    block_factors,
    describe_terms,
    parse_formula,
    quote,
)

__all__ = [
    "Block",
    "Design",
    "Labels",
    "Term",
    "cell_table",
    "parse_design",
    "places_of",
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

    @property
    def is_single(self) -> bool:
        """Whether it has one effect, which has no label."""
        return len(self.terms) == 1 and self.terms[0].labels is None


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

    @property
    def by_size(self) -> list[Block]:
        """Blocks of the fewest groups first: effects are sampled in this order."""
        return sorted(self.blocks, key=lambda block: len(block.groups))


def places_of(terms: Sequence[Term]) -> list[slice]:
    """Places of the columns of each term among those of all."""
    ends = np.cumsum([0, *(term.columns.shape[1] for term in terms)]).tolist()
    return [slice(first, end) for first, end in pairwise(ends)]


class Tables(NamedTuple):
    """Cells of a fit, new ones to evaluate a formula for, and columns that are factors."""

    cells: pd.DataFrame
    new: pd.DataFrame | None
    factors: frozenset[str]

    def is_factor(self, name: str, expression: Expression) -> bool:
        """Whether an expression takes a column for levels, and not for numbers."""
        kind = self.cells[name].dtype.kind
        if kind == "b" or (kind in "iuf" and name in self.factors):
            return name in expression.bare
        return name not in expression.numeric and kind not in "iuf"


def parse_design(
    parameter: str,
    formula: str,
    cells: pd.DataFrame,
    new: pd.DataFrame | None = None,
    *,
    may_correlate: bool = True,
    factors: Collection[str] = (),
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
    factors : collection of str, optional
        Columns that are levels where they stand alone, whatever their type.

    Returns
    -------
    Design

    Raises
    ------
    InputError
        If the formula cannot be read, names a column that is not there or has missing values, has
        columns that are sums of others, a level or a group that the cells lack, a factor with one
        group, or numbers that stand alone without an intercept.

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
    tables = Tables(cells, new, frozenset(factors))
    common = parse_terms(parsed.common, tables, argument)
    blocks = tuple(
        parse_block(group, factor, may_correlate, tables, argument)
        for group in parsed.group_terms
        for factor in block_factors(group)
    )
    if not common and not blocks:
        raise InputError(argument, repr(formula), "at least an intercept: '1'")
    effects = [f"{term.name}|{block.factor}" for block in blocks for term in block.terms]
    if len(set(effects)) < len(effects):
        raise InputError(argument, f"{formula!r}", "each effect of a factor once")
    refuse_slopes_alone([parsed.common], common, tables, argument)
    for factor in {block.factor for block in blocks}:
        written = [one.expression for one in parsed.group_terms if factor in block_factors(one)]
        terms = [term for block in blocks if block.factor == factor for term in block.terms]
        refuse_slopes_alone(written, terms, tables, argument)
    if new is None and common:
        refuse_rank_deficient(common, argument)
    return Design(parameter, formula, common, blocks)


def cell_table(labelled: xr.DataArray | xr.Dataset) -> pd.DataFrame:
    """Coordinates of the cells, a row each: what formulas may name."""
    coords = {str(n): v.values for n, v in labelled.coords.items() if v.dims == ("cell",)}
    return pd.DataFrame(coords).drop(columns="cell")


def parse_terms(expression: Expression, tables: Tables, argument: str) -> tuple[Term, ...]:
    """Terms of an expression without groups."""
    refuse_unknown(set(expression.columns), tables.cells, argument)
    terms = describe_terms(expression, argument).terms
    if not terms:
        return ()
    own, new = as_read(tables, expression, argument), tables.new
    refuse_too_wide([term.var_names for term in terms], own, expression, argument)
    try:
        # formulae prints what it raises.
        with np.errstate(all="ignore"), redirect_stdout(StringIO()):
            matrix = design_matrices(expression.text, own, na_action="error", env=REACHABLE).common
            if new is not None:
                new = as_read(tables, expression, argument, new=True)
            evaluated = matrix if new is None else matrix.evaluate_new_data(new)
    except Exception as error:
        # formulae raises many kinds; each names what it could not do.
        if new is not None:
            raise InputError("cells", f"{error}", "levels of the fit") from error
        got = f"{expression.text!r} ({error})"
        step = "Levels that are text stand in quotation marks: '1'." if expression.coded else ""
        raise InputError(argument, got, "Wilkinson's notation", step) from error
    values = np.asarray(evaluated.design_matrix, dtype=float)
    if not np.isfinite(values).all():
        step = "A logarithm or a quotient of 0 is none, nor is a value that is missing."
        raise InputError(argument, repr(expression.text), "finite numbers in every cell", step)
    return tuple(
        as_term(name, term, values[:, matrix.slices[name]]) for name, term in matrix.terms.items()
    )


def as_read(
    tables: Tables, expression: Expression, argument: str, *, new: bool = False
) -> pd.DataFrame:
    """Columns as an expression reads them: numbers to calculate with, or levels in order."""
    cells = tables.new if new and tables.new is not None else tables.cells
    read: dict[str, Any] = {}
    for name in expression.columns & {*map(str, cells.columns)}:
        if name in expression.numeric:
            read[name] = as_numbers(cells[name], name, argument)
        elif tables.is_factor(name, expression):
            texts = cells[name].map(as_text)
            # The levels are those of the fit, which the library knows by then.
            read[name] = texts if new else pd.Categorical(texts, ordered_levels(texts), True)
        elif name in expression.coded and cells[name].dtype.kind == "f":
            # The level 1.0 is called 1, as in labels of cells.
            whole = [int(x) if x.is_integer() else x for x in cells[name].tolist()]
            read[name] = pd.Series(whole, cells.index, dtype=object)
    return cells.assign(**read)


def as_numbers(column: pd.Series, name: str, argument: str) -> pd.Series:
    """Column of numbers, whole ones as floats, which do not wrap; they may be written as text."""
    if column.dtype.kind in "bf":
        return column
    try:
        return column.astype(float)
    except ValueError:
        step = "Text is for factors: write the column alone, or S(column)."
        got = f"text in {name!r} to calculate with"
        raise InputError(argument, got, "numbers", step) from None


def ordered_levels(texts: pd.Series) -> list[str]:
    """Levels of a factor in order: those that are all numbers by their value."""
    levels = sorted(set(texts))
    numbers = pd.to_numeric(pd.Series(levels), errors="coerce")
    return (
        levels if numbers.isna().any() else [levels[i] for i in np.argsort(numbers, kind="stable")]
    )


def refuse_slopes_alone(
    expressions: Sequence[Expression], terms: Sequence[Term], tables: Tables, argument: str
) -> None:
    """Raise where numbers stand alone without an intercept: codes would be a slope through 0."""
    bare = [name for one in expressions for name in one.bare if not tables.is_factor(name, one)]
    if not bare or any(term.is_level for term in terms):
        return
    # Of several columns, codes are those of whole numbers.
    name = min(bare, key=lambda x: (tables.cells[x].dtype.kind == "f", x))
    raise InputError(
        argument,
        f"{name!r} without an intercept, and its values are numbers",
        f"C({quote(name)}), a value for each level, or 1 + {quote(name)}, with a slope",
    )


def refuse_too_wide(
    terms: Sequence[set[str]], cells: pd.DataFrame, expression: Expression, argument: str
) -> None:
    """Raise where terms of factors with many levels would have more columns than can be."""
    levels = {
        name: 1
        if cells[name].dtype.kind in "iuf" and name not in expression.coded
        else cells[name].nunique()
        for name in set().union(*terms) & set(cells.columns)
    }
    width = sum(math.prod(levels.get(name, 1) for name in names) for names in terms)
    if width > MAX_COLUMNS:
        step = "Write factors with many levels as groups: (1 | subject)."
        raise InputError(argument, f"{width} columns", f"at most {MAX_COLUMNS}", step)


def refuse_unknown(names: set[str], cells: pd.DataFrame, argument: str) -> None:
    """Raise where an expression names what no cell has, or what a cell lacks."""
    known = {str(name) for name in cells.columns}
    for name in sorted(names - known):
        step = f"{nearest(name, known)} Others come by count_trials(by=..., covariates=...)."
        raise InputError(argument, repr(name), "columns of the cells", step)
    for name in sorted(names):
        if cells[name].isna().any():
            got = f"{name!r}, missing in {int(cells[name].isna().sum())} of {len(cells)} cells"
            raise InputError(argument, got, "a value in every cell", "Leave those cells out.")


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
    tables: Tables,
    argument: str,
) -> Block:
    """Block of a formula: its expression's columns, and the group of every cell."""
    cells, new = tables.cells, tables.new
    terms = parse_terms(group.expression, tables, argument)
    if not terms:
        got = f"({group.expression.text}|{factor})"
        raise InputError(argument, got, "an effect before the bar")
    parts = factor.split(":")
    refuse_unknown(set(parts), cells, argument)
    groups = unique_in_order(group_labels(cells, parts))
    if len(groups) == 1:
        step = "One group tells nothing of how groups differ: leave its brackets out."
        raise InputError(argument, f"one {factor}: {groups[0]!r}", "at least two groups", step)
    if len(cells[parts].drop_duplicates()) > len(groups):
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
    texts = [map(as_text, cells[name].tolist()) for name in columns]
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
