"""A family of models of confidence: what the package knows of one, the same for all.

Layout of outcomes, parameters, what follows from them, and the probability of every outcome →
Family. Priors, formulas, sampling, prediction, cross-validation and reports read this record, and
nothing else of a model.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from hmetad.base.frozen import FrozenMapping
from hmetad.likelihood.priors import Prior

# Arrays of NumPy or PyTensor: readable likelihoods use only what both have.
type Array = Any
type Values = Mapping[str, Array]
type Formula = Callable[[Values, Arrays], Array]

SLOPE = Prior("Normal", mu=0, sigma=1)
SIGMA = Prior("HalfNormal", sigma=1)


class Arrays:
    """Namespace of array functions, so that a formula is written once for NumPy and PyTensor.

    Those of the array API standard have their names there, and `log_ndtr` is log Φ: those given,
    else those of the module. `hmetad.likelihood.tensors` has the namespace of PyTensor.

    Parameters
    ----------
    module : module
        ``numpy`` or ``pytensor.tensor``.
    **functions
        What the module lacks, or has under another name.
    """

    def __init__(self, module: ModuleType, **functions: Any) -> None:
        self.module, self.functions = module, functions

    def __getattr__(self, name: str) -> Any:
        """Function of this name."""
        functions, module = (self.__dict__.get(x) for x in ("functions", "module"))
        return functions[name] if functions and name in functions else getattr(module, name)


NUMPY = Arrays(np, log_ndtr=log_ndtr, concat=np.concatenate)


@dataclass(frozen=True)
class OutcomeLayout:
    """Axes of what can happen in a trial, and of what parameters have next to the cell.

    Parameters
    ----------
    axes : mapping of str to tuple of str
        Labels by name, in the order of a count table's dims after the cell. Ratings have none
        here: they are 1 to K.
    given : tuple of str, optional
        First axes, whose numbers of trials are the experimenter's: probabilities sum to 1 over
        the others.
    others : mapping of str to tuple of str, optional
        Further dims that parameters and quantities may have, next to ``"criterion"``, 1 to K - 1,
        and ``"criterion_gap"``, of which k lies between criteria k - 1 and k.
    fewest_ratings : int, optional
        Number of ratings below which a table says nothing of the model; 1 where responses alone
        are enough.

    Examples
    --------
    >>> TWO_ALTERNATIVES.dims, TWO_ALTERNATIVES.shape(4), TWO_ALTERNATIVES.sizes(4)["criterion_gap"]
    (('stimulus', 'response', 'rating'), (2, 2, 4), 2)
    """

    axes: Mapping[str, tuple[str, ...]]
    given: tuple[str, ...] = ("stimulus",)
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fewest_ratings: int = field(default=2, compare=False)

    def __post_init__(self) -> None:
        for name in ("axes", "others"):
            object.__setattr__(self, name, FrozenMapping(getattr(self, name)))

    def __repr__(self) -> str:
        return f"OutcomeLayout of {', '.join(self.axes)}"

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the axes."""
        return tuple(self.axes)

    @property
    def answers(self) -> tuple[str, ...]:
        """Axes over which probabilities sum to 1."""
        return tuple(name for name in self.axes if name not in self.given)

    def labels(self, ratings: int) -> dict[str, list[str] | list[int]]:
        """Labels of the axes, at K ratings."""
        return {name: [*own] or [*range(1, ratings + 1)] for name, own in self.axes.items()}

    def further_labels(self, ratings: int) -> dict[str, list[str] | list[int]]:
        """Labels of dims that are no axes, at K ratings."""
        criteria = {"criterion": [*range(1, ratings)], "criterion_gap": [*range(2, ratings)]}
        return {**criteria, **{name: [*own] for name, own in self.others.items()}}

    def sizes(self, ratings: int) -> dict[str, int]:
        """Sizes of all dims, at K ratings."""
        every = self.labels(ratings) | self.further_labels(ratings)
        return {name: len(own) for name, own in every.items()}

    def shape(self, ratings: int) -> tuple[int, ...]:
        """Shape of the outcomes of a cell, at K ratings."""
        return tuple(map(len, self.labels(ratings).values()))


TWO_ALTERNATIVES = OutcomeLayout({"stimulus": ("S1", "S2"), "response": ("S1", "S2"), "rating": ()})


