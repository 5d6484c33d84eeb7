"""How many human labels a study of a judge needs.

Pass rate, what the judge explains, and the half-width that is wanted → number of labels.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import multivariate_normal, norm

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import arrays_of_numbers, probability, whole
from hmetad.base.errors import NumberError, ShapeError, TooFewError


@check_inputs(pass_rate=probability, pool=whole(1), ci_prob=probability)
def labels_needed(
    half_width: float,
    *,
    pass_rate: float = 0.5,
    r2: float = 0.0,
    pool: int | None = None,
    ci_prob: float = 0.95,
) -> float:
    r"""Labels of a random part of a pool with which the pass rate has an interval so wide.

    Parameters
    ----------
    half_width : float
        Of the interval of the pass rate, above 0.
    pass_rate : float, optional
        Proportion of good outputs, as you guess it.
    r2 : float, optional
        Proportion of the variance of labels that the judge explains, 0 to 1; ``r2_ratings`` of
        `hmetad.measures.judge`. 0 is a study without a judge.
    pool : int, optional
        Outputs with a verdict, labelled or not; by default without end.
    ci_prob : float, optional
        Probability of the interval.

    Returns
    -------
    float

    Raises
    ------
    InputError
        If the pool itself is too small for the half-width, or an argument is out of range.

    Notes
    -----
    .. math:: n = \frac{z^2 \pi (1 - \pi) (1 - \rho^2)}{h^2 - z^2 \pi (1 - \pi) \rho^2 / M}

    with half-width h, pass rate π, ρ² = `r2` and M outputs: the variance of the post-stratified
    estimate (`hmetad.pass_rate`), solved for n. With few failures the normal interval is too
    narrow. Source: Cochran (1977), on stratification after sampling.

    Examples
    --------
    >>> round(labels_needed(0.03, pass_rate=0.7)), round(labels_needed(0.03, pass_rate=0.7, r2=0.5))
    (896, 448)
    """
    check_range("half_width", half_width, 1.0)
    check_range("r2", r2, 1.0, least=0.0)
    spread = norm.ppf((1 + ci_prob) / 2) ** 2 * pass_rate * (1 - pass_rate)
    of_pool = 0.0 if pool is None else spread * r2 / pool
    rest = half_width**2 - of_pool
    needed = spread * (1 - r2) / rest if rest > 0 else np.inf
    if pool is not None and needed > pool:
        step = "Judge more outputs, or accept a wider interval."
        raise TooFewError("pool", f"{pool:,} outputs", "enough for this half-width", step)
    return float(needed)


@check_inputs(
    dprime=arrays_of_numbers,
    c=arrays_of_numbers,
    correlation=arrays_of_numbers,
    pass_rate=probability,
    ci_prob=probability,
)
def labels_for_difference(
    half_width: float,
    *,
    dprime: ArrayLike,
    c: ArrayLike = (0.0, 0.0),
    correlation: ArrayLike = 0.0,
    pass_rate: float = 0.5,
    ci_prob: float = 0.95,
) -> float:
    r"""Labels with which a difference in d′ of two judges of the same outputs is so precise.

    Parameters
    ----------
    half_width : float
        Of the interval of the difference, above 0.
    dprime, c : float or array, shape (2,)
        Of the two judges, as you guess them.
    correlation : float or array, shape (2,), optional
        Tetrachoric correlation of their verdicts on bad and on good outputs, from 0 to below 1; two
        language models had .73 and .91 (Kamalloo et al., 2023).
    pass_rate, ci_prob
        As in `labels_needed`.

    Returns
    -------
    float

    Raises
    ------
    InputError
        If an argument is out of range, or has more than two numbers.

    Notes
    -----
    By the delta method, the variance of one label is

    .. math:: \sum_z \frac{1}{\pi_z}\Big[\sum_j \frac{P_j(1-P_j)}{\varphi_j^2}
              - 2\,\frac{P_{12}-P_1P_2}{\varphi_1\varphi_2}\Big]

    with rates P of pass by label z, and normal densities φ at their quantiles. If several
    outputs belong to one question more labels are needed. Source: Gourevitch & Galanter (1967).

    Examples
    --------
    >>> sharp = labels_for_difference(0.2, dprime=[1.9, 2.0], correlation=0.8)
    >>> round(sharp), round(labels_for_difference(0.2, dprime=[1.9, 2.0]))
    (783, 1720)
    """
    check_range("half_width", half_width, np.inf)
    given = {"dprime": dprime, "c": c, "correlation": correlation}
    d, criterion, alike = (one_or_two(name, values) for name, values in given.items())
    variance = 0.0
    for side, share, rho in ((-1, 1 - pass_rate, alike[0]), (1, pass_rate, alike[1])):
        check_range("correlation", rho, 1.0, least=0.0)
        x = side * d / 2 - criterion
        rate, density = norm.cdf(x), norm.pdf(x)
        own = (rate * (1 - rate) / density**2).sum()
        joint = multivariate_normal(cov=[[1, rho], [rho, 1]]).cdf(x)
        variance += float(own - 2 * (joint - rate.prod()) / density.prod()) / share
    return float(norm.ppf((1 + ci_prob) / 2) ** 2 * variance / half_width**2)


def one_or_two(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Two numbers, or one twice."""
    found = np.ravel(np.asarray(values, dtype=float))
    if len(found) not in (1, 2):
        raise ShapeError(name, f"{len(found)} numbers", "one number, or two")
    return np.broadcast_to(found, 2)


def check_range(name: str, value: float, most: float, least: float | None = None) -> None:
    """Refuse a number that is not above 0, or not from `least`, and below the largest."""
    is_low = value < least if least is not None else value <= 0
    if not is_low and value < most:
        return
    allowed = "a number above 0" if least is None else f"a number from {least:g}"
    raise NumberError(name, f"{value:g}", allowed if most == np.inf else f"{allowed} and below 1")
