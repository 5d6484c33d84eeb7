"""The report of Cacioli (2026): what follows from print, what was withdrawn, and what truth says.

Study and its comparison → Report.
"""

from collections.abc import Iterator
from importlib.metadata import version

import pandas as pd

from hmetad.report.contents.tables import notice_block
from hmetad.report.page.report import Block, Prose, Report
from hmetad.studies.cacioli2026 import Study, printed_equivalence
from hmetad.studies.cacioli2026_deposit import Deposit
from hmetad.studies.cacioli2026_figures import (
    ANALYSES,
    measures_figure,
    ranking_figure,
    simulation_said,
    temperature_figure,
    truth_figure,
)
from hmetad.studies.cacioli2026_pipeline import (
    WITHDRAWN,
    chance_of_relative_rule,
    equivalence,
    h3,
)
from hmetad.studies.cacioli2026_printed import tempered
from hmetad.studies.cacioli2026_simulation import Simulation
from hmetad.studies.cacioli2026_tables import (
    domain_table,
    h3_table,
    loss_table,
    pair_table,
    quartile_table,
    robustness_table,
    truth_table,
    withdrawn_table,
)
from hmetad.studies.tables import agreement, comparison_blocks

__all__ = ["report"]

INSTEAD = (
    "What is left of it is how well confidence tells right from wrong, by measures that need no "
    "stimulus. The author's revision has AUROC2, I₂ʳ, the slope of the zROC and d_a; they are "
    "compared here too. They depend on the number of ratings and on how confidence is binned."
)
FOLLOWS = (
    "d′ follows from the printed accuracies of quartiles alone (Table 5): the cut is the median of "
    "confidence, and d′ is the z-score of its hits less that of its false alarms. Nothing else "
    "goes into it."
)
REPLICATION = (
    "On Natural Questions the order is another one: Mistral, lowest by M on TriviaQA, is highest."
)
COVERAGE = (
    "Print says that of two systems which answer the half of which they are surer the one of "
    "higher M answers better: Gemma-2, .774 right, against Mistral, .707. But Gemma-2 is right "
    "more often to begin with. By how much abstaining helps goes the other way, as in the table."
)
RULE = (
    "What print calls TOST is a rule on the range of four estimates, without their error. An "
    "interval TOST asks whether the 90 % interval of every difference between temperatures is "
    "inside ±.3; its standard errors are taken from the printed interval of M at T = 1."
)
PAIRED = (
    "Temperatures share their questions, as models do: taken as independent, differences look less "
    "certain than they are."
)
OVERLAP = (
    "H4 asks for an interval of a difference that excludes 0. Print looks for intervals that do "
    "not overlap, which is stricter. By the printed intervals two pairs differ, not one."
)
DOMAINS = (
    "H2, domains that differ, was not met in print: one model of the two it needs has a "
    "significant pair. Beside M stands I₂ʳ of the author's revision, of the same trials. In three "
    "of four models the two order the domains against each other: Mistral's weakest domain by M is "
    "its strongest by I₂ʳ, and the strongest of Gemma-2 and of Llama-3-Base their weakest."
)
BINS = (
    "The deposit has 20 bins of equal width. In three models the highest of them holds 47 to 67 % "
    "of the trials, and the edge nearest to the median is its lower end: the withdrawn analysis "
    "then has a single rating above the cut, and its M is that of the other side. Only "
    "Llama-3-Base has edges on both sides; there it comes out as printed, nearly."
)
CORRECTIONS = (
    "The author subtracts from I₂ʳ the mean of its permutation null. The reduction of bias by "
    "resampling is twice the estimate less the mean of resamples: with many bins that hold few "
    "trials it takes away less."
)
TRUTH_SAID = (
    "Four simulated models decide between two alternatives and rate their confidence, with a known "
    "M from .4 to 1.2. Fitted by that decision, M is found again. The withdrawn analysis of the "
    "same trials forgets the decision, and puts correctness in the place of the stimulus."
)
UNAVAILABLE = (
    "R5 (forced decoding) and R6 (difficulty-matched subsamples) need trials and items, which were "
    "not deposited."
)


