"""The report of a comparison of models of confidence: the best, and what it means for M-ratio.

Selection → Report.
"""

from importlib.metadata import version
from typing import Any

import pandas as pd
import xarray as xr

from hmetad.base.arguments import check_inputs
from hmetad.base.notice import with_notices
from hmetad.plots import processes
from hmetad.report.contents.tables import notice_block
from hmetad.report.page.blocks import Block, Figure, Prose, Table, table_from_frame
from hmetad.report.page.report import Report
from hmetad.select.models import ERRORS, SMALL, Selection
from hmetad.text.cells import format_cell

OF_PEOPLE = {
    "best_for": "Best for",
    "frequency": "Frequency",
    "protected_exceedance": "Protected exceedance",
}
QUICK = {
    **{"title": "Model", "parameters": "Parameters", "aic": "AIC", "aic_difference": "AIC to best"},
    **OF_PEOPLE,
    "at_edge": "At an edge",
}
HIERARCHICAL = {
    **{"title": "Model", "elpd": "elpd", "difference": "To best", "se": "SE of that"},
    **OF_PEOPLE,
    "high_k": "Pareto k > .7",
}
FORMATS = dict.fromkeys(("aic", "aic_difference", "elpd", "difference", "se"), ".1f") | {
    "frequency": ".2f",
    "protected_exceedance": ".3f",
}
NOTES = {
    "maximum likelihood": "AIC: sum over participants of 2k - 2ℓ; lower is better. Best for: "
    "number with the lowest AIC. Frequency: expected proportion of the population that follows the "
    "model, from -AIC/2 of each (Stephan et al., 2009); protected exceedance: probability of being "
    "the most frequent (Rigoux et al., 2014). At an edge: participants with an undetermined "
    "parameter.",
    "hierarchical": "elpd: log predictive density of participants left out, their effects "
    "integrated over the population; higher is better (Merkle et al., 2019). Best for: number whom "
    "it predicts best. Frequency and protected exceedance from the elpd of each (Stephan et al., "
    "2009; Rigoux et al., 2014). Pareto k above .7: participants whose elpd is unreliable, rather "
    "too high.",
}
LIMITS = (
    "The comparison is among these models: the best of them may be wrong, as the figures show.",
    "The process that predicts the ratings best need not be the one in the observer.",
)
SHOWN = 6
RESIDUALS = (
    "Where each model fails: observed minus predicted counts, divided by the root of the "
    "predicted{by}. Red: more than predicted; beyond ±2 the model is wrong there."
)


@check_inputs()
def selection_report(
    selection: Selection, *, title: str = "Models of confidence", command: str = ""
) -> Report:
    """Report of a comparison of models of confidence.

    Parameters
    ----------
    selection : Selection
        What `hmetad.select.select_models` returned.
    title : str, optional
        Of the page.
    command : str, optional
        Command line that makes it again.

    Returns
    -------
    Report
    """
    one = selection
    columns = ("Model", "Card", "Confidence", "M-ratio")
    said = tuple((x.title, x.card, x.means, x.m_ratio) for x in one.models)
    blocks: list[Block] = [
        Prose("Which process made these ratings?", tuple(conclusion(one))),
        comparison_table(one),
        *notice_block(with_notices(xr.Dataset(), list(one.notices))),
        *figures(one),
        Prose(
            "What the best model means for M-ratio",
            tuple(
                f"{model.title}. {model.means} If it is right: {model.m_ratio}"
                for model in one.models
                if not one.table.loc[model.name, "is_clear"]
            ),
        ),
        Prose("What this does not say", LIMITS),
        people_table(one),
        Table("What each model says.", columns, said, name="meanings"),
        *([Prose("", (f"To run it again: {command}",))] if command else []),
    ]
    trials = int(one.counts.sum())
    meta = (
        ("People", f"{one.evidence.sizes[one.subject]:,}"),
        ("Trials", f"{trials:,}"),
        ("Fits", one.method),
        ("hmetad", version("hmetad")),
    )
    return Report(title, tuple(blocks), meta=meta)


