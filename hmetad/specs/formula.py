"""Formulas as data: read into terms, columns and groups before anything of them is evaluated.

Text in Wilkinson's notation → ParsedFormula, or InputError; formula → the columns it names. A
formula may come from a stranger, in a model card, a saved fit or a
command that was copied. The parser of `formulae`, the library under Bambi, makes a tree of it, and
this file walks the tree: what is not listed here is no formula, so that reading it runs no code.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from math import comb
from typing import Any

import formulae.expr as tree
from formulae import model_description
from formulae.parser import ParseError, Parser
from formulae.terms import Model
from formulae.token import Token

from hmetad.base.errors import FormulaError, TakenError, nearest

MAX_LENGTH = 2000
MAX_DEPTH = 10
MAX_TERMS = 200
POWERS = ("1", "2", "3", "4", "5", "6")
"""Exponents, of terms and of numbers."""
NUMBER = r"(?:[0-9]{1,15}(?:\.[0-9]{1,15})?|\.[0-9]{1,15})"
TEXT = r"""(?:'[^'"\n\r]*'|"[^'"\n\r]*")"""
SIGNS = ("+", "-", "*", "**", "/", ":", "|", "||", "(", ")", ",", "=", "~")
KINDS = "PLUS MINUS STAR STAR_STAR SLASH COLON PIPE PIPE LEFT_PAREN RIGHT_PAREN COMMA EQUAL TILDE"
KIND_OF = dict(zip(SIGNS, KINDS.split(), strict=True))
"""Signs of a formula, and what the parser calls them."""
TOKEN = re.compile(
    rf"""\s*(?:
    (?P<NUMBER>{NUMBER}(?![\w.]))
    |(?P<IDENTIFIER>[^\W\d](?:\w|\.)*)
    |(?P<BQNAME>`[^`\s](?:[^`\n\r]*[^`\s])?`)
    |(?P<STRING>{TEXT})
    |(?P<sign>\*\*|\|\||[-+:*/|(),=~])
    )""",
    re.VERBOSE,
)
LEVEL = f"(?:{TEXT}|{NUMBER})"
OPTIONS = {
    "flag": ("True|False", "True or False"),
    "number": (f"-?{NUMBER}", "a number"),
    "whole": ("0*(?:[0-4]?[0-9]|50)", "a whole number up to 50"),
    # FITPACK evaluates splines of at most this degree.
    "low": ("0*[0-5]", "a whole number up to 5"),
    "level": (LEVEL, "a level, in quotation marks if it is text"),
    "contrast": (
        rf"Treatment(?:\((?:(?:reference=)?{LEVEL})?\))?|Sum(?:\((?:(?:omit=)?{LEVEL})?\))?",
        "Treatment or Sum, with the level that it leaves out in quotation marks if it is text",
    ),
}
"""What options take, as text, and the words for it."""
SPLINE = {"df": "whole", "degree": "low", "lower_bound": "number", "upper_bound": "number"}
FUNCTIONS: dict[str, dict[str, str]] = {
    **{name: {} for name in ("scale", "center", "log", "exp", "sqrt", "I")},
    "poly": {"degree": "whole", "raw": "flag"},
    "bs": {**SPLINE, "center": "flag"},
    "S": {"omit": "level"},
    "T": {"ref": "level"},
    "C": {"contrast": "contrast"},
}
"""Functions that a formula may use, and their options by name."""
CODINGS = ("S", "T", "C")
"""Those that take a column with levels; the others take an expression of columns and numbers."""
ALLOWED = (
    "columns, `columns in back-ticks`, numbers, + - : * / ** | || ( ), "
    f"and the functions {', '.join(FUNCTIONS)}"
)
WORD = re.compile(r"[^\W\d_](?:\w|\.)*")
NOTATION = "Wilkinson's notation"
GROUPS = "columns of the cells there: (1 | subject), (1 | lab/subject)"
APART = "Write groups in brackets of their own: 1 + task + (1 | subject)."

type Chain = list[tuple[str, Any]]
"""Parts of a tree that signs join, each with the sign before it."""
type Found = set[tuple[str, str]]
"""Columns, and what they are used for."""


class NotationError(Exception):
    """What no formula may say, what is allowed, what to do; `parse_formula` makes an InputError."""


@dataclass(frozen=True)
class Expression:
    """Part of a formula without groups.

    Parameters
    ----------
    text : str
        As the library that evaluates formulas reads it.
    columns : frozenset of str
        Columns that it names.
    numeric : frozenset of str
        Those of them that it calculates with.
    coded : frozenset of str
        Those of them whose levels it codes, by C(), S() or T().
    """

    text: str
    columns: frozenset[str] = frozenset()
    numeric: frozenset[str] = frozenset()
    coded: frozenset[str] = frozenset()

    @property
    def bare(self) -> frozenset[str]:
        """Columns that stand alone: levels where they are factors, else a slope."""
        return self.columns - self.numeric - self.coded


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
    hmetad.InputError: formula: Write log(...). Expected columns, `columns in back-ticks`, \
numbers, + - : * / ** | || ( ), and the functions scale, center, log, exp, sqrt, I, poly, bs, S, \
T, C, got 'np.log(' in '1 + np.log(age)'.
    """
    if not isinstance(formula, str):
        raise FormulaError(argument, repr(formula)[:80], "a formula, as text")
    if len(formula) > MAX_LENGTH:
        allowed = f"at most {MAX_LENGTH} characters"
        raise FormulaError(argument, f"{len(formula)} characters", allowed)
    try:
        return read_formula(tree_of(tokens_of(formula.strip())))
    except NotationError as refused:
        got, allowed, step = (*refused.args, "", "", "")[:3]
        got = f"{got} in {formula!r}" if got else repr(formula)
        raise FormulaError(argument, got, allowed or ALLOWED, step) from None


def tokens_of(text: str) -> list[Token]:
    """Signs, names, numbers and texts of a formula; numbers stay as they are written."""
    place, tokens = 0, list[Token]()
    while place < len(text):
        match = TOKEN.match(text, place)
        if match is None:
            raise NotationError(repr(text[place:].lstrip()[:20]))
        kind = match.lastgroup or ""
        written, place = match[kind], match.end()
        literal = written[1:-1] if kind == "STRING" else written
        if written in ("True", "False") and tokens and tokens[-1].kind in ("COMMA", "EQUAL"):
            kind = "PYTHON_LITERAL"
        tokens.append(Token(KIND_OF.get(written, kind), written, literal))
    if not tokens:
        raise NotationError("", "at least an intercept: '1'")
    if any(token.kind == "TILDE" for token in tokens):
        raise NotationError("", "no response on the left", "Leave out the ~.")
    return tokens


def tree_of(tokens: Sequence[Token]) -> Any:
    """Tree of a formula; brackets and signs are counted first, since the parser has no limits."""
    depth = max(accumulate((t.lexeme == "(") - (t.lexeme == ")") for t in tokens))
    if depth > MAX_DEPTH:
        raise NotationError(f"{depth} brackets inside each other", f"at most {MAX_DEPTH}")
    if "+++" in "".join("+" if t.kind in ("PLUS", "MINUS") else " " for t in tokens):
        raise NotationError("signs in a row", "one sign before a number or a column")
    parser, node = Parser([*tokens, Token("EOF", "")]), None
    with suppress(ParseError):
        node = parser.parse()
    rest = "".join(token.lexeme for token in tokens[parser.current :][:4])
    if rest:
        is_after_bar = parser.current > 0 and parser.previous().kind == "PIPE"
        raise NotationError(f"{rest!r}, not expected there", GROUPS if is_after_bar else ALLOWED)
    if node is None:
        raise NotationError("the end too early", f"{NOTATION}, every term complete")
    return node


def chain_of(node: Any, signs: Sequence[str] = SIGNS) -> Chain:
    """Parts that these signs join from left to right, each with the sign before it."""
    chain = []
    while isinstance(node, tree.Binary) and node.operator.lexeme in signs:
        chain.append((node.operator.lexeme, node.right))
        node = node.left
    is_signed = isinstance(node, tree.Unary)
    chain.append((node.operator.lexeme, node.right) if is_signed else ("", node))
    return chain[::-1]


def column_of(node: Any) -> str:
    """Column that a node names; empty where it is something else."""
    if isinstance(node, tree.Variable):
        return str(node.name.lexeme)
    return str(node.expression.lexeme[1:-1]) if isinstance(node, tree.QuotedName) else ""


def quote(column: str) -> str:
    """Name of a column as the library reads it: in back-ticks where it is no word."""
    is_word = WORD.fullmatch(column) and column not in ("True", "False", "None")
    return column if is_word else f"`{column}`"


def bracket(effects: str, bar: str, columns: Iterable[str]) -> str:
    """Effects that differ between the groups that columns make, as a formula has them."""
    return f"({effects} {bar} {':'.join(map(quote, columns))})"


def write_chain(chain: Chain, blank: str = " ") -> str:
    """Text of parts and the signs between them."""
    (sign, first), *rest = chain
    others = [f"{blank}{joined}{blank}{write(part, blank)}" for joined, part in rest]
    return sign + write(first, blank) + "".join(others)


def write(node: Any, blank: str = " ") -> str:
    """Text of a part of the tree."""
    match node:
        case tree.Literal():
            return str(node.lexeme or node.value)
        case tree.Grouping():
            return f"({write(node.expression, blank)})"
        case tree.Call():
            written = f",{blank}".join(write(argument, blank) for argument in node.args)
            return f"{column_of(node.callee)}({written})"
        case tree.Assign():
            return f"{write(node.name)}={write(node.value, blank)}"
        case tree.Binary() | tree.Unary():
            return write_chain(chain_of(node), blank)
    return quote(column_of(node))


def read_formula(node: Any) -> ParsedFormula:
    """Groups, and all that stands outside of them."""
    parts = chain_of(node, "+-")
    groups = [read_group(x.expression) for sign, x in parts if sign != "-" and is_group(x)]
    common = [(sign, part) for sign, part in parts if sign == "-" or not is_group(part)]
    if common and is_group(parts[0][1]) and common[0][0] == "+":
        common[0] = ("", common[0][1])
    return ParsedFormula(read_chain(common) if common else Expression("1"), tuple(groups))


def is_group(node: Any) -> bool:
    """Whether a node is a pair of brackets with a bar in it."""
    inside = node.expression if isinstance(node, tree.Grouping) else None
    return isinstance(inside, tree.Binary) and inside.operator.kind == "PIPE"


def read_group(bar: tree.Binary) -> GroupTerm:
    """Effects before a bar, and the factor after it: of ``a/b`` a, and a with b."""
    shown = [""]
    for sign, part in chain_of(bar.left, "+-"):
        text = write(part, "")
        shown += [f"{shown.pop()}-{text}" if sign == "-" else text]
    written = "+".join(text for text in shown if text not in ("", "0", "1")).replace("`", "")
    levels = []
    for _, level in chain_of(bar.right, "/"):
        names = [column_of(part) for _, part in chain_of(level, ":")]
        if any(not name or ":" in name for name in names):
            raise NotationError(f"{write(bar.right, '')!r} after a bar", GROUPS, APART)
        levels.append(tuple(names))
    expression = read_chain(chain_of(bar.left))
    is_correlated = bar.operator.lexeme == "|"
    return GroupTerm(expression, written or "1", tuple(accumulate(levels)), is_correlated)


def read_chain(chain: Chain) -> Expression:
    """Terms without a group, joined by signs."""
    found: Found = set()
    count_terms(chain, found)
    kinds = (("", "numeric", "coded"), ("numeric",), ("coded",))
    used = [frozenset(column for column, use in found if use in kind) for kind in kinds]
    return Expression(write_chain(chain), *used)


def count_terms(chain: Chain, found: Found, use: str = "") -> int:
    """How many terms there are at most, none in numbers; everything is checked on the way."""
    (sign, first), *rest = chain
    if sign and not isinstance(first, tree.Literal) and (not use or isinstance(first, tree.Unary)):
        raise NotationError(repr(sign), f"one sign before a number or a column; {ALLOWED}")
    terms = read_part(first, found, use)
    for place, (joined, part) in enumerate(rest):
        if joined == "**":
            if place > 0 or (use and sign):
                raise NotationError(f"{sign}{write(first)}**", "brackets around what is raised")
            power = write(part)
            if power not in POWERS:
                raise NotationError(f"{power!r} after **", f"a whole number from 1 to {POWERS[-1]}")
            if use and not re.search(r"[^\W\d]|`", write(first)):
                raise NotationError(f"{write(first)}**{power}", "a power of a column")
            terms = sum(comb(terms + order - 1, order) for order in range(1, int(power) + 1))
        elif joined in ("+-*/" if use else "+-*/:"):
            other = read_part(part, found, use)
            sizes = {"+": terms + other, "-": terms, ":": terms * other}
            terms = sizes.get(joined, terms + other + terms * other)
        else:
            raise NotationError(repr(joined), "no bar outside of brackets", APART)
        if terms > MAX_TERMS:
            raise NotationError("more terms than that", f"at most {MAX_TERMS} terms")
    return terms


def read_part(node: Any, found: Found, use: str) -> int:
    """A column, a number, a function of columns, or what stands in brackets: how many terms."""
    match node:
        case tree.Variable() | tree.QuotedName():
            found.add((column_of(node), use))
        case tree.Literal(lexeme=None, value=value) if use or value in ("0", "1"):
            pass
        case tree.Grouping():
            return count_terms(chain_of(node.expression), found, use)
        case tree.Binary() | tree.Unary():
            return count_terms(chain_of(node), found, use)
        case tree.Call():
            found |= read_call(node, use)
        case _:
            raise NotationError(repr(write(node)), "columns and numbers there" if use else ALLOWED)
    return 0 if use else 1


def read_call(node: tree.Call, use: str) -> Found:
    """Columns of a function of the closed list, its options being checked."""
    name = column_of(node.callee)
    if name not in FUNCTIONS:
        plain = name.rpartition(".")[2]
        step = f"Write {plain}(...)." if plain in FUNCTIONS else nearest(name, FUNCTIONS)
        raise NotationError(repr(f"{name}("), ALLOWED, step)
    if use and name in CODINGS:
        raise NotationError(repr(name), "functions of numbers there")
    first, *others = node.args or [tree.Literal("0")]
    found = {(column_of(first), "coded")} if name in CODINGS else set[tuple[str, str]]()
    if name not in CODINGS:
        count_terms(chain_of(first), found, "numeric")
    if found in (set(), {("", "coded")}):
        raise NotationError(write(node), f"a column inside {name}()")
    options, given = FUNCTIONS[name], list[str]()
    for value in others:
        # Splines take options by name only.
        free = [option for option in options if option not in given and name != "bs"]
        option = free[0] if free else ""
        if isinstance(value, tree.Assign):
            option, value = column_of(value.name), value.value
        if option not in options or option in given:
            allowed = f"{', '.join(options) or 'no options'}, each once"
            raise NotationError(f"{name}() with {option or 'more'!r}", allowed)
        pattern, words = OPTIONS[options[option]]
        if not re.fullmatch(pattern, write(value)):
            raise NotationError(f"{option} of {name}: {write(value)!r}", words)
        given.append(option)
    return found


def formula_columns(formulas: Iterable[str]) -> set[str]:
    """Columns that the common parts of formulas name.

    Examples
    --------
    >>> sorted(formula_columns(["1 + scale(age) * task + (1 | subject)", "1"]))
    ['age', 'task']
    """
    return {name for formula in formulas for name in parse_formula(formula).common.columns}


def block_factors(group: GroupTerm) -> list[str]:
    """Names of the factors that brackets stand for, the outer ones first.

    Examples
    --------
    >>> block_factors(*parse_formula("(1 | lab/subject)").group_terms)
    ['lab', 'lab:subject']
    """
    return [":".join(columns) for columns in group.factors]


def term_names(expression: Expression, argument: str) -> list[str]:
    """Names of the terms of an expression, as formulae and Bambi have them."""
    return [term.name for term in describe_terms(expression, argument).terms]


def describe_terms(expression: Expression, argument: str) -> Model:
    """Terms of an expression, as formulae reads it; no two of one name."""
    try:
        model = model_description(expression.text)
    except Exception as error:
        # formulae raises errors of many types; their messages name the cause.
        got = f"{expression.text!r} ({error})"
        raise FormulaError(argument, got, NOTATION) from error
    names = [term.name for term in model.terms]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        got = f"two terms called {twice!r} in {expression.text!r}"
        raise TakenError(argument, got, "terms of different names", "Rename the column.")
    return model


def level_columns(formulas: Mapping[str, str], factors: Iterable[str]) -> frozenset[str]:
    """Columns whose values, which may be numbers, are levels: factors, and what formulas code."""
    parsed = [parse_formula(formula) for formula in formulas.values()]
    written = [
        part for one in parsed for part in (one.common, *(g.expression for g in one.group_terms))
    ]
    return frozenset(factors).union(*(expression.coded for expression in written))
