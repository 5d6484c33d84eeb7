"""Signs and words of a formula, before it is parsed.

Text → tokens, or FormulaError.
"""

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

__all__ = [
    "MAX_DEPTH",
    "FormulaError",
    "Token",
    "depths_of",
    "expect",
    "is_sign",
    "join_tokens",
    "next_token",
    "split_at",
    "split_terms",
    "tokens_of",
]

MAX_DEPTH = 10
TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>(?:[0-9]{1,15}(?:\.[0-9]{1,15})?|\.[0-9]{1,15})(?![\w.]))
    |(?P<name>[^\W\d](?:\w|\.)*)
    |`(?P<quoted>[^`\s](?:[^`\n\r]*[^`\s])?)`
    |(?P<text>'[^'"\n\r]*'|"[^'"\n\r]*")
    |(?P<sign>\*\*|\|\||[-+:*/|(),=~])
    )""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Token:
    """One sign, name, number or text of a formula; a name in back-ticks has kind "name" too."""

    kind: str
    text: str


class FormulaError(Exception):
    """Raised for what no formula may say; `parse_formula` makes an InputError of it."""

    def __init__(self, got: str = "", allowed: str = "", next_step: str = "") -> None:
        super().__init__(got)
        self.got, self.allowed, self.next_step = got, allowed, next_step


def tokens_of(formula: str) -> list[Token]:
    """Signs, names, numbers and texts of a formula."""
    text, place, tokens = formula.strip(), 0, []
    while place < len(text):
        match = TOKEN.match(text, place)
        if match is None:
            raise FormulaError(repr(text[place:].lstrip()[:20]))
        kind = match.lastgroup or ""
        tokens.append(Token("name" if kind == "quoted" else kind, match[kind]))
        place = match.end()
    if not tokens:
        raise FormulaError(allowed="at least an intercept: '1'")
    if Token("sign", "~") in tokens:
        raise FormulaError(allowed="no response on the left", next_step="Leave out the ~.")
    refuse_unbalanced(tokens)
    return tokens


def refuse_unbalanced(tokens: Sequence[Token]) -> None:
    """Raise where brackets do not close, or are nested too deeply."""
    depths = depths_of(tokens)
    if min(depths) < 0 or depths[-1] != 0:
        raise FormulaError(allowed="Wilkinson's notation, every bracket closed")
    if max(depths) > MAX_DEPTH:
        raise FormulaError(f"{max(depths)} brackets inside each other", f"at most {MAX_DEPTH}")


def depths_of(tokens: Sequence[Token]) -> list[int]:
    """How many brackets are open after each token."""
    steps = {"(": 1, ")": -1}
    return [*accumulate(steps.get(t.text, 0) if t.kind == "sign" else 0 for t in tokens)]


def split_at(tokens: Sequence[Token], sign: str) -> list[list[Token]]:
    """Tokens between the signs of a kind that stand outside all brackets."""
    depths = depths_of(tokens)
    cuts = [i for i, token in enumerate(tokens) if depths[i] == 0 and is_sign(token, sign)]
    edges = zip([-1, *cuts], [*cuts, len(tokens)], strict=True)
    return [list(tokens[start + 1 : end]) for start, end in edges]


def split_terms(tokens: Sequence[Token]) -> list[list[Token]]:
    """Tokens cut before each + and − that stands outside all brackets."""
    depths = depths_of(tokens)
    cuts = [i for i, token in enumerate(tokens) if depths[i] == 0 and is_sign(token, "+", "-")]
    edges = pairwise(dict.fromkeys([0, *cuts, len(tokens)]))
    return [list(tokens[start:end]) for start, end in edges]


def is_sign(token: Token, *signs: str) -> bool:
    """Whether a token is one of these signs."""
    return token.kind == "sign" and token.text in signs


def next_token(rest: deque[Token]) -> Token:
    """The next token, taken from the rest."""
    if not rest:
        raise FormulaError("the end too early", "Wilkinson's notation, every term complete")
    return rest.popleft()


def expect(rest: deque[Token], sign: str) -> None:
    """Take a sign from the rest, or raise."""
    token = next_token(rest)
    if not is_sign(token, sign):
        raise FormulaError(f"{token.text!r} where {sign!r} should stand")


def join_tokens(tokens: Sequence[Token]) -> str:
    """Tokens without blanks."""
    return "".join(token.text for token in tokens)
