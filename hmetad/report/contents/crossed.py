"""What a fit says of observers who answered the same items: M with items apart, and pooled.

Fit (DataTree) whose effects of items were integrated out → data frame, a row per observer;
sentences on the difference; blocks of a page. Of models without M: d′ at an item, and over items.
"""

from typing import Any

import pandas as pd
import xarray as xr
from scipy.stats import norm

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import with_posterior
from hmetad.bayes.fitted import Fitted
from hmetad.bayes.items import auroc2_by_items, crossing_in
from hmetad.counts.tables import type2_counts, without_columns
from hmetad.measures.reliability import share_limits
from hmetad.measures.type2 import auroc2
from hmetad.mle.meta_d import fit_mle
from hmetad.report.contents.estimates import estimate_table, summary_table
from hmetad.report.page.blocks import Block, Prose, interval_column, table_from_frame
from hmetad.specs.spec import SHIFT, SPREAD

# Columns that have an interval, and areas under ROCs of what may stand for confidence.
ESTIMATES = {"share_right": "Accuracy", "dprime": "d′", "m_ratio": "M-ratio"}
ESTIMATES |= {"pooled_m_ratio": "Pooled M"}
# The same where items shift the evidence: each d′ and c with its kind.
KINDS = {"dprime_marginal": "Marginal d′", "c_marginal": "Marginal c"}
KINDS |= {"dprime": "Conditional d′", "c": "Conditional c"}
AREAS = {"auroc2": "AUROC2", "auroc2_dprime": "by difficulty", f"auroc2_{SPREAD}": "by confidence"}
ENDS = ("", "_lower", "_upper")
# M of the pooled table that is so near is the same.
SAME = 0.02
NOTE = (
    "Accuracy with Wilson intervals; d′ and M-ratio are posterior means at the average item with "
    "95 % equal-tailed intervals; pooled M by maximum likelihood, of the table pooled over items, "
    "with normal intervals."
)
OF_AREAS = (
    "By difficulty, by confidence: of the effects of items on d′ and on criteria, estimated "
    "without the answers of the observer, at posterior means of the others' parameters."
)

OF_KINDS = (
    "Marginal: over all items, as other models have d′ and c. Conditional: at an item that moves "
    "nobody, in SDs of the evidence there. Posterior means with 95 % equal-tailed intervals."
)


@check_inputs(fit=with_posterior)
def crossed_table(fit: xr.DataTree) -> pd.DataFrame:
    """Observers who answered the same items, a row each: M with items apart, and pooled.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` returned with a card such as ``"alternatives_crossed"``.

    Returns
    -------
    DataFrame
        That of `estimate_table`, at the average item. More columns: share_right, the proportion of
        correct answers, with its Wilson interval; pooled_m_ratio, as `hmetad.fit_mle` has it for
        the table pooled over items, with a normal interval; auroc2 of confidence. auroc2_dprime and
        auroc2_log_spread are those of the effects of items instead of confidence, estimated
        without the observer's own answers, at posterior means of the parameters of the others. Of a
        model whose items shift the evidence: dprime_marginal and c_marginal, over all items, and
        dprime and c, which are conditional on the item, each with its interval.

    Raises
    ------
    InputError
        If the fit integrated nothing out.
    """
    fitted = Fitted.of(fit)
    if SHIFT in crossing_in(fitted).parameters:
        return summary_table(fitted.posterior[[*KINDS]], 0.95)
    counts = without_columns(fitted.counts)
    right = type2_counts(counts).sum("rating").transpose("cell", "correct")
    number, trials = right.sel(correct="right").to_numpy(), right.sum("correct").to_numpy()
    accuracy = (number / trials, *share_limits(number, trials, "wilson", 0.95))
    pooled = fit_mle(counts)
    m, width = pooled["m_ratio"].to_numpy(), norm.ppf(0.975) * pooled["m_ratio_se"].to_numpy()
    named = {f"share_right{ENDS[k]}": accuracy[k] for k in range(3)}
    named |= {f"pooled_m_ratio{ENDS[k]}": m + (0, -1, 1)[k] * width for k in range(3)}
    areas = {f"auroc2_{name}": own for name, own in auroc2_by_items(fitted).items()}
    return estimate_table(fit).assign(**named, auroc2=auroc2(counts).to_numpy(), **areas)


