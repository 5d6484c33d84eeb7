"""The meta-d′ model and its variants, as records.

Choices of a card → Likelihood. Source: Maniscalco & Lau (2012, 2014); Fleming (2017).
"""

import math
from functools import cache, partial

from hmetad.likelihood.arrays import Array, Arrays
from hmetad.likelihood.criteria import CRITERION, LOG_GAP, criteria_quantities
from hmetad.likelihood.priors import Prior
from hmetad.likelihood.records import Choice, Formula, Likelihood, Parameter, Quantity, Values
from hmetad.likelihood.theory import log_joint_probabilities, meta_criterion_value
from hmetad.likelihood.type1 import EVIDENCE, TYPE1, TYPE1_QUANTITIES

__all__ = ["LIKELIHOODS"]

CHOICES = (
    Choice("meta_criterion", "Meta-level criterion κ", ("relative", "absolute")),
    Choice("scale", "Scale of M", ("log_m", "m", "meta_d")),
    Choice("criteria", "Criteria", ("log_gap", "sorted_normal", "group_sorted_normal")),
    Choice("type1", "d′ and c", ("joint", "plug_in")),
)
TITLES = {
    "meta-d": "One M for both responses, evidence of equal variance.",
    "response-conditional": "An M for each response, evidence of equal variance.",
    "unequal-variance": "One M for both responses, evidence of unequal variance.",
}
RULES = {"relative": "κ = M·c", "absolute": "κ = c"}
METHOD = (
    "d′ and c of the responses, and meta-d′ and criteria of the ratings given stimulus and "
    "response (Maniscalco & Lau, 2012), in Bayesian form (Fleming, 2017); meta-level criterion "
    "{meta_criterion}. M-ratio is meta-d′/d′."
)
LIMITS = (
    "M-ratio is not free of d′, criterion and confidence bias under most generative models: M "
    "below 1 is no proof of loss, nor M above 1 of gain. Items of mixed difficulty inflate it."
)
LOG_S = Parameter("log_s", "log σ_S1/σ_S2", Prior("Normal", mu=0, sigma=0.5))
HYPERPRIORS = dict.fromkeys(("mu_c2", "sigma_c2"), Prior("HalfNormal", sigma=10))


@cache
def meta_d(
    name: str,
    *,
    meta_criterion: str = "relative",
    scale: str = "log_m",
    criteria: str = "log_gap",
    type1: str = "joint",
) -> Likelihood:
    """Record of the meta-d′ model, with the choices that a card makes."""
    own = ("response",) if name == "response-conditional" else ()
    chosen = {"meta_criterion": meta_criterion, "scale": scale, "criteria": criteria}
    return Likelihood(
        name=name,
        title=TITLES[name],
        parameters=(
            *(TYPE1 if type1 == "joint" else ()),
            scale_parameter(scale, own),
            criteria_parameter(criteria),
            *((LOG_S,) if name == "unequal-variance" else ()),
        ),
        quantities=quantities(scale, meta_criterion, own, has_s=name == "unequal-variance"),
        arguments=("dprime", "c", "meta_d_by_response", "meta_c_by_response", "gaps", "s"),
        log_probabilities=log_joint_probabilities,
        parameter_of_interest=scale,
        symbol="M",
        plotted="m_ratio",
        compared="log_m",
        tabulated=("dprime", "c", "meta_d", "m_ratio"),
        method=METHOD,
        limits=LIMITS,
        reference=(1.0, "at 1 confidence has all that the responses had"),
        from_counts=() if type1 == "joint" else ("dprime", "c"),
        choices=CHOICES,
        chosen={**chosen, "type1": type1},
        choose=partial(meta_d, name),
        alternatives=other_rule(meta_criterion) if criteria == "log_gap" else {},
        kernel="hmetad.likelihood.meta_d_compiled",
        density="hmetad.likelihood.meta_d_compiled",
    )


def other_rule(meta_criterion: str) -> dict[str, dict[str, str]]:
    """The other rule for κ; HMeta-d's criteria, whose prior begins at κ = c, have none."""
    other = next(rule for rule in RULES if rule != meta_criterion)
    said = f"{RULES[other]} instead of {RULES[meta_criterion]}"
    return {said: {"meta_criterion": other}}


