"""Formulas as data: a closed grammar, read before anything of a formula is evaluated.

Text in Wilkinson's notation → ParsedFormula, or InputError. A formula may come from a stranger,
in a model card, a saved fit or a command that was copied. It can name columns, combine them, and
use the functions of `hmetad.specs.expressions`. Nothing else is a formula, so that reading one
never runs code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from hmetad.errors import InputError
from hmetad.specs.expressions import ALLOWED, Expression, read_terms
from hmetad.specs.tokens import (
    FormulaError,
    Token,
    depths_of,
    is_sign,
    join_tokens,
    split_at,
    split_terms,
    tokens_of,
)

__all__ = ["MAX_LENGTH", "GroupTerm", "ParsedFormula", "parse_formula"]

MAX_LENGTH = 2000
APART = "Write groups in brackets of their own: 1 + task + (1 | subject)."


@dataclass(frozen=True)
class GroupTerm:
    """One pair of brackets with a bar: effects that differ between the groups of a factor.

    Parameters
    ----------
    expression : Expression
        What stands before the bar.
    written : str
        The same without blanks and without its 0 or 1, "1" where nothing else is left.
    factors : tuple of tuple of str
        Columns whose combinations are the groups; of nested factors one entry for each level.
    is_correlated : bool
        Whether the bar is single.
    """

    expression: Expression
    written: str
    factors: tuple[tuple[str, ...], ...]
    is_correlated: bool


@dataclass(frozen=True)
class ParsedFormula:
    """A formula after reading: its common part and its group terms.

    Parameters
    ----------
    common : Expression
        All outside of brackets with a bar; "1" where nothing is.
    group_terms : tuple of GroupTerm
    """

    common: Expression
    group_terms: tuple[GroupTerm, ...]


def parse_formula(formula: str, argument: str = "formula") -> ParsedFormula:
    """Read a formula, without evaluating anything.

    Parameters
    ----------
    formula : str
        Such as ``"1 + scale(age) * task + (1 + task | subject)"``.
    argument : str, optional
        What to call it in an error.

    Returns
    -------
    ParsedFormula

    Raises
    ------
    InputError
        If it uses anything outside the grammar, or is too long, too deep or has too many terms.

    Examples
    --------
    >>> formula = parse_formula("1 + scale(age) * task + (1 + task || lab/subject)")
    >>> formula.common.text, sorted(formula.common.columns)
    ('1 + scale(age) * task', ['age', 'task'])
    >>> [(group.written, group.factors, group.is_correlated) for group in formula.group_terms]
    [('task', (('lab',), ('lab', 'subject')), False)]
    >>> parse_formula("1 + np.log(age)")
    Traceback (most recent call last):
    hmetad.errors.InputError: formula: got 'np.log(' in '1 + np.log(age)', allowed is columns, \
`columns in back-ticks`, numbers, + - : * / ** | || ( ), and the functions scale, center, log, \
exp, sqrt, I, poly, bs, S, T, C. Write log(...).
    """
    if not isinstance(formula, str):
        raise InputError(argument, repr(formula)[:80], "a formula, as text")
    if len(formula) > MAX_LENGTH:
        allowed = f"at most {MAX_LENGTH} characters"
        raise InputError(argument, f"{len(formula)} characters", allowed)
    try:
        pieces = split_terms(tokens_of(formula))
        group_terms = tuple(read_group(bare(piece)) for piece in pieces if is_group(bare(piece)))
        common = [piece for piece in pieces if not is_group(bare(piece))]
        if common and is_group(pieces[0]):
            common[0] = bare(common[0])
        together = [token for piece in common for token in piece]
        expression = read_without_bars(together) if common else Expression("1")
        return ParsedFormula(expression, group_terms)
    except FormulaError as refused:
        got = f"{refused.got} in {formula!r}" if refused.got else repr(formula)
        raise InputError(argument, got, refused.allowed or ALLOWED, refused.next_step) from None


def bare(piece: Sequence[Token]) -> list[Token]:
    """A piece without the plus sign before it."""
    return [*piece[1:]] if is_sign(piece[0], "+") else [*piece]


def is_group(piece: Sequence[Token]) -> bool:
    """Whether a piece is one pair of brackets with a bar in it."""
    if not piece or not is_sign(piece[0], "(") or 0 in depths_of(piece)[:-1]:
        return False
    return any(is_sign(token, "|", "||") for token in piece)


def read_group(piece: Sequence[Token]) -> GroupTerm:
    """Effects and factor of one pair of brackets with a bar."""
    inside = list(piece[1:-1])
    bar = next(i for i, token in enumerate(inside) if is_sign(token, "|", "||"))
    before, after = inside[:bar], inside[bar + 1 :]
    if not before:
        raise FormulaError("no effect before a bar", "an effect before the bar: (1 | subject)")
    constants = ([Token("number", "0")], [Token("number", "1")])
    shown = [part for part in split_at(before, "+") if part not in constants]
    name = "+".join(map(join_tokens, shown)) or "1"
    expression, is_correlated = read_without_bars(before), inside[bar].text == "|"
    return GroupTerm(expression, name, read_factors(after), is_correlated)


def read_factors(tokens: Sequence[Token]) -> tuple[tuple[str, ...], ...]:
    """Columns of each level of nesting: ``a/b`` is a, and a with b."""
    names = [split_at(level, ":") for level in split_at(tokens, "/")]
    for part in (part for level in names for part in level):
        if len(part) != 1 or part[0].kind != "name" or ":" in part[0].text:
            got = f"{join_tokens(tokens)!r} after a bar"
            allowed = "columns of the cells there: (1 | subject), (1 | lab/subject)"
            raise FormulaError(got, allowed, APART)
    levels = [tuple(part[0].text for part in level) for level in names]
    return tuple(accumulate(levels))


def read_without_bars(tokens: Sequence[Token]) -> Expression:
    """Terms without a group."""
    if any(is_sign(token, "|", "||") for token in tokens):
        raise FormulaError(allowed="no bar outside of brackets", next_step=APART)
    return read_terms(tokens)
