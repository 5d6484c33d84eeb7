"""Terms of a formula, and the closed list of functions that it may use.

Tokens → Expression, or FormulaError.
"""

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb

from hmetad.errors import nearest
from hmetad.specs.tokens import FormulaError, Token, expect, is_sign, join_tokens, next_token

__all__ = ["ALLOWED", "FUNCTIONS", "MAX_TERMS", "Expression", "quote", "read_terms"]

MAX_TERMS = 200
MAX_POWER = 6
"""Highest exponent, of terms and of numbers."""
MAX_WHOLE = 50
# FITPACK evaluates splines of at most this degree.
MAX_SPLINE = 5
NUMBERS, LEVELS = "numbers", "levels"
"""What a function takes first: an expression of columns and numbers, or a column with levels."""
FUNCTIONS: dict[str, tuple[str, dict[str, str]]] = {
    "scale": (NUMBERS, {}),
    "center": (NUMBERS, {}),
    "log": (NUMBERS, {}),
    "exp": (NUMBERS, {}),
    "sqrt": (NUMBERS, {}),
    "I": (NUMBERS, {}),
    "poly": (NUMBERS, {"degree": "whole", "raw": "flag"}),
    "bs": (
        NUMBERS,
        {
            "df": "whole",
            "degree": "low",
            "lower_bound": "number",
            "upper_bound": "number",
            "center": "flag",
        },
    ),
    "S": (LEVELS, {"omit": "level"}),
    "T": (LEVELS, {"ref": "level"}),
    "C": (LEVELS, {"contrast": "contrast"}),
}
"""Functions that a formula may use: what each takes first, and its options by name."""
BY_POSITION = {"poly": 2, "S": 1, "T": 1, "C": 1}
"""How many options may stand without their names."""
CONTRASTS = {"Treatment": "reference", "Sum": "omit"}
SIGNS = "+ - : * / ** | || ( )"
ALLOWED = (
    f"columns, `columns in back-ticks`, numbers, {SIGNS}, and the functions {', '.join(FUNCTIONS)}"
)
WORD = re.compile(r"[^\W\d_](?:\w|\.)*")


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
    terms : int
        Upper limit of the number of terms that result.
    """

    text: str
    columns: frozenset[str] = frozenset()
    numeric: frozenset[str] = frozenset()
    coded: frozenset[str] = frozenset()
    terms: int = 1

    @property
    def bare(self) -> frozenset[str]:
        """Columns that stand alone: levels where they are factors, else a slope."""
        return self.columns - self.numeric - self.coded


def read_terms(tokens: Sequence[Token]) -> Expression:
    """Expression that uses up all of the tokens."""
    rest = deque(tokens)
    expression = read_sum(rest)
    if rest:
        raise FormulaError(f"{join_tokens([*rest][:4])!r}, not expected there")
    return expression


def read_sum(rest: deque[Token]) -> Expression:
    """Terms with + and − between them."""
    result = read_product(rest)
    while rest and is_sign(rest[0], "+", "-"):
        sign, other = rest.popleft().text, read_product(rest)
        added = other.terms if sign == "+" else 0
        result = combine(result, sign, other, result.terms + added)
    return result


def read_product(rest: deque[Token]) -> Expression:
    """Interactions with * and / between them."""
    result = read_interaction(rest)
    while rest and is_sign(rest[0], "*", "/"):
        sign, other = rest.popleft().text, read_interaction(rest)
        crossed = result.terms * other.terms
        result = combine(result, sign, other, result.terms + other.terms + crossed)
    return result


def read_interaction(rest: deque[Token]) -> Expression:
    """Powers with : between them."""
    result = read_power(rest)
    while rest and is_sign(rest[0], ":"):
        rest.popleft()
        other = read_power(rest)
        result = combine(result, ":", other, result.terms * other.terms)
    return result


def read_power(rest: deque[Token]) -> Expression:
    """A term, or all interactions of terms in brackets up to an order."""
    base = read_term(rest)
    if not (rest and is_sign(rest[0], "**")):
        return base
    rest.popleft()
    power = read_exponent(rest)
    terms = sum(comb(base.terms + order - 1, order) for order in range(1, int(power) + 1))
    return combine(base, "**", Expression(power), terms)


def read_exponent(rest: deque[Token]) -> str:
    """A whole number that something may be raised to."""
    token = next_token(rest)
    powers = [str(power) for power in range(1, MAX_POWER + 1)]
    if token.kind != "number" or token.text not in powers:
        raise FormulaError(
            f"{token.text!r} after **", f"a whole number from 1 to {MAX_POWER} there"
        )
    return token.text


def read_term(rest: deque[Token]) -> Expression:
    """A column, 0 or 1, a function of columns, or terms in brackets."""
    token = next_token(rest)
    if is_sign(token, "-", "+") and rest and is_constant(rest[0]):
        return Expression(token.text + rest.popleft().text)
    if is_sign(token, "("):
        inside = read_sum(rest)
        expect(rest, ")")
        return replace(inside, text=f"({inside.text})")
    if token.kind == "name":
        if rest and is_sign(rest[0], "("):
            return read_call(token.text, rest)
        return Expression(quote(token.text), frozenset([token.text]))
    if is_constant(token):
        return Expression(token.text)
    raise FormulaError(f"{token.text!r}")


def is_constant(token: Token) -> bool:
    """Whether a token is 0 or 1, which stand for an intercept."""
    return token.kind == "number" and token.text in ("0", "1")


def read_call(name: str, rest: deque[Token]) -> Expression:
    """A function of the closed list, and what it is applied to."""
    if name not in FUNCTIONS:
        plain = name.rpartition(".")[2]
        step = f"Write {plain}(...)." if plain in FUNCTIONS else nearest(name, FUNCTIONS)
        raise FormulaError(repr(f"{name}("), next_step=step)
    kind, options = FUNCTIONS[name]
    expect(rest, "(")
    first = read_numbers(rest) if kind == NUMBERS else read_column(rest)
    if kind == NUMBERS and not first.columns:
        raise FormulaError(f"{name}({first.text})", f"a column inside {name}()")
    given = read_options(name, options, rest)
    expect(rest, ")")
    return replace(first, text=f"{name}({', '.join([first.text, *given])})")


def read_options(name: str, options: dict[str, str], rest: deque[Token]) -> list[str]:
    """Options of a function, each once; those without names come first."""
    given: dict[str, str] = {}
    while rest and is_sign(rest[0], ","):
        rest.popleft()
        by_name = len(rest) > 1 and rest[0].kind == "name" and is_sign(rest[1], "=")
        free = [*options][: BY_POSITION.get(name, 0)]
        option = rest.popleft().text if by_name else next((o for o in free if o not in given), "")
        if by_name:
            rest.popleft()
        if option not in options or option in given:
            allowed = ", ".join(options) or "no options"
            raise FormulaError(f"{name}() with {option or 'more'!r}", f"{allowed}, each once")
        value = read_option(f"{option} of {name}", options[option], rest)
        given[option] = f"{option}={value}" if by_name else value
    return list(given.values())


def read_option(option: str, kind: str, rest: deque[Token]) -> str:
    """Value of an option: a flag, a number, a level of a column, or a contrast."""
    if kind == "contrast":
        return read_contrast(rest)
    sign = rest.popleft().text if kind == "number" and rest and is_sign(rest[0], "-") else ""
    token = next_token(rest)
    legal = {
        "flag": token.text in ("True", "False"),
        "number": token.kind == "number",
        "whole": is_whole(token, MAX_WHOLE),
        "low": is_whole(token, MAX_SPLINE),
        "level": token.kind in ("text", "number"),
    }
    if not legal[kind]:
        said = {
            "flag": "True or False",
            "number": "a number",
            "whole": f"a whole number up to {MAX_WHOLE}",
            "low": f"a whole number up to {MAX_SPLINE}",
            "level": "a level, in quotation marks if it is text",
        }
        raise FormulaError(f"{option}: {token.text!r}", said[kind])
    return sign + token.text


def is_whole(token: Token, most: int) -> bool:
    """Whether a token is a whole number up to a limit."""
    return token.kind == "number" and "." not in token.text and int(token.text) <= most


def read_contrast(rest: deque[Token]) -> str:
    """Treatment or Sum, with or without the level that it leaves out."""
    token = next_token(rest)
    if token.text not in CONTRASTS:
        raise FormulaError(f"contrast {token.text!r}", " or ".join(CONTRASTS))
    if not (rest and is_sign(rest[0], "(")):
        return token.text
    rest.popleft()
    option = CONTRASTS[token.text]
    level = ""
    if rest and not is_sign(rest[0], ")"):
        if len(rest) > 1 and rest[0].text == option and is_sign(rest[1], "="):
            level = rest.popleft().text + rest.popleft().text
        level += read_option(option, "level", rest)
    expect(rest, ")")
    return f"{token.text}({level})"


def read_column(rest: deque[Token]) -> Expression:
    """A column alone."""
    token = next_token(rest)
    if token.kind != "name":
        raise FormulaError(f"{token.text!r}", "a column there")
    column = frozenset([token.text])
    return Expression(quote(token.text), column, coded=column)


def read_numbers(rest: deque[Token]) -> Expression:
    """Columns and numbers with + and − between them, to calculate with."""
    result = read_quotient(rest)
    while rest and is_sign(rest[0], "+", "-"):
        result = combine(result, rest.popleft().text, read_quotient(rest))
    return result


def read_quotient(rest: deque[Token]) -> Expression:
    """Columns and numbers with * and / between them."""
    result = read_number_power(rest)
    while rest and is_sign(rest[0], "*", "/"):
        result = combine(result, rest.popleft().text, read_number_power(rest))
    return result


def read_number_power(rest: deque[Token]) -> Expression:
    """A column or number, or a column raised to a small power."""
    base = read_number(rest)
    if not (rest and is_sign(rest[0], "**")):
        return base
    rest.popleft()
    power = read_exponent(rest)
    if not base.columns:
        raise FormulaError(f"{base.text}**{power}", "a power of a column")
    return combine(base, "**", Expression(power))


def read_number(rest: deque[Token]) -> Expression:
    """A column, a number, a function of numbers, or all that in brackets."""
    token = next_token(rest)
    if is_sign(token, "-", "+"):
        if rest and is_sign(rest[0], "-", "+"):
            raise FormulaError("two signs in a row", "one sign before a number or a column")
        inside = read_number(rest)
        if rest and is_sign(rest[0], "**"):
            raise FormulaError(f"{token.text}{inside.text}**", "brackets around what is raised")
        return replace(inside, text=token.text + inside.text)
    if is_sign(token, "("):
        inside = read_numbers(rest)
        expect(rest, ")")
        return replace(inside, text=f"({inside.text})")
    if token.kind == "name":
        if rest and is_sign(rest[0], "("):
            if FUNCTIONS.get(token.text, (NUMBERS,))[0] != NUMBERS:
                raise FormulaError(f"{token.text!r}", "functions of numbers there")
            return read_call(token.text, rest)
        column = frozenset([token.text])
        return Expression(quote(token.text), column, numeric=column)
    if token.kind == "number":
        return Expression(token.text)
    raise FormulaError(f"{token.text!r}", "columns and numbers there")


def combine(left: Expression, sign: str, right: Expression, terms: int = 1) -> Expression:
    """Two expressions with a sign between them; sums are refused before they grow."""
    if terms > MAX_TERMS:
        raise FormulaError("more terms than that", f"at most {MAX_TERMS} terms")
    text = f"{left.text} {sign} {right.text}"
    columns, numeric = left.columns | right.columns, left.numeric | right.numeric
    return Expression(text, columns, numeric, left.coded | right.coded, terms)


def quote(column: str) -> str:
    """Name of a column as the library reads it: in back-ticks where it is no word."""
    is_word = WORD.fullmatch(column) and column not in ("True", "False", "None")
    return column if is_word else f"`{column}`"
