"""What a model takes from a count table: the counts, its formulas on the cells, quantities set.

Count table and ModelSpec → checked counts, a Design for each formula, and quantities from the
counts; fits of all kinds begin here. Formula in Wilkinson's notation and a table of cells → Design:
columns for coefficients, and groups. `formulae`, the library under Bambi, codes every expression;
this file adds the groups, (expression | factor), whose effects are correlated, or independent where
the bar is doubled.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from formulae import design_matrices
from formulae.environment import Environment
from numpy.typing import NDArray

from hmetad.base.errors import (
    ChoiceError,
    ColumnError,
    FormulaError,
    KindError,
    LabelError,
    LevelError,
    ModelError,
    ShapeError,
    TakenError,
    TooFewError,
    listed_both,
    nearest,
)
from hmetad.counts.checks import (
    Axes,
    counted_options,
    has_more_options,
    refuse_falling_ratings,
    refuse_impossible_counts,
    refuse_other_dims,
    require_options,
    require_stimulus,
)
from hmetad.counts.columns import as_correct, as_text
from hmetad.likelihood.family import TWO_ALTERNATIVES, OutcomeLayout
from hmetad.likelihood.registry import choice_parameters
from hmetad.measures.sdt import sdt
from hmetad.rows.duplicates import is_item_name
from hmetad.specs.formula import (
    Expression,
    GroupTerm,
    block_factors,
    describe_terms,
    formula_columns,
    parse_formula,
    quote,
)
from hmetad.specs.spec import SHIFT, ModelSpec

type Floats = NDArray[np.float64]
type Labels = NDArray[np.str_] | None

# All that a formula can reach beside the columns and the transforms of formulae.
REACHABLE = Environment([{"log": np.log, "exp": np.exp, "sqrt": np.sqrt}])
MAX_COLUMNS = 10_000
COUNT_CORRECT = (
    "Count correct answers and their number of options, by count_correct(trials, options=...) or "
    "--correct and --options; or take the card alternatives_biased."
)
ONE_AT_A_TIME = Lock()


def refuse_other_tables(
    counts: xr.DataArray, layout: OutcomeLayout = TWO_ALTERNATIVES, *, may_be_weighted: bool = False
) -> None:
    """Raise where counts are no count table of cells with these outcomes, or have one rating."""
    used_by, dims = "A model of ratings", ("cell", *layout.dims)
    if layout == TWO_ALTERNATIVES:
        require_stimulus(counts, used_by)
    else:
        axes = Axes({dim: labels for dim, labels in layout.axes.items() if labels})
        allowed = f"a count table with dims {', '.join(layout.dims)}"
        has_options = "correct" in layout.dims and has_more_options(counts)
        step = COUNT_CORRECT if has_options else f"{used_by} needs them."
        refuse_other_dims(counts, allowed, step, axes)
        for dim, labels in axes.labels.items():
            found, own = counts[dim].values.tolist(), [*labels]
            # Numbers stand for options, whatever their labels.
            is_numbered = own == [str(i + 1) for i in range(len(own))]
            if is_numbered and len(found) != len(own):
                step = f"Set it in the card: options='{len(found)}'."
                raise LabelError("counts", f"{len(found)} labels in {dim}", f"{len(own)}", step)
            is_judged = dim == "correct" and [*map(as_correct, found)] == [False, True]
            if not (is_numbered or is_judged or found == own):
                raise LabelError("counts", f"{dim} {found}", ", ".join(labels))
        if "stimulus" in counts.dims:
            require_options(counts)
        refuse_falling_ratings(counts)
        refuse_impossible_counts(counts)
    if set(counts.dims) != set(dims):
        raise ShapeError("counts", f"sizes {dict(counts.sizes)}", f"dims {dims}")
    if counts.dtype.kind not in ("iuf" if may_be_weighted else "iu"):
        raise KindError("counts", f"type {counts.dtype}", "raw counts, as whole numbers")
    if counts.sizes["rating"] < layout.fewest_ratings:
        is_sdt = layout == TWO_ALTERNATIVES
        step = "sdt() and the card sdt need" if is_sdt else "measure() needs"
        raise TooFewError("counts", "one rating", "at least two", f"{step} no ratings.")


def checked_counts(
    counts: xr.DataArray, spec: ModelSpec, *, may_be_weighted: bool = False
) -> xr.DataArray:
    """Count table in its own order of dims, all labelled, or why it cannot be modelled."""
    layout = spec.record.layout
    if not spec.record.has_ratings:
        steps = ("bayes.fit_estimates fits it.", "hmetad estimates fits it.")
        raise ModelError("model", "a model of estimates", "a model of counts", *steps)
    refuse_other_tables(counts, layout, may_be_weighted=may_be_weighted)
    shown = counts.sum(layout.answers)
    is_shown = (shown > 0).sum(layout.given) if layout.given else (shown > 0).astype(int)
    least = min(2, math.prod(len(layout.axes[dim]) for dim in layout.given))
    lacking = counts["cell"].values[(is_shown < least).values]
    # Where d′ and biases have formulas, cells borrow from each other: one trial of an item is
    # enough.
    of_choices = choice_parameters(spec.record) if lacking.size else set()
    if not of_choices <= set(spec.formula):
        got = f"a stimulus never shown in {', '.join(map(str, lacking[:5]))}"
        allowed = "trials of two stimuli in every cell" if layout.given else "trials in every cell"
        step = f"Drop those cells, or give {' and '.join(sorted(of_choices))} formulas."
        raise ChoiceError("counts", got, allowed, step)
    labels = layout.labels(counts.sizes["rating"])
    unlabelled = {dim: own for dim, own in labels.items() if dim not in counts.coords}
    return counts.assign_coords(unlabelled).transpose("cell", *layout.dims)


def given_of(counts: xr.DataArray, spec: ModelSpec) -> dict[str, Floats]:
    """Quantities that a model sets to their values from the counts, (cells,) each."""
    given = {}
    for name in spec.record.from_counts:
        # HMeta-d adds 1/(2K) to every count.
        if name == SHIFT:
            given[name] = np.zeros(counts.sizes["cell"])
            continue
        is_number = name == "options"
        own = counted_options(counts) if is_number else sdt(counts, correction="cell")[name]
        given[name] = np.asarray(own, dtype=float)
    return given


def cell_table(labelled: xr.DataArray | xr.Dataset) -> pd.DataFrame:
    """Coordinates of the cells, a row each: what formulas may name."""
    coords = {str(n): v.values for n, v in labelled.coords.items() if v.dims == ("cell",)}
    return pd.DataFrame(coords).drop(columns="cell", errors="ignore")


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
    written : str
        The expression, without its intercept: ``"task"``.
    factor : str
        One column of the cells, or several joined by ``:``.
    groups : array of str, shape (groups,)
    index : array of int, shape (cells,)
        The group that each cell belongs to.
    terms : tuple of Term
    is_correlated : bool
        Whether several effects of a group are correlated.
    """

    written: str
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
    def name(self) -> str:
        """Expression and factor: ``"task|subject"``."""
        return f"{self.written}|{self.factor}"

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
    size : int
        Number of cells.
    """

    parameter: str
    formula: str
    common: tuple[Term, ...]
    blocks: tuple[Block, ...]
    size: int

    @property
    def columns(self) -> Floats:
        """Columns of all common terms side by side, (cells, coefficients)."""
        return np.hstack([np.empty((self.size, 0)), *(term.columns for term in self.common)])

    @property
    def by_size(self) -> list[Block]:
        """Blocks of the fewest groups first: effects are sampled in this order."""
        return sorted(self.blocks, key=lambda block: len(block.groups))


def places_of(terms: Sequence[Term]) -> list[slice]:
    """Places of the columns of each term among those of all."""
    ends = np.cumsum([0, *(term.columns.shape[1] for term in terms)]).tolist()
    return [slice(first, end) for first, end in pairwise(ends)]


def reference_level(term: Term, cells: pd.DataFrame) -> str:
    """Level of a column that the coefficients of a term lack; empty for other terms.

    Examples
    --------
    >>> cells = pd.DataFrame({"task": ["a", "b", "a"]})
    >>> reference_level(Term("task", np.zeros((3, 1)), np.array(["b"]), False), cells)
    'a'
    """
    return "" if term.name not in cells else left_out_level(term, cells)


def left_out_level(term: Term, cells: pd.DataFrame) -> str:
    """Level of a column that has no coefficient of its own, coded in any way; empty where all have.

    Examples
    --------
    >>> cells = pd.DataFrame({"task": ["a", "b", "a"]})
    >>> left_out_level(Term("S(task)", np.zeros((3, 1)), np.array(["a"]), False), cells)
    'b'
    """
    column = term.name.removeprefix("S(").removesuffix(")")
    if term.is_level or term.labels is None or column not in cells:
        return ""
    left = set(map(as_text, cells[column])) - set(map(str, term.labels))
    return left.pop() if len(left) == 1 else ""


def parse_design(
    parameter: str,
    formula: str,
    cells: pd.DataFrame,
    new: pd.DataFrame | None = None,
    *,
    may_correlate: bool = True,
    factors: Collection[str] = (),
    with_groups: bool = True,
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
    with_groups : bool, optional
        False for what is common to all groups alone: `new` needs no columns of brackets then.

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
    evaluation = Evaluation(cells, new, frozenset(factors), argument)
    common = evaluation.terms(parsed.common)
    written = [(one, factor) for one in parsed.group_terms for factor in block_factors(one)]
    blocks = tuple(
        evaluation.block(one, factor, may_correlate)
        for one, factor in (written if with_groups else ())
    )
    if not common and not written:
        raise ChoiceError(argument, repr(formula), "at least an intercept: '1'")
    effects = [(term.name, block.factor) for block in blocks for term in block.terms]
    if len(set(effects)) < len(effects):
        raise ChoiceError(argument, f"{formula!r}", "each effect of a factor once")
    evaluation.refuse_slopes_alone([parsed.common], common)
    for factor in {block.factor for block in blocks}:
        expressions = [one.expression for one, other in written if other == factor]
        terms = [term for block in blocks if block.factor == factor for term in block.terms]
        evaluation.refuse_slopes_alone(expressions, terms)
    if new is None:
        evaluation.refuse_rank_deficient(common)
    return Design(parameter, formula, common, blocks, len(cells if new is None else new))


def designs_of(counts: xr.DataArray, spec: ModelSpec) -> dict[str, Design]:
    """Formulas of a model, evaluated on the cells of a table, by parameter."""
    for variable, name in spec.names.items():
        if name in counts.coords:
            got = f"{name!r}, which is a coordinate of the cells"
            raise TakenError(f"name of {variable}", got, "another name")
    cells = cell_table(counts) if spec.formula else pd.DataFrame()
    found = {
        name: parse_design(
            name, formula, cells, may_correlate=not spec.extra_dims(name), factors=spec.factors
        )
        for name, formula in spec.formula.items()
    }
    for column in spec.between:
        for design in found.values():
            if column in formula_columns([design.formula]):
                check_between(column, design, cells)
    return found


def check_between(column: str, design: Design, cells: pd.DataFrame) -> None:
    """Raise where people have two levels of a column that lies between them."""
    parts = [{*block.factor.split(":")} for block in design.blocks]
    for block, own in zip(design.blocks, parts, strict=True):
        # A laboratory may have people of both groups.
        if any(own < other for other in parts) or any(map(is_item_name, own)):
            continue
        several = cells[column].groupby(block.index).nunique().to_numpy() > 1
        if not several.any():
            continue
        who, number = block.factor, f"{several.sum()} of {len(several)}"
        got = f"several levels of {column} in {number} {who}, as in {block.groups[several][0]}"
        made = f"{who}=trials.{column}.astype(str) + '-' + trials.{who}.astype(str)"
        same, same_shell = listed_both("conditions", [column])
        python = f", trials.assign({made})", "formula=", f"model='group' with {same}"
        shell = " in the file", "--formula", f"--model group with {same_shell}"
        steps = (
            f"If equal ids stand for different people, make them unique{unique}, or write "
            f"(1 | {who}:{column}) in {formula}. If they are the same people, take {words}."
            for unique, formula, words in (python, shell)
        )
        allowed = f"one level for each {who}: {column} lies between people"
        raise LevelError("groups", got, allowed, *steps)


def refuse_unknown_column(argument: str, name: str, cells: Iterable[Any]) -> None:
    """Raise where no column of the cells has a name."""
    known = {*map(str, cells)}
    if name not in known:
        hint = f"{nearest(name, known)} Others come by"
        python = f"{hint} count_trials(by={{{name!r}: column}}, covariates=...)."
        shell = f"{hint} --by {name}=COLUMN and --covariates."
        raise ColumnError(argument, repr(name), "columns of the cells", python, shell)


@dataclass(frozen=True)
class Evaluation:
    """Cells that a formula is evaluated on: those of a fit, or new ones coded as these are.

    `factors` are columns that are levels whatever their type; `argument` is what errors name.
    """

    cells: pd.DataFrame
    new: pd.DataFrame | None
    factors: frozenset[str]
    argument: str

    def is_factor(self, name: str, expression: Expression) -> bool:
        """Whether an expression takes a column for levels, and not for numbers."""
        kind = self.cells[name].dtype.kind
        if kind == "b" or (kind in "iuf" and name in self.factors):
            return name in expression.bare
        return name not in expression.numeric and kind not in "iuf"

    def terms(self, expression: Expression) -> tuple[Term, ...]:
        """Terms of an expression without groups."""
        self.refuse_unknown(expression.columns)
        terms = describe_terms(expression, self.argument).terms
        if not terms:
            return ()
        own = self.as_read(expression, self.cells)
        self.refuse_too_wide([term.var_names for term in terms], own, expression)
        try:
            # formulae prints what it raises; of two threads, one could leave that for good.
            with ONE_AT_A_TIME, np.errstate(all="ignore"), redirect_stdout(StringIO()):
                found = design_matrices(expression.text, own, na_action="error", env=REACHABLE)
                matrix = evaluated = found.common
                if self.new is not None:
                    new = self.as_read(expression, self.new, is_new=True)
                    evaluated = matrix.evaluate_new_data(new)
        except Exception as error:
            # formulae raises many kinds; each names what it could not do.
            if self.new is not None:
                raise LevelError("cells", f"{error}", "levels of the fit") from error
            got = f"{expression.text!r} ({error})"
            step = "Levels that are text stand in quotation marks: '1'." if expression.coded else ""
            raise FormulaError(self.argument, got, "Wilkinson's notation", step) from error
        values = np.asarray(evaluated.design_matrix, dtype=float)
        if not np.isfinite(values).all():
            step = "A logarithm or a quotient of 0 is none, nor is a value that is missing."
            got, allowed = repr(expression.text), "finite numbers in every cell"
            raise FormulaError(self.argument, got, allowed, step)
        return tuple(
            as_term(name, term, values[:, matrix.slices[name]])
            for name, term in matrix.terms.items()
        )

    def as_read(
        self, expression: Expression, cells: pd.DataFrame, *, is_new: bool = False
    ) -> pd.DataFrame:
        """Columns as an expression reads them: numbers to calculate with, or levels in order."""
        read: dict[str, Any] = {}
        for name in expression.columns & {*map(str, cells.columns)}:
            column = cells[name]
            if name in expression.numeric:
                try:
                    # Whole numbers as floats, which do not wrap; they may be written as text.
                    read[name] = column if column.dtype.kind in "bf" else column.astype(float)
                except ValueError:
                    step = "Text is for factors: write the column alone, or S(column)."
                    got = f"text in {name!r} to calculate with"
                    raise FormulaError(self.argument, got, "numbers", step) from None
            elif self.is_factor(name, expression):
                texts = column.map(as_text)
                # The levels are those of the fit, which the library knows by then.
                read[name] = texts if is_new else pd.Categorical(texts, ordered_levels(texts), True)
            elif name in expression.coded and column.dtype.kind == "f":
                # The level 1.0 is called 1, as in labels of cells.
                whole = [int(x) if x.is_integer() else x for x in column.tolist()]
                read[name] = pd.Series(whole, cells.index, dtype=object)
        return cells.assign(**read)

    def block(self, group: GroupTerm, factor: str, may_correlate: bool) -> Block:
        """Block of a formula: its expression's columns, and the group of every cell."""
        terms = self.terms(group.expression)
        if not terms:
            got = f"({group.expression.text}|{factor})"
            raise FormulaError(self.argument, got, "an effect before the bar")
        parts = factor.split(":")
        self.refuse_unknown(parts)
        groups = list(dict.fromkeys(group_labels(self.cells, parts)))
        if len(groups) == 1:
            step = "One group tells nothing of how groups differ: leave its brackets out."
            got = f"one {factor}: {groups[0]!r}"
            raise FormulaError(self.argument, got, "at least two groups", step)
        if len(self.cells[parts].drop_duplicates()) > len(groups):
            step = "Rename the levels: their ':' cannot be told from the one between factors."
            got = f"groups of {factor} with the same name"
            raise FormulaError(self.argument, got, "names apart", step)
        asked = self.cells if self.new is None else self.new
        is_said = {*parts} <= {*asked.columns}
        labels = group_labels(asked, parts) if is_said else [""] * len(asked)
        index = pd.Index(groups).get_indexer(pd.Index(labels))
        renamed = tuple(replace(t, name="1") if t.name == "Intercept" else t for t in terms)
        effects = sum(term.columns.shape[1] for term in terms)
        is_correlated = group.is_correlated and may_correlate and effects > 1
        block = Block(group.written, factor, np.array(groups), index, renamed, is_correlated)
        if is_correlated and self.new is None:
            self.refuse_unseen_correlation(block)
        return block

    def refuse_unknown(self, names: Collection[str]) -> None:
        """Raise where an expression names what no cell has, or what a cell lacks."""
        for name in sorted(names):
            refuse_unknown_column(self.argument, name, self.cells)
        for name in sorted(names):
            lacking = int(self.cells[name].isna().sum())
            if lacking:
                got = f"{name!r}, missing in {lacking} of {len(self.cells)} cells"
                allowed = "a value in every cell"
                raise FormulaError(self.argument, got, allowed, "Leave those cells out.")

    def refuse_too_wide(
        self, terms: Sequence[set[str]], own: pd.DataFrame, expression: Expression
    ) -> None:
        """Raise where terms of factors with many levels would have more columns than can be."""
        levels = {
            name: own[name].nunique()
            for name in set().union(*terms) & set(own.columns)
            if own[name].dtype.kind not in "iuf" or name in expression.coded
        }
        width = sum(math.prod(levels.get(name, 1) for name in names) for names in terms)
        if width > MAX_COLUMNS:
            step = "Write factors with many levels as groups: (1 | subject)."
            raise FormulaError(self.argument, f"{width} columns", f"at most {MAX_COLUMNS}", step)

    def refuse_slopes_alone(self, expressions: Sequence[Expression], terms: Sequence[Term]) -> None:
        """Raise where numbers stand alone without an intercept: codes would slope through 0."""
        bare = [name for one in expressions for name in one.bare if not self.is_factor(name, one)]
        if not bare or any(term.is_level for term in terms):
            return
        # Of several columns, codes are those of whole numbers.
        name = min(bare, key=lambda x: (self.cells[x].dtype.kind == "f", x))
        got = f"{name!r} without an intercept, and its values are numbers"
        allowed = f"C({quote(name)}), a value for each level, or 1 + {quote(name)}, with a slope"
        raise FormulaError(self.argument, got, allowed)

    def refuse_unseen_correlation(self, block: Block) -> None:
        """Raise where no group is seen under two conditions, so that no correlation can be seen."""
        groups = (block.columns[block.index == group] for group in range(len(block.groups)))
        if any(np.linalg.matrix_rank(own) > 1 for own in groups):
            return
        got = f"({block.written} | {block.factor}), and no {block.factor} seen under two conditions"
        allowed = "correlated effects of groups that have cells in two conditions or more"
        step = (
            "Leave the effect out of the brackets, or write || for effects without a correlation."
        )
        raise FormulaError(self.argument, got, allowed, step)

    def refuse_rank_deficient(self, common: Sequence[Term]) -> None:
        """Raise where a common column is a sum of others, and so has no coefficient of its own."""
        columns = np.empty((len(self.cells), 0))
        for term in common:
            columns = np.hstack([columns, term.columns])
            if np.linalg.matrix_rank(columns) < columns.shape[1]:
                others = ", ".join(t.name for t in common if t is not term) or "each other"
                got = f"{term.name!r}, whose columns are sums of those of {others}"
                allowed = "terms that can be told apart in these cells"
                step = "Leave one of them out, or fit more levels."
                raise FormulaError(self.argument, got, allowed, step)


def ordered_levels(texts: pd.Series) -> list[str]:
    """Levels of a factor in order: those that are all numbers by their value."""
    levels = sorted(set(texts))
    numbers = pd.to_numeric(pd.Series(levels), errors="coerce")
    if numbers.isna().any():
        return levels
    return [levels[i] for i in np.argsort(numbers, kind="stable")]


def as_term(name: str, term: object, columns: Floats) -> Term:
    """Term from formulae's own, whose attributes differ by kind."""
    levels, size, labels = getattr(term, "levels", None), columns.shape[1], None
    if size > 1 or levels is not None:
        named = range(size) if levels is None or len(levels) != size else levels
        labels = np.array([str(label) for label in named])
    is_intercept = getattr(term, "kind", "") == "intercept"
    is_level = is_intercept or bool(getattr(term, "spans_intercept", False))
    return Term(name, columns, labels, is_level)


def group_labels(cells: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """Name of the group that each cell belongs to."""
    if not columns:
        return [""] * len(cells)
    texts = [map(as_text, cells[name].tolist()) for name in columns]
    return [":".join(row) for row in zip(*texts, strict=True)]
