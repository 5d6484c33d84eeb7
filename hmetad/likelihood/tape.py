"""The compiled log-likelihood of cells by their parameters, for every family with a kernel.

Family → tape: the way from its parameters to what its kernel takes, as a list of sums, products and
functions. Parameters, counts and tape → log-likelihood of every cell, and by one chain rule its
gradient. The list is found by running the `compute` of the record's quantities on symbols, so that
nobody writes derivatives by hand. HMeta-d's prior of sorted criteria, which rests on where they
begin, is added here too.
"""

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import pairwise
from pkgutil import iter_modules
from typing import Any
from zlib import crc32

import numpy as np
from llvmlite.binding import add_symbol
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from hmetad.likelihood import kernels
from hmetad.likelihood.compiling import compiled
from hmetad.likelihood.family import NUMPY, Family, Values
from hmetad.likelihood.ratings import side_by_side
from hmetad.likelihood.tails import LOG_SQRT_2PI, log_tail, mills

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

# Mean and SD of sorted criteria: further columns, where there is such a prior.
MOMENTS = ("criteria_mu", "criteria_sigma")
# What is at the head of a tape: code of the kernel, numbers of parameters, of steps and of
# arguments, and of gaps of a response between sorted criteria, if these have a prior. Then come the
# steps, three numbers each; the places of the arguments; and those of both inner edges, of the
# gaps, of their logarithms and of the moments.
KERNEL, COLUMNS, STEPS, ARGUMENTS, SORTED, HEAD = range(6)
CONSTANT, ADD, SUBTRACT, MULTIPLY, DIVIDE, EXP, SQRT, TANH = range(8)


def column_shapes(family: Family, ratings: int) -> dict[str, tuple[int, ...]]:
    """Shapes of what a cell has, by column: set from the counts, then parameters."""
    own = {p.variable: family.shape(p.name, ratings) for p in family.parameters}
    if not family.compiled_kernel:
        return own
    shapes = dict.fromkeys(family.from_counts, ()) | own
    is_sorted = any(p.truncated_at for p in family.parameters)
    return shapes | dict.fromkeys(MOMENTS if is_sorted else (), ())


def column_slices(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, slice]:
    """Places of values of these shapes, one after the other.

    Examples
    --------
    >>> column_slices({"dprime": (), "log_gap": (2, 3)})
    {'dprime': slice(0, 1, None), 'log_gap': slice(1, 7, None)}
    """
    ends = np.cumsum([0, *map(math.prod, shapes.values())]).tolist()
    return {name: slice(*own) for name, own in zip(shapes, pairwise(ends), strict=True)}


def tape_of(family: Family, ratings: int) -> Integers:
    """Tape of a family with a kernel, at K ratings; written when it is first asked for."""
    if ratings not in family.tapes:
        family.tapes[ratings] = write_tape(family, ratings)
    return family.tapes[ratings]