@check_inputs()
def conclusion(selection: Selection) -> list[str]:
    """Which model is best, by how much, and which cannot be told from it, in words.

    Parameters
    ----------
    selection : Selection
        What `hmetad.select.select_models` returned.

    Returns
    -------
    list of str
        A sentence or two each.

    Examples
    --------
    >>> from hmetad.select.models import select_models
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> coords = {"subject": ["a", "b"]}
    >>> counts = simulate_counts([1.2, 1.8], trials=4000, m_ratio=0.5, coords=coords, seed=1)
    >>> print(conclusion(select_models(counts, ["sdt", "meta_d"], quick=True))[0])
    Of 2 models, meta-d′ (κ = M·c) describes these ratings best: it is the best for 2 of 2 people.
    """
    one, table = selection, selection.table
    titles = {model.name: model.title for model in one.models}
    best, people = titles[table.index[0]], one.evidence.sizes[one.subject]
    close = [titles[name] for name in table.index[1:] if not table.loc[name, "is_clear"]]
    said = [
        f"Of {len(table)} models, {best} describes these ratings best: it is the best for "
        f"{table['best_for'].iloc[0]} of {people} {'person' if people == 1 else 'people'}."
    ]
    if close:
        said.append(
            f"Not clearly worse: {', '.join(close)}. The difference is below {SMALL:g} nats, "
            f"within {ERRORS:g} standard errors over people, or from a fit with an error or with "
            "a Pareto k above .7: these results do not decide between them."
        )
    clear = [name for name in table.index if table.loc[name, "is_clear"]]
    if clear:
        next_one = table.loc[clear[0]]
        by = format_cell(float(next_one["difference"]), ".1f")
        within = format_cell(ERRORS * float(next_one["se"]), ".1f")
        beside = "" if people == 1 else f" ({ERRORS:g} standard errors over people: {within})"
        said.append(f"The next model, {titles[clear[0]]}, is worse by {by} nats{beside}.")
    if "at_edge" in table and table["at_edge"].iloc[0] > 0:
        said.append(
            f"For {int(table['at_edge'].iloc[0])} people the fit of {best} lies at an edge: a "
            "parameter of it is not determined."
        )
    return said


def comparison_table(selection: Selection) -> Block:
    """All models, the best first."""
    is_quick = selection.method == "maximum likelihood"
    titles = {model.name: model.title for model in selection.models}
    frame = selection.table.assign(title=[titles[name] for name in selection.table.index])
    if is_quick:
        frame["aic_difference"] = frame["aic"] - frame["aic"].iloc[0]
    columns = {n: said for n, said in (QUICK if is_quick else HIERARCHICAL).items() if n in frame}
    formats = {name: spec for name, spec in FORMATS.items() if name in columns}
    named: dict[str, Any] = {"formats": formats, "note": NOTES[selection.method], "name": "models"}
    return table_from_frame(
        frame.reset_index(drop=True), "Models, the best first.", columns=columns, **named
    )


def people_table(selection: Selection) -> Block:
    """How much worse each model is than the best one, person by person."""
    evidence = selection.evidence.transpose(selection.subject, "model")
    away = evidence.max("model") - evidence
    titles = [model.title for model in selection.models]
    frame = pd.DataFrame(away.values, columns=titles)
    frame.insert(0, selection.subject, evidence[selection.subject].values)
    caption = "Evidence of each person: by how many nats a model is worse than the person's best."
    return table_from_frame(frame, caption, formats=dict.fromkeys(titles, ".1f"), name="people")


def figures(selection: Selection) -> list[Block]:
    """Observed and predicted ratings, and residuals, of the best models."""
    shown = selection.models[:SHOWN]
    titles = {model.name: model.title for model in shown}
    predicted, level = selection.predicted.sel(model=list(titles)), selection.difficulty
    asked: dict[str, Any] = {"difficulty": level, "titles": titles}
    ratings = processes.predicted_ratings(selection.counts, predicted, **asked)[0].figure
    rest = processes.rating_residuals(selection.counts, predicted, **asked)[0].figure
    by = f" by {level}" if level else ""
    what = "Mean rating" if level else "Shares of ratings"
    first = f"{what} of right responses and errors{by}, observed (points) and predicted (lines)."
    second = RESIDUALS.format(by=by)
    more = f" The best {len(shown)} models." if len(selection.models) > SHOWN else ""
    said = f"{first} Models: {', '.join(titles.values())}."
    return [
        Prose("Where each model fails", ()),
        Figure(f"{first}{more}", said, ratings, "ratings"),
        Figure(f"{second}{more}", second, rest, "residuals"),
    ]
