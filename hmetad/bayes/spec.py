"""What a model is, said as data: model cards and the frozen record they map onto.

Name of a card, or path of a TOML file → ModelSpec. The defaults that a card may override live
here, once.
"""

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from hmetad.errors import InputError, nearest

__all__ = ["DEFAULT_PRIORS", "ModelSpec", "Prior", "card_names", "load_model", "with_priors"]

DISTRIBUTIONS: dict[str, tuple[str, ...]] = {
    "Normal": ("mu", "sigma"),
    "StudentT": ("nu", "mu", "sigma"),
    "HalfNormal": ("sigma",),
    "Exponential": ("lam",),
    "Gamma": ("alpha", "beta"),
    "LogNormal": ("mu", "sigma"),
}
CHOICES: dict[str, tuple[str, ...]] = {
    "likelihood": ("meta-d",),
    "meta_criterion": ("relative", "absolute"),
    "scale": ("log_m", "m", "meta_d"),
    "criteria": ("log_gap", "sorted_normal"),
    "type1": ("joint", "plug_in"),
}


@dataclass(frozen=True, init=False)
class Prior:
    """A prior distribution, by its name in PyMC and its parameters.

    Parameters
    ----------
    dist : str
        Normal, StudentT, HalfNormal, Exponential, Gamma or LogNormal.
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

    def __init__(self, dist: str, **parameters: float) -> None:
        if dist not in DISTRIBUTIONS:
            allowed = ", ".join(sorted(DISTRIBUTIONS))
            raise InputError("dist", repr(dist), allowed, nearest(dist, DISTRIBUTIONS))
        if set(parameters) != set(DISTRIBUTIONS[dist]):
            came = ", ".join(sorted(parameters)) or "none"
            raise InputError(f"parameters of {dist}", came, ", ".join(DISTRIBUTIONS[dist]))
        for name, value in parameters.items():
            if not math.isfinite(value) or (name != "mu" and value <= 0):
                allowed = "a finite number" if name == "mu" else "a number above 0"
                raise InputError(f"{name} of {dist}", f"{value}", allowed)
        object.__setattr__(self, "dist", dist)
        object.__setattr__(self, "parameters", {k: float(v) for k, v in parameters.items()})

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
    "criteria": Prior("Normal", mu=0, sigma=math.sqrt(0.5)),
}
"""Priors of a cell's parameters; that of `meta_d` is centred on d′, as in HMeta-d."""


@dataclass(frozen=True)
class ModelSpec:
    """A model, said completely: what `build_model` needs beside the counts.

    Parameters
    ----------
    name, title, question, reference : str
        The card's name, what it is, the question it answers, and where it comes from.
    likelihood : {"meta-d"}
        The likelihood.
    meta_criterion : {"relative", "absolute"}
        κ = M·c, or κ = c.
    scale : {"log_m", "m", "meta_d"}
        The quantity that carries the prior: log M, M, or meta-d′ itself.
    criteria : {"log_gap", "sorted_normal"}
        Type-2 criteria by independent log gaps, or as sorted draws of one normal (HMeta-d).
    type1 : {"joint", "plug_in"}
        d′ and c estimated with the rest, or set to their values from counts + 1/(2K).
    priors : mapping of str to Prior
        Only those that differ from `DEFAULT_PRIORS`.
    example : mapping
        A small design, as arguments of `simulate_counts`.

    Raises
    ------
    InputError
        If a word is not among the legal ones, or a prior is of a parameter the model lacks.
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
    priors: Mapping[str, Prior] = field(default_factory=dict)
    example: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            value = getattr(self, name)
            if value not in allowed:
                raise InputError(name, repr(value), " or ".join(map(repr, allowed)))
        for name in self.priors:
            if name not in self.parameters:
                legal, hint = ", ".join(self.parameters), nearest(name, self.parameters)
                raise InputError("priors", f"{name!r} for model {self.name!r}", legal, hint)

        for name in ("criteria", "meta_d"):
            prior = self.priors.get(name, DEFAULT_PRIORS[name])
            if prior.dist != "Normal":
                raise InputError(f"prior of {name}", prior.dist, "Normal, as HMeta-d has it")

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters that take a prior, in the order of the model."""
        type1 = ("dprime", "c") if self.type1 == "joint" else ()
        criteria = "log_gap" if self.criteria == "log_gap" else "criteria"
        return (*type1, self.scale, criteria)

    def prior(self, parameter: str) -> Prior:
        """Prior of a parameter: the model's own, else the package's."""
        return self.priors.get(parameter, DEFAULT_PRIORS[parameter])

    def to_json(self) -> str:
        """Everything in one line of text, for the attrs of a fit; all priors are spelled out."""
        record = asdict(replace(self, priors={}))
        record["priors"] = {
            name: {"dist": prior.dist, **prior.parameters}
            for name, prior in ((name, self.prior(name)) for name in self.parameters)
        }
        return json.dumps(record)


