"""A model as data: the frozen record that a model card maps onto.

Fields of a card → ModelSpec. Defaults of priors and choices are those of its likelihood's record.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import xarray as xr

from hmetad.base.arguments import check_inputs, fits, of_type
from hmetad.base.errors import CardError, RepeatError, nearest
from hmetad.base.frozen import FrozenMapping, freeze
from hmetad.base.untrusted import parse_json
from hmetad.base.variable_roles import Identity
from hmetad.likelihood.family import Family
from hmetad.likelihood.priors import Prior
from hmetad.likelihood.registry import load_likelihood
from hmetad.specs.formula import block_factors, formula_columns, parse_formula, term_names

CORRELATION = Prior("LKJ", eta=2)
# Logarithm of how far an observer follows an effect of items, before the mean of all is subtracted,
# which fixes the scale. J - 1 free values would do, but no choice of them treats observers alike;
# of J values only the prior moves the mean, which is exactly standard normal once whitened.
LOADING = Prior("Normal", mu=0, sigma=0.5)
# Logarithm of a factor of all criteria of a cell, 0 but for effects of items.
SPREAD = "log_spread"
# Shift of the evidence of a cell, 0 but for the effects of items, which are standard normal, and
# the logarithm of what they are multiplied by.
SHIFT, ITEM_SD = "item_shift", "log_item_sd"
# What items alone have.
OF_ITEMS = (SPREAD, SHIFT)
# Fields of a card that hold text, and those that hold tables.
TEXTS = ("name", "title", "question", "reference")
TABLES = ("formula", "names", "priors", "example")
TABLES_OF_TEXT = ("formula", "names")
MAX_TEXT = 10_000
MAX_NAME = 200


@dataclass(frozen=True, init=False)
class ModelSpec:
    """A complete model: all that `build_model` needs next to the counts.

    Parameters
    ----------
    name, title, question, reference : str
        Name of the card, its description, its question, and its source.
    likelihood : str
        One M for both responses and evidence of equal variance (``"meta-d"``), an M for each
        response (``"response-conditional"``), log s, s = σ_S1/σ_S2, as a further parameter
        (``"unequal-variance"``), or another by its name.
    choices : mapping of str to str
        Choices that the likelihood offers. For meta-d′:

        - meta_criterion : ``"relative"`` (κ = M·c) or ``"absolute"`` (κ = c).
        - scale : the quantity that carries the prior, ``"log_m"``, ``"m"``, or ``"meta_d"``.
        - criteria : type-2 criteria by log gaps (``"log_gap"``), or as HMeta-d has them: sorted
          draws of a normal, which is given (``"sorted_normal"``, single subjects), or whose mean
          and SD are estimated for all cells (``"group_sorted_normal"``).
        - type1 : d′ and c estimated with the rest (``"joint"``), or set to their values from
          counts + 1/(2K) (``"plug_in"``).
    formula : mapping of str to str
        By parameter, in Wilkinson's notation: ``{"log_m": "1 + task + (1 + task | subject)"}``. A
        parameter without one has its own value, with its own prior, in every cell.
    factors : tuple of str
        Columns that are levels if a formula names them alone, whatever their type: the tasks 1, 2
        and 3 have separate values, not a slope.
    between : tuple of str
        Columns that vary between participants: each participant has one level.
    names : mapping of str to str
        Other names for variables of the posterior, such as HMeta-d's.
    priors : mapping of str to Prior
        Only those that differ from the defaults, by variable of the posterior.
    example : mapping
        A small design, as arguments of `simulate_counts`.
    loadings : bool
        For observers crossed with items whose effects are integrated out: whether each observer has
        separate loadings on these effects if this predicts items clearly better.
    **own_choices : str
        Choices by name, as in cards: ``meta_criterion="absolute"``.

    Raises
    ------
    InputError
        If a word is not a legal one, a field has an incorrect type, a formula is for a parameter
        that the model lacks, or HMeta-d's criteria or meta-d′ have no normal prior.

    Notes
    -----
    The tables are copied, and cannot be changed afterwards; `dataclasses.replace` makes another
    record. Records that are equal have equal hashes.

    Examples
    --------
    >>> model = ModelSpec("mine", formula={"log_m": "1 + (1 | subject)"}, scale="log_m")
    >>> model.parameters, model.choices["meta_criterion"]
    (('dprime', 'c', 'log_m', 'log_gap'), 'relative')
    """

    name: str
    title: str
    question: str
    reference: str
    likelihood: str
    choices: Mapping[str, str]
    formula: Mapping[str, str]
    factors: tuple[str, ...]
    between: tuple[str, ...]
    names: Mapping[str, str]
    priors: Mapping[str, Prior]
    example: Mapping[str, Any]
    loadings: bool

    def __init__(
        self,
        name: str,
        title: str = "",
        question: str = "",
        reference: str = "",
        likelihood: str = "meta-d",
        choices: Mapping[str, str] | None = None,
        formula: Mapping[str, str] | None = None,
        names: Mapping[str, str] | None = None,
        priors: Mapping[str, Prior] | None = None,
        example: Mapping[str, Any] | None = None,
        factors: Sequence[str] = (),
        between: Sequence[str] = (),
        loadings: bool = False,
        **own_choices: str,
    ) -> None:
        texts = {"name": name, "title": title, "question": question, "reference": reference}
        tables = {"formula": formula, "names": names, "priors": priors, "example": example}
        given: dict[str, object] = {**texts, "factors": factors, "between": between}
        given["loadings"] = loadings
        given |= {key: {} if table is None else table for key, table in tables.items()}
        refuse_wrong_kinds(given)
        made = {**(choices or {}), **own_choices}
        refuse_unknown_fields(made, likelihood)
        record = load_likelihood(likelihood, **made)
        for key, value in given.items():
            object.__setattr__(self, key, freeze(value, key))
        object.__setattr__(self, "likelihood", likelihood)
        object.__setattr__(self, "choices", FrozenMapping(record.chosen))
        self.refuse_unfit_tables()

    def refuse_unfit_tables(self) -> None:
        """Raise where formulas, names or priors are not those of the likelihood."""
        for parameter, formula in self.formula.items():
            if parameter not in self.formula_names:
                legal = ", ".join(self.formula_names)
                hint = nearest(parameter, self.formula_names)
                raise CardError("formula", f"{parameter!r} for model {self.name!r}", legal, hint)
            parse_formula(formula, f"formula of {parameter}")
        try:
            json.dumps(self.example, default=dict, allow_nan=False)
        except (TypeError, ValueError):
            # Such as a date, which no card and no saved fit can hold.
            allowed = "numbers, text, and lists or tables of them"
            raise CardError("example", repr(self.example)[:80], allowed) from None
        results = self.record.results
        taken = {"cell", "chain", "draw", *self.record.layout.sizes(2), *results}
        for variable, name in self.names.items():
            argument, is_text = f"name of {variable}", name.isprintable() and "/" not in name
            allowed = f"a name of 1 to {MAX_NAME} characters without '/' that no dim or result has"
            if name != variable and variable in results:
                said = "Results cannot be renamed; group terms and their SDs can."
                raise CardError(argument, repr(name)[:80], f"{variable!r} itself", said)
            is_taken = name != variable and name in taken
            if is_taken or not is_text or not 0 < len(name) <= MAX_NAME:
                raise CardError(argument, repr(name)[:80], allowed, "Choose another in [names].")
        for own in self.record.parameters:
            dist = self.priors[own.name].dist if own.name in self.priors else "Normal"
            if (own.prior_centre or own.truncated_at) and dist != "Normal":
                raise CardError(f"prior of {own.name}", dist, "Normal, as HMeta-d has it")

    @property
    def record(self) -> Family:
        """Family of its likelihood, with the choices that this model makes."""
        return load_likelihood(self.likelihood, **self.choices)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters, in the order of the model."""
        return tuple(parameter.name for parameter in self.record.parameters)

    @property
    def formula_parameters(self) -> tuple[str, ...]:
        """Names of those parameters that can have a formula."""
        return tuple(p.name for p in self.record.parameters if p.has_formula)

    @property
    def formula_names(self) -> tuple[str, ...]:
        """What formulas can be of: those parameters, and log_spread or item_shift, of items."""
        own = self.formula_parameters
        if SHIFT in self.record.from_counts:
            return (*own, SHIFT)
        return (*own, SPREAD) if "log_gap" in own else own

    def extra_dims(self, parameter: str) -> tuple[str, ...]:
        """Dims of a parameter next to the cell."""
        return () if parameter in OF_ITEMS else self.record.parameter(parameter).dims

    def named(self, variable: str) -> str:
        """Name that a variable bears in the posterior."""
        return self.names.get(variable, variable)

    def to_json(self) -> str:
        """Everything in one line of text, for the attrs of a fit."""
        record: dict[str, Any] = {}
        for name in (field.name for field in fields(self)):
            value = getattr(self, name)
            record |= value if name == "choices" else {name: value}
        record["priors"] = {
            name: {"dist": prior.dist, **prior.parameters} for name, prior in self.priors.items()
        }
        return json.dumps(record, default=dict)

    @classmethod
    def from_json(cls, text: object) -> "ModelSpec":
        """Read what `to_json` wrote, with the checks of a model card."""
        record = parse_json(text, "spec")
        if not isinstance(record, dict) or not isinstance(record.get("name"), str):
            raise CardError("spec", repr(text)[:80], "the record of a model, with its name")
        return cls(**record | {"priors": as_priors(record.get("priors", {}))})


