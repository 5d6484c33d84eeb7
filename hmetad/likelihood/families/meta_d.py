"""The meta-d′ model and its variants: probabilities in their plainest form, and records.

Choices of a card → Family; parameters (arrays that broadcast over leading dims) → log-probabilities
(..., stimulus, response, rating). These are written for reading and for checking the compiled
kernel against; the array module is an argument, so that the same lines run under NumPy and
PyTensor.

Notation: type-1 evidence is N(-d/2, 1) for stimulus S1 and N(+d/2, 1/s) for S2, the response
is S2 above the criterion c. Confidence follows the same picture with m = meta-d′ in place of d
and κ (`kappa`) in place of c; from κ outward, type-2 criteria lie one gap after the other.

Source: Maniscalco & Lau (2012, 2014); Fleming (2017).
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

from hmetad.base.errors import ChoiceError
from hmetad.likelihood.family import (
    NUMPY,
    Array,
    Arrays,
    Choice,
    Family,
    Formula,
    Parameter,
    Quantity,
    Values,
    intermediate,
)
from hmetad.likelihood.priors import Prior
from hmetad.likelihood.ratings import (
    CRITERION,
    EVIDENCE,
    LOG_GAP,
    RESPONSE_SIGN,
    TYPE1,
    TYPE1_QUANTITIES,
    criteria_quantities,
    log_rating_shares,
)

CHOICES = (
    Choice(
        "meta_criterion",
        "Meta-level criterion κ (relative: M·c; absolute: c)",
        ("relative", "absolute"),
    ),
    Choice("scale", "Scale of M", ("log_m", "m", "meta_d")),
    Choice("criteria", "Criteria", ("log_gap", "sorted_normal", "group_sorted_normal")),
    Choice("type1", "d′ and c", ("joint", "plug_in")),
    Choice("noise", "Noise of the evidence", ("normal", "logistic", "gumbel_min")),
)
# Standard deviations of noise of scale 1.
NOISE_SD = {"logistic": math.pi / math.sqrt(3), "gumbel_min": math.pi / math.sqrt(6)}
# Where Gumbel noise is exponential, and the last exponential that is a number.
FAR_BELOW, LARGEST = 30.0, 700.0
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
LOG_S = Parameter("log_s", "log σ_S1/σ_S2", Prior("Normal", mu=0, sigma=0.5), link="log")
HYPERPRIORS = dict.fromkeys(("mu_c2", "sigma_c2"), Prior("HalfNormal", sigma=10))


@cache
def meta_d(
    name: str,
    *,
    meta_criterion: str = "relative",
    scale: str = "log_m",
    criteria: str = "log_gap",
    type1: str = "joint",
    noise: str = "normal",
) -> Family:
    """Record of the meta-d′ model, with the choices that a card makes."""
    own = ("response",) if name == "response-conditional" else ()
    chosen = {"meta_criterion": meta_criterion, "scale": scale, "criteria": criteria}
    record = Family(
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
        **about_efficiency(scale, "responses"),
        tabulated=("dprime", "c", "meta_d", "m_ratio"),
        method=METHOD,
        limits=LIMITS,
        from_counts=() if type1 == "joint" else ("dprime", "c"),
        choices=CHOICES,
        chosen={**chosen, "type1": type1, "noise": noise},
        choose=partial(meta_d, name),
        alternatives=other_rule(meta_criterion) if criteria == "log_gap" else {},
        kernel_module="hmetad.likelihood.kernels.meta_d",
        compiled_kernel="meta_d",
    )
    if noise == "normal":
        return record
    if type1 == "plug_in":
        raise ChoiceError("type1", f"'plug_in' with {noise} noise", "'joint'")
    own_form = partial(log_noise_probabilities, noise)
    return replace(record, log_probabilities=own_form, kernel_module="", compiled_kernel="")


def other_rule(meta_criterion: str, rules: Mapping[str, str] = RULES) -> dict[str, dict[str, str]]:
    """The other rule for κ; HMeta-d's criteria, whose prior begins at κ = c, have none."""
    other = next(rule for rule in rules if rule != meta_criterion)
    said = f"{rules[other]} instead of {rules[meta_criterion]}"
    return {said: {"meta_criterion": other}}


def scale_parameter(scale: str, dims: tuple[str, ...]) -> Parameter:
    """The parameter that carries the prior of metacognitive efficiency."""
    if scale == "log_m":
        return Parameter("log_m", "log M", Prior("Normal", mu=0, sigma=1), dims, link="log")
    if scale == "m":
        return Parameter("m", "M = meta-d′/d′", Prior("Normal", mu=1, sigma=1), dims)
    prior = Prior("Normal", mu=0, sigma=math.sqrt(2))
    return Parameter("meta_d", "meta-d′", prior, dims, has_formula=False, prior_centre="dprime")


