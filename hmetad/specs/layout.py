"""The variables of a model on a table of cells: names, roles, dims, priors, places.

ModelSpec and its formulas on the cells → Layout, with dims such as ``subject__factor_dim``. PyMC's
model, the compiled density and the places where chains begin are made of the same Layout.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.errors import CardError
from hmetad.base.variable_roles import FACTOR_DIM, Identity, Role
from hmetad.likelihood.family import SIGMA, Parameter
from hmetad.likelihood.priors import POSITIVE, Prior
from hmetad.specs.design import Block, Design, Labels
from hmetad.specs.formula import parse_formula
from hmetad.specs.spec import (
    CORRELATION,
    LOADING,
    SHIFT,
    SPREAD,
    ModelSpec,
    free_priors,
    refuse_unknown_priors,
)

type Integers = NDArray[np.int64]
type Coords = dict[str, list[object]]

# From a free value to the variable: itself, its exponential or logistic function, or its absolute
# value.
LINK_IDENTITY, LINK_EXP, LINK_LOGISTIC, LINK_FOLDED = range(4)
FOLLOWING = ("effect", "correlation")
# Priors of a standard deviation of which the half above 0 counts.
EVEN = ("HalfNormal", "StudentT")


@dataclass(frozen=True)
class Variable:
    """A variable of a model.

    Parameters
    ----------
    name : str
        In the posterior.
    identity : Identity
        Parameter, term, factor and role: a value of every ``"cell"`` or a ``"hyperparameter"`` of
        them; of a formula a ``"coefficient"``, or of a pair of brackets a ``"sd"``, the
        ``"partial"`` correlations as (partial correlation + 1)/2 and the ``"offset"`` that effects
        are made of; ``"effect"`` and ``"correlation"`` follow from these.
    dims : tuple of str
    shape : tuple of int
    prior : Prior or None
        Where it has one of its own.
    first : int
        Place of its first element in the vector of free values; -1 where it follows from others.
    is_integrated : bool, optional
        Whether the effects that it is of are integrated out, and have no offsets.
    """

    name: str
    identity: Identity
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    prior: Prior | None
    first: int
    is_integrated: bool = False

    @property
    def role(self) -> Role:
        """Its role alone."""
        return self.identity.role

    @property
    def size(self) -> int:
        """Number of its elements."""
        return int(np.prod(self.shape, dtype=int))

    @property
    def elements(self) -> Integers:
        """Places of its elements in the vector of free values, of its shape."""
        return self.first + np.arange(self.size).reshape(self.shape)

    @property
    def link(self) -> int:
        """From the free values to the variable."""
        if self.role == "partial":
            return LINK_LOGISTIC
        # Densities that are even are smooth at 0; others have an edge there.
        is_even = self.prior is not None and self.prior.dist in EVEN
        if self.role == "sd" and is_even and not self.is_integrated:
            return LINK_FOLDED
        is_positive = self.prior is not None and self.prior.is_positive
        return LINK_EXP if is_positive else LINK_IDENTITY


@dataclass(frozen=True)
class BlockLayout:
    """Variables of a pair of brackets: of each term a standard deviation and the effects.

    Offsets, and in compiled code the deviations that they make, come group by group, and within
    a group effect by effect in the order of the terms; a parameter's own dims, such as the
    response, run fastest.
    """

    block: Block
    sds: tuple[Variable, ...]
    effects: tuple[Variable, ...]
    offset: Variable
    partial: Variable | None
    correlation: Variable | None


@dataclass(frozen=True)
class FormulaLayout:
    """Variables of a formula: of each common term the coefficients; blocks of few groups first."""

    design: Design
    coefficients: tuple[Variable, ...]
    blocks: tuple[BlockLayout, ...]


@dataclass(frozen=True)
class IntegratedLayout:
    """Variables of a factor that is integrated out: of one or two effects a level.

    Parameters
    ----------
    factor : str
    parameters : tuple of str
        What its levels have an effect on.
    sds : tuple of Variable
        Of each effect, but for one whose standard deviation is 1.
    partial, correlation : Variable or None
        Of two effects.
    loadings : tuple of Variable, optional
        Of each effect the logarithms of how far the cells follow it, with any mean.
    """

    factor: str
    parameters: tuple[str, ...]
    sds: tuple[Variable, ...]
    partial: Variable | None
    correlation: Variable | None
    loadings: tuple[Variable, ...] = ()


@dataclass(frozen=True)
class Layout:
    """All variables of a model on a table of cells.

    Parameters
    ----------
    variables : tuple of Variable
        In the order in which they are drawn, parameter by parameter.
    formulas : mapping of str to FormulaLayout
        By parameter.
    own : mapping of str to tuple of Variable
        Of a parameter without a formula the values of the cells, and their hyperparameters.
    priors : mapping of str to Prior
        Of every variable that takes one, by its name in the posterior.
    coords : mapping of str to list
        Labels of all dims.
    dims : mapping of str to Identity
        Dims of coefficients with their terms, and dims of groups with their factors.
    integrated : IntegratedLayout, optional
        Variables of the factor that is integrated out.
    """

    variables: tuple[Variable, ...]
    formulas: Mapping[str, FormulaLayout]
    own: Mapping[str, tuple[Variable, ...]]
    priors: Mapping[str, Prior]
    coords: Mapping[str, list[object]]
    dims: Mapping[str, Identity]
    integrated: IntegratedLayout | None = None

    @property
    def free(self) -> tuple[Variable, ...]:
        """Variables that are sampled, in the order of the vector of free values."""
        return tuple(v for v in self.variables if v.role not in FOLLOWING)

    @property
    def size(self) -> int:
        """Number of free values."""
        return sum(variable.size for variable in self.free)

    @property
    def offset_names(self) -> set[str]:
        """Names of the variables that effects are made of while they are sampled."""
        return {variable.name for variable in self.variables if variable.role == "offset"}

    def variable(self, role: Role, parameter: str, term: str = "", factor: str = "") -> Variable:
        """The variable with this role, parameter, term and factor."""
        wanted = Identity(role, parameter, term, factor)
        return next(variable for variable in self.variables if variable.identity == wanted)


def effect_labels(block: Block) -> NDArray[np.str_]:
    """Names of the effects of a block, one for each column."""
    if len(block.terms) == 1 and block.terms[0].labels is not None:
        return block.terms[0].labels
    found: list[str] = []
    for term in block.terms:
        labels = term.labels
        found += [term.name] if labels is None else [f"{term.name}[{x}]" for x in labels]
    return np.array(found)


def label_dim(coords: Coords, parameter: str, dim: str, labels: Labels) -> tuple[str, ...]:
    """Dim of these labels, which `coords` has from then on; none where there are no labels.

    Parameters share a dim where its labels are the same; else its name begins with the parameter.
    """
    if labels is None:
        return ()
    own: list[object] = [str(label) for label in labels]
    for name in dim_names(parameter, dim):
        if coords.setdefault(name, own) == own:
            return (name,)
    raise AssertionError(f"{parameter}_{dim} stands for two sets of labels")


def dim_names(parameter: str, dim: str) -> tuple[str, str]:
    """Name of a dim that parameters share, and of the parameter's own where labels differ."""
    return dim, f"{parameter}_{dim}"


