"""Pass rates of outputs behind a judge's verdicts, corrected by human labels.

Table of judged outputs with pool counts → draws (chain, draw, cell) of the proportion of good ones.
Sources: Cochran (1977) for double sampling and post-stratification; Rubin (1981) for the Bayesian
bootstrap; DerSimonian & Laird (1986) for how much a judge differs between domains.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr, ndtri

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import seed_or_none, whole
from hmetad.base.errors import ConflictError, NeedError, NumberError, TooFewError
from hmetad.base.monte_carlo import INDEPENDENT
from hmetad.base.notice import Notice, notice_of, notices_but_m, notices_where, with_notices
from hmetad.base.notice_registry import limit
from hmetad.base.results import attrs_of
from hmetad.counts.checks import TYPE1_DIMS
from hmetad.counts.columns import group_numbers, several_columns
from hmetad.counts.judged import require_judged
from hmetad.counts.resample import cell_columns, clusters_of, counts_together, seed_entropy
from hmetad.measures.results import ratio
from hmetad.measures.sdt import z_scores

Labels = Literal["random", "by_rating", "known", "elsewhere"]
Target = Literal["population", "pool"]
type Floats = NDArray[np.float64]

# Draws that are made at once, in numbers.
AT_ONCE = 2**24
# Halvings of the range of a rate: 2⁻⁴⁰.
HALVINGS = 40
# Probability of a rating that curves carried over exclude.
TINY = 1e-300
# What is added to numbers of labels and outputs: Jeffreys' prior.
HALF = 0.5


@check_inputs(skip=("judged",), n=whole(1), seed=seed_or_none)
def pass_rate(
    judged: xr.DataArray,
    *,
    labels: Labels,
    cluster: str | None = None,
    target: Target = "population",
    n: int = 4000,
    seed: int | None = None,
) -> xr.DataArray:
    r"""Draws of the proportion of good outputs, from a judge's verdicts and some human labels.

    Parameters
    ----------
    judged : DataArray
        Result of `count_judged`.
    labels : {"random", "by_rating", "known", "elsewhere"}
        How outputs were chosen for labelling; there is no default, since an incorrect choice causes
        a large error. ``"random"``: a random part of all outputs. ``"by_rating"``: a random part of
        each rating. ``"known"``: with the probabilities of ``label_probability``. ``"elsewhere"``:
        other outputs, or equal numbers of each class. Then only how the judge answers good and bad
        outputs carries over, and the rate refers to the outputs without a label. Cells without
        labels take it from the other cells, of the same judge if a column is named judge. A fully
        labelled cell has the rate of its labels.
    cluster : str, optional
        Coordinate of the items, if they repeat within a cell or are shared by cells: items are
        drawn for all cells at once, which keeps systems that answered the same items paired.
    target : {"population", "pool"}, optional
        The rate in the population of such outputs, or among the counted outputs.
    n : int, optional
        Number of draws.
    seed : int, optional
        Seed; by default a random one, recorded in the attrs.

    Returns
    -------
    DataArray
        ``pass_rate`` with dims (chain, draw, cell), as `contrast`, `decide` and `rank` take it;
        attrs ``labels``, ``target``, ``cluster``, ``seed`` and notices.

    Raises
    ------
    InputError
        If items repeat and no cluster is given; if a rating with unlabelled outputs has no label
        for ``"by_rating"``; if there are no probabilities for ``"known"``; for ``"elsewhere"``, if
        there is no output without a label, or if the hit rate is at most the false-alarm rate.

    Notes
    -----
    With labels in the pool, the proportion of good outputs of a rating carries over:

    .. math::
        \theta = \sum_r w_r q_r, \quad w \sim \mathrm{Dirichlet}(N_r + \tfrac12), \quad
        q_r \sim \mathrm{Beta}(k_r + m_r, n_r - k_r + 1 - m_r)

    where m is ½ of a verdict alone, and of several ratings the rate drawn for their verdict,
    :math:`\mathrm{Beta}(k_v + \tfrac12, n_v - k_v + \tfrac12)`. Its variance is
    :math:`\pi(1-\pi)[(1 - R^2)/n + R^2/M]`, never more than that of the labels alone. By clusters
    each item has an exponential weight, the Bayesian bootstrap.

    With labels from elsewhere p(r | label) is, and θ has the largest likelihood of the pool,
    :math:`\sum_r N_r \log(\theta h_r + (1 - \theta) f_r)`, with h and f drawn as above; of verdicts
    alone that is the Rogan–Gladen rate. For a cell without labels curves of D other cells are moved
    by :math:`t_{D-1}\,\tau\sqrt{1 + 1/D}` in d′ and c, τ their SD between these cells.

    Examples
    --------
    >>> from hmetad.counts.judged import count_judged
    >>> z, v = [1] * 40 + [0] * 40, [1] * 30 + [0] * 10 + [1] * 10 + [0] * 30
    >>> z, v = [*z, *[None] * 400], [*v, *[1, 1, 1, 0, 0] * 80]
    >>> outputs = pd.DataFrame({"human": z, "verdict": v})
    >>> judged = count_judged(outputs, by=(), label="human", verdict="verdict")
    >>> draws = [pass_rate(judged, labels=x, seed=1) for x in ("random", "elsewhere")]
    >>> [one.median().round(2).item() for one in draws]
    [0.54, 0.7]
    """
    require_judged(judged, "pass_rate", cluster)
    if labels == "known" and "weight" not in judged.coords:
        ways = ("Count with label_probability=", "Give --label-probability")
        steps = (f"{way}, the column that has them." for way in ways)
        raise NeedError("labels='known'", "probabilities of being labelled", "", *steps)
    if target == "pool" and (cluster or labels in ("known", "elsewhere")):
        raise ConflictError("target='pool'", "cluster" if cluster else f"labels={labels!r}")
    table = clusters_of(judged, cluster).pooled if cluster else judged
    entropy = seed_entropy(seed)
    generator = np.random.default_rng(entropy)
    counts = by_grade(table)
    drawn = drawn_counts(judged, cluster, labels, n, generator)
    said = design_notices(table, counts, labels)
    if labels == "elsewhere":
        values, moved = by_curves(table, counts, drawn, generator)
        said += moved
    else:
        check_labels(counts, table, labels)
        values = post_stratified(counts, drawn, generator, target)
    attrs = {**attrs_of("pass_rate"), **INDEPENDENT, "labels": labels, "target": target}
    attrs |= {"cluster": cluster or "", "seed": str(entropy)}
    attrs |= {name: table.attrs[name] for name in ("same_items", "coverage") if name in table.attrs}
    dims = ("chain", "draw", "cell")
    found = xr.DataArray(values[None], table["cell"].coords, dims, name="pass_rate", attrs=attrs)
    return with_notices(found, [*notices_but_m(table), *said])


# Counts by grade, from surely fail to surely pass


def by_grade(table: xr.DataArray, *names: str) -> Floats:
    """Counts (cells, classes, grades): bad, good, pool; then those of coordinates by class."""
    arrays = [table, table["pool"].expand_dims("stimulus", axis=1), *(table[x] for x in names)]
    ordered = [x.transpose("cell", *TYPE1_DIMS).to_numpy().astype(float) for x in arrays]
    stacked = np.concatenate(ordered, axis=1)
    return np.concatenate([stacked[:, :, 0, ::-1], stacked[:, :, 1]], axis=-1)


def drawn_counts(
    judged: xr.DataArray, cluster: str | None, labels: Labels, n: int, rng: np.random.Generator
) -> Floats:
    """Draws (n, cells, classes, grades) of the counts: gamma weights of outputs, or of clusters.

    With known probabilities two more classes have the weighted labels.
    """
    names = ("weight",) if labels == "known" else ()
    counts = by_grade(judged, *names)
    if cluster is None:
        shape, scale = counts, np.ones_like(counts)
        if names:
            squared = by_grade(judged, "weight_squared")[:, 3:]
            scale[:, 3:] = squared / np.where(counts[:, 3:] > 0, counts[:, 3:], 1)
            shape = counts / np.where(scale > 0, scale, 1)
        return rng.standard_gamma(shape, (n, *shape.shape)) * scale
    columns = several_columns(cluster, judged.coords)
    others = [name for name in cell_columns(judged) if name not in columns]
    pooled, index = counts_together(judged, others)
    unit = group_numbers(pd.DataFrame({name: judged[name].to_numpy() for name in columns}))
    drawn = np.zeros((n, pooled.sizes["cell"], *counts.shape[1:]))
    step = max(1, AT_ONCE // len(unit))
    for start in range(0, n, step):
        some = drawn[start : start + step]
        weights = rng.standard_exponential((len(some), unit.max() + 1))
        for cell in range(drawn.shape[1]):
            own = index == cell
            flat = weights[:, unit[own]] @ counts[own].reshape(own.sum(), -1)
            some[:, cell] = flat.reshape(len(some), *counts.shape[1:])
    return drawn


# Labels in the pool: what a rating says of the label is carried over


def post_stratified(
    counts: Floats, drawn: Floats, rng: np.random.Generator, target: Target
) -> Floats:
    """Draws (n, cells) of the rate, from those of the counts."""
    all_of = drawn[:, :, :3].sum(axis=2)
    labelled = drawn[:, :, -2:] if drawn.shape[2] > 3 else drawn[:, :, :2]
    # A weighted label stands for several outputs, and so does one of the prior.
    size = ratio(labelled.sum(axis=(0, 2, 3)), drawn[:, :, :2].sum(axis=(0, 2, 3)))
    mean = prior_means(labelled, rng)
    pseudo = [rng.standard_gamma(part) for part in (1 - mean, mean)]
    bad, good = (labelled[:, :, i] + size[:, None] * pseudo[i] for i in (0, 1))
    q = good / (good + bad)
    if target == "pool":
        unlabelled = rng.binomial(counts[:, 2].astype(np.int64), q)
        return (counts[:, 1] + unlabelled).sum(axis=-1) / counts.sum(axis=(1, 2))
    w = all_of + rng.standard_gamma(HALF, all_of.shape)
    return (w * q).sum(axis=-1) / w.sum(axis=-1)


def prior_means(labelled: Floats, rng: np.random.Generator) -> Floats:
    """Prior mean (n, cells, grades) of the rate of a rating: ½, or that drawn of its verdict."""
    *outer, _, grades = labelled.shape
    if grades == 2:
        return np.full((*outer, grades), HALF)
    by_verdict = labelled.reshape(*outer, 2, 2, grades // 2).sum(axis=-1)
    bad, good = np.moveaxis(by_verdict + rng.standard_gamma(HALF, by_verdict.shape), -2, 0)
    return np.repeat(good / (bad + good), grades // 2, axis=-1)


def check_labels(counts: Floats, table: xr.DataArray, labels: Labels) -> None:
    """Refuse a cell without labels, or, of labels by rating, a rating with outputs but no label."""
    lacks = counts[:, :2].sum(axis=1) == 0
    is_by_rating = labels == "by_rating"
    lacks = lacks & (counts[:, 2] > 0) if is_by_rating else lacks.all(axis=1, keepdims=True)
    if lacks.any():
        cell = str(table["cell"].to_numpy()[lacks.any(axis=1)][0])
        got = f"{'a rating of ' * is_by_rating}cell {cell!r} without a label"
        ways = ("set labels='elsewhere'", "give --labels elsewhere")
        ways = ("count with fewer ratings",) * 2 if is_by_rating else ways
        steps = (f"Label some of its outputs, or {way}." for way in ways)
        raise TooFewError(f"labels={labels!r}", got, "labels of each", *steps)


# Labels from elsewhere: what a label says of the rating is carried over


def by_curves(
    table: xr.DataArray, counts: Floats, drawn: Floats, rng: np.random.Generator
) -> tuple[Floats, list[Notice]]:
    """Draws (n, cells) of the rate of unlabelled outputs, and notices of curves carried over."""
    has_pool = counts[:, 2].sum(axis=-1) > 0
    if not has_pool.any():
        got = "a table of which all outputs are labelled"
        steps = (
            f"Take {x}: the labels are the answer." for x in ("labels='random'", "--labels random")
        )
        raise TooFewError("labels='elsewhere'", got, "outputs without a label", *steps)
    judges = table["judge"].to_numpy() if "judge" in table["cell"].coords else np.zeros(len(counts))
    has_both = (counts[:, :2].sum(axis=-1) > 0).all(axis=1)
    rates = post_stratified(counts, drawn, rng, "population")
    said = list[Notice]()
    for cell in np.flatnonzero(has_pool):
        is_own, name = np.arange(len(counts)) == cell, str(table["cell"].to_numpy()[cell])
        sources = is_own if has_both[cell] else has_both & (judges == judges[cell])
        if not sources.any():
            raise TooFewError(
                "labels='elsewhere'", f"no labels for {name!r}", "labels of its judge"
            )
        check_hits(counts[sources, :2].sum(axis=0), name)
        labelled = drawn[:, sources, :2].sum(axis=1)
        labelled = labelled + rng.standard_gamma(1 / counts.shape[-1], labelled.shape)
        curves = labelled / labelled.sum(axis=-1, keepdims=True)
        if not has_both[cell]:
            spreads = domain_spreads(counts[sources, :2])
            curves = shifted_curves(curves, spreads, int(sources.sum()), rng)
            said += carried_over(name, spreads, int(sources.sum()))
        rates[:, cell] = mixture_rates(drawn[:, cell, 2], curves)
    return rates, said


def carried_over(cell: str, spreads: Sequence[float], number: int) -> list[Notice]:
    """Notice of a cell whose curves are those of others, and how much these differ."""
    if number == 1:
        return [notice_of("carried-over.single", [cell])]
    values = dict(zip(("in_d", "in_c"), spreads, strict=True))
    return [notice_of("carried-over.several", [cell], number=number, **values)]


def check_hits(labelled: Floats, cell: str) -> None:
    """Refuse curves (classes, grades) of a judge that passes good outputs no more than bad ones."""
    passes = labelled[:, labelled.shape[-1] // 2 :].sum(axis=-1) / labelled.sum(axis=-1)
    if passes[1] <= passes[0]:
        got = f"a hit rate of {passes[1]:.2f} and a false-alarm rate of {passes[0]:.2f} for {cell}"
        step = "Such a judge tells nothing of the rate: take the labels, or another judge."
        raise NumberError("labels='elsewhere'", got, "hits above false alarms", step)


def mixture_rates(pool: Floats, curves: Floats) -> Floats:
    """Share of good outputs that makes pools (n, grades) likeliest, by curves of both classes."""
    bad, good = curves[:, 0], curves[:, 1]
    low, high = np.zeros((2, len(pool), 1))
    high = high + 1
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        mixed = np.maximum(bad + middle * (good - bad), TINY)
        slope = (pool * (good - bad) / mixed).sum(axis=-1, keepdims=True)
        low, high = np.where(slope > 0, middle, low), np.where(slope > 0, high, middle)
    return ((low + high) / 2)[:, 0]


def domain_spreads(labelled: Floats) -> list[float]:
    """SDs of d′ and of c between domains, from their labelled counts (domains, classes, grades)."""
    K = labelled.shape[-1] // 2
    passes, fails = (x.sum(axis=-1) + HALF for x in (labelled[..., K:], labelled[..., :K]))
    z, variance = z_scores(passes, fails)
    d, c, error = z[:, 1] - z[:, 0], -z.mean(axis=1), variance.sum(axis=1)
    return [between_sd(x, v) for x, v in ((d, error), (c, error / 4))] if len(z) > 1 else [0, 0]


def between_sd(values: Floats, variance: Floats) -> float:
    """SD of true values behind estimates with these variances, by DerSimonian & Laird's moments."""
    weight = 1 / variance
    mean = (weight * values).sum() / weight.sum()
    excess = (weight * (values - mean) ** 2).sum() - (len(values) - 1)
    return float(np.sqrt(max(0, excess) / (weight.sum() - (weight**2).sum() / weight.sum())))