@dataclass(frozen=True)
class Parameter:
    """A parameter of every cell: what priors and formulas are about.

    Parameters
    ----------
    name : str
        Such as ``"log_m"``: on the scale on which it is normal between participants.
    description : str
        What it is, in a few words.
    prior : Prior
        Default prior of its value in a cell, and of an intercept or level mean of a formula.
    dims : tuple of str, optional
        Dims next to the cell, of the layout: ``"response"``, ``"criterion"``, ``"criterion_gap"``.
    slope, sigma : Prior, optional
        Default priors of differences and slopes, and of standard deviations between groups.
    has_formula : bool, optional
        Whether it may have a formula.
    prior_centre : str, optional
        A parameter or quantity before it, whose value is added to the mean of the prior.
    truncated_at : str, optional
        HMeta-d only: criteria are sorted draws of a normal distribution that is truncated at this
        quantity. The variable of the parameter is then ``log_gap``.
    hyperpriors : mapping of str to Prior, optional
        HMeta-d only, with `truncated_at`: priors of the mean and the SD of that distribution, by
        name, if they are estimated. Without them `prior` sets mean and SD.
    in_posterior : bool, optional
        Whether fits keep its values in the cells where it has a formula. False if a stored quantity
        contains them.
    ratings_needed : int, optional
        Number of ratings below which counts do not identify it.
    levels_needed : int, optional
        Number of values of d′, with one c and the same criteria, below which counts do not identify
        it.
    link : str, optional
        Scale of its values: ``"identity"``, or ``"log"``, ``"logit"`` or ``"fisher_z"``, which are
        logarithms and have no log ratio.
    """

    name: str
    description: str
    prior: Prior
    dims: tuple[str, ...] = ()
    slope: Prior = SLOPE
    sigma: Prior = SIGMA
    has_formula: bool = True
    prior_centre: str = ""
    truncated_at: str = ""
    hyperpriors: Mapping[str, Prior] = field(default_factory=dict)
    in_posterior: bool = True
    ratings_needed: int = 1
    levels_needed: int = 1
    link: str = "identity"

    @property
    def variable(self) -> str:
        """Name of the variable that is sampled if there is no formula."""
        return "log_gap" if self.truncated_at else self.name


@dataclass(frozen=True)
class Quantity:
    """Quantity of a model in every cell: a parameter, or a function of parameters.

    Parameters
    ----------
    name : str
        The variable in fits, and the key in the values that `compute` gets.
    description, unit : str, optional
        In a few words; ``"1"`` if there is no unit.
    dims : tuple of str, optional
        Dims next to the cell, of the layout: ``"response"``, ``"criterion"``, ``"criterion_gap"``.
    needs : tuple of str, optional
        Names of the parameters and quantities that it is computed from.
    compute : callable, optional
        Values by name, and a namespace of array functions → the quantity. None if it is a
        parameter, or set from the counts.
    parameter : str, optional
        The parameter whose formula pools this quantity: if it has random effects, notices report
        that values of cells are shrunken.
    convergence_of : tuple of str, optional
        Quantities that are checked for convergence instead of this one, wherever they are
        finite in all draws. For what is a function of them.
    always_finite : bool, optional
        False: it may be infinite or missing at some values of the parameters, as log M is.
    in_posterior : bool, optional
        False: it is intermediate, and not stored in fits.
    symbol : str, optional
        Its symbol in tables and on axes, once the likelihood is registered. Names in the package's
        table of results keep their symbols.
    link : str, optional
        Scale of its values, as of a parameter.
    """

    name: str
    description: str = ""
    unit: str = "1"
    dims: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    compute: Formula | None = None
    parameter: str = ""
    convergence_of: tuple[str, ...] = ()
    always_finite: bool = True
    in_posterior: bool = True
    symbol: str = ""
    link: str = "identity"


def intermediate(
    name: str, dims: tuple[str, ...], needs: tuple[str, ...], compute: Formula
) -> Quantity:
    """Quantity that others follow from, and that fits do not keep."""
    return Quantity(name, dims=dims, needs=needs, compute=compute, in_posterior=False)