def layout_of(
    counts: xr.DataArray,
    spec: ModelSpec,
    designs: Mapping[str, Design],
    integrated: tuple[str, tuple[str, ...], bool] | None = None,
) -> Layout:
    """Variables of a model on the cells of a count table.

    Parameters
    ----------
    counts : DataArray
        Count table, dims (cell, stimulus, response, rating).
    spec : ModelSpec
    designs : mapping of str to Design
        Its formulas, evaluated on the cells.
    integrated : tuple, optional
        Factor that is integrated out, parameters on which its levels have an effect, and whether
        cells have loadings.

    Returns
    -------
    Layout

    Raises
    ------
    InputError
        If the model has a prior for a variable that is not among them, a correlation has one of
        a number or a number one of a correlation, or a standard deviation one of any sign.
    """
    coords: Coords = {str(dim): [*counts[dim].values] for dim in counts.dims}
    if "rating" in counts.dims:
        further = spec.record.layout.further_labels(counts.sizes["rating"])
        coords |= {dim: [*own] for dim, own in further.items()}
    draft = Draft(spec, coords, {}, [], {})
    formulas, own = dict[str, FormulaLayout](), dict[str, tuple[Variable, ...]]()
    for parameter in spec.record.parameters:
        if parameter.name in designs:
            formulas[parameter.name] = add_formula(draft, parameter, designs[parameter.name])
        else:
            own[parameter.name] = add_own(draft, parameter)
    of_items = add_integrated(draft, *integrated) if integrated else None
    refuse_unfit_priors(spec, draft)
    priors = {**draft.defaults, **spec.priors}
    return Layout(tuple(draft.variables), formulas, own, priors, coords, draft.dims, of_items)


