"""What the package knows of a model of confidence ratings: a record, the same for all.

Parameters, what follows from them, and the probability of every outcome → Likelihood. Priors,
formulas, sampling, prediction, cross-validation and reports read the record, and nothing else of
a model.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from hmetad.likelihood.arrays import NUMPY, Array, Arrays
from hmetad.likelihood.priors import Prior

__all__ = ["Choice", "Formula", "Likelihood", "Parameter", "Quantity", "Values"]

type Values = Mapping[str, Array]
SLOPE = Prior("Normal", mu=0, sigma=1)
SIGMA = Prior("HalfNormal", sigma=1)

type Formula = Callable[[Values, Arrays], Array]


@dataclass(frozen=True)
class Parameter:
    """A parameter of every cell: what priors and formulas are about.

    Parameters
    ----------
    name : str
        Such as ``"log_m"``: on the scale on which it is normal between people.
    description : str
        What it is, in a few words.
    prior : Prior
        Default prior of its value in a cell, and of an intercept or level mean of a formula.
    dims : tuple of str, optional
        Dims beside the cell: ``"response"``, ``"criterion"``.
    slope, sigma : Prior, optional
        Default priors of differences and slopes, and of standard deviations between groups.
    has_formula : bool, optional
        Whether it may have a formula.
    around : str, optional
        A parameter before it, about whose value the prior lies.
    beyond : str, optional
        A quantity beyond which its values are criteria, sorted draws of a normal distribution
        that is cut off there, as HMeta-d has them. Its variable is then ``log_gap``.
    estimated : mapping of str to Prior, optional
        With `beyond`: priors of that distribution's mean and SD, by name, where they are
        estimated; else they are those of `prior`.
    """

    name: str
    description: str
    prior: Prior
    dims: tuple[str, ...] = ()
    slope: Prior = SLOPE
    sigma: Prior = SIGMA
    has_formula: bool = True
    around: str = ""
    beyond: str = ""
    estimated: Mapping[str, Prior] = field(default_factory=dict)

    @property
    def variable(self) -> str:
        """Name of the variable that is sampled where there is no formula."""
        return "log_gap" if self.beyond else self.name

    def shape(self, ratings: int) -> tuple[int, ...]:
        """Shape of its values in a cell, at K ratings."""
        sizes = {"response": 2, "criterion": ratings - 1}
        return tuple(sizes[dim] for dim in self.dims)


@dataclass(frozen=True)
class Quantity:
    """Something that a model says of every cell: a parameter, or what follows from parameters.

    Parameters
    ----------
    name : str
    description, unit : str, optional
        In a few words; ``"1"`` where there is no unit.
    dims : tuple of str, optional
        Dims beside the cell.
    needs : tuple of str, optional
        Names of the parameters and quantities that it is computed from.
    compute : callable, optional
        Values by name, and a namespace of array functions → the quantity. None where it is a
        parameter, or given.
    parameter : str, optional
        The parameter that it is a value of: what is shrunk with it.
    same_as : tuple of str, optional
        Quantities that say the same. Where they are defined, the convergence of its draws is
        theirs, and is not judged again.
    is_defined : bool, optional
        Whether it is a finite number whatever the parameters.
    is_result : bool, optional
        Whether fits have it; else it only leads from parameters to probabilities.
    """

    name: str
    description: str = ""
    unit: str = "1"
    dims: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    compute: Formula | None = None
    parameter: str = ""
    same_as: tuple[str, ...] = ()
    is_defined: bool = True
    is_result: bool = True


@dataclass(frozen=True)
class Choice:
    """Something that a card chooses within a likelihood.

    Parameters
    ----------
    name, description : str
        ``"meta_criterion"``, and what it is called in a report.
    values : tuple of str
        What can be chosen; the first is the default.
    """

    name: str
    description: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Likelihood:
    """A model of confidence ratings.

    Parameters
    ----------
    name, title : str
        Name in cards, and what it is, in one sentence.
    parameters : tuple of Parameter
        In the order in which they are drawn.
    quantities : tuple of Quantity
        In the order in which they can be computed. The same name may come twice, with other
        needs: the first whose needs are there is computed.
    arguments : tuple of str
        Parameters and quantities that the probabilities depend on.
    log_probabilities : callable
        Values of the arguments, in their order, and a namespace ``xp`` → log P(response, rating |
        stimulus), shape (..., stimulus, response, rating). Arrays have leading dims in common,
        then the dims of the argument.
    focus, symbol : str
        The parameter that the model is used to learn of, and what texts call it.
    main, judged : str
        The quantity that figures show, and the one that is compared unless another is named.
    shown : tuple of str
        Quantities in tables of estimates.
    method, limits : str, optional
        How counts are modelled, and what the estimates do not say, for the method section of a
        report. In braces, what was chosen: ``{meta_criterion}``.
    reference : tuple of float and str, optional
        A value of `main` to compare with, and what it means.
    given : tuple of str, optional
        Quantities that are no parameters but are set to their values from the counts
        (``dprime``, ``c``).
    choices : tuple of Choice, optional
    chosen : mapping of str to str, optional
        What was chosen, by name of the choice.
    choose : callable, optional
        Choices by name → Likelihood. Needed where there are choices.
    alternatives : mapping of str to mapping, optional
        Choices worth comparing with the ones made, by what to call them.
    kernel : str, optional
        Module with functions of the arguments, compiled by Numba: ``evaluate(counts, *arguments)``,
        the log-likelihood of each cell and its derivatives by each argument;
        ``evaluate_in_model``, the same for arrays that may be read-only; and
        ``expected_information(trials, *arguments)``. Without one, PyTensor differentiates
        `log_probabilities`.
    """

    name: str
    title: str
    parameters: tuple[Parameter, ...]
    quantities: tuple[Quantity, ...]
    arguments: tuple[str, ...]
    log_probabilities: Callable[..., Array]
    focus: str
    symbol: str
    main: str
    judged: str
    shown: tuple[str, ...]
    method: str = ""
    limits: str = ""
    reference: tuple[float, str] | None = None
    given: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    chosen: Mapping[str, str] = field(default_factory=dict)
    choose: Callable[..., "Likelihood"] | None = None
    alternatives: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    kernel: str = ""

    @property
    def results(self) -> dict[str, Quantity]:
        """Quantities that fits have, by name."""
        return {q.name: q for q in self.quantities if q.is_result}

    def parameter(self, name: str) -> Parameter:
        """Parameter of this name."""
        return next(p for p in self.parameters if p.name == name)

    def dims(self, name: str) -> tuple[str, ...]:
        """Dims beside the cell of a parameter or quantity."""
        found: list[Parameter | Quantity] = [*self.parameters, *self.quantities]
        return next(one.dims for one in found if one.name == name)

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
            Of NumPy, JAX or PyTensor.

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
        array, shape (..., 2, 2, K)
            Dims stimulus, response, rating.
        """
        values = self.derived(known, xp)
        return self.log_probabilities(*(values[name] for name in self.arguments), xp=xp)
