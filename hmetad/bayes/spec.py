"""What a model is, said as data: the frozen record that a model card maps onto.

Fields of a card → ModelSpec. The defaults that a card may override live here, once.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from numbers import Real
from typing import Any

from hmetad.bayes.grammar import parse_formula
from hmetad.errors import InputError, nearest
from hmetad.frozen import FrozenMapping, frozen
from hmetad.untrusted import parse_json

__all__ = [
    "CORRELATION",
    "DEFAULT_HYPERCRITERIA",
    "DEFAULT_PRIORS",
    "DEFAULT_SIGMAS",
    "DEFAULT_SLOPES",
    "SIGMA",
    "SLOPE",
    "ModelSpec",
    "Prior",
    "as_priors",
    "free_priors",
    "free_variables",
    "refuse_unknown_fields",
    "refuse_unknown_priors",
    "with_changes",
]

DISTRIBUTIONS: dict[str, tuple[str, ...]] = {
    "Normal": ("mu", "sigma"),
    "StudentT": ("nu", "mu", "sigma"),
    "HalfNormal": ("sigma",),
    "Exponential": ("lam",),
    "Gamma": ("alpha", "beta"),
    "LogNormal": ("mu", "sigma"),
    "UniformTimesHalfNormal": ("sigma",),
    "LKJ": ("eta",),
}
CHOICES: dict[str, tuple[str, ...]] = {
    "likelihood": ("meta-d", "response-conditional", "unequal-variance"),
    "meta_criterion": ("relative", "absolute"),
    "scale": ("log_m", "m", "meta_d"),
    "criteria": ("log_gap", "sorted_normal", "group_sorted_normal"),
    "type1": ("joint", "plug_in"),
}
# What a card says in words, and in tables.
TEXTS = ("name", "title", "question", "reference")
TABLES = ("formula", "names", "priors", "example")
TABLES_OF_TEXT = ("formula", "names")
MAX_TEXT = 10_000
MAX_NAME = 200
# Names in a posterior that mean something already.
DIMS = ("cell", "stimulus", "response", "rating", "criterion", "chain", "draw")
RESULTS = ("dprime", "c", "meta_d", "m_ratio", "log_m", "meta_c", "criteria", "log_s", "s")


def is_finite(value: object) -> bool:
    """Whether a value is a finite number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


@dataclass(frozen=True, init=False)
class Prior:
    """A prior distribution, by its name in PyMC and its parameters.

    Parameters
    ----------
    dist : str
        Normal, StudentT, HalfNormal, Exponential, Gamma or LogNormal, as PyMC has them; LKJ for
        correlations; UniformTimesHalfNormal, HMeta-d's prior of a group SD: the product of a
        uniform variable on (0, 1) and a half-normal one.
    **parameters : float
        All parameters of that distribution, as PyMC names them.

    Raises
    ------
    InputError
        If the distribution or a parameter is unknown, or one is missing.

    Examples
    --------
    >>> Prior("Normal", mu=0, sigma=0.5)
    Prior('Normal', mu=0.0, sigma=0.5)
    """

    dist: str
    parameters: Mapping[str, float]

    def __init__(self, /, dist: str, **parameters: float) -> None:
        if not isinstance(dist, str) or dist not in DISTRIBUTIONS:
            allowed = ", ".join(sorted(DISTRIBUTIONS))
            raise InputError("dist", repr(dist), allowed, nearest(str(dist), DISTRIBUTIONS))
        if set(parameters) != set(DISTRIBUTIONS[dist]):
            came = ", ".join(sorted(parameters)) or "none"
            raise InputError(f"parameters of {dist}", came, ", ".join(DISTRIBUTIONS[dist]))
        for name, value in parameters.items():
            if not is_finite(value) or (name != "mu" and value <= 0):
                allowed = "a finite number" if name == "mu" else "a number above 0"
                raise InputError(f"{name} of {dist}", repr(value), allowed)
        object.__setattr__(self, "dist", dist)
        given = FrozenMapping({name: float(value) for name, value in parameters.items()})
        object.__setattr__(self, "parameters", given)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"Prior({self.dist!r}, {inside})"