@dataclass(frozen=True)
class Choice:
    """Something that a card chooses within a likelihood.

    Parameters
    ----------
    name, description : str
        ``"meta_criterion"``, and what it is called in a report.
    values : tuple of str
        What can be chosen; the first is the default. Without any, every name.
    """

    name: str
    description: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Family:
    """A model of confidence ratings.

    Parameters
    ----------
    name, title : str
        Name in cards, and a description in one sentence.
    parameters : tuple of Parameter
        In the order in which they are drawn.
    quantities : tuple of Quantity
        In the order in which they can be computed. The same name may occur twice with different
        needs: the first whose needs exist is computed.
    arguments : tuple of str
        Parameters and quantities that the probabilities depend on.
    log_probabilities : callable
        Values of the arguments, in their order, and a namespace ``xp`` → log-probabilities of
        outcomes, in the axes of the layout: log P(response, rating | stimulus). Arrays have leading
        dims in common, then the dims of the argument.
    parameter_of_interest : str
        The parameter that the model is for; `sensitivity` widens and narrows its priors.
    symbol : str
        Its name in `sensitivity` and in the check of a report: ``"M"``.
    plotted : str
        The quantity in the forest plot of a report, with its effective sample sizes.
    compared : str
        The default quantity of ``hmetad compare``.
    tabulated : tuple of str
        Quantities in the tables of estimates of a report and of ``hmetad fit``.
    method : str, optional
        How counts are modelled, after "Counts were modelled by ...:" in the method section of a
        report. ``{meta_criterion}`` is replaced by the choice; other braces stay.
    limits : str, optional
        What the estimates do not show, a paragraph of the method section.
    reference : tuple of float and str, optional
        A value of `plotted` that is drawn as a line, and its meaning.
    from_counts : tuple of str, optional
        Quantities that are set from the counts, and so are neither parameters nor computed:
        ``dprime``, ``c``, ``options``.
    choices : tuple of Choice, optional
        Choices of a card.
    chosen : mapping of str to str, optional
        Choices of this record, by name.
    choose : callable, optional
        Choices by name → Family. Needed where there are choices.
    alternatives : mapping of str to mapping, optional
        Choices to compare with the ones made, by name.
    layout : OutcomeLayout, optional
        Axes of the outcomes: by default two stimuli, two responses and ratings.
    kernel_module : str, optional
        Module with functions compiled by Numba: ``log_likelihood(counts, at, is_sloped)``, of
        counts (cells, …) and the arguments side by side (cells, columns), returns the
        log-likelihood of each cell and its derivatives by the columns; and optionally
        ``expected_information(trials, at)``. Without one, PyTensor differentiates
        `log_probabilities`.
    compiled_kernel : str, optional
        Name of a file of `hmetad.likelihood.kernels`, whose compiled log-likelihood fits and
        `fit_mle` take; derivatives by the parameters follow from `quantities`. With one, fits
        compile nothing.
    compiled_arguments : tuple of str and float, optional
        Quantities, or numbers, that it takes as columns; by default `arguments`.
    is_costly : bool, optional
        Whether a gradient takes so long that searches step by the expected information of
        `kernel_module`.
    """

    name: str
    title: str
    parameters: tuple[Parameter, ...]
    quantities: tuple[Quantity, ...]
    arguments: tuple[str, ...]
    log_probabilities: Callable[..., Array]
    parameter_of_interest: str
    symbol: str
    plotted: str
    compared: str
    tabulated: tuple[str, ...]
    method: str = ""
    limits: str = ""
    reference: tuple[float, str] | None = None
    from_counts: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    chosen: Mapping[str, str] = field(default_factory=dict)
    choose: Callable[..., "Family"] | None = None
    alternatives: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    layout: OutcomeLayout = TWO_ALTERNATIVES
    kernel_module: str = ""
    compiled_kernel: str = ""
    compiled_arguments: tuple[str | float, ...] = ()
    is_costly: bool = False
    # What `hmetad.likelihood.tape` made of it, by K.
    tapes: dict[int, NDArray[np.int64]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def has_ratings(self) -> bool:
        """Whether it is a model of counts of ratings, and not of estimates."""
        return "rating" in self.layout.axes

    @property
    def results(self) -> dict[str, Quantity]:
        """Quantities that fits have, by name."""
        return {q.name: q for q in self.quantities if q.in_posterior}

    @property
    def links(self) -> dict[str, str]:
        """Links of the quantities, and of the variables of parameters, that have one, by name."""
        named = [(q.name, q.link) for q in self.quantities]
        named += [(p.variable, p.link) for p in self.parameters]
        return {name: link for name, link in named if link != "identity"}

    def parameter(self, name: str) -> Parameter:
        """Parameter of this name."""
        return next(p for p in self.parameters if p.name == name)

    def dims(self, name: str) -> tuple[str, ...]:
        """Dims next to the cell of a parameter or quantity."""
        found: list[Parameter | Quantity] = [*self.parameters, *self.quantities]
        return next(one.dims for one in found if one.name == name)

    def shape(self, name: str, ratings: int) -> tuple[int, ...]:
        """Shape of a parameter or quantity in a cell, at K ratings."""
        sizes = self.layout.sizes(ratings)
        return tuple(sizes[dim] for dim in self.dims(name))

    def following(self, names: Iterable[str]) -> set[str]:
        """Names of what is known, and of all quantities that follow from it."""
        known = {*names}
        for quantity in self.quantities:
            if quantity.compute is not None and known.issuperset(quantity.needs):
                known.add(quantity.name)
        return known

    def derived(self, known: Values, xp: Arrays = NUMPY) -> dict[str, Array]:
        """Values known, and all quantities that follow from them.

        Parameters
        ----------
        known : mapping of str to array
            Parameters and quantities by name, with leading dims in common and then their own.
        xp : Arrays, optional
            Of NumPy or PyTensor.

        Returns
        -------
        dict of str to array
        """
        values = {name: xp.asarray(value) for name, value in known.items()}
        for quantity in self.quantities:
            is_open = quantity.name not in values and quantity.compute is not None
            if is_open and all(name in values for name in quantity.needs):
                assert quantity.compute is not None
                values[quantity.name] = quantity.compute(values, xp)
        return values

    def outcomes(self, known: Values, xp: Arrays = NUMPY) -> Array:
        """log P(response, rating | stimulus) from values that determine it.

        Parameters
        ----------
        known, xp
            As in `derived`.

        Returns
        -------
        array, shape (..., outcomes), the latter in the axes of the layout
            Of two alternatives (..., 2, 2, K): stimulus, response, rating.
        """
        values = self.derived(known, xp)
        return self.log_probabilities(*(values[name] for name in self.arguments), xp=xp)