def about_efficiency(scale: str, of: str) -> dict[str, Any]:
    """What a record says of M: its symbol, where tables and figures show it, and a line at 1.

    Cells are compared in log M, unless M itself carries the prior and may be negative.
    """
    return {
        "parameter_of_interest": scale,
        "symbol": "M",
        "plotted": "m_ratio",
        "compared": "m_ratio" if scale == "m" else "log_m",
        "reference": (1.0, f"M-ratio of 1: confidence uses all the information behind the {of}"),
    }


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
        link="log",
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
            link="log",
        ),
    )


def meta_level(meta_criterion: str, own: tuple[str, ...]) -> tuple[Quantity, ...]:
    """κ, criteria, and meta-d′ and κ for each of the two responses."""

    def kappa(v: Values, xp: Arrays) -> Array:
        value = meta_criterion_value(beside(v["c"], own), v["m_ratio"], meta_criterion)
        return xp.broadcast_to(value, v["m_ratio"].shape)

    def by_response(name: str, v: Values, xp: Arrays) -> Array:
        return v[name] if own else xp.stack([v[name], v[name]], axis=-1)

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
        *(
            intermediate(f"{name}_by_response", ("response",), (name,), partial(by_response, name))
            for name in ("meta_d", "meta_c")
        ),
    )


def log_joint_probabilities(
    d: Array, c: Array, m: Array, kappa: Array, gaps: Array, s: Array = 1.0, xp: Arrays = NUMPY
) -> Array:
    """log P(response, rating | stimulus), the cells of the count table.

    P(r, k | s) = P(r | s; d, c) · P(k | s, r; m, κ, gaps).

    Parameters
    ----------
    d, c : array, shape (...)
        Type-1 sensitivity d′ and criterion, in standard deviations of the S1 evidence.
    m, kappa : float, or array of shape (..., 2) or (..., 1)
        meta-d′ and meta-level type-1 criterion; the last dim is always the response.
    gaps : array, shape (..., 2, K - 1)
        Positive distances between neighbouring type-2 criteria, per response, outward from κ.
    s : array, shape (...), optional
        σ_S1 / σ_S2 of the evidence; 1 is the equal-variance model.
    xp : Arrays, optional
        Of NumPy or PyTensor.

    Returns
    -------
    array, shape (..., 2, 2, K)
        Dims stimulus, response, rating; sums to one over the last two.

    Examples
    --------
    >>> import numpy as np
    >>> gaps = np.array([[0.5, 0.5], [0.5, 0.5]])
    >>> p = np.exp(log_joint_probabilities(2.0, 0.5, 1.0, 0.5, gaps))
    >>> p[0, 1].round(6)  # stimulus S1, response S2, ratings 1..3
    array([0.038676, 0.018552, 0.00958 ])
    """
    response = log_response_probabilities(d, c, s, xp)
    return response[..., None] + log_conditional_probabilities(m, kappa, gaps, s, xp)


def log_response_probabilities(d: Array, c: Array, s: Array = 1.0, xp: Arrays = NUMPY) -> Array:
    """log P(response | stimulus) of the type-1 decision, shape (..., 2, 2).

    P(S2 | S1) = Φ(-d/2 - c) and P(S2 | S2) = Φ(s (d/2 - c)).
    """
    log_ndtr = xp.log_ndtr
    false_alarm = -xp.asarray(d) / 2 - c
    hit = s * (xp.asarray(d) / 2 - c)
    rows = [xp.stack([log_ndtr(-z), log_ndtr(z)], axis=-1) for z in (false_alarm, hit)]
    return xp.stack(xp.broadcast_arrays(*rows), axis=-2)


def log_conditional_probabilities(
    m: Array, kappa: Array, gaps: Array, s: Array = 1.0, xp: Arrays = NUMPY
) -> Array:
    """log P(rating | stimulus, response) of the confidence ratings, shape (..., 2, 2, K).

    The area of the meta-level evidence between the edges of a rating, as a share of the area
    on the response's side of κ. Arguments as in `log_joint_probabilities`.
    """
    gaps = xp.asarray(gaps)
    m, kappa, s = xp.asarray(m), xp.asarray(kappa), xp.asarray(s)
    rows = []
    for stimulus_sign, scale in ((-1.0, xp.ones_like(s)), (1.0, s)):
        # Mirrored for response S1, so that edges rise from the criterion outward.
        start = RESPONSE_SIGN * scale[..., None] * (kappa - stimulus_sign * m / 2)
        widths = scale[..., None, None] * gaps
        rows.append(log_rating_shares(start, widths, xp))
    return xp.stack(xp.broadcast_arrays(*rows), axis=-3)