DEFAULT_PRIORS: Mapping[str, Prior] = {
    "log_m": Prior("Normal", mu=0, sigma=1),
    "m": Prior("Normal", mu=1, sigma=1),
    "meta_d": Prior("Normal", mu=0, sigma=math.sqrt(2)),
    "dprime": Prior("Normal", mu=1, sigma=1),
    "c": Prior("Normal", mu=0, sigma=1),
    "log_gap": Prior("Normal", mu=math.log(0.5), sigma=1),
    "log_s": Prior("Normal", mu=0, sigma=0.5),
    "criteria": Prior("Normal", mu=0, sigma=math.sqrt(0.5)),
}
"""Priors of a parameter's value in a cell, or of its intercept or level means in a formula; that
of `meta_d` is centred on d′, as in HMeta-d."""

DEFAULT_SLOPES: Mapping[str, Prior] = {"log_gap": Prior("Normal", mu=0, sigma=0.5)}
DEFAULT_SIGMAS: Mapping[str, Prior] = {"log_gap": Prior("HalfNormal", sigma=0.5)}
SLOPE = Prior("Normal", mu=0, sigma=1)
SIGMA = Prior("HalfNormal", sigma=1)
DEFAULT_HYPERCRITERIA: Mapping[str, Prior] = dict.fromkeys(
    ("mu_c2", "sigma_c2"), Prior("HalfNormal", sigma=10)
)
CORRELATION = Prior("LKJ", eta=2)


