"""What a variable of a model is: its role, parameter, term and grouping factor.

These → the name that Bambi gives the variable, and attrs; attrs → these, or InputError. A layout
(`hmetad.specs.layout`) writes the attrs of all draws, and other packages read them. No array is
needed, so that the command line starts without NumPy.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

from hmetad.base.errors import ChoiceError

Role = Literal[
    "cell", "hyperparameter", "coefficient", "sd", "partial", "offset", "effect", "correlation",
    "loading",
]  # fmt: skip

# End of the name of the dim of the groups of a factor.
FACTOR_DIM = "__factor_dim"
# Ends of the names of variables of a pair of brackets.
ENDS = {"sd": "_sigma", "correlation": "_corr", "partial": "_partial", "offset": "_offset"}


class Identity(NamedTuple):
    """What a variable is; what its role does not have is empty.

    Examples
    --------
    >>> Identity("sd", "log_m", "task", "subject").name, Identity("coefficient", "c", "task").name
    ('log_m_task|subject_sigma', 'c_task')
    """

    role: Role
    parameter: str
    term: str = ""
    factor: str = ""

    @property
    def stem(self) -> str:
        """Parameter, term and factor: ``log_m_task|subject``."""
        own = f"{self.parameter}_{self.term}" if self.parameter else self.term
        return own + (f"|{self.factor}" if self.factor else "")

    @property
    def name(self) -> str:
        """Name of a variable of a formula, before a card renames it."""
        if self.role == "loading":
            return f"log_loading_{self.parameter}|{self.factor}"
        return self.stem + ENDS.get(self.role, "")

    @property
    def attrs(self) -> dict[str, str]:
        """The same as attrs."""
        return {key: value for key, value in self._asdict().items() if value}


def identity_of(attrs: Mapping[Any, Any]) -> Identity | None:
    """What a variable is, or whose levels a dim has; None where its attrs have no role.

    Raises
    ------
    InputError
        If the attrs have another role than those of a layout, or anything but text.

    Examples
    --------
    >>> identity_of(Identity("effect", "c", "1", "subject").attrs).factor, identity_of({})
    ('subject', None)
    """
    # Coordinates of cells have a role too, if they are covariates.
    role = attrs.get("role", "covariate")
    if isinstance(role, str) and role == "covariate":
        return None
    own = [attrs.get(key, "") for key in Identity._fields]
    if not all(isinstance(value, str) for value in own) or own[0] not in get_args(Role):
        step = "Without it: remove the attr, .attrs.pop('role')."
        raise ChoiceError("attrs['role']", repr(own)[:80], "what hmetad writes there", step)
    return Identity(*own)


def factor_of_dim(dim: str, attrs: Mapping[Any, Any]) -> str:
    """Grouping factor whose groups a dim has; empty where it has none.

    Draws of other programs have no attrs: the name of the dim then counts, as Bambi has it.
    """
    own = identity_of(attrs)
    if own is not None:
        return own.factor
    return dim.removesuffix(FACTOR_DIM) if dim.endswith(FACTOR_DIM) else ""


def is_dim_of(dim: str, attrs: Mapping[Any, Any], column: str) -> bool:
    """Whether a dim has the levels of a column: of its coefficients, or of its groups.

    Draws of other programs have no attrs: the name of the dim then counts, as Bambi has it.

    Examples
    --------
    >>> [is_dim_of(dim, {}, "task") for dim in ("task_dim", "log_m_task_dim", "task__factor_dim")]
    [True, True, True]
    >>> is_dim_of("my_task_dim", Identity("coefficient", "", "my_task").attrs, "task")
    False
    """
    own = identity_of(attrs)
    if own is not None:
        return column == (own.factor or own.term)
    return f"_{dim}".endswith((f"_{column}_dim", f"_{column}{FACTOR_DIM}"))
