r"""How far effects are centred, learned from draws.

Program and draws of its free values → where to begin again, with a parametrisation that suits them.
The estimate m and the information h of a group, as `hmetad.bayes.parametrisation` has them, are
those of a normal likelihood. The likelihood is not normal where a person used few of the ratings or
where confidence tells little: then offsets z depend on their standard deviation σ, whose chain is
slow for it. Draws show how much. Of groups alike in h,

.. math:: R^2 \text{ of } \log σ \text{ on the means over groups of } z \text{ and } z^2

is 0 where z does not depend on σ. So h is multiplied by the number, and m is as it was or such that
z is 0 on average, with which this is least. It is another change of variables, and the posterior
stays.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hmetad.bayes.density import expand
from hmetad.bayes.parametrisation import correlation_factors
from hmetad.bayes.program import Program, unfold
from hmetad.bayes.start import Start

type Floats = NDArray[np.float64]

# What h may be multiplied by; where several do as well, the first one is taken.
FACTORS = (1.0, 2.0, 0.7, 0.5, 0.35, 0.25, 0.15, 0.1, 0.05, 0.0)
# Groups of similar information are taken together, in so many kinds.
KINDS = 8
# R² that is left as it is, for chance alone gives a few percent; and that calls for a change.
LITTLE, MUCH = 0.1, 0.2
# Draws that say something, at least; those that are looked at, and numbers that are computed from
# them, at most: some ten arrays of 128 MB.
FEWEST_DRAWS, MOST_DRAWS, MOST_VALUES = 100, 1000, 2**24


def learn_centring(program: Program, draws: Floats) -> Program:
    """The program with effects centred as draws of its free values suggest.

    Parameters
    ----------
    program : Program
    draws : array, shape (chains, draws, free)

    Returns
    -------
    Program
        The same one where nothing calls for a change, none is better, or draws are few.
    """
    arrays = program.arrays
    information, estimates = arrays.information.copy(), arrays.estimates.copy()
    flat = draws.reshape(-1, arrays.size)
    most = min(MOST_DRAWS, max(2 * FEWEST_DRAWS, MOST_VALUES // (2 * arrays.size)))
    values = expand(unfold(arrays, flat[:: max(1, len(flat) // most)]), program.packed)
    sd_places = np.unique(arrays.sd_places)
    # A standard deviation of 0 has no logarithm.
    is_usable = np.isfinite(values).all(axis=1) & (values[:, sd_places] > 0).all(axis=1)
    values = values[is_usable]
    if len(values) < FEWEST_DRAWS:
        return program
    scores, scales, centres = standardise_effects(program, values)
    most_explained = 0.0
    for place in sd_places:
        own = np.flatnonzero(arrays.sd_places == place)
        by_information = own[np.argsort(information[own], kind="stable")]
        for kind in np.array_split(by_information, min(KINDS, len(own))):
            found, estimates[kind], information[kind] = less_dependent(
                np.log(values[:, place]),
                (scores[kind], scales[kind], centres[kind]),
                estimates[kind],
                information[kind],
            )
            most_explained = max(most_explained, found)
    is_same = np.array_equal(information, arrays.information)
    is_same &= np.array_equal(estimates, arrays.estimates)
    if most_explained < MUCH or is_same:
        return program
    return replace(program, known_start=with_centring(program, estimates, information))


def standardise_effects(program: Program, values: Floats) -> tuple[Floats, Floats, Floats]:
    """Scores of effects, their scale and the mean of m at which z is 0, (effects, draws) each.

    Of correlated effects of a group, each has its mean and its scale given those before it.
    """
    arrays = program.arrays
    shape = (len(arrays.offset_places), values.shape[1])
    rows = csr_array((arrays.mean_weight, arrays.mean_column, arrays.mean_first), shape=shape)
    centres = np.asarray(rows @ values.T, dtype=float)
    scales = values.T[arrays.sd_places]
    scores = values.T[arrays.size :] / scales
    for start, stop, size, partial in arrays.blocks:
        if size == 1:
            continue
        lower = correlation_factors(values[:, partial : partial + size * (size - 1) // 2], size)
        own = scores[start:stop].reshape(-1, size, len(values))
        solved = np.linalg.solve(lower, own.transpose(0, 2, 1)[..., None])[..., 0]
        diagonal = np.diagonal(lower, axis1=1, axis2=2)
        before = (own.transpose(0, 2, 1) - diagonal * solved).transpose(0, 2, 1)
        centres[start:stop] += scales[start:stop] * before.reshape(stop - start, -1)
        scores[start:stop] = solved.transpose(0, 2, 1).reshape(stop - start, -1)
        scales[start:stop] *= np.tile(diagonal.T, (len(own), 1))
    return np.asarray(scores), np.asarray(scales), centres


def less_dependent(
    log_sd: Floats, drawn: tuple[Floats, Floats, Floats], estimates: Floats, information: Floats
) -> tuple[float, Floats, Floats]:
    """R² of similar groups as they are; estimates and information with which it is least."""
    scores, scales, centres = drawn
    as_it_is, least, best = 0.0, np.inf, (estimates, information)
    for factor in FACTORS:
        known = information * factor
        root = np.sqrt(1 + known[:, None] * scales**2)
        pull = known[:, None] * scales / root
        middle = (scores * root + pull * centres).mean(axis=1)
        weight = pull.mean(axis=1)
        at_zero = np.divide(middle, weight, where=weight > 0, out=estimates.copy())
        for m in (estimates, at_zero):
            offsets = scores * root - pull * (m[:, None] - centres)
            found = explained(log_sd, (offsets.mean(axis=0), (offsets**2).mean(axis=0)))
            if least == np.inf:
                as_it_is = found
            if as_it_is < LITTLE:
                return as_it_is, estimates, information
            if found < least:
                least, best = found, (m, known)
    return as_it_is, *best


def explained(y: Floats, predictors: Sequence[Floats]) -> float:
    """R² of a linear regression; 0 of what does not vary."""
    columns = np.stack([np.ones_like(y), *predictors], axis=1)
    rest = y - columns @ np.linalg.lstsq(columns, y)[0]
    return 1 - float(rest.var() / y.var()) if np.ptp(y) > 0 else 0.0


def with_centring(program: Program, estimates: Floats, information: Floats) -> Start:
    """Where chains began, with other estimates and information (effects,) of the groups."""
    first, found = 0, {}
    for name, whole in program.start.parametrisations.items():
        blocks = []
        for part in whole.blocks:
            own = slice(first, first + part.estimates.size)
            shape = part.estimates.shape
            m, h = estimates[own].reshape(shape), information[own].reshape(shape)
            blocks.append(replace(part, estimates=m, information=h))
            first = own.stop
        found[name] = replace(whole, blocks=tuple(blocks))
    return Start(program.start.values, found)