def write_tape(family: Family, ratings: int) -> Integers:
    """Tape of a family: its quantities, computed with symbols."""
    steps = Steps()
    shapes = column_shapes(family, ratings)
    values = {name: steps.inputs(shape) for name, shape in shapes.items()}
    columns = len(steps.found)
    names = family.compiled_arguments or family.arguments
    arguments = [
        place
        for name in names
        for place in steps.places(value_of(name, values, family) if isinstance(name, str) else name)
    ]
    gaps, prior = 0, list[int]()
    for parameter in family.parameters:
        if parameter.truncated_at:
            edges = np.resize(value_of(parameter.truncated_at, values, family), 2)
            parts = [edges, value_of("gaps", values, family), values[parameter.variable]]
            parts += [values[name] for name in MOMENTS]
            prior = [place for part in parts for place in steps.places(part)]
            gaps = ratings - 1
    body = [number for step in steps.found[columns:] for number in step]
    head = [kernel_code(family.compiled_kernel), columns, len(body) // 3, len(arguments), gaps]
    return np.array([*head, *body, *arguments, *prior], np.int64)


def value_of(name: str, values: dict[str, Any], family: Family) -> Any:
    """Symbols of a quantity, which `values` has from then on: of the first way to come by it."""
    known = {*values}
    for quantity in family.quantities:
        if (
            quantity.compute is None
            or quantity.name in known
            or not known.issuperset(quantity.needs)
        ):
            continue
        known.add(quantity.name)
        if quantity.name == name:
            for need in quantity.needs:
                value_of(need, values, family)
            values[name] = np.asarray(quantity.compute(values, NUMPY), dtype=object)
    return values[name]


class Steps:
    """Steps of a tape while it is written; each is written once."""

    def __init__(self) -> None:
        self.found: list[tuple[int, int, int]] = []
        self.known: dict[tuple[int, int, int], int] = {}

    def add(self, operation: int, first: int, second: int = 0) -> "Symbol":
        """Result of an operation on the results at two places."""
        step = operation, first, second
        if step not in self.known:
            self.known[step] = len(self.found)
            self.found.append(step)
        return Symbol(self, self.known[step])

    def inputs(self, shape: tuple[int, ...]) -> Any:
        """Symbols of parameters, of a shape."""
        number = int(np.prod(shape, dtype=int))
        own = [self.add(-1, len(self.found)) for _ in range(number)]
        symbols = np.empty(number, dtype=object)
        symbols[:] = own
        return symbols.reshape(shape)

    def places(self, values: Any) -> list[int]:
        """Places of symbols or numbers, one after the other."""
        return [self.symbol(x).place for x in np.asarray(values, dtype=object).ravel()]

    def symbol(self, x: "Symbol | float") -> "Symbol":
        """The symbol itself, or that of a number."""
        if isinstance(x, Symbol):
            return x
        return self.add(CONSTANT, 0, int(np.float64(x).view(np.int64)))


type Operation = Callable[["Symbol", Any], "Symbol"]


def binary(operation: int) -> tuple[Operation, Operation]:
    """Operation of a symbol with a symbol or number, and the reflected one."""

    def of_two(self: "Symbol", other: Any) -> "Symbol":
        # With an array it is NumPy's.
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self.steps.add(operation, self.place, self.steps.symbol(other).place)

    def reflected(self: "Symbol", other: Any) -> "Symbol":
        return self.steps.add(operation, self.steps.symbol(other).place, self.place)

    return of_two, reflected


def unary(operation: int) -> Callable[["Symbol"], "Symbol"]:
    """Function of a symbol, which NumPy calls for each element of an array of objects."""
    return lambda self: self.steps.add(operation, self.place)


class Symbol:
    """A number of a cell that is not known yet; NumPy computes with arrays of them."""

    def __init__(self, steps: Steps, place: int) -> None:
        self.steps, self.place = steps, place

    __add__, __radd__ = binary(ADD)
    __sub__, __rsub__ = binary(SUBTRACT)
    __mul__, __rmul__ = binary(MULTIPLY)
    __truediv__, __rtruediv__ = binary(DIVIDE)
    exp, sqrt, tanh = map(unary, (EXP, SQRT, TANH))

    def __neg__(self) -> "Symbol":
        return 0.0 - self

    def __pow__(self, power: int) -> "Symbol":
        if power != 2:
            raise NotImplementedError(f"power {power}")
        return self * self


def kernel_code(kernel: str) -> int:
    """Number that stands for a kernel in a tape; it does not depend on what others there are."""
    return crc32(kernel.encode())


# Kernels that compiled code of every fit contains. Others, which have outcomes in a row, are
# compiled by themselves when a fit first needs them.
CONTAINED = ("linear_gaussian", "lognormal", "meta_d", "normal")
FLOATS = types.float64[:, ::1]
VALUE_AND_SLOPES = types.Tuple((types.float64[::1], FLOATS))


@ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
@cache
def find_address(kernel: int) -> int:
    """Address of the compiled log-likelihood of a kernel, or 0 if there is no such kernel."""
    for name in {module.name for module in iter_modules(kernels.__path__)} - {*CONTAINED}:
        if kernel_code(name) == kernel:
            own = import_module(f"{kernels.__name__}.{name}").log_likelihood
            found = own.get_compile_result(VALUE_AND_SLOPES(FLOATS, FLOATS, types.boolean))
            return int(found.library.get_pointer_to_function(found.fndesc.llvm_func_name))
    return 0


# Compiled code asks for it by its name, so that it can be kept for other processes.
add_symbol("hmetad_address_of_kernel", ctypes.cast(find_address, ctypes.c_void_p).value)
address_of_kernel = types.ExternalFunction("hmetad_address_of_kernel", types.int64(types.int64))


@intrinsic
def log_likelihood_at(_: Any, address: Any, counts: Any, at: Any, is_sloped: Any) -> Any:
    """Call the compiled log-likelihood at an address."""
    arguments = counts, at, is_sloped

    def generate(context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        of_function = context.call_conv.get_function_type(VALUE_AND_SLOPES, arguments)
        function = builder.inttoptr(given[0], of_function.as_pointer())
        status, found = context.call_conv.call_function(
            builder, function, VALUE_AND_SLOPES, arguments, given[1:]
        )
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return found

    return VALUE_AND_SLOPES(address, *arguments), generate


@njit(nogil=True)
def of_other_kernel(kernel: int, counts: Floats, at: Floats, is_sloped: bool) -> Any:
    """Log-likelihood by a kernel that is not contained; no number if there is none."""
    address = address_of_kernel(kernel)
    if address == 0:
        return np.full(len(at), math.nan), np.full(at.shape, math.nan)
    return log_likelihood_at(address, counts, at, is_sloped)


def dispatcher(names: Sequence[str]) -> Callable[..., tuple[Floats, Floats]]:
    """Compiled function that calls the log-likelihood of a kernel, by its code."""
    if not names:
        return of_other_kernel
    own = import_module(f"{kernels.__name__}.{names[0]}")
    code, axes, log_likelihood = kernel_code(names[0]), own.AXES, own.log_likelihood
    outcomes, others = math.prod(axes), dispatcher(names[1:])

    # Not in Numba's cache by itself, but with the functions that call it.
    @njit(nogil=True)
    def of_kernel(kernel: int, counts: Floats, at: Floats, is_sloped: bool) -> Any:
        if kernel == code:
            shape = (len(at), *axes, counts.shape[1] // outcomes)
            return log_likelihood(counts.reshape(shape), at, is_sloped)
        return others(kernel, counts, at, is_sloped)

    return of_kernel


log_likelihood_of = dispatcher(CONTAINED)


@compiled
def add_value_and_gradient(
    parameters: Floats, counts: Floats, tape: Integers, by_cell: Floats, gradient: Floats
) -> None:
    """Log-likelihood of every cell, added to `by_cell`; its gradient is added to `gradient`.

    HMeta-d's prior of sorted criteria is added here, since it rests on where they begin.

    Parameters
    ----------
    parameters, gradient : array, shape (cells, columns)
        Columns as in `column_shapes`. An empty gradient is left so.
    counts : array, shape (cells, outcomes)
    tape : array of int
        As `tape_of` writes it.
    by_cell : array, shape (cells,)
    """
    cells, columns, is_sloped = len(parameters), tape[COLUMNS], len(gradient) > 0
    first_argument = HEAD + 3 * tape[STEPS]
    places = tape[first_argument : first_argument + tape[ARGUMENTS]]
    values = np.empty((columns + tape[STEPS], cells))
    for j in range(columns):
        for i in range(cells):
            values[j, i] = parameters[i, j]
    follow_tape(tape, values)
    at = np.empty((cells, len(places)))
    for j in range(len(places)):
        for i in range(cells):
            at[i, j] = values[places[j], i]
    value, slopes = log_likelihood_of(tape[KERNEL], counts, at, is_sloped)
    by_cell += value
    pulls = np.zeros(values.shape if is_sloped else (0, 0))
    if is_sloped:
        for j in range(len(places)):
            for i in range(cells):
                pulls[places[j], i] += slopes[i, j]
    if tape[SORTED] > 0:
        add_sorted_criteria(
            tape[first_argument + len(places) :], tape[SORTED], values, by_cell, pulls
        )
    if is_sloped:
        pull_back(tape, values, pulls)
        for j in range(columns):
            for i in range(cells):
                gradient[i, j] += pulls[j, i]


def compiled_outcomes(family: Family, values: Values, ratings: int) -> Floats:
    """log P of every outcome, (..., *outcomes), by the kernel of a family, at values by name.

    Those of its probabilities, but quicker where these are sums over many nodes.
    """
    known = family.derived(values)
    names = family.compiled_arguments or family.arguments
    arrays = [known[name] if isinstance(name, str) else name for name in names]
    ranks = [len(family.dims(name)) if isinstance(name, str) else 0 for name in names]
    rows, leading = side_by_side(arrays, ranks)
    found, _ = kernel_of(family).log_outcomes(rows, ratings, False)
    return found.reshape(*leading, *family.layout.shape(ratings))


def sloped_outcomes(family: Family, parameters: Floats, ratings: int) -> tuple[Floats, Floats]:
    """log P of every outcome of cells, (cells, outcomes), and its derivatives by all columns.

    `parameters` are as in `add_value_and_gradient`.
    """
    tape, (cells, columns) = tape_of(family, ratings), parameters.shape
    start, number = HEAD + 3 * tape[STEPS], tape[ARGUMENTS]
    places = tape[start : start + number]
    values = np.zeros((columns + tape[STEPS], cells * number))
    values[:columns] = np.repeat(parameters, number, axis=0).T
    follow_tape(tape, values)
    # Each argument of each cell is pulled by itself.
    pulls, each = np.zeros(values.shape), np.arange(cells * number)
    pulls[places[each % number], each] = 1.0
    pull_back(tape, values, pulls)
    at = np.ascontiguousarray(values[places, ::number].T)
    log_p, slopes = kernel_of(family).log_outcomes(at, ratings, True)
    by_columns = pulls[:columns].T.reshape(cells, number, columns)
    return log_p.reshape(cells, -1), slopes.reshape(cells, -1, number) @ by_columns


def kernel_of(family: Family) -> Any:
    """Module with the kernel of a family."""
    return import_module(f"{kernels.__name__}.{family.compiled_kernel}")


@compiled
def follow_tape(tape: Integers, values: Floats) -> None:
    """Fill in the results of all steps, (places, cells), after those of the parameters."""
    for step in range(tape[STEPS]):
        at = HEAD + 3 * step
        operation, a, b = tape[at], tape[at + 1], tape[at + 2]
        out = values[tape[COLUMNS] + step]
        if operation == CONSTANT:
            out[:] = tape[at + 2 : at + 3].view(np.float64)[0]
            continue
        first = values[a]
        if operation == ADD:
            out[:] = first + values[b]
        elif operation == SUBTRACT:
            out[:] = first - values[b]
        elif operation == MULTIPLY:
            out[:] = first * values[b]
        elif operation == DIVIDE:
            out[:] = first / values[b]
        elif operation == EXP:
            for i in range(len(out)):
                out[i] = math.exp(first[i])
        elif operation == SQRT:
            for i in range(len(out)):
                out[i] = math.sqrt(first[i])
        else:
            for i in range(len(out)):
                out[i] = math.tanh(first[i])


@compiled
def pull_back(tape: Integers, values: Floats, pulls: Floats) -> None:
    """Chain rule: derivatives by all places, from the last step to the parameters."""
    for step in range(tape[STEPS] - 1, -1, -1):
        at = HEAD + 3 * step
        operation, a, b = tape[at], tape[at + 1], tape[at + 2]
        out, own = values[tape[COLUMNS] + step], pulls[tape[COLUMNS] + step]
        if operation == CONSTANT:
            continue
        first, by_first = values[a], pulls[a]
        if operation <= DIVIDE:
            second, by_second = values[b], pulls[b]
            for i in range(len(out)):
                if operation == ADD:
                    by_first[i] += own[i]
                    by_second[i] += own[i]
                elif operation == SUBTRACT:
                    by_first[i] += own[i]
                    by_second[i] -= own[i]
                elif operation == MULTIPLY:
                    by_first[i] += own[i] * second[i]
                    by_second[i] += own[i] * first[i]
                else:
                    by_first[i] += own[i] / second[i]
                    by_second[i] -= own[i] / second[i] * out[i]
        else:
            for i in range(len(out)):
                if operation == EXP:
                    by_first[i] += own[i] * out[i]
                elif operation == SQRT:
                    by_first[i] += own[i] / (2 * out[i])
                else:
                    by_first[i] += own[i] * (1 - out[i] * out[i])


@compiled
def add_sorted_criteria(
    places: Integers, gaps: int, values: Floats, by_cell: Floats, pulls: Floats
) -> None:
    """Add the log density of sorted criteria beyond their inner edges, for so many a response.

    `places` are those of both edges, gaps, log gaps, mean and SD. The Jacobian of log gaps is part
    of the density; derivatives by all of these are added to `pulls` unless it is empty.
    """
    first_gap, first_log = 2, 2 + 2 * gaps
    at_mu, at_sigma = places[2 + 4 * gaps], places[3 + 4 * gaps]
    is_sloped, pull = len(pulls) > 0, np.empty(gaps)
    for i in range(len(by_cell)):
        mu, sigma = values[at_mu, i], values[at_sigma, i]
        inverse, log_sigma = 1 / sigma, math.log(sigma) + LOG_SQRT_2PI
        total = by_mu = by_sigma = 0.0
        for r in range(2):
            outward, own = 2.0 * r - 1.0, r * gaps
            # Mirrored for response S1, criteria lie above their start.
            start = outward * values[places[r], i] - mu
            below = start * inverse
            log_beyond, hazard = log_tail(below, mills(abs(below)))
            total += math.lgamma(gaps + 1.0) - gaps * (log_beyond + log_sigma)
            by_start = gaps * hazard * inverse
            by_sigma -= by_start * below
            place = start
            for k in range(gaps):
                place += values[places[first_gap + own + k], i]
                score = place * inverse
                total += values[places[first_log + own + k], i] - score * score / 2
                pull[k] = score * inverse
                by_start -= pull[k]
                by_sigma += (score * score - 1) * inverse
            by_mu -= by_start
            if is_sloped:
                pulls[places[r], i] += by_start * outward
                beyond = 0.0
                for k in range(gaps - 1, -1, -1):
                    beyond += pull[k]
                    pulls[places[first_gap + own + k], i] -= beyond
                    pulls[places[first_log + own + k], i] += 1.0
        by_cell[i] += total
        if is_sloped:
            pulls[at_mu, i] += by_mu
            pulls[at_sigma, i] += by_sigma