@dataclass(frozen=True)
class ModelSpec:
    """A model, said completely: what `build_model` needs beside the counts.

    Parameters
    ----------
    name, title, question, reference : str
        The card's name, what it is, the question it answers, and where it comes from.
    likelihood : {"meta-d", "response-conditional", "unequal-variance"}
        One M for both responses and evidence of equal variance; an M for each response; or
        log s, s = σ_S1/σ_S2, as a further parameter.
    meta_criterion : {"relative", "absolute"}
        κ = M·c, or κ = c.
    scale : {"log_m", "m", "meta_d"}
        The quantity that carries the prior: log M, M, or meta-d′ itself.
    criteria : {"log_gap", "sorted_normal", "group_sorted_normal"}
        Type-2 criteria by log gaps, or as HMeta-d has them: sorted draws of a normal, which is
        given (single subjects), or whose mean and SD are estimated for all cells (groups).
    type1 : {"joint", "plug_in"}
        d′ and c estimated with the rest, or set to their values from counts + 1/(2K).
    formula : mapping of str to str
        By parameter, in Wilkinson's notation: ``{"log_m": "1 + task + (1 | subject)"}``. A
        parameter without one has its own value, with its own prior, in every cell.
    names : mapping of str to str
        Other names for variables of the posterior, such as HMeta-d's.
    priors : mapping of str to Prior
        Only those that differ from the defaults, by variable of the posterior.
    example : mapping
        A small design, as arguments of `simulate_counts`.

    The tables are copied, and cannot be changed afterwards; `dataclasses.replace` makes another
    record. Records that are equal have equal hashes.

    Raises
    ------
    InputError
        If a word is not among the legal ones, a field is of the wrong kind, a formula is of a
        parameter that the model lacks, or HMeta-d's criteria or meta-d′ have no normal prior.

    Examples
    --------
    >>> ModelSpec("mine", formula={"log_m": "1 + (1 | subject)"}).parameters
    ('dprime', 'c', 'log_m', 'log_gap')
    """

    name: str
    title: str = ""
    question: str = ""
    reference: str = ""
    likelihood: str = "meta-d"
    meta_criterion: str = "relative"
    scale: str = "log_m"
    criteria: str = "log_gap"
    type1: str = "joint"
    formula: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    priors: Mapping[str, Prior] = field(default_factory=dict)
    example: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        refuse_wrong_kinds({name: getattr(self, name) for name in (*TEXTS, *TABLES)})
        for name in TABLES:
            object.__setattr__(self, name, frozen(getattr(self, name), name))
        for name, allowed in CHOICES.items():
            value = getattr(self, name)
            if value not in allowed:
                raise InputError(name, repr(value), " or ".join(map(repr, allowed)))
        for parameter, formula in self.formula.items():
            if parameter not in self.formula_parameters:
                legal = ", ".join(self.formula_parameters)
                hint = nearest(parameter, self.formula_parameters)
                raise InputError("formula", f"{parameter!r} for model {self.name!r}", legal, hint)
            parse_formula(formula, f"formula of {parameter}")
        for variable, name in self.names.items():
            refuse_bad_name(variable, name)
        for name in {"criteria", "meta_d"} & set(self.priors):
            if self.priors[name].dist != "Normal":
                given = self.priors[name].dist
                raise InputError(f"prior of {name}", given, "Normal, as HMeta-d has it")

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters, in the order of the model."""
        type1 = ("dprime", "c") if self.type1 == "joint" else ()
        criteria = "log_gap" if self.criteria == "log_gap" else "criteria"
        variance = ("log_s",) if self.likelihood == "unequal-variance" else ()
        return (*type1, self.scale, criteria, *variance)

    @property
    def formula_parameters(self) -> tuple[str, ...]:
        """Names of those parameters that can have a formula."""
        return tuple(name for name in self.parameters if name not in ("meta_d", "criteria"))

    def extra_dims(self, parameter: str) -> tuple[str, ...]:
        """Dims of a parameter beside the cell."""
        if parameter in ("log_gap", "criteria"):
            return ("response", "criterion")
        is_per_response = self.likelihood == "response-conditional" and parameter == self.scale
        return ("response",) if is_per_response else ()

    def named(self, variable: str) -> str:
        """Name that a variable bears in the posterior."""
        return self.names.get(variable, variable)

    def parameter_of(self, name: str) -> str:
        """Parameter that a variable of the posterior belongs to."""
        if name in DEFAULT_HYPERCRITERIA:
            return "criteria"
        plain = next((own for own, other in self.names.items() if other == name), name)
        fitting = [p for p in DEFAULT_PRIORS if plain == p or plain.startswith(f"{p}_")]
        return max(fitting, key=len, default=name)

    def to_json(self) -> str:
        """Everything in one line of text, for the attrs of a fit."""
        record = {f.name: getattr(self, f.name) for f in fields(self)}
        record["priors"] = {
            name: {"dist": prior.dist, **prior.parameters} for name, prior in self.priors.items()
        }
        return json.dumps(record, default=dict)

    @classmethod
    def from_json(cls, text: object) -> "ModelSpec":
        """Read what `to_json` wrote, with the checks of a model card."""
        record = parse_json(text, "spec")
        if not isinstance(record, dict) or not isinstance(record.get("name"), str):
            raise InputError("spec", repr(text)[:80], "the record of a model, with its name")
        refuse_unknown_fields(record)
        return cls(**record | {"priors": as_priors(record.get("priors", {}))})


def with_changes(
    spec: ModelSpec,
    *,
    formula: str | Mapping[str, str] | None = None,
    priors: Mapping[str, Prior | Mapping[str, Any]] | None = None,
    **fields_to_set: Any,
) -> ModelSpec:
    """Copy of a model with some of its fields set otherwise.

    Parameters
    ----------
    spec : ModelSpec
    formula : str or mapping of str to str, optional
        Formulas to use in place of the model's, by parameter; a text alone is that of M.
    priors : mapping of str to Prior, optional
        Priors to use in place of the model's, by variable.
    **fields_to_set
        Other fields of `ModelSpec`.

    Returns
    -------
    ModelSpec
        Formulas of parameters that are gone, and the model's own priors of parameters that are
        gone or have a new formula, are left out.
    """
    bare = replace(spec, formula={}, priors={}, **fields_to_set)
    given = {bare.scale: formula} if isinstance(formula, str) else formula or {}
    refuse_wrong_kinds({"formula": given})
    kept = {name: f for name, f in spec.formula.items() if name in bare.formula_parameters}
    changed = replace(bare, formula={**kept, **given})
    gone = {*spec.parameters} - {*changed.parameters} | {*given}
    replaced = {*map(spec.named, {*free_variables(spec)} - {*free_variables(changed)})}
    # What never was a variable of the model is kept, to be refused by its name.
    own = {
        name: prior
        for name, prior in spec.priors.items()
        if spec.parameter_of(name) not in gone and name not in replaced
    }
    return replace(changed, priors={**own, **as_priors(priors or {})})


def free_priors(spec: ModelSpec, parameter: str) -> Mapping[str, Prior]:
    """Default priors of a parameter that has no formula, by variable."""
    if parameter == "criteria" and spec.criteria == "group_sorted_normal":
        return DEFAULT_HYPERCRITERIA
    return {parameter: DEFAULT_PRIORS[parameter]}


def free_variables(spec: ModelSpec) -> list[str]:
    """Variables that take a prior without a formula, before any is renamed."""
    free = [parameter for parameter in spec.parameters if parameter not in spec.formula]
    return [name for parameter in free for name in free_priors(spec, parameter)]


def refuse_unknown_priors(spec: ModelSpec, legal: Iterable[str]) -> None:
    """Raise where a model has a prior for a variable that is not among the legal ones."""
    names = list(legal)
    for name in spec.priors:
        if name not in names:
            hint = nearest(name, names)
            raise InputError("priors", repr(name), ", ".join(names), hint)


def refuse_wrong_kinds(given: Mapping[str, object]) -> None:
    """Raise where a field of a model is neither the text nor the table that it should be."""
    for name, value in given.items():
        if name in TEXTS and not (isinstance(value, str) and len(value) <= MAX_TEXT):
            raise InputError(name, repr(value)[:80], f"text of at most {MAX_TEXT} characters")
        if name not in TABLES:
            continue
        if not isinstance(value, Mapping):
            raise InputError(name, repr(value), f"a table: [{name}] in a card, a dict in Python")
        for key, entry in value.items():
            if name in TABLES_OF_TEXT and not isinstance(entry, str):
                raise InputError(f"{name} of {key}", repr(entry), "text")


def refuse_bad_name(variable: str, name: str) -> None:
    """Raise where a variable is given a name that no variable of a posterior can have."""
    argument, allowed = f"name of {variable}", "a name without '/' that is no dim and no result"
    if not name or len(name) > MAX_NAME or "/" in name or not name.isprintable():
        allowed = f"{allowed}, of 1 to {MAX_NAME} characters"
        raise InputError(argument, repr(name)[:80], allowed, "Choose another in [names].")
    if name != variable and name in (*DIMS, *RESULTS):
        raise InputError(argument, repr(name), allowed, "Choose another in [names].")


def refuse_unknown_fields(given: Iterable[str]) -> None:
    """Raise where a card, or a change of it, has a field that models have not."""
    legal = [f.name for f in fields(ModelSpec)]
    for key in given:
        if key not in legal:
            raise InputError("fields", repr(key), "those of a model card", nearest(key, legal))


def as_priors(given: Mapping[str, Any]) -> dict[str, Prior]:
    """Priors by variable, each from the form that a card has it in."""
    refuse_wrong_kinds({"priors": given})
    return {name: as_prior(value) for name, value in given.items()}


def as_prior(value: Prior | Mapping[str, Any]) -> Prior:
    """Prior from the form a TOML card has it in: ``{dist = "Normal", mu = 0, sigma = 1}``."""
    if isinstance(value, Prior):
        return value
    if not isinstance(value, Mapping) or "dist" not in value:
        allowed = 'Prior("Normal", mu=0, sigma=1), or {"dist": "Normal", "mu": 0, "sigma": 1}'
        raise InputError("priors", repr(value), allowed)
    return Prior(**value)
