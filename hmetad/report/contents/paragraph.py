"""The results of a fit as a paragraph of a manuscript, in the style of APA, and its details.

Fit (DataTree) and Decisions → text; fit → details by name.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import with_posterior
from hmetad.base.notice import first_few, notices
from hmetad.base.notice_registry import short_words
from hmetad.bayes.fitted import Fitted
from hmetad.compare.decisions import Decisions
from hmetad.counts.tables import items_together, without_columns
from hmetad.mle.meta_d import fit_mle
from hmetad.report.contents.answer import answer_sentence, population_sentence
from hmetad.report.contents.estimates import (
    cells_withheld,
    convergence_by_variable,
    convergence_record,
)
from hmetad.report.contents.population import plotted_rows, population_of
from hmetad.report.contents.tables import card_words, empty_names, formulas_text, with_words
from hmetad.specs.design import cell_table
from hmetad.specs.spec import spec_of
from hmetad.text.names import in_percent

MOST_WORDS, MOST_FAULTS = 120, 2
# What one member of a grouping column is called.
PEOPLE = dict.fromkeys(
    ("subject", "participant", "person", "observer", "subject_id", "participant_id"),
    "participants",
)
OF_SAMPLING = ("divergences", "rhat", "ess", "one-chain", "pareto-k")
LEFT_OUT = ("rows-dropped", "confidence-missing", "abstained")


@check_inputs(fit=with_posterior)
def results_paragraph(
    fit: xr.DataTree,
    decisions: Decisions | Sequence[Decisions] = (),
    *,
    labels: Mapping[str, str] | None = None,
) -> str:
    """Methods and results in at most 120 words, with the numbers of the fit and of the decisions.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` or `hmetad.load_fit` returned.
    decisions : Decisions or sequence of Decisions, optional
        What `decide` returned for contrasts of the fit.
    labels : mapping of str to str, optional
        Words for columns and levels, as in `population_table`.

    Returns
    -------
    str
        Plain text. If chains failed, or an error concerns the entire fit, it reports first that the
        estimates must not be reported, and why. Then data, model, convergence, the population and
        the answer of the decisions. What exceeds 120 words is omitted; `manuscript_details` has
        the rest.

    Raises
    ------
    InputError
        If `fit` is not a fit.

    Examples
    --------
    >>> from hmetad.bayes.fit import fit
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    >>> drawn = fit(simulate_counts(1.5, trials=5000, seed=1), draws=200, chains=2, **quiet)
    >>> results_paragraph(drawn).startswith("The data were 5,000 trials in 1 cell")
    True
    """
    made = [decisions] if isinstance(decisions, Decisions) else list(decisions)
    told, words = [with_words(one, labels) for one in made], labels or {}
    return paragraph_of(fit, told, population_of(fit, words), words)


def paragraph_of(
    fit: xr.DataTree,
    made: Sequence[Decisions],
    table: pd.DataFrame,
    labels: Mapping[str, str],
) -> str:
    """The paragraph, with the population from its table."""
    told = [*reliance_sentences(fit)]
    answers = [answer_sentence(one) for one in made]
    levels = {in_percent(1 - (1 - one.ci_prob) / one.comparisons) for one in made} or {"95 %"}
    withheld = withheld_words(fit)
    more = [
        data_sentence(fit, labels),
        method_sentence(fit),
        population_sentence(plotted_rows(fit, table)),
        *answers,
        f"Brackets are {' and '.join(levels)} credible intervals.",
        f"Withheld: {withheld}." if withheld else "",
    ]
    number, kept = sum(len(text.split()) for text in told), []
    # Answers are omitted last.
    for text in sorted(filter(None, more), key=lambda text: text not in answers):
        if number + len(text.split()) <= MOST_WORDS:
            kept.append(text)
            number += len(text.split())
    return " ".join([*told, *sorted(kept, key=more.index)])


@check_inputs(fit=with_posterior)
def manuscript_details(
    fit: xr.DataTree,
    *,
    labels: Mapping[str, str] | None = None,
    alone: xr.Dataset | None = None,
) -> dict[str, str]:
    """What a manuscript reports of a fit besides its results, by name.

    Parameters
    ----------
    fit : DataTree
        What `hmetad.fit` or `hmetad.load_fit` returned.
    labels : mapping of str to str, optional
        Words for columns and levels, as in `population_table`.
    alone : Dataset, optional
        As returned by `fit_mle` for each cell alone; by default it is computed.

    Returns
    -------
    dict of str to str
        Data; rows excluded, and why; participants whose own M or d′ is ≤ 0; cells without a
        verdict on M, and why; model, formulas; the largest R̂ and the smallest effective sample
        sizes of everything sampled, with their variables, and divergent transitions.

    Raises
    ------
    InputError
        If `fit` is not a fit.

    Examples
    --------
    >>> from hmetad.bayes.fit import fit
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> quiet = {"progressbar": False, "quiet": True, "random_seed": 1}
    >>> drawn = fit(simulate_counts(1.5, trials=5000, seed=1), draws=200, chains=2, **quiet)
    >>> manuscript_details(drawn)["Data"]
    '5,000 trials in 1 cell, with 4 levels of confidence'
    """
    spec, checks = spec_of(fit), convergence_by_variable(fit)
    rhat, bulk, tail = checks["rhat"], checks["ess_bulk"], checks["ess_tail"]
    found = {
        "Data": data_sentence(fit, labels or {}).removeprefix("The data were ").rstrip("."),
        "Rows excluded": " ".join(one.message for one in notices(fit) if one.code in LEFT_OUT),
        "M or d′ ≤ 0 by maximum likelihood": below_zero(fit, alone),
        "Withheld": withheld_words(fit),
        "Model": card_words(fit, spec),
        "Formulas": formulas_text(spec, empty_names(fit)).removeprefix(" Formulas: ").rstrip("."),
        "Largest R̂": f"{rhat.max():.3f} ({rhat.idxmax()})" if rhat.notna().any() else "",
        "Smallest bulk ESS": f"{int(bulk.min()):,} ({bulk.idxmin()})",
        "Smallest tail ESS": f"{int(tail.min()):,} ({tail.idxmin()})",
        "Divergent transitions": f"{convergence_record(fit)['divergences']:,}",
    }
    return {name: text for name, text in found.items() if text}


def reliance_sentences(fit: xr.DataTree) -> Iterator[str]:
    """What of the sampling failed, before any estimate; and what failed besides."""
    errors = [one for one in notices(fit) if one.severity == "error"]
    failed = [one for one in errors if one.code in OF_SAMPLING or not one.cells]
    record, posterior = spec_of(fit).record, fit["posterior"].data_vars
    told = {*record.tabulated, record.parameter_of_interest}
    stems = tuple(f"{name}_" for name in told)
    shown = [x for name, x in posterior.items() if name in told or str(name).startswith(stems)]
    codes = {n.code for x in shown for n in notices(x) if n.severity == "error"}
    here, beside = ([x for x in failed if (x.code in codes) == own] for own in (True, False))
    cells = dict.fromkeys(cell for one in here for cell in one.cells)
    are_some = all(one.cells for one in here)
    whose = f"The estimates of {first_few(cells, ', ')}" if are_some else "These estimates"
    for found, opening in (
        (here, f"{whose} must not be reported before the following is fixed."),
        (beside, "The following failed in parts of the model that no estimate here rests on."),
    ):
        if found:
            yield opening
        for one in found[:MOST_FAULTS]:
            where = of_term(first_few(one.cells, ", ") if one.cells else "")
            yield f"{one.message.removesuffix('.')}{where}."


def data_sentence(fit: xr.DataTree, labels: Mapping[str, str]) -> str:
    """Numbers of trials, participants, cells and ratings."""
    fitted, cells = Fitted.of(fit), fit["posterior"].sizes["cell"]
    counts, crossing = fitted.counts, fitted.crossing
    words = {name: f"levels of {labels.get(name, name)}" for name in grouping_columns(fit)}
    levels = [f"{len(np.unique(counts[x])):,} {PEOPLE.get(x, words[x])}" for x in words]
    levels += [f"{len(crossing.levels):,} levels of {crossing.factor}"] if crossing else []
    of_whom = f"of {' and '.join(levels)} " if levels else ""
    ratings = counts.sizes["rating"]
    has_levels = f"with {ratings} levels of confidence" if ratings > 1 else "without confidence"
    rule = str(counts.attrs.get("ratings_rule", "")).partition(", ")[2]
    binned = rule if rule.startswith("quantiles") else ""
    number = f"{cells} cell{'' if cells == 1 else 's'}"
    trials = f"{int(counts.sum()):,} trials {of_whom}in {number}"
    return f"The data were {trials}, {has_levels}{of_term(binned)}."


def method_sentence(fit: xr.DataTree) -> str:
    """Model and convergence in a sentence."""
    record = convergence_record(fit)
    rhat = "" if np.isnan(record["rhat"]) else f"R̂ ≤ {record['rhat']:.3f}, "
    return (
        f"Counts were modelled by {card_words(fit, spec_of(fit))} "
        f"({record['draws']:,} draws, {rhat}"
        f"ESS ≥ {min(record['ess_bulk'], record['ess_tail']):,}, "
        f"{record['divergences'] or 'no'} divergent transitions)."
    )


def withheld_words(fit: xr.DataTree) -> str:
    """Cells without a verdict on M, and why."""
    found = {code: x for code, x in cells_withheld(fit).items() if code not in OF_SAMPLING}
    if not found:
        return ""
    number = len({cell for cells in found.values() for cell in cells})
    listed = [f"{short_words(code)} in {first_few(x, ', ')}" for code, x in found.items()]
    return f"M in {number} of {fit['posterior'].sizes['cell']} cells: {'; '.join(listed)}"


def grouping_columns(fit: xr.DataTree) -> list[str]:
    """Columns of the cells whose levels are participants, or other groups of the model."""
    columns = [name for factor in Fitted.of(fit).factors for name in factor]
    people = [name for name in cell_table(fit["posterior"].to_dataset()) if name in PEOPLE]
    return list(dict.fromkeys([*people, *columns]))


def below_zero(fit: xr.DataTree, alone: xr.Dataset | None) -> str:
    """How many participants have an M or d′ ≤ 0, or none, in their own counts."""
    alone = estimates_alone(fit) if alone is None else alone
    if alone is None:
        return ""
    own = [name for name in grouping_columns(fit) if name in PEOPLE][:1]
    whose = Fitted.of(fit).counts[own[0] if own else "cell"].to_numpy()
    is_low = (alone["m_ratio"] <= 0) | (alone["dprime"] <= 0)
    has_none = alone["m_ratio"].isnull() & ~is_low
    low, none = (len(np.unique(whose[mask.to_numpy()])) for mask in (is_low, has_none))
    unit = PEOPLE[own[0]] if own else "cells"
    return f"{low} of {len(np.unique(whose)):,} {unit}" + (f"; undefined in {none}" if none else "")


def estimates_alone(fit: xr.DataTree) -> xr.Dataset | None:
    """Maximum likelihood of each cell alone; None if the model has no meta-d′ of two options."""
    if "meta_d" not in spec_of(fit).record.results:
        return None
    return fit_mle(without_columns(items_together(Fitted.of(fit).counts)))


def of_term(term: object) -> str:
    """A term or condition in brackets."""
    return f" ({term})" if term else ""