class Draft(NamedTuple):
    """A layout while it is written; default priors by name in the posterior."""

    spec: ModelSpec
    coords: Coords
    defaults: dict[str, Prior]
    variables: list[Variable]
    dims: dict[str, Identity]

    def add(
        self,
        identity: Identity,
        dims: tuple[str, ...],
        prior: Prior | None = None,
        plain: str = "",
        prior_of: str = "",
        *,
        is_integrated: bool = False,
    ) -> Variable:
        """Add a variable; a plain name other than that of its identity; where it has its prior.

        The model's own prior goes before the default.
        """
        plain = plain or identity.name
        name = self.spec.named(plain)
        if prior is not None:
            key = self.spec.named(prior_of or plain)
            self.defaults[key] = prior
            prior = self.spec.priors.get(key, prior)
        shape = tuple(len(self.coords[dim]) for dim in dims)
        taken = sum(one.size for one in self.variables if one.first >= 0)
        first = -1 if identity.role in FOLLOWING else taken
        self.variables.append(Variable(name, identity, dims, shape, prior, first, is_integrated))
        return self.variables[-1]


def add_own(draft: Draft, parameter: Parameter) -> tuple[Variable, ...]:
    """Variables of a parameter that each cell has of its own."""
    dims, priors = ("cell", *parameter.dims), free_priors(draft.spec, parameter.name)
    name, identity = parameter.name, Identity("cell", parameter.name)
    if parameter.hyperpriors:
        values = draft.add(identity, dims, plain=parameter.variable)
        of_all = Identity("hyperparameter", name)
        return (values, *(draft.add(of_all, (), own, plain) for plain, own in priors.items()))
    # The prior of criteria says their mean and SD; the values are gaps between them.
    return (draft.add(identity, dims, priors[name], parameter.variable, prior_of=name),)


def add_formula(draft: Draft, parameter: Parameter, design: Design) -> FormulaLayout:
    """Variables of a parameter with a formula."""
    name, coefficients = parameter.name, []
    for term in design.common:
        own = label_dim(draft.coords, name, f"{term.name}_dim", term.labels)
        draft.dims.update(dict.fromkeys(own, Identity("coefficient", "", term.name)))
        prior = parameter.prior if term.is_level else parameter.slope
        identity = Identity("coefficient", name, term.name)
        coefficients.append(draft.add(identity, (*own, *parameter.dims), prior))
    blocks = [add_block(draft, parameter, block) for block in design.by_size]
    return FormulaLayout(design, tuple(coefficients), tuple(blocks))


def add_block(draft: Draft, parameter: Parameter, block: Block) -> BlockLayout:
    """Variables of a pair of brackets."""
    name, extra = parameter.name, parameter.dims

    def dim_of(end: str, labels: Labels) -> tuple[str, ...]:
        return label_dim(draft.coords, name, end, labels)

    def identity(role: Role, term: str = block.written) -> Identity:
        return Identity(role, name, term, block.factor)

    inner = [dim_of(f"{term.name}__expr_dim", term.labels) for term in block.terms]
    sds = [
        draft.add(identity("sd", t.name), (*own, *extra), parameter.sigma)
        for t, own in zip(block.terms, inner, strict=True)
    ]
    partial = correlation = None
    labels = None if block.is_single else effect_labels(block)
    end = "effect" if block.is_correlated else "offset"
    if labels is not None and block.is_correlated:
        pairs = [f"{i + 1},{j + 1}" for i in range(len(labels)) for j in range(i)]
        own_dim = f"{identity('partial').name}_dim"
        draft.coords[own_dim] = [*pairs]
        partial = draft.add(identity("partial"), (own_dim,))
        rows, columns = (dim_of(f"{block.name}__{end}", labels) for end in ("effect", "effect_bis"))
        correlation = draft.add(identity("correlation"), (*rows, *columns), CORRELATION)
    groups = dim_of(f"{block.factor}{FACTOR_DIM}", block.groups)
    draft.dims[groups[0]] = Identity("effect", "", "", block.factor)
    dims = (*groups, *dim_of(f"{block.name}__{end}", labels), *extra)
    offset = draft.add(identity("offset"), dims)
    effects = [
        draft.add(identity("effect", term.name), (*groups, *own, *extra))
        for term, own in zip(block.terms, inner, strict=True)
    ]
    return BlockLayout(block, tuple(sds), tuple(effects), offset, partial, correlation)


