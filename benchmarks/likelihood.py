"""Time of the meta-d′ likelihood: value and gradient, per cell.

Compares, in one run and on the same numbers:

- kernel: `hmetad.likelihood.kernels.meta_d.log_likelihood`, value and gradient;
- log tails: the same model in PyTensor expressions, with logarithms of normal tails by erfcx, as
  accurate far out; value summed over cells and `pytensor.grad`, compiled with Numba;
- erfc: PyTensor expressions again, with differences of erfc on the side where both are small:
  cheaper, and 0 (so -inf) beyond 38 standard deviations;
- NumPy: `hmetad.likelihood.families.meta_d`, the value alone.

Values and gradients must agree to 1e-8 before anything is timed. A second table has the kernels of
a choice among m options, K = 4, as ratios to that of meta-d′ in the same run: of right and wrong
answers, and of tables with biases.

    python benchmarks/likelihood.py
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pytensor
import pytensor.tensor as pt
from machine import best_of, calibrating_loop, describe_machine, print_table
from numpy.typing import NDArray
from pytensor.tensor.variable import TensorVariable

from hmetad.likelihood import ratings
from hmetad.likelihood.families import alternatives, meta_d
from hmetad.likelihood.kernels.alternatives import log_likelihood as of_right_and_wrong
from hmetad.likelihood.kernels.biased_alternatives import log_likelihood as with_biases
from hmetad.likelihood.kernels.meta_d import log_likelihood

SIZES = ((100, 4), (100, 2), (100, 6), (100, 11), (1000, 4))
OPTIONS = (2, 3, 4, 10)
TOLERANCE = 1e-8
ROUNDS = 15
SECONDS_A_ROUND = 0.02
SIGN = np.array([-1.0, 1.0])

type Floats = NDArray[np.float64]
type Compiled = Callable[..., list[Floats]]
type Tail = Callable[[TensorVariable, TensorVariable], TensorVariable]


class Arguments(NamedTuple):
    """What the kernel takes, in its order."""

    counts: Floats
    d: Floats
    c: Floats
    m: Floats
    kappa: Floats
    gaps: Floats
    s: Floats


def main() -> None:
    """Check, time and print all sizes."""
    print(describe_machine())
    print(f"calibrating loop: {calibrating_loop():.3f} s")
    print(f"µs per cell, best of {ROUNDS}; ratios to the kernel\n")
    functions = compiled(log_area_by_logs), compiled(log_area_by_erfc)
    header = ("cells", "K", "kernel", "log tails", "ratio", "erfc", "ratio", "NumPy value", "ratio")
    print_table(header, [row(example(*size), functions) for size in SIZES])
    print("\nChoices among m options: µs per cell, and ratio to the kernel of meta-d′\n")
    header = ("options", "meta-d′", "right or wrong", "ratio", "with biases", "ratio")
    print_table(header, [options_row(m) for m in OPTIONS])


def options_row(options: int, cells: int = 100, levels: int = 4) -> tuple[object, ...]:
    """Times of the kernels of a choice among so many options."""
    rng, two = np.random.default_rng(options), example(cells, levels)
    b = rng.normal(0, 0.3, (cells, options))
    b -= b.mean(-1, keepdims=True)
    numbers, gaps = np.full(cells, float(options)), two.gaps[:, 0]
    leads = two.d, two.m[:, 0]
    p = [
        np.exp(alternatives.log_probabilities(*leads, gaps, numbers)).reshape(cells, 1, -1),
        np.exp(
            alternatives.log_biased_probabilities(two.d, b, two.m[:, 0], b, gaps, options=options)
        ).reshape(cells, options, -1),
    ]
    counts = [rng.multinomial(400 // x.shape[1], x).reshape(cells, -1).astype(float) for x in p]
    at = np.column_stack([*leads, numbers, 0 * numbers, gaps])
    biased = np.column_stack([*leads, numbers, b, b, gaps])
    runs = (
        lambda: log_likelihood(two.counts, columns(two), True),
        lambda: of_right_and_wrong(counts[0], at, True),
        lambda: with_biases(counts[1], biased, True),
    )
    kernel, *others = (1e6 * seconds / cells for seconds in best_in_turn(runs))
    return (str(options), kernel, *(v for t in others for v in (t, t / kernel)))


def row(x: Arguments, functions: Sequence[Compiled]) -> tuple[object, ...]:
    """One line of the table: the size, and times with their ratios to the kernel's."""
    for function in functions:
        check(x, function)
    (with_logs, with_erfc), at = functions, columns(x)
    runs = (
        lambda: log_likelihood(x.counts, at, True),
        lambda: with_logs(*x),
        lambda: with_erfc(*x),
        lambda: theory_value(x),
    )
    cells, *_, levels = x.counts.shape
    kernel, *others = (1e6 * seconds / cells for seconds in best_in_turn(runs))
    return (str(cells), levels, kernel, *(v for t in others for v in (t, t / kernel)))


