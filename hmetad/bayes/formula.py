"""What a formula says by itself, before there are cells.

Formula in Wilkinson's notation → its common part and its blocks, the columns it names, and the
variables that take a prior. `formulae`, the library under Bambi, reads every expression.
"""

from collections.abc import Iterable
from itertools import accumulate

from formulae import model_description
from formulae.terms import Model

from hmetad.errors import InputError

__all__ = [
    "block_name",
    "columns_of",
    "described",
    "formula_columns",
    "is_empty",
    "prior_names",
    "split_formula",
]


def split_formula(formula: str) -> tuple[str, list[tuple[str, str, bool]]]:
    """Common part of a formula, and (expression, factor, is correlated) of each of its blocks.

    Examples
    --------
    >>> split_formula("1 + S(task) + (1 + S(task) || subject) + (1 | a/b)")
    ('1 + S(task)', [('1 + S(task)', 'subject', False), ('1', 'a', True), ('1', 'a:b', True)])
    """
    pieces, blocks = [], []
    for piece in top_level_terms(formula):
        is_block = piece.startswith("(") and piece.endswith(")") and "|" in piece
        if not is_block:
            pieces.append(piece)
            continue
        expression, _, factor = piece[1:-1].rpartition("|")
        is_correlated = not expression.endswith("|")
        nested = list(accumulate(factor.split("/"), lambda outer, inner: f"{outer}:{inner}"))
        for one in nested:
            name = ":".join(part.strip() for part in one.split(":"))
            blocks.append((expression.rstrip("|").strip(), name, is_correlated))
    return " + ".join(pieces) or "1", blocks


def formula_columns(formulas: Iterable[str]) -> set[str]:
    """Columns that the common parts of formulas name.

    Examples
    --------
    >>> sorted(formula_columns(["1 + scale(age) * task + (1 | subject)", "1"]))
    ['age', 'task']
    """
    commons = [split_formula(formula)[0] for formula in formulas]
    read = [described(common, "formula") for common in commons if not is_empty(common)]
    return {name for description in read for name in columns_of(description)}


def prior_names(parameter: str, formula: str, *, may_correlate: bool = True) -> list[str]:
    """Variables of a formula that take a prior, whatever the cells.

    The correlation of a block is among them wherever its terms could have several columns; whether
    they do, the cells say.

    Examples
    --------
    >>> prior_names("log_m", "1 + a*b + (1 + age | subject)")
    ['log_m_Intercept', 'log_m_a', 'log_m_b', 'log_m_a:b', 'log_m_1|subject_sigma', \
'log_m_age|subject_sigma', 'log_m_age|subject_corr']
    """
    argument = f"formula of {parameter}"
    common, blocks = split_formula(formula)
    names = [f"{parameter}_{term}" for term in term_names(common, argument)]
    for expression, factor, is_correlated in blocks:
        terms = ["1" if x == "Intercept" else x for x in term_names(expression, argument)]
        names += [f"{parameter}_{term}|{factor}_sigma" for term in terms]
        if is_correlated and may_correlate and terms != ["1"]:
            names.append(f"{parameter}_{block_name(expression, factor)}_corr")
    return names


def term_names(expression: str, argument: str) -> list[str]:
    """Names of the terms of an expression without groups, as formulae and Bambi have them."""
    if is_empty(expression):
        return []
    return [term.name for term in described(expression, argument).terms]


def described(expression: str, argument: str) -> Model:
    """Terms of an expression that has no groups and no response, as formulae reads it."""
    try:
        description = model_description(expression)
    except Exception as error:
        # formulae raises many kinds; each names what it could not do.
        raise InputError(argument, f"{expression!r} ({error})", "Wilkinson's notation") from error
    if description.group_terms:
        step = "Write groups in brackets of their own: 1 + task + (1 | subject)."
        raise InputError(argument, repr(expression), "no bar outside of brackets", step)
    if description.response is not None:
        raise InputError(argument, repr(expression), "no response on the left", "Leave out the ~.")
    return description


def columns_of(description: Model) -> set[str]:
    """Columns that the terms of an expression name; an intercept names "", which is none."""
    return {name for term in description.terms for name in term.var_names} - {""}


def block_name(expression: str, factor: str) -> str:
    """Expression as it was written, without its leading 0 or 1, and factor: ``"task|subject"``."""
    pieces = [piece for piece in top_level_terms(expression) if piece not in ("0", "1")]
    written = "+".join(piece.replace(" ", "") for piece in pieces) or "1"
    return f"{written}|{factor}"


def is_empty(expression: str) -> bool:
    """Whether an expression has no terms at all."""
    return expression.replace(" ", "") in ("0", "-1")


def top_level_terms(formula: str) -> list[str]:
    """Pieces of a formula between the plus signs that stand outside all brackets."""
    depths = accumulate((character in "([") - (character in ")]") for character in formula)
    cut = [i for i, depth in enumerate(depths) if depth == 0 and formula[i] == "+"]
    edges = zip([-1, *cut], [*cut, len(formula)], strict=True)
    return [formula[start + 1 : end].strip() for start, end in edges]
