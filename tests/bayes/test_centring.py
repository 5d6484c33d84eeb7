"""Centring that is learned from draws: the same posterior, in which standard deviations move."""

from dataclasses import replace

import numpy as np
import pytest

from hmetad import simulate_counts
from hmetad.bayes.centring import learn_centring, standardise_effects, with_centring
from hmetad.bayes.density import expand
from hmetad.bayes.program import build_program
from hmetad.specs.loading import load_model

TASKS = {"subject": [*"112233445566"], "task": ["memory", "vision"] * 6}


def table_of(card):
    people = TASKS if card == "multitask" else {"subject": [*"123456789"]}
    number = len(people["subject"])
    return simulate_counts([1.5] * number, m_ratio=0.8, trials=200, seed=1, coords=people)


def program_of(card):
    return build_program(table_of(card), load_model(card))


def points(program, number=100):
    rng = np.random.default_rng(3)
    x = program.first_point + 0.3 * rng.normal(size=(number, program.arrays.size))
    # Standard deviations are positive, as those are that are looked at.
    sds = np.unique(program.arrays.sd_places)
    x[:, sds] = abs(x[:, sds]) + 0.1
    return x


@pytest.mark.parametrize("card", ["group", "multitask"])
def test_offsets_are_what_the_parametrisation_says(card):
    """z = score · root - h σ (m - μ) / root, also of effects that are correlated."""
    program = program_of(card)
    x, arrays = points(program), program.arrays
    scores, scales, centres = standardise_effects(program, expand(x, program.packed))
    h, m = arrays.information[:, None], arrays.estimates[:, None]
    root = np.sqrt(1 + h * scales**2)
    offsets = scores * root - h * scales * (m - centres) / root
    np.testing.assert_allclose(offsets, x[:, arrays.offset_places].T, atol=1e-9)


@pytest.mark.parametrize("card", ["group", "multitask"])
def test_the_posterior_stays_what_it_was(card, monkeypatch):
    """At the same effects, densities differ by the Jacobian of the offsets alone."""
    program = program_of(card)
    x, before = points(program), program.arrays
    monkeypatch.setattr("hmetad.bayes.centring.LITTLE", -1.0)
    monkeypatch.setattr("hmetad.bayes.centring.MUCH", -1.0)
    other = learn_centring(program, x[None])
    after = other.arrays
    assert (after.information != before.information).any()
    scores, scales, centres = standardise_effects(program, expand(x, program.packed))
    roots = [np.sqrt(1 + one.information[:, None] * scales**2) for one in (before, after)]
    pull = after.information[:, None] * scales / roots[1]
    there = x.copy()
    there[:, after.offset_places] = (
        scores * roots[1] - pull * (after.estimates[:, None] - centres)
    ).T
    np.testing.assert_allclose(
        expand(there, other.packed)[:, before.size :],
        expand(x, program.packed)[:, before.size :],
        atol=1e-9,
    )
    jacobian = np.log(roots[0] / roots[1]).sum(axis=0)
    moved = [
        other.log_density(b)[0] - program.log_density(a)[0] for a, b in zip(x, there, strict=True)
    ]
    np.testing.assert_allclose(moved, jacobian, atol=1e-8)


def without_information(program):
    estimates = program.arrays.estimates
    return replace(program, known_start=with_centring(program, estimates, 0 * estimates))


def with_a_standard_deviation_of_0(x, program):
    x[::2, program.arrays.sd_places[0]] = 0
    return x


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("program", "draws"),
    [
        # Offsets that have nothing to do with standard deviations.
        (program_of("group"), lambda program: points(program, 4000)),
        # Chance alone explains much of five draws.
        (program_of("group"), lambda program: points(program, 5)),
        (program_of("group"), lambda program: np.repeat(points(program, 1), 200, axis=0)),
        (
            program_of("group"),
            lambda program: with_a_standard_deviation_of_0(points(program, 8000), program),
        ),
        # Nothing is gained by beginning anew.
        (without_information(program_of("group")), points),
    ],
    ids=["independent", "few", "constant", "zero", "no information"],
)
def test_draws_that_call_for_no_change_leave_the_program_as_it_is(program, draws, monkeypatch):
    """Whatever they are, chains do not begin anew for nothing."""
    x = draws(program)
    if draws is points:
        monkeypatch.setattr("hmetad.bayes.centring.LITTLE", -1.0)
        monkeypatch.setattr("hmetad.bayes.centring.MUCH", -1.0)
    assert learn_centring(program, x[None]) is program