def with_changes(
    spec: ModelSpec,
    *,
    formula: str | Sequence[str] | Mapping[str, str] | None = None,
    priors: Mapping[str, Prior | Mapping[str, Any]] | None = None,
    **fields_to_set: Any,
) -> ModelSpec:
    """Copy of a model with some of its fields set otherwise.

    Parameters
    ----------
    spec : ModelSpec
    formula : str, sequence of str, or mapping of str to str, optional
        Formulas to use in place of the model's, as `formulas_of` reads them.
    priors : mapping of str to Prior, optional
        Priors to use in place of the model's, by variable.
    **fields_to_set
        Other fields of `ModelSpec`.

    Returns
    -------
    ModelSpec
        Formulas of parameters that are gone, and the model's own priors of parameters that are
        gone or have a new formula, are left out. M on another scale keeps its formula.
    """
    refuse_unknown_fields(fields_to_set, fields_to_set.get("likelihood", spec.likelihood))
    kept_choices = spec.choices
    if "likelihood" in fields_to_set:
        legal = {choice.name for choice in load_likelihood(fields_to_set["likelihood"]).choices}
        kept_choices = {name: x for name, x in spec.choices.items() if name in legal}
    bare = replace(spec, **{"choices": kept_choices, "formula": {}, "priors": {}} | fields_to_set)
    new_formulas = formulas_of({} if formula is None else formula, bare)
    old_formulas = {n: f for n, f in spec.formula.items() if n in bare.formula_names}
    if new_formulas.get(SPREAD, "").strip() == "0":
        # Without effects of items on confidence.
        old_formulas.pop(SPREAD, None)
        new_formulas = {n: f for n, f in new_formulas.items() if n != SPREAD}
    of_m, now = (one.record.parameter_of_interest for one in (spec, bare))
    is_same = bare.likelihood == spec.likelihood
    # M on another scale is pooled as before.
    if is_same and of_m in spec.formula and now in bare.formula_parameters:
        old_formulas[now] = spec.formula[of_m]
    # What a card says of its columns holds as long as a formula of its own names them.
    named = formula_columns(x for name, x in old_formulas.items() if name not in new_formulas)
    between = tuple(name for name in bare.between if name in named)
    changed = replace(bare, formula={**old_formulas, **new_formulas}, between=between)
    without_prior = {*spec.parameters} - {*changed.parameters} | {*new_formulas}
    old_priors = {**spec.priors}
    if old_priors:
        left = variables_with_prior(changed)
        # Unknown names stay, so that a check reports them.
        for plain, own in variables_with_prior(spec).items():
            if own.parameter in without_prior or plain not in left:
                old_priors.pop(spec.named(plain), None)
    return replace(changed, priors={**old_priors, **as_priors(priors or {})})


