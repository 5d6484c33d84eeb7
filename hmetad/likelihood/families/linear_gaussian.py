"""Confidence from a linear function of the evidence and normal noise, as records.

Process that a card chooses → Family. Most models of confidence in the literature are members of
this family: they differ in what is free, and in their units.
`hmetad.likelihood.kernels.linear_gaussian` has the equation and the sources.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from hmetad.likelihood.family import (
    NUMPY,
    Array,
    Arrays,
    Choice,
    Family,
    Parameter,
    Quantity,
    Values,
    intermediate,
)
from hmetad.likelihood.priors import Prior
from hmetad.likelihood.ratings import (
    EVIDENCE,
    FREE_CRITERIA,
    FREE_CRITERIA_QUANTITIES,
    TYPE1,
    TYPE1_QUANTITIES,
    over_cells,
)

# Weights of the evidence x, of its mean and of the response, and SD of the noise.
type Weights = tuple[Array, Array, Array, Array]
type Pair = tuple[Parameter, Quantity]

KERNEL = "hmetad.likelihood.kernels.linear_gaussian"
WEIGHTS = ("evidence_weight", "stimulus_weight", "response_weight", "noise_sd")


def log_probabilities(
    d: Array, c: Array, a: Array, b: Array, w: Array, sigma: Array, theta: Array, xp: Arrays = NUMPY
) -> Array:
    """log P(response, rating | stimulus), shape (..., 2, 2, K); arguments as in `KERNEL`."""
    return over_cells(KERNEL, (d, c, a, b, w, sigma), theta, xp)


# From a parameter to the quantity: what comes before its name, and the function.
LINKS: dict[str, tuple[str, Callable[[Array, Arrays], Array]]] = {
    "log": ("log of ", lambda x, xp: xp.exp(x)),
    "logit": ("logit of ", lambda x, xp: 1 / (1 + xp.exp(-x))),
    "fisher_z": ("Fisher z of ", lambda x, xp: xp.tanh(x)),
}


def pair(quantity: str, said: str, link: str, mu: float, sigma: float, **needed: Any) -> Pair:
    """A parameter of confidence, and the quantity on whose transformed scale it is.

    `needed` are numbers of ratings or levels of d′ without which counts do not tell of it.
    """
    name, (scale, function) = f"{link}_{quantity}", LINKS[link]
    return (
        Parameter(
            name,
            f"{scale}{said}",
            Prior("Normal", mu=mu, sigma=sigma),
            link=link,
            **needed,
        ),
        Quantity(
            quantity,
            said,
            EVIDENCE if said.startswith("SD of") else "1",
            needs=(name,),
            compute=lambda v, xp: function(v[name], xp),
            parameter=name,
        ),
    )


HALF = math.log(0.5)
NOISE = pair("noise", "SD of the noise of confidence", "log", HALF, 1)
VISIBILITY = pair("visibility", "weight of visibility", "logit", 0, 1.5, levels_needed=2)
BOOST = pair("boost", "weight of the stimulus, confidence boost", "logit", 0, 1.5, ratings_needed=3)
LATER = pair("later", "post-decisional over pre-decisional evidence", "log", HALF, 1)
SPREAD = pair("confidence_sd", "SD of the evidence of confidence", "log", 0, 1, ratings_needed=3)
CORRELATION = pair("correlation", "correlation of the two kinds of evidence", "fisher_z", 0.5, 1)
OWN = pair("relative_dprime", "sensitivity of confidence over d′", "log", 0, 1)


def fleming_daw(v: Values, xp: Arrays) -> Weights:
    """Evidence of SD t, correlated with that of the response."""
    t, rho = v["confidence_sd"], v["correlation"]
    rest = xp.sqrt(1 - rho**2)
    if "fisher_z_correlation" in v:
        # √(1 - tanh²), of which far out no digits are lost.
        z = v["fisher_z_correlation"]
        rest = 2 / (xp.exp(z) + xp.exp(-z))
    return rho * t, 1 - rho * t, 0.0, t * rest


def boost_and_visibility(v: Values, _: Arrays) -> Weights:
    """wev and cncb in one: the evidence of wev is that of cncb."""
    w, boost = v["visibility"], v["boost"]
    return (1 - w) * (1 - boost), (1 - w) * boost, w, v["noise"]


@dataclass(frozen=True)
class Process:
    """Title, sentence of a report, parameters of confidence, and how its evidence follows."""

    title: str
    method: str
    own: tuple[Pair, ...]
    weights: Callable[[Values, Arrays], Weights]


PROCESSES = {
    "gaussian_noise": Process(
        "Noise between decision and confidence.",
        "normal noise added to the evidence before it is rated (Maniscalco & Lau, 2016; "
        "Shekhar & Rahnev, 2021)",
        (NOISE,),
        lambda v, _: (1.0, 0.0, 0.0, v["noise"]),
    ),
    # The response's evidence, and visibility, which knows the difficulty.
    "wev": Process(
        "Weighted evidence and visibility.",
        "a weighted sum of evidence and stimulus visibility, with noise (Rausch et al., 2018)",
        (VISIBILITY, NOISE),
        lambda v, _: (1 - v["visibility"], 0.0, v["visibility"], v["noise"]),
    ),
    # wev with weight 1/3, noise 2/3, times 3/4.
    "rce": Process(
        "Evidence for the chosen response alone.",
        "the evidence for the chosen response, without that against it (Peters et al., 2017)",
        (),
        lambda _, __: (0.5, 0.0, 0.25, 0.5),
    ),
    # After the response b times as long as before.
    "pda": Process(
        "Evidence that goes on after the decision.",
        "evidence that accumulates further after the response (Rausch et al., 2018)",
        (LATER,),
        lambda v, xp: (1.0, v["later"], 0.0, xp.sqrt(v["later"])),
    ),
    # A share of the evidence is replaced by its mean.
    "cncb": Process(
        "Confidence noise and confidence boost.",
        "evidence with noise, of which a share is replaced by new evidence (Mamassian & de "
        "Gardelle, 2022)",
        (BOOST, NOISE),
        lambda v, _: (1 - v["boost"], v["boost"], 0.0, v["noise"]),
    ),
    "fleming_daw": Process(
        "Evidence of confidence correlated with that of the decision.",
        "a second-order model: evidence that is correlated with that of the response (Fleming & "
        "Daw, 2017), with free criteria",
        (SPREAD, CORRELATION),
        fleming_daw,
    ),
    "ig": Process(
        "Evidence of confidence independent of that of the decision.",
        "evidence independent of that of the response (Rausch & Zehetleitner, 2017)",
        (OWN,),
        lambda v, _: (0.0, v["relative_dprime"], 0.0, 1.0),
    ),
    "boost_and_visibility": Process(
        "Noise, boost and visibility together.",
        "evidence with noise, boost and visibility, of which the other processes are special cases",
        (BOOST, VISIBILITY, NOISE),
        boost_and_visibility,
    ),
}


def weights_of(process: Process, needs: tuple[str, ...]) -> list[Quantity]:
    """The four weights, of every cell."""

    def weight(k: int, v: Values, xp: Arrays) -> Array:
        own = process.weights(v, xp)[k]
        return own + xp.zeros_like(v["dprime"]) if isinstance(own, float) else own

    return [intermediate(name, (), needs, partial(weight, k)) for k, name in enumerate(WEIGHTS)]


LIMITS = (
    "The parameters describe what happens between decision and confidence if the model is right. "
    "Other processes may fit as well: compare models before parameters are read in this way."
)


@cache
def linear_gaussian(*, process: str = "gaussian_noise") -> Family:
    """Record of a process."""
    chosen = PROCESSES[process]
    own = tuple(parameter for parameter, _ in chosen.own)
    quantities = tuple(quantity for _, quantity in chosen.own)
    names = tuple(one.name for one in quantities)
    first = own[0].name if own else "dprime"
    shown = names[0] if own else "dprime"
    return Family(
        name="linear-gaussian",
        title=chosen.title,
        parameters=(*TYPE1, *own, *FREE_CRITERIA),
        quantities=(
            *TYPE1_QUANTITIES,
            *quantities,
            *weights_of(chosen, ("dprime", *names)),
            *FREE_CRITERIA_QUANTITIES,
        ),
        arguments=("dprime", "c", *WEIGHTS, "criteria"),
        log_probabilities=log_probabilities,
        parameter_of_interest=first,
        symbol=shown,
        plotted=shown,
        compared=shown,
        tabulated=("dprime", "c", *names),
        method=f"{chosen.method}.",
        limits=LIMITS,
        choices=(Choice("process", "Process of confidence", tuple(PROCESSES)),),
        chosen={"process": process},
        choose=linear_gaussian,
        kernel_module=KERNEL,
        compiled_kernel="linear_gaussian",
    )


FAMILIES = (linear_gaussian(),)
