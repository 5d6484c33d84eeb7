"""Confidence from a linear function of the evidence and normal noise, as records.

Process that a card chooses → Family. Most models of confidence in the literature are members of
this family: they differ in what is free, and in their units.
`hmetad.likelihood.kernels.linear_gaussian` has the equation and the sources.
"""

import math
from collections.abc import Callable
from functools import cache

from hmetad.likelihood.arrays import NUMPY, Array, Arrays, over_cells
from hmetad.likelihood.family import Choice, Family, Formula, Parameter, Quantity, Values
from hmetad.likelihood.priors import Prior
from hmetad.likelihood.ratings import (
    EVIDENCE,
    FREE_CRITERIA,
    FREE_CRITERIA_QUANTITIES,
    TYPE1,
    TYPE1_QUANTITIES,
)

__all__ = ["FAMILIES"]

# Weights of the evidence x, of its mean and of the response, and SD of the noise.
type Weights = tuple[Array, Array, Array, Array]

KERNEL = "hmetad.likelihood.kernels.linear_gaussian"
WEIGHTS = ("evidence_weight", "stimulus_weight", "response_weight", "noise_sd")


def log_probabilities(
    d: Array,
    c: Array,
    a: Array,
    b: Array,
    w: Array,
    sigma: Array,
    theta: Array,
    xp: Arrays = NUMPY,
) -> Array:
    """log P(response, rating | stimulus), shape (..., 2, 2, K); arguments as in `KERNEL`."""
    return over_cells(KERNEL, (d, c, a, b, w, sigma), theta, xp)


def pair(
    parameter: str,
    quantity: str,
    said: str,
    mu: float,
    sigma: float,
    link: str,
    ratings_needed: int = 2,
    levels_needed: int = 1,
) -> tuple[Parameter, Quantity]:
    """A parameter of confidence, and the quantity on whose transformed scale it is."""
    names = {"log": "log of ", "logit": "logit of ", "fisher_z": "Fisher z of "}
    links: dict[str, Formula] = {
        "log": lambda v, xp: xp.exp(v[parameter]),
        "logit": lambda v, xp: 1 / (1 + xp.exp(-v[parameter])),
        "fisher_z": lambda v, xp: xp.tanh(v[parameter]),
    }
    unit = EVIDENCE if quantity in ("noise", "confidence_sd") else "1"
    return (
        Parameter(
            parameter,
            f"{names[link]}{said}",
            Prior("Normal", mu=mu, sigma=sigma),
            ratings_needed=ratings_needed,
            levels_needed=levels_needed,
        ),
        Quantity(
            quantity, said, unit, needs=(parameter,), compute=links[link], parameter=parameter
        ),
    )


HALF = math.log(0.5)
NOISE = pair("log_noise", "noise", "SD of the noise of confidence", HALF, 1, "log")
VISIBILITY = pair(
    "logit_visibility", "visibility", "weight of visibility", 0, 1.5, "logit", levels_needed=2
)
BOOST = pair(
    "logit_boost", "boost", "weight of the stimulus, confidence boost", 0, 1.5, "logit",
    ratings_needed=3,
)  # fmt: skip
LATER = pair("log_later", "later", "evidence after the response over that before", HALF, 1, "log")
SPREAD = pair(
    "log_confidence_sd", "confidence_sd", "SD of the evidence of confidence", 0, 1, "log",
    ratings_needed=3,
)  # fmt: skip
CORRELATION = pair(
    "fisher_z_correlation", "correlation", "correlation of the two kinds of evidence", 0.5, 1,
    "fisher_z",
)  # fmt: skip
OWN = pair(
    "log_relative_dprime", "relative_dprime", "sensitivity of confidence over d′", 0, 1, "log"
)


def gaussian_noise(v: Values, xp: Arrays) -> Weights:
    """Noise alone is added."""
    one = xp.ones_like(v["noise"])
    return one, 0 * one, 0 * one, v["noise"]


def wev(v: Values, _: Arrays) -> Weights:
    """The response's evidence, and visibility, which knows the difficulty."""
    w = v["visibility"]
    return 1 - w, 0 * w, w, v["noise"]


def rce(v: Values, xp: Arrays) -> Weights:
    """Evidence for the chosen response alone: wev with weight 1/3, noise 2/3, times 3/4."""
    one = xp.ones_like(v["dprime"])
    return one / 2, 0 * one, one / 4, one / 2


def pda(v: Values, xp: Arrays) -> Weights:
    """Evidence goes on after the response, b times as long as before."""
    b = v["later"]
    return xp.ones_like(b), b, 0 * b, xp.sqrt(b)


def cncb(v: Values, _: Arrays) -> Weights:
    """Noise is added, and a share of the evidence replaced by its mean."""
    boost = v["boost"]
    return 1 - boost, boost, 0 * boost, v["noise"]