def formulas_of(given: str | Sequence[str] | Mapping[str, str], spec: ModelSpec) -> dict[str, str]:
    """Formulas by parameter; a text alone, or of "all", is that of every parameter without another.

    Examples
    --------
    >>> formulas_of(["1 + task", "c = 1"], ModelSpec("mine"))
    {'dprime': '1 + task', 'c': '1', 'log_m': '1 + task', 'log_gap': '1 + task'}
    """
    named: dict[str, str] = {}
    texts = [given] if isinstance(given, str) else given
    if not fits(texts, Sequence[str]):
        refuse_wrong_kinds({"formula": given})
        # Only mappings of texts are left, which mypy does not know.
        named, texts = {**given}, ()  # type: ignore[dict-item]
    for text in texts:
        # Options of functions have "=" too: T(task, ref='a').
        name, sign, formula = (part.strip() for part in text.partition("="))
        name, formula = (name, formula) if sign and name.isidentifier() else ("all", text)
        if name in named:
            raise RepeatError("formula", f"{name!r} twice", "each parameter once")
        named[name] = formula
    every = named.pop("all", None)
    if every is not None and spec.record.parameter_of_interest not in spec.formula_parameters:
        focus, own = spec.record.parameter_of_interest, ", ".join(spec.formula_parameters)
        got = f"{every!r} for all parameters, and {focus} of {spec.name!r} has no formula"
        raise CardError("formula", got, f"formulas by name, of {own}" if own else "none")
    return {**({} if every is None else dict.fromkeys(spec.formula_parameters, every)), **named}


@check_inputs()
def spec_of(fit: xr.DataTree) -> ModelSpec:
    """Model of a fit.

    Parameters
    ----------
    fit : DataTree
        From `hmetad.fit`.

    Returns
    -------
    ModelSpec

    Raises
    ------
    InputError
        If the tree has no record of its model.

    Examples
    --------
    >>> import hmetad
    >>> model = hmetad.load_model("individual")
    >>> spec_of(xr.DataTree(xr.Dataset(attrs={"spec": model.to_json()}))) == model
    True
    """
    return ModelSpec.from_json(fit.attrs.get("spec"))