def add_integrated(
    draft: Draft, factor: str, parameters: tuple[str, ...], has_loadings: bool
) -> IntegratedLayout:
    """Variables of a factor that is integrated out."""
    of_sds = [name for name in parameters if name != SHIFT]
    spreads = [SIGMA if p == SPREAD else draft.spec.record.parameter(p).sigma for p in of_sds]
    sds = tuple(
        draft.add(Identity("sd", parameter, "1", factor), (), prior, is_integrated=True)
        for parameter, prior in zip(of_sds, spreads, strict=True)
    )
    partial = correlation = None
    if len(parameters) > 1:
        partial = draft.add(Identity("partial", "", "1", factor), ())
        correlation = draft.add(Identity("correlation", "", "1", factor), (), CORRELATION)
    of_loadings = [Identity("loading", parameter, "", factor) for parameter in parameters]
    # A prior of loadings is legal where data decide against them.
    named = [draft.spec.named(one.name) for one in of_loadings]
    draft.defaults.update({name: LOADING for name in named if name in draft.spec.priors})
    loadings = tuple(draft.add(one, ("cell",), LOADING) for one in of_loadings if has_loadings)
    return IntegratedLayout(factor, parameters, sds, partial, correlation, loadings)


def refuse_unfit_priors(spec: ModelSpec, draft: Draft) -> None:
    """Raise where a model has a prior that its variable cannot have."""
    defaults = draft.defaults
    refuse_unknown_priors(spec, defaults)
    sds = {one.name for one in draft.variables if one.role == "sd"}
    # HMeta-d's SD of criteria is a hyperparameter.
    hyper = [own for p in spec.record.parameters for own in p.hyperpriors.items()]
    sds |= {spec.named(name) for name, prior in hyper if prior.is_positive}
    for name, prior in spec.priors.items():
        allowed = ""
        if (prior.dist == "LKJ") != (defaults[name].dist == "LKJ"):
            allowed = f"as {defaults[name].dist}"
        # PyMC's model, which fits of counts have too, has no half of another.
        legal = POSITIVE if spec.record.has_ratings else (*POSITIVE, "StudentT")
        if name in sds and prior.dist not in legal:
            allowed = f"{', '.join(legal)}: a standard deviation is positive"
        if allowed:
            raise CardError(f"prior of {name}", prior.dist, allowed)


def pooled_over(spec: ModelSpec) -> dict[str, str]:
    """Grouping factors of each quantity of a cell, joined by " and "; of pooled quantities alone.

    Source: Boehm et al. (2018), for what goes wrong when such estimates are tested.

    Examples
    --------
    >>> from hmetad.specs.loading import load_model
    >>> pooled_over(load_model("group"))["m_ratio"]
    'subject'
    >>> pooled_over(load_model("individual"))
    {}
    """
    named: dict[str, dict[str, None]] = {}
    for parameter, formula in spec.formula.items():
        for group in parse_formula(formula).group_terms:
            # As they are written: lab/subject is lab, and lab with subject.
            inner = [columns[len(outer) :] for outer, columns in pairwise([(), *group.factors])]
            written = "/".join(":".join(columns) for columns in inner)
            named.setdefault(parameter, {})[written] = None
    return {
        name: " and ".join(named[quantity.parameter])
        for name, quantity in spec.record.results.items()
        if quantity.parameter in named
    }