def scale_parameter(scale: str, dims: tuple[str, ...]) -> Parameter:
    """The parameter that carries the prior of metacognitive efficiency."""
    if scale == "log_m":
        return Parameter("log_m", "log M", Prior("Normal", mu=0, sigma=1), dims)
    if scale == "m":
        return Parameter("m", "M = meta-d′/d′", Prior("Normal", mu=1, sigma=1), dims)
    prior = Prior("Normal", mu=0, sigma=math.sqrt(2))
    return Parameter("meta_d", "meta-d′", prior, dims, has_formula=False, prior_centre="dprime")


def criteria_parameter(criteria: str) -> Parameter:
    """The parameter of the type-2 criteria."""
    if criteria == "log_gap":
        return LOG_GAP
    return Parameter(
        "criteria",
        "type-2 criteria",
        Prior("Normal", mu=0, sigma=math.sqrt(0.5)),
        dims=CRITERION,
        has_formula=False,
        truncated_at="meta_c",
        hyperpriors=HYPERPRIORS if criteria == "group_sorted_normal" else {},
    )


def quantities(
    scale: str, meta_criterion: str, own: tuple[str, ...], *, has_s: bool
) -> tuple[Quantity, ...]:
    """What follows from the parameters; `own` are the dims of M: the response, or none."""
    return (
        *TYPE1_QUANTITIES,
        *efficiency(scale, own),
        *meta_level(meta_criterion, own),
        Quantity(
            "s",
            "ratio of SDs of the evidence, σ_S1/σ_S2",
            needs=("log_s",) if has_s else ("dprime",),
            compute=lambda v, xp: xp.exp(v["log_s"]) if has_s else xp.ones_like(v["dprime"]),
            in_posterior=has_s,
        ),
    )


def beside(x: Array, own: tuple[str, ...]) -> Array:
    """Values of a cell, with the dims of M."""
    return x[..., None] if own else x


def efficiency(scale: str, own: tuple[str, ...]) -> tuple[Quantity, ...]:
    """M, meta-d′ and log M, from the one of them that is a parameter."""
    of_scale: dict[str, tuple[tuple[str, ...], Formula]] = {
        "log_m": (("log_m",), lambda v, xp: xp.exp(v["log_m"])),
        "m": (("m",), lambda v, _: v["m"]),
        "meta_d": (("meta_d", "dprime"), lambda v, _: v["meta_d"] / beside(v["dprime"], own)),
    }
    return (
        Quantity(
            "m_ratio",
            "metacognitive efficiency M = meta-d′/d′",
            dims=own,
            needs=of_scale[scale][0],
            compute=of_scale[scale][1],
            parameter=scale,
            convergence_of=("log_m",),
            always_finite=False,
        ),
        Quantity(
            "meta_d",
            "metacognitive sensitivity meta-d′",
            EVIDENCE,
            own,
            needs=("m_ratio", "dprime"),
            compute=lambda v, _: v["m_ratio"] * beside(v["dprime"], own),
            parameter=scale,
            convergence_of=("dprime",),
        ),
        Quantity(
            "log_m",
            "log M",
            dims=own,
            needs=("m_ratio",),
            compute=lambda v, xp: xp.log(xp.where(v["m_ratio"] > 0, v["m_ratio"], xp.nan)),
            parameter=scale,
            always_finite=False,
        ),
    )


def meta_level(meta_criterion: str, own: tuple[str, ...]) -> tuple[Quantity, ...]:
    """κ, criteria, and meta-d′ and κ for each of the two responses."""

    def kappa(v: Values, xp: Arrays) -> Array:
        value = meta_criterion_value(beside(v["c"], own), v["m_ratio"], meta_criterion)
        return xp.broadcast_to(value, v["m_ratio"].shape)

    def by_response(x: Array, xp: Arrays) -> Array:
        return x if own else xp.stack([x, x], axis=-1)

    def inner_edge(v: Values) -> Array:
        return v["meta_c"] if own else v["meta_c"][..., None]

    return (
        Quantity(
            "meta_c",
            "criterion at the meta level, κ",
            EVIDENCE,
            own,
            needs=("m_ratio", "c"),
            compute=kappa,
            convergence_of=("c",),
            always_finite=False,
        ),
        *criteria_quantities("meta_c", inner_edge),
        Quantity(
            "meta_d_by_response",
            dims=("response",),
            needs=("meta_d",),
            compute=lambda v, xp: by_response(v["meta_d"], xp),
            in_posterior=False,
        ),
        Quantity(
            "meta_c_by_response",
            dims=("response",),
            needs=("meta_c",),
            compute=lambda v, xp: by_response(v["meta_c"], xp),
            in_posterior=False,
        ),
    )


LIKELIHOODS = tuple(map(meta_d, TITLES))