def free_priors(spec: ModelSpec, parameter: str) -> Mapping[str, Prior]:
    """Default priors of a parameter that has no formula, by variable."""
    record = spec.record.parameter(parameter)
    return record.hyperpriors or {parameter: record.prior}


def variables_with_prior(spec: ModelSpec) -> dict[str, Identity]:
    """Variables that can take a prior, as far as they are known without cells.

    By their names before any is renamed.
    """
    formulas = (
        formula_variables(parameter, formula, may_correlate=not spec.extra_dims(parameter))
        for parameter, formula in spec.formula.items()
    )
    found = {one.name: one for own in formulas for one in own}
    for parameter in spec.record.parameters:
        if parameter.name not in spec.formula:
            one = Identity("hyperparameter" if parameter.hyperpriors else "cell", parameter.name)
            found |= dict.fromkeys(free_priors(spec, parameter.name), one)
    return found


def formula_variables(
    parameter: str, formula: str, *, may_correlate: bool = True
) -> list[Identity]:
    """Variables of a formula that take a prior, whatever the cells.

    The correlation of a block is included wherever its terms could have several columns; only the
    cells show whether they do.

    Examples
    --------
    >>> [one.name for one in formula_variables("log_m", "1 + a*b + (1 + age | subject)")]
    ['log_m_Intercept', 'log_m_a', 'log_m_b', 'log_m_a:b', 'log_m_1|subject_sigma', \
'log_m_age|subject_sigma', 'log_m_age|subject_corr']
    """
    argument = f"formula of {parameter}"
    parsed = parse_formula(formula, argument)
    if parameter == SHIFT:
        # Its standard deviation is 1.
        return []
    # log_gap has the mean of log_spread.
    common = [] if parameter == SPREAD else term_names(parsed.common, argument)
    found = [Identity("coefficient", parameter, term) for term in common]
    for group in parsed.group_terms:
        terms = ["1" if x == "Intercept" else x for x in term_names(group.expression, argument)]
        for factor in block_factors(group):
            found += [Identity("sd", parameter, term, factor) for term in terms]
            if group.is_correlated and may_correlate and terms != ["1"]:
                found.append(Identity("correlation", parameter, group.written, factor))
    return found


def refuse_unknown_priors(spec: ModelSpec, legal: Iterable[str]) -> None:
    """Raise where a model has a prior for a variable that is not among the legal ones."""
    names = list(legal)
    for name in spec.priors:
        if name not in names:
            hint = nearest(name, names)
            raise CardError("priors", repr(name), ", ".join(names), hint)


def refuse_wrong_kinds(given: Mapping[str, Any]) -> None:
    """Raise where a field of a model is not the text, list or table that it should be."""
    columns = list[str] | tuple[str, ...]
    kinds = {
        **dict.fromkeys(TEXTS, (str, f"text of at most {MAX_TEXT} characters")),
        **dict.fromkeys(("factors", "between"), (columns, "a list of columns, as text")),
        "loadings": (bool, "true or false"),
    }
    for name, value in given.items():
        table = f"a table: [{name}] in a card, a dict in Python"
        kind, allowed = kinds.get(name, (Mapping, table))
        if not fits(value, kind) or (name in TEXTS and len(value) > MAX_TEXT):
            raise CardError(name, repr(value)[:80], allowed)
        for key, entry in value.items() if name in TABLES_OF_TEXT else ():
            of_type(str)(f"{name} of {key}", entry)


def refuse_unknown_fields(given: Iterable[str], likelihood: str) -> None:
    """Raise where a card, or a change of it, has a field that models have not."""
    choices = [choice.name for choice in load_likelihood(likelihood).choices]
    legal = [*(field.name for field in fields(ModelSpec)), *choices]
    for key in given:
        if key not in legal:
            raise CardError("fields", repr(key), "those of a model card", nearest(key, legal))


def as_priors(given: Mapping[str, Any]) -> dict[str, Prior]:
    """Priors by variable, each from the form that a card has it in.

    In TOML that is ``{dist = "Normal", mu = 0, sigma = 1}``.
    """
    refuse_wrong_kinds({"priors": given})
    for value in given.values():
        if not isinstance(value, Prior) and not (isinstance(value, Mapping) and "dist" in value):
            allowed = 'Prior("Normal", mu=0, sigma=1), or {"dist": "Normal", "mu": 0, "sigma": 1}'
            raise CardError("priors", repr(value), allowed)
    return {name: x if isinstance(x, Prior) else Prior(**x) for name, x in given.items()}
