"""Columns, terms and priors of a formula, before its cells are known.

Formula in Wilkinson's notation → the columns it names, its terms, and the variables that take a
prior. `hmetad.specs.grammar` reads every formula; `formulae`, the library under Bambi, names terms.
"""

from collections.abc import Iterable, Mapping

from formulae import model_description
from formulae.terms import Model

from hmetad.errors import InputError
from hmetad.specs.expressions import Expression
from hmetad.specs.grammar import GroupTerm, parse_formula

__all__ = ["block_factors", "describe_terms", "formula_columns", "level_columns", "prior_names"]


def formula_columns(formulas: Iterable[str]) -> set[str]:
    """Columns that the common parts of formulas name.

    Examples
    --------
    >>> sorted(formula_columns(["1 + scale(age) * task + (1 | subject)", "1"]))
    ['age', 'task']
    """
    return {name for formula in formulas for name in parse_formula(formula).common.columns}


def prior_names(parameter: str, formula: str, *, may_correlate: bool = True) -> list[str]:
    """Variables of a formula that take a prior, whatever the cells.

    The correlation of a block is included wherever its terms could have several columns; only the
    cells show whether they do.

    Examples
    --------
    >>> prior_names("log_m", "1 + a*b + (1 + age | subject)")
    ['log_m_Intercept', 'log_m_a', 'log_m_b', 'log_m_a:b', 'log_m_1|subject_sigma', \
'log_m_age|subject_sigma', 'log_m_age|subject_corr']
    """
    argument = f"formula of {parameter}"
    parsed = parse_formula(formula, argument)
    names = [f"{parameter}_{term}" for term in term_names(parsed.common, argument)]
    for group in parsed.group_terms:
        terms = ["1" if x == "Intercept" else x for x in term_names(group.expression, argument)]
        for factor in block_factors(group):
            names += [f"{parameter}_{term}|{factor}_sigma" for term in terms]
            if group.is_correlated and may_correlate and terms != ["1"]:
                names.append(f"{parameter}_{group.written}|{factor}_corr")
    return names


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
        raise InputError(argument, got, "Wilkinson's notation") from error
    names = [term.name for term in model.terms]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        got = f"two terms called {twice!r} in {expression.text!r}"
        raise InputError(argument, got, "terms of different names", "Rename the column.")
    return model


def level_columns(formulas: Mapping[str, str], factors: Iterable[str]) -> frozenset[str]:
    """Columns whose values, which may be numbers, are levels: factors, and what formulas code."""
    parsed = [parse_formula(formula) for formula in formulas.values()]
    written = [
        part for one in parsed for part in (one.common, *(g.expression for g in one.group_terms))
    ]
    return frozenset(factors).union(*(expression.coded for expression in written))