def example(cells: int, levels: int, seed: int = 1) -> Arguments:
    """Ordinary observers, 400 trials each: counts and parameters near those they come from."""
    rng = np.random.default_rng(seed)
    d, c = rng.normal(1.5, 0.5, cells), rng.normal(0, 0.4, cells)
    m_ratio, s = np.exp(rng.normal(-0.2, 0.3, (2, cells)))
    m, kappa = np.repeat((m_ratio * d)[:, None], 2, 1), np.repeat((m_ratio * c)[:, None], 2, 1)
    gaps = rng.lognormal(np.log(1.5 / levels), 0.3, (cells, 2, levels - 1))
    p = np.exp(meta_d.log_joint_probabilities(d, c, m, kappa, gaps, s))
    flat = p.reshape(cells, 2, -1)
    counts = rng.multinomial(200, flat / flat.sum(-1, keepdims=True)).reshape(p.shape)
    return Arguments(counts.astype(float), d, c, m, kappa, gaps, s)


def compiled(log_area: Tail) -> Compiled:
    """Compiled PyTensor function of the kernel's arguments: ℓ summed over cells, and gradients."""
    shapes = (4, 1, 1, 2, 2, 3, 1)
    inputs = [
        pt.tensor(n, shape=(None,) * k) for n, k in zip(Arguments._fields, shapes, strict=True)
    ]
    value = symbolic_log_likelihood(*inputs, log_area=log_area)
    function = pytensor.function(inputs, [value, *pytensor.grad(value, inputs[1:])], mode="NUMBA")
    function.trust_input = True
    return function


def symbolic_log_likelihood(
    counts: TensorVariable,
    d: TensorVariable,
    c: TensorVariable,
    m: TensorVariable,
    kappa: TensorVariable,
    gaps: TensorVariable,
    s: TensorVariable,
    *,
    log_area: Tail,
) -> TensorVariable:
    """ℓ summed over cells, in plain PyTensor; `log_area` gives log(Φ(b) - Φ(a)) of (a, b)."""
    false_alarm, hit = -d / 2 - c, s * (d / 2 - c)
    z = pt.stack([pt.stack([-false_alarm, false_alarm], -1), pt.stack([-hit, hit], -1)], -2)
    # Dims cell, stimulus, response; all edges are mirrored to rise outward from κ.
    scale = pt.stack([pt.ones_like(s), s], -1)[:, :, None]
    start = scale * SIGN * (kappa[:, None, :] - SIGN[:, None] * m[:, None, :] / 2)
    outer = start[..., None] + scale[..., None] * pt.cumsum(gaps, -1)[:, None]
    edges = pt.concatenate([start[..., None], outer], -1)
    inner_areas = log_area(edges[..., :-1], edges[..., 1:])
    log_shares = pt.concatenate([inner_areas, log_ndtr(-edges[..., -1:])], -1)
    log_shares -= log_ndtr(-start)[..., None]
    return (counts * (log_ndtr(z)[..., None] + log_shares)).sum()


def log_ndtr(z: TensorVariable) -> TensorVariable:
    """log Φ(z), accurate in both tails."""
    left = pt.log(pt.erfcx(-z / np.sqrt(2)) / 2) - z**2 / 2
    return pt.switch(z < -1, left, pt.log1p(-pt.erfc(z / np.sqrt(2)) / 2))


def log_area_by_logs(a: TensorVariable, b: TensorVariable) -> TensorVariable:
    """log(Φ(b) - Φ(a)) from the logarithms of the two tails where both are small."""
    is_right = a + b > 0
    near = log_ndtr(pt.switch(is_right, -a, b))
    far = log_ndtr(pt.switch(is_right, -b, a))
    return near + pt.log1p(-pt.exp(far - near))


def log_area_by_erfc(a: TensorVariable, b: TensorVariable) -> TensorVariable:
    """log(Φ(b) - Φ(a)) by erfc of the two tails where both are small."""
    flip = pt.switch(a + b > 0, 1.0, -1.0) / np.sqrt(2)
    return pt.log(pt.abs(pt.erfc(flip * a) - pt.erfc(flip * b)) / 2)


def columns(x: Arguments) -> Floats:
    """Arguments of the kernel side by side."""
    return np.hstack([part.reshape(len(part), -1) for part in x[1:]])


def theory_value(x: Arguments) -> Floats:
    """ℓ of each cell by the readable NumPy code."""
    return ratings.log_likelihood(x.counts, meta_d.log_joint_probabilities(*x[1:]))


def check(x: Arguments, function: Compiled) -> None:
    """Assert that kernel, PyTensor and NumPy say the same."""
    value, gradient = log_likelihood(x.counts, columns(x), True)
    other_value, *other_gradient = function(*x)
    np.testing.assert_allclose(value, theory_value(x), rtol=TOLERANCE)
    np.testing.assert_allclose(value.sum(), other_value, rtol=TOLERANCE)
    other = np.hstack([part.reshape(len(part), -1) for part in other_gradient])
    np.testing.assert_allclose(gradient, other, rtol=TOLERANCE, atol=TOLERANCE)


def best_in_turn(runs: Sequence[Callable[[], object]]) -> list[float]:
    """Best seconds of one call of each; in turn, so that noise meets all alike."""
    calls = [max(1, int(SECONDS_A_ROUND / best_of(run, rounds=3))) for run in runs]
    rounds = [
        [best_of(run, rounds=1, calls=n) for run, n in zip(runs, calls, strict=True)]
        for _ in range(ROUNDS)
    ]
    return [min(seconds) for seconds in zip(*rounds, strict=True)]


if __name__ == "__main__":
    main()