def fleming_daw(v: Values, xp: Arrays) -> Weights:
    """Evidence of SD t, correlated with that of the response."""
    t, rho = v["confidence_sd"], v["correlation"]
    rest = xp.sqrt(1 - rho**2)
    if "fisher_z_correlation" in v:
        # √(1 - tanh²), of which far out no digits are lost.
        z = v["fisher_z_correlation"]
        rest = 2 / (xp.exp(z) + xp.exp(-z))
    return rho * t, 1 - rho * t, 0 * t, t * rest


def ig(v: Values, xp: Arrays) -> Weights:
    """Evidence that is independent of that of the response."""
    m = v["relative_dprime"]
    return 0 * m, m, 0 * m, xp.ones_like(m)


def boost_and_visibility(v: Values, _: Arrays) -> Weights:
    """wev and cncb in one: the evidence of wev is that of cncb."""
    w, boost = v["visibility"], v["boost"]
    return (1 - w) * (1 - boost), (1 - w) * boost, w, v["noise"]


def part_of(weights: Callable[[Values, Arrays], Weights], k: int) -> Formula:
    """One of the weights."""
    return lambda v, xp: weights(v, xp)[k]


type Process = tuple[
    str, str, tuple[tuple[Parameter, Quantity], ...], Callable[[Values, Arrays], Weights]
]

# Title, sentence of a report, parameters of confidence, and how its evidence follows from them.
PROCESSES: dict[str, Process] = {
    "gaussian_noise": (
        "Noise between decision and confidence.",
        "normal noise added to the evidence before it is rated (Maniscalco & Lau, 2016; "
        "Shekhar & Rahnev, 2021)",
        (NOISE,),
        gaussian_noise,
    ),
    "wev": (
        "Weighted evidence and visibility.",
        "a weighted sum of evidence and stimulus visibility, with noise (Rausch et al., 2018)",
        (VISIBILITY, NOISE),
        wev,
    ),
    "rce": (
        "Evidence for the chosen response alone.",
        "the evidence for the chosen response, without that against it (Peters et al., 2017)",
        (),
        rce,
    ),
    "pda": (
        "Evidence that goes on after the decision.",
        "evidence that accumulates further after the response (Rausch et al., 2018)",
        (LATER,),
        pda,
    ),
    "cncb": (
        "Confidence noise and confidence boost.",
        "evidence with noise, of which a share is replaced by new evidence (Mamassian & de "
        "Gardelle, 2022)",
        (BOOST, NOISE),
        cncb,
    ),
    "fleming_daw": (
        "Evidence of confidence correlated with that of the decision.",
        "a second-order model: evidence that is correlated with that of the response (Fleming & "
        "Daw, 2017), with free criteria",
        (SPREAD, CORRELATION),
        fleming_daw,
    ),
    "ig": (
        "Evidence of confidence independent of that of the decision.",
        "evidence independent of that of the response (Rausch & Zehetleitner, 2017)",
        (OWN,),
        ig,
    ),
    "boost_and_visibility": (
        "Noise, boost and visibility together.",
        "evidence with noise, boost and visibility, of which the other processes are special cases",
        (BOOST, VISIBILITY, NOISE),
        boost_and_visibility,
    ),
}
LIMITS = (
    "The parameters describe what happens between decision and confidence if the model is right. "
    "Other processes may fit as well: compare models before parameters are read in this way."
)


@cache
def linear_gaussian(*, process: str = "gaussian_noise") -> Family:
    """Record of a process."""
    title, method, pairs, weights = PROCESSES[process]
    own = tuple(parameter for parameter, _ in pairs)
    quantities = tuple(quantity for _, quantity in pairs)
    names = tuple(one.name for one in quantities)
    first = own[0].name if own else "dprime"
    shown = names[0] if own else "dprime"
    return Family(
        name="linear-gaussian",
        title=title,
        parameters=(*TYPE1, *own, *FREE_CRITERIA),
        quantities=(
            *TYPE1_QUANTITIES,
            *quantities,
            *(
                Quantity(
                    name,
                    needs=names or ("dprime",),
                    compute=part_of(weights, k),
                    in_posterior=False,
                )
                for k, name in enumerate(WEIGHTS)
            ),
            *FREE_CRITERIA_QUANTITIES,
        ),
        arguments=("dprime", "c", *WEIGHTS, "criteria"),
        log_probabilities=log_probabilities,
        parameter_of_interest=first,
        symbol=shown,
        plotted=shown,
        compared=shown,
        tabulated=("dprime", "c", *names),
        method=f"{method}.",
        limits=LIMITS,
        choices=(Choice("process", "Process of confidence", tuple(PROCESSES)),),
        chosen={"process": process},
        choose=linear_gaussian,
        kernel=KERNEL,
        density="linear_gaussian",
    )


FAMILIES = (linear_gaussian(),)