def load_model(name_or_path: str | Path, **changes: Any) -> ModelSpec:
    """Read a model card.

    Parameters
    ----------
    name_or_path : str or Path
        A card of the package (`hmetad models` lists them), or the path of a TOML file.
    **changes
        Fields of the card to set otherwise, such as ``meta_criterion="absolute"``.

    Returns
    -------
    ModelSpec

    Raises
    ------
    InputError
        If there is no such card, or it does not say a legal model.

    Examples
    --------
    >>> load_model("individual").meta_criterion
    'relative'
    >>> load_model("hmetad_single", type1="plug_in").parameters
    ('meta_d', 'criteria')
    """
    path = card_path(name_or_path)
    try:
        card = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(str(path), f"no TOML ({error})", "a model card in TOML") from error
    card = {"name": path.stem, **card, **changes}
    legal = [f.name for f in fields(ModelSpec)]
    for key in card:
        if key not in legal:
            raise InputError(key, f"in model {path.stem!r}", ", ".join(legal), nearest(key, legal))
    priors = {name: as_prior(value) for name, value in card.pop("priors", {}).items()}
    spec = ModelSpec(**card)
    if changes:  # A change may do away with a parameter, and so with its prior on the card.
        priors = {name: prior for name, prior in priors.items() if name in spec.parameters}
    return replace(spec, priors=priors)


def with_priors(spec: ModelSpec, priors: Mapping[str, Prior | Mapping[str, Any]]) -> ModelSpec:
    """Copy of a model with some of its priors replaced, by parameter name."""
    new = {name: as_prior(value) for name, value in priors.items()}
    return replace(spec, priors={**spec.priors, **new})


def card_names() -> list[str]:
    """Names of the package's model cards, sorted."""
    return sorted(path.stem for path in models_folder().glob("*.toml"))


def card_path(name_or_path: str | Path) -> Path:
    """File of a card, from its name or its path."""
    path = Path(name_or_path)
    if path.suffix == ".toml":
        if path.is_file():
            return path
        raise InputError("model", f"{str(path)!r}, which is no file", "a card's name or path")
    if str(name_or_path) not in card_names():
        names = card_names()
        raise InputError(
            "model", repr(str(name_or_path)), ", ".join(names), nearest(str(name_or_path), names)
        )
    return models_folder() / f"{name_or_path}.toml"


def models_folder() -> Path:
    """Folder of the cards: in an installed package inside it, in a checkout beside it."""
    package = Path(str(files("hmetad")))
    inside = package / "models"
    return inside if inside.is_dir() else package.parent / "models"


def as_prior(value: Prior | Mapping[str, Any]) -> Prior:
    """Prior from the form a TOML card has it in: ``{dist = "Normal", mu = 0, sigma = 1}``."""
    if isinstance(value, Prior):
        return value
    if not isinstance(value, Mapping) or "dist" not in value:
        allowed = 'Prior("Normal", mu=0, sigma=1), or {"dist": "Normal", "mu": 0, "sigma": 1}'
        raise InputError("priors", repr(value), allowed)
    return Prior(**value)