@check_inputs(fit=with_posterior)
def crossed_sentences(fit: xr.DataTree, table: pd.DataFrame) -> list[str]:
    """Explain the difference between M with items apart and pooled, and what items alone foretell.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` returned with a card such as ``"alternatives_crossed"``.
    table : DataFrame
        What `crossed_table` returned for it.

    Returns
    -------
    list of str
        A sentence on M, with the SD of the effects of items that explains the difference; and one
        on AUROC2. Numbers are medians over observers who have a pooled M. Of a model whose items
        shift the evidence, two on d′ over all items and at one, medians over observers.

    Raises
    ------
    InputError
        If the fit integrated nothing out.
    """
    fitted = Fitted.of(fit)
    crossing, layout = crossing_in(fitted), fitted.layout.integrated
    item = crossing.factor
    assert layout is not None
    if SHIFT in crossing.parameters:
        first, second = fitted.posterior["item_sd"].mean(["chain", "draw", "cell"]).to_numpy()
        marginal, conditional = (table[name].median() for name in ("dprime_marginal", "dprime"))
        return [
            f"Over {item}, d′ is {marginal:.2f} (marginal); at one {item} it is {conditional:.2f} "
            f"(conditional; medians of {len(table)}): levels of {item} shift the evidence of all "
            f"observers, with an SD of {first:.2f} (S1) and {second:.2f} (S2).",
            "The two have different units: compare observers, and other models, by marginal d′.",
        ]
    means = [f"{fitted.posterior[sd.name].mean().item():.2f}" for sd in layout.sds]
    of_dprime, of_spread = means[0], f" (SD of log criteria {means[-1]})" * (len(means) > 1)
    both = table.dropna(subset=["pooled_m_ratio"])
    if both.empty:
        return [f"No observer has an M pooled over {item}: M at the average {item} stands alone."]
    middle = {name: both[name].median() for name in (*ESTIMATES, *AREAS) if name in both}
    own, pooled = middle["m_ratio"], middle["pooled_m_ratio"]
    why = "the two differ little, for confidence follows the answer"
    if pooled > own + SAME:
        why = (
            f"pooled, part of what confidence tells is which {item} is hard (SD of d′ {of_dprime})"
        )
    elif pooled < own - SAME and of_spread:
        how = "equally for all observers"
        if crossing.has_loadings:
            how = "to a different degree for each observer"
        why = f"confidence also follows the {item}, {how} and whoever is correct{of_spread}"
        why += ", which pooling takes for noise"
    elif pooled < own - SAME:
        why = f"this model has no effect of {item} on confidence, without which M may be too high"
    others = f"{middle['auroc2_dprime']:.2f} by how hard it is for others"
    if of_spread:
        others += f" and {middle[f'auroc2_{SPREAD}']:.2f} by how confident they are"
    return [
        f"M is {own:.2f} at the average {item}, and {pooled:.2f} pooled over {item} (medians of "
        f"{len(both)}): {why}.",
        f"AUROC2 of confidence is {middle['auroc2']:.2f}; from the {item} alone it would be "
        f"{others}, estimated without the observer's own answers (medians).",
    ]


def crossed_blocks(fit: xr.DataTree) -> list[Block]:
    """Observers in a page, if items were integrated out: what the difference means, and a table."""
    if Fitted.of(fit).crossing is None:
        return []
    frame = crossed_table(fit)
    has_m = "m_ratio" in frame
    shown: dict[str, list[Any]] = {"Observer": frame["cell"].tolist()}
    for name, words in (ESTIMATES if has_m else KINDS).items():
        shown[words] = interval_column(frame, name, "z.2f")
    text = Prose("Observers", tuple(crossed_sentences(fit, frame)))
    if not has_m:
        caption, note = "Observers over all items, and at one.", OF_KINDS
        return [text, table_from_frame(pd.DataFrame(shown), caption, note=note, name="observers")]
    caption = "Observers with items apart, and pooled over items."
    areas = {name: words for name, words in AREAS.items() if name in frame}
    columns = {"cell": "Observer", **areas}
    foretold = "Area under the type-2 ROC of confidence, and of items instead of confidence."
    return [
        text,
        table_from_frame(pd.DataFrame(shown), caption, note=NOTE, name="observers"),
        table_from_frame(frame, foretold, columns=columns, note=OF_AREAS, name="observers-auroc2"),
    ]