def log_noise_probabilities(
    noise: str,
    d: Array,
    c: Array,
    m: Array,
    kappa: Array,
    gaps: Array,
    s: Array = 1.0,
    xp: Arrays = NUMPY,
) -> Array:
    """`log_joint_probabilities` for evidence whose noise is not normal.

    P(r, k | s) = T_r(c) · [T_r(edge k - 1) - T_r(edge k)] / T_r(κ), where T_r is the probability of
    evidence on the side of response r. The noise has its mode at ∓d/2, and an SD of 1.

    Examples
    --------
    >>> gaps = [[0.5], [0.5]]
    >>> p = NUMPY.exp(log_noise_probabilities("logistic", 2.0, 0.5, [2.0], [0.5], gaps))
    >>> p[0, 1].round(6)  # stimulus S1, response S2, ratings 1 and 2
    array([0.035871, 0.025892])
    """
    d, c, m, kappa, gaps, s = map(xp.asarray, (d, c, m, kappa, gaps, s))
    offsets, by_stimulus = xp.cumulative_sum(gaps, axis=-1), []
    for sign, scale in ((-1.0, xp.ones_like(s)), (1.0, s)):
        decision = log_sides(noise, scale * (c - sign * d / 2), xp)
        start = xp.broadcast_arrays(scale[..., None] * (kappa - sign * m / 2), gaps[..., 0])[0]
        by_response = []
        for response, side in enumerate(RESPONSE_SIGN):
            begin = start[..., response, None]
            outer = begin + side * scale[..., None] * offsets[..., response, :]
            inner = xp.concat([begin, outer[..., :-1]], axis=-1)
            below, above = (inner, outer) if response else (outer, inner)
            areas = (
                log_between(noise, below, above, xp),
                log_sides(noise, outer, xp)[response][..., -1:],
            )
            share = xp.concat(areas, axis=-1) - log_sides(noise, begin, xp)[response]
            by_response.append(decision[response][..., None] + share)
        by_stimulus.append(xp.stack(xp.broadcast_arrays(*by_response), axis=-2))
    return xp.stack(xp.broadcast_arrays(*by_stimulus), axis=-3)


def log_between(noise: str, lower: Array, upper: Array, xp: Arrays) -> Array:
    """Log probability of noise between two edges, by the tail in which both are small."""
    (below_lower, above_lower), (below_upper, above_upper) = (
        log_sides(noise, edge, xp) for edge in (lower, upper)
    )
    is_high = lower + upper > 0
    near = xp.where(is_high, above_lower, below_upper)
    far = xp.where(is_high, above_upper, below_lower)
    return near + xp.log(-xp.expm1(far - near))


def log_sides(noise: str, x: Array, xp: Arrays) -> tuple[Array, Array]:
    """Log probabilities of noise below and above x, in its standard deviations from its mode."""
    x = x * NOISE_SD[noise]
    low, high = xp.minimum(x, 0.0), xp.maximum(x, 0.0)
    if noise == "logistic":
        far = xp.log1p(xp.exp(-xp.abs(x)))
        return low - far, -high - far
    # Far below, what is left of the logarithm is x. No branch gets what it cannot compute.
    from_low = xp.log(-xp.expm1(-xp.exp(xp.maximum(low, -FAR_BELOW))))
    from_high = xp.log1p(-xp.exp(-xp.exp(xp.minimum(high, LARGEST))))
    near = xp.where(x > 0, from_high, from_low)
    return xp.where(x < -FAR_BELOW, x, near), -xp.exp(xp.minimum(x, LARGEST))


def meta_criterion_value(c: Array, m_ratio: Array, meta_criterion: str) -> Array:
    """κ, the criterion at the meta level: M·c if `relative`, c if `absolute`.

    `relative` is Maniscalco & Lau's (2012) rule, `absolute` that of HMeta-d (Fleming 2017) and
    of Wang et al. (2025). They differ as soon as c ≠ 0.
    """
    if meta_criterion == "relative":
        return m_ratio * c
    if meta_criterion == "absolute":
        return c
    raise ChoiceError("meta_criterion", repr(meta_criterion), "'relative' or 'absolute'")


FAMILIES = tuple(map(meta_d, TITLES))
