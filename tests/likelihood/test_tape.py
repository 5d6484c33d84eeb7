"""Compiled value and gradient by the parameters against readable probabilities."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

from hmetad.likelihood import likelihood_names, load_likelihood
from hmetad.likelihood.ratings import log_likelihood
from hmetad.likelihood.tape import add_value_and_gradient, column_shapes, tape_of

CELLS, STEP = 5, 1e-6
MODELS = [
    (name, dict(zip((choice.name for choice in record.choices), values, strict=True)))
    for name in likelihood_names()
    for record in [load_likelihood(name)]
    for values in product(
        *(choice.values or (record.chosen[choice.name],) for choice in record.choices)
    )
    # These have no compiled kernel.
    if not {"logistic", "gumbel_min"} & {*values}
]


def log_density(family, rows, counts):
    """ℓ of each cell by the readable formulas, with HMeta-d's prior of sorted criteria."""
    shapes = column_shapes(family, counts.shape[-1])
    ends = np.cumsum([np.prod(shape, dtype=int) for shape in shapes.values()])
    parts = np.split(rows, ends[:-1], axis=1)
    own = {n: part.reshape(len(rows), *shapes[n]) for n, part in zip(shapes, parts, strict=True)}
    values = family.derived({n: x for n, x in own.items() if not n.startswith("criteria_")})
    axes = len(family.layout.dims)
    value = log_likelihood(counts, family.outcomes(values), axes=axes)
    if "criteria_mu" in own:
        mu, sigma = own["criteria_mu"][:, None], own["criteria_sigma"][:, None]
        edges = np.broadcast_to(values["meta_c"].reshape(len(rows), -1), (len(rows), 2))
        inner = counts.shape[-1] - 1
        for r, side in enumerate([-1, 1]):
            beyond = norm.logsf(side * edges[:, r], mu[:, 0], sigma[:, 0])
            criteria = side * values["criteria"][:, r]
            value += norm.logpdf(criteria, mu, sigma).sum(-1) - inner * beyond
            value += np.log(np.arange(1, inner + 1)).sum() + own["log_gap"][:, r].sum(-1)
    return value


@pytest.mark.integration
@pytest.mark.parametrize("ratings", [2, 4])
@pytest.mark.parametrize(("name", "choices"), MODELS)
def test_value_and_gradient_are_those_of_the_readable_probabilities(name, choices, ratings):
    family, rng = load_likelihood(name, **choices), np.random.default_rng(ratings)
    columns = sum(int(np.prod(shape)) for shape in column_shapes(family, ratings).values())
    rows = rng.normal(0.4, 0.3, (CELLS, columns))
    rows[:, -1] = abs(rows[:, -1]) + 0.5
    if "options" in family.from_counts:
        rows[:, 0] = [2, 2, 3, 4, 10]
    counts = rng.poisson(6, (CELLS, *family.layout.shape(ratings))).astype(float)
    value, gradient = np.zeros(CELLS), np.zeros(rows.shape)
    tape = tape_of(family, ratings)
    add_value_and_gradient(rows, counts.reshape(CELLS, -1), tape, value, gradient)
    np.testing.assert_allclose(value, log_density(family, rows, counts), rtol=1e-10)
    for j in range("options" in family.from_counts, columns):
        step = STEP * np.eye(columns)[j]
        ends = [log_density(family, rows + sign * step, counts) for sign in (1, -1)]
        # Central differences of ℓ, about 100, lose 1e-8 of it over the step.
        expected = (ends[0] - ends[1]) / (2 * STEP)
        np.testing.assert_allclose(gradient[:, j], expected, rtol=1e-5, atol=1e-5)


def test_a_value_alone_is_the_same_and_leaves_no_gradient():
    family, rows = load_likelihood("meta-d"), np.full((2, 9), 0.3)
    counts, tape = np.ones((2, 16)), tape_of(family, 4)
    alone, both = np.zeros(2), np.zeros(2)
    add_value_and_gradient(rows, counts, tape, alone, np.empty((0, 0)))
    add_value_and_gradient(rows, counts, tape, both, np.zeros((2, 9)))
    np.testing.assert_array_equal(alone, both)
