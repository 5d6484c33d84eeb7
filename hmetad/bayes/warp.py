r"""Coordinates in which chains move, so that few groups are sampled as well as many.

What the sampler moves, u, and the free values, x, of a program. With three people, the posterior of
a standard deviation σ has a long tail, and that of their mean is narrow where σ is small and wide
where it is large; a chain has one step size for all of it. So

- σ = s · sinh(u): near 0 this is linear, so that σ may cross to the other sign, and far from it
  exponential; s is half of what the data suggest, or of what they cannot tell from 0;
- a coefficient is a centre plus u / √P, where P is what is known of it at this σ: 1/τ² by its
  prior, and by groups of information h, in which it has the weights a,

  .. math:: P(σ) = \frac{1}{τ^2} + \sum_g \frac{a_g^2 h_g}{1 + h_g σ^2}

It is a change of variables, as `hmetad.bayes.parametrisation` is for effects: s, the centre and h
may be wrong, and the posterior is the same. Source: Gelman et al. (2013), Bayesian Data Analysis,
5.4, for the variance of a mean at a given σ.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hmetad.bayes.parametrisation import BlockParametrisation

type Floats = NDArray[np.float64]
type Integers = NDArray[np.int64]

# Groups of similar information are taken together, in so many kinds.
KINDS = 8
# Scale of a standard deviation, as a share of where chains begin.
SHARE = 0.5


class Known(NamedTuple):
    """What is known of a coefficient: its place, that of σ, and 1/τ², a² and h of the groups."""

    place: int
    sd_place: int
    precision: float
    weights: Floats
    information: Floats


class Warp(NamedTuple):
    """The change of variables as arrays.

    Parameters
    ----------
    scales : array, shape (free,)
        s of a standard deviation; 0 of what else there is.
    warp_places : array of int, shape (coefficients, 2)
        Of each coefficient, its place and that of its σ.
    centres, precisions : array, shape (coefficients,)
    group_weights, group_information : array, shape (coefficients, kinds)
        a² and h, of each kind of groups.
    """

    scales: Floats
    warp_places: Integers
    centres: Floats
    precisions: Floats
    group_weights: Floats
    group_information: Floats


def warp_of(scales: Floats, found: Sequence[Known], first_point: Floats) -> Warp:
    """The change of variables, around where chains begin."""
    kinds = [in_kinds(one.weights, one.information) for one in found]
    return Warp(
        scales,
        np.array([(one.place, one.sd_place) for one in found], np.int64).reshape(-1, 2),
        first_point[np.array([one.place for one in found], np.int64)],
        np.array([one.precision for one in found]),
        np.array([weights for weights, _ in kinds]).reshape(-1, KINDS),
        np.array([information for _, information in kinds]).reshape(-1, KINDS),
    )


def scale_of_sd(at_start: Floats, information: Floats, prior_scale: float) -> Floats:
    """Scales of standard deviations of effects, (...), whose groups have information (groups, ...).

    The variance between G groups whose estimates have the variance v is uncertain by v √(2 / G).
    """
    groups = len(information)
    total = information.sum(axis=0)
    variance = np.divide(groups, total, where=total > 0, out=np.full(total.shape, np.inf))
    known = at_start**2 + variance * np.sqrt(2 / groups)
    return SHARE * np.sqrt(np.minimum(known, prior_scale**2))


def in_kinds(weights: Floats, information: Floats) -> tuple[Floats, Floats]:
    """Groups of similar information together: the sum of their weights, and its mean."""
    order = np.argsort(information)
    parts = np.array_split(order, KINDS)
    sums = np.array([weights[part].sum() for part in parts])
    products = np.array([(weights * information)[part].sum() for part in parts])
    return sums, np.divide(products, sums, where=sums > 0, out=np.zeros(KINDS))


def known_of_coefficients(
    common: Integers,
    precisions: Floats,
    sds: Sequence[tuple[Integers, Floats]],
    parts: Sequence[BlockParametrisation],
) -> list[Known]:
    """What the groups know of the coefficients of a formula.

    Of several blocks that share a coefficient, the one that leaves most uncertain.

    Parameters
    ----------
    common : array of int, shape (coefficients, elements)
        Places.
    precisions : array, shape (coefficients,)
        Of their priors; NaN where a coefficient stays as it is.
    sds : sequence of pairs of arrays, shape (effects, elements)
        Places of the standard deviations of each block, and their values at the start.
    parts : sequence of BlockParametrisation
    """
    found = []
    for j, k in np.ndindex(common.shape):
        candidates = []
        for (places, at_start), part in zip(sds, parts, strict=True):
            groups, effects = part.mean_weights.shape[:2]
            information = part.information.reshape(groups, effects, -1)
            for e in np.flatnonzero(part.mean_weights[:, :, j].any(axis=0)):
                weights, own = part.mean_weights[:, e, j] ** 2, information[:, e, k]
                known = float((weights * own / (1 + own * at_start[e, k] ** 2)).sum())
                place, sd_place = int(common[j, k]), int(places[e, k])
                one = Known(place, sd_place, float(precisions[j]), weights, own)
                if known + one.precision > 0:
                    candidates.append((known, one))
        if candidates:
            found.append(min(candidates, key=lambda pair: pair[0])[1])
    return found
