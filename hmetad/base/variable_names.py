"""Names of the variables of formulas, as Bambi has them, and of their dims.

Parameter, term and factor → ``log_m_task|subject_sigma``; such a name → term, factor and role.
They are made here alone. No array is needed, so that the command line starts without NumPy.
"""

from typing import Literal, NamedTuple

__all__ = [
    "FACTOR_DIM",
    "NameParts",
    "Role",
    "coefficient_name",
    "correlation_name",
    "effect_name",
    "is_dim_of",
    "name_parts",
    "sd_name",
]

Role = Literal[
    "cell", "hyperparameter", "coefficient", "sd", "partial", "offset", "effect", "correlation"
]

# End of the name of the dim of the groups of a factor.
FACTOR_DIM = "__factor_dim"
# Ends of the names of variables of a pair of brackets.
ENDS: dict[str, Role] = {
    "_sigma": "sd",
    "_corr": "correlation",
    "_partial": "partial",
    "_offset": "offset",
}


def coefficient_name(parameter: str, term: str) -> str:
    """Plain name of the coefficients of a common term: ``log_m_task``."""
    return f"{parameter}_{term}"


def effect_name(parameter: str, term: str, factor: str) -> str:
    """Plain name of the effects of a term in the groups of a factor: ``log_m_task|subject``."""
    return f"{parameter}_{term}|{factor}"


def sd_name(parameter: str, term: str, factor: str) -> str:
    """Plain name of the standard deviations of such effects: ``log_m_task|subject_sigma``."""
    return f"{effect_name(parameter, term, factor)}_sigma"


def correlation_name(parameter: str, block: str) -> str:
    """Plain name of the correlations of a block's effects: ``log_m_task|subject_corr``."""
    return f"{parameter}_{block}_corr"


class NameParts(NamedTuple):
    """What the plain name of a variable of a formula says; the term begins with the parameter."""

    term: str
    factor: str
    role: Role

    @property
    def stem(self) -> str:
        """The name without the end that says its role."""
        return f"{self.term}|{self.factor}" if self.factor else self.term


def name_parts(name: str) -> NameParts:
    """Term, factor and role of a variable of a formula, by its plain name.

    Examples
    --------
    >>> tuple(name_parts("log_m_task|subject_sigma")), tuple(name_parts("log_m_task"))
    (('log_m_task', 'subject', 'sd'), ('log_m_task', '', 'coefficient'))
    """
    term, bar, factor = name.partition("|")
    for end, role in ENDS.items():
        if bar and factor.endswith(end):
            return NameParts(term, factor.removesuffix(end), role)
    return NameParts(term, factor, "effect" if bar else "coefficient")


def is_dim_of(dim: str, column: str) -> bool:
    """Whether a dim has the levels of a column, of its coefficients or of its groups.

    Examples
    --------
    >>> [is_dim_of(dim, "task") for dim in ("task_dim", "log_m_task_dim", "task__factor_dim")]
    [True, True, True]
    """
    return f"_{dim}".endswith((f"_{column}_dim", f"_{column}{FACTOR_DIM}"))