def shifted_curves(
    curves: Floats, spreads: Sequence[float], domains: int, rng: np.random.Generator
) -> Floats:
    """Curves (n, classes, grades) of another domain, whose d′ and c differ as those of these."""
    deviations = rng.standard_t(max(domains - 1, 1), (2, len(curves), 1)) * np.sqrt(1 + 1 / domains)
    in_d, in_c = deviations * np.reshape(spreads, (2, 1, 1))
    z = ndtri(np.clip(curves.cumsum(axis=-1)[..., :-1], 0, 1))
    below = ndtr(z + (in_c + in_d * np.array([0.5, -0.5]))[..., None])
    ends = np.zeros((*below.shape[:-1], 1))
    return np.diff(np.concatenate([ends, below, ends + 1], axis=-1), axis=-1)


# How labels were chosen


def design_notices(table: xr.DataArray, counts: Floats, labels: Labels) -> list[Notice]:
    """Notices of labels whose share depends on the rating, and of pools too small to help."""
    share, outputs = counts[:, :2].sum(axis=1), counts.sum(axis=1)
    n, M = share.sum(axis=-1, keepdims=True), outputs.sum(axis=-1, keepdims=True)
    expected = n * outputs / M
    safe = np.where(expected * (M - n) > 0, expected * (M - n) / M, 1)
    chi2 = np.where(expected * (M - n) > 0, (share - expected) ** 2 / safe, 0).sum(axis=-1)
    df = np.maximum((outputs > 0).sum(axis=-1) - 1, 1)
    depends = chdtrc(df, chi2) < limit("labels-by-verdict") / len(counts)
    is_small = (counts[:, 2].sum(axis=-1) < limit("small-pool") * n[:, 0]) & (n[:, 0] > 0)
    cells = {"cell": table["cell"].to_numpy()}
    masks: dict[str, Any] = {}
    if labels in ("random", "elsewhere"):
        name = "labels-by-verdict" if labels == "random" else "labels-by-verdict.elsewhere"
        masks[name] = depends & (n[:, 0] > 0)
    if labels != "elsewhere":
        masks["small-pool"] = is_small
    return notices_where({name: xr.DataArray(x, cells, "cell") for name, x in masks.items()})