def report(study: Study, comparison: pd.DataFrame) -> Report:
    """Report of the reproduction.

    Parameters
    ----------
    study : Study
        What `analyse` returned.
    comparison : DataFrame
        What `compare` returned.

    Returns
    -------
    Report
    """
    found = agreement(comparison), simulation_said(study.simulation)
    *differing, everything = comparison_blocks(comparison)
    blocks: list[Block] = [
        *notice_block(study.quartiles, "Withdrawn"),
        Prose("", (WITHDRAWN, INSTEAD)),
        Prose("In brief", found),
        *differing,
        *printed_blocks(study),
        *(deposit_blocks(study.deposit) if study.deposit is not None else []),
        *simulation_blocks(study.simulation),
        Prose("All of print", ()),
        everything,
    ]
    return Report(
        "Do LLMs know what they know? A withdrawn analysis, recomputed",
        tuple(blocks),
        subtitle="Cacioli (2026), arXiv:2603.25112, first version",
        meta=(
            ("Deposited counts", "20 bins" if study.deposit is not None else "not given"),
            ("Seed", str(study.seed)),
            ("hmetad", version("hmetad")),
        ),
    )


def printed_blocks(study: Study) -> Iterator[Block]:
    """What follows from the printed tables."""
    yield Prose("What the quartiles say", (FOLLOWS, REPLICATION, COVERAGE))
    yield quartile_table(study)
    yield Prose("Rankings", ())
    yield ranking_figure()
    chance = (
        f"Of four temperatures in an order by chance, the second rule, |ρ(meta-d′, T)| < "
        f"|ρ(d′, T)|, passes with probability {chance_of_relative_rule():.2f}."
    )
    yield Prose("Temperature (H3)", (RULE, PAIRED, chance))
    yield temperature_figure()
    table = tempered()
    yield h3_table(
        h3(table["dprime"], table["meta_d"]), printed_equivalence(), "H3 by the printed Table 7."
    )
    yield Prose("Models (H4)", (OVERLAP,))
    yield pair_table(study)
    yield Prose("Domains (H2)", (DOMAINS,))
    yield domain_table()


def deposit_blocks(deposit: Deposit) -> Iterator[Block]:
    """What the deposited counts say."""
    yield Prose("The deposited counts", (BINS, UNAVAILABLE))
    yield withdrawn_table(deposit)
    found = deposit.withdrawn
    yield h3_table(
        h3(found["dprime"], found["meta_d"]),
        equivalence(found["meta_d"], found["meta_d_se"]),
        "H3 by the deposited counts, with standard errors of the fits.",
    )
    yield robustness_table(deposit.robustness, "Robustness: withdrawn M of the deposited counts.")
    yield Prose("What needs no stimulus", (CORRECTIONS,))
    yield measures_figure(deposit)
    yield loss_table(deposit)


def simulation_blocks(simulation: Simulation) -> Iterator[Block]:
    """What known truth says."""
    yield Prose("Known truth", (TRUTH_SAID, simulation_said(simulation)))
    yield truth_figure(simulation)
    yield truth_table(simulation)
    for name, words in ANALYSES.items():
        found = getattr(simulation, name)
        yield h3_table(
            h3(found["dprime"], found["meta_d"]),
            equivalence(found["meta_d"], found["meta_d_se"]),
            f"H3 of the simulated models, {words}; in truth the ranges are {ranges(simulation)}.",
        )
    for name, words in ANALYSES.items():
        yield robustness_table(
            simulation.robustness[name].transpose("model", "variant"),
            f"Robustness: M of the simulated models at T = 1, {words}.",
        )


def ranges(simulation: Simulation) -> str:
    """True ranges of meta-d′ over temperatures."""
    meta_d = simulation.truth["meta_d"]
    spans = (meta_d.max("temperature") - meta_d.min("temperature")).to_numpy()
    return ", ".join(f"{span:.2f}" for span in spans)
