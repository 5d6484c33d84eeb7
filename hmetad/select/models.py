"""Which process made these ratings? A family of models fitted to the same counts, and compared.

family.toml → Candidate records by name: what each model is, and what it would mean for M-ratio.
Count table → Selection: fits, evidence of every person for every model, and what they predict.
"""

import tomllib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import ShapeError, TakenError, TooFewError, UnknownError, nearest
from hmetad.base.notice import Notice, notice_of, notices
from hmetad.base.notice_registry import short_words
from hmetad.bayes.fit import fit
from hmetad.bayes.loo import loo
from hmetad.bayes.predictive import mean_counts
from hmetad.compare.model_comparison import model_frequencies
from hmetad.measures.sdt import Correction
from hmetad.mle.meta_d import fit_mle
from hmetad.specs.design import cell_table, refuse_other_tables
from hmetad.specs.loading import by_difficulty, load_model
from hmetad.specs.spec import ModelSpec

TABLE = Path(__file__).with_name("family.toml")
OUTCOME = ("cell", "stimulus", "response", "rating")
# Noise that may be absent has a long tail, which shorter steps follow.
SAMPLING = {"tune": 1000, "draws": 1000, "target_accept": 0.95}
# Codes of notices of a fit that are said of the comparison.
SAID = ("rhat", "ess", "divergences", "not-identified", "not-converged")
# Above this a Pareto k says that a person cannot be left out by weights.
LARGEST_K = 0.7
# A difference of evidence that is small whatever its error, and how many errors are clear.
SMALL, ERRORS = 4.0, 2.0


@dataclass(frozen=True)
class Candidate:
    """A model of confidence.

    Parameters
    ----------
    name, card, title : str
        Its name in tables, the fitted card, and its title in a report.
    means, m_ratio : str
        Its assumption on confidence, and its implication for M-ratio if it is correct.
    changes : mapping of str to str
        Choices that differ from the card.
    levels : bool
        Whether it needs several difficulties that share c and criteria.
    slow : bool
        Whether hierarchical comparisons omit it unless requested.
    same_as : str
        A model of the list with the same likelihood, or one that contains it.

    Examples
    --------
    >>> candidates()["sdt"].means
    'Confidence rates the evidence of the decision itself: nothing is lost or added.'
    """

    name: str
    card: str
    title: str
    means: str
    m_ratio: str
    changes: Mapping[str, str] = field(default_factory=dict)
    levels: bool = False
    slow: bool = False
    same_as: str = ""

    @property
    def spec(self) -> ModelSpec:
        """The card, with its changes."""
        return load_model(self.card, **self.changes)


@cache
def candidates() -> Mapping[str, Candidate]:
    """Models of confidence that are compared.

    Returns
    -------
    mapping of str to Candidate
        By name.

    Examples
    --------
    >>> candidates()["wev"].title, candidates()["casandre"].same_as
    ('Evidence and visibility', 'lognormal_noise')
    """
    with TABLE.open("rb") as file:
        return {name: Candidate(name=name, **own) for name, own in tomllib.load(file).items()}


def chosen_models(names: Sequence[str] | None, *, has_levels: bool, quick: bool) -> list[Candidate]:
    """Candidates of these names; by default those that the table can tell and time allows."""
    known = candidates()
    if names is None:
        return [
            one
            for one in known.values()
            if (has_levels or not one.levels) and not (one.same_as or (one.slow and not quick))
        ]
    for name in names:
        if name not in known:
            raise UnknownError("models", repr(name), ", ".join(known), nearest(name, known))
    if len(set(names)) < 2:
        raise TooFewError("models", ", ".join(names) or "none", "two different ones at least")
    return [known[name] for name in dict.fromkeys(names)]


@dataclass(frozen=True)
class Selection:
    """Models compared.

    Parameters
    ----------
    table : DataFrame
        A row for each model, the best first.
    evidence : DataArray
        Dims (subject, model): -AIC/2 of each participant, or the log predictive density of a
        participant who is excluded.
    frequencies : Dataset
        Of `model_frequencies`: how many participants of the population follow each model.
    predicted : DataArray
        Dims (model, cell, stimulus, response, rating): mean predicted counts.
    counts : DataArray
        What was observed.
    fits : mapping of str to Dataset or DataTree
        By model.
    models : tuple of Candidate
        In the order of the table.
    method : str
        "maximum likelihood" or "hierarchical".
    subject, difficulty : str
        Names of columns; no difficulty is empty.
    notices : tuple of Notice
        Of the fits that the comparison rests on, and of models that are the same.
    """

    table: pd.DataFrame
    evidence: xr.DataArray
    frequencies: xr.Dataset | None
    predicted: xr.DataArray
    counts: xr.DataArray
    fits: Mapping[str, xr.Dataset | xr.DataTree]
    models: tuple[Candidate, ...]
    method: str
    subject: str
    difficulty: str
    notices: tuple[Notice, ...]


@check_inputs(skip=("counts",))
def select_models(
    counts: xr.DataArray,
    models: Sequence[str] | None = None,
    *,
    subject: str = "subject",
    difficulty: str | None = None,
    quick: bool = False,
    correction: Correction = "none",
    seed: int = 0,
    say: Callable[[str], object] | None = None,
    **sample_kwargs: Any,
) -> Selection:
    r"""Fit models of confidence to one count table, and compare their predictions.

    Parameters
    ----------
    counts : DataArray
        Count table, a cell for each participant, or for each participant and difficulty.
    models : sequence of str, optional
        Names of `candidates`; by default all that these counts can distinguish.
    subject, difficulty : str, optional
        Columns of the cells. d′ alone changes with difficulty; c, criteria and the process of
        confidence are the same for all difficulties of a participant.
    quick : bool, optional
        Maximum likelihood participant by participant, and AIC, which takes seconds; else
        hierarchical models, and leave-one-participant-out cross-validation, which takes minutes.
    correction : {"none", "loglinear", "cell"} or float, optional
        With `quick`: amount added to the counts, as in `fit_mle`.
    seed : int, optional
        Seed of starts, draws and integrals.
    say : callable, optional
        Called with a sentence before each model is fitted.
    **sample_kwargs
        Of `fit`: tune (1000), draws (1000), target_accept (.95).

    Returns
    -------
    Selection

    Raises
    ------
    InputError
        If a column or a model is unknown, a difficulty has one level, or there is one participant
        and not `quick`.

    Notes
    -----
    A person's evidence is :math:`-\mathrm{AIC}/2`, or :math:`\log p(y_i \mid y_{-i})`, the person's
    effects integrated out. Models are in the order of the sums over participants. A difference is
    called clear under three conditions. It is above 4 and above two standard errors, :math:`\sqrt{n
    \mathrm{Var}_i}` of the participants' differences; neither fit has an error that concerns all of
    it; and no Pareto k of either is above .7, since importance weights are then unreliable for a
    held-out participant. In `frequencies`, the model may differ between participants (Stephan et
    al., 2009; Rigoux et al., 2014).

    Examples
    --------
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> coords = {"subject": ["a", "a", "b", "b"], "level": ["hard", "easy"] * 2}
    >>> counts = simulate_counts(
    ...     [0.8, 2.0, 1.0, 2.2], likelihood="linear-gaussian", process="wev", visibility=0.5,
    ...     noise=0.7, trials=4000, coords=coords, seed=1,
    ... )
    >>> found = select_models(counts, ["sdt", "ig", "wev"], difficulty="level", quick=True)
    >>> found.table.index.tolist()[0]
    'wev'
    """
    refuse_other_tables(counts)
    if subject == "model":
        step = "Rename the column while counting: by={'subject': 'model'}."
        raise TakenError("subject", "'model'", "another name: models have it", step)
    chosen = chosen_models(models, has_levels=difficulty is not None, quick=quick)
    people = cell_table(counts).get(subject, pd.Series(dtype=str)).astype(str)
    if not quick and people.nunique() == 1:
        ways = ("quick=True", "--quick")
        steps = (f"Give {way}: maximum likelihood for each participant." for way in ways)
        raise ShapeError("subject", f"{subject!r} with one person", "two people or more", *steps)
    found: dict[str, ModelEvidence] = {}
    for number, one in enumerate(chosen, start=1):
        if say is not None:
            say(f"{one.title} ({number} of {len(chosen)})")
        spec = by_difficulty(
            one.spec, counts, subject=subject, difficulty=difficulty, pooled=not quick
        )
        if quick:
            found[one.name] = fit_people(counts, spec, subject, correction, seed)
        else:
            options = {**SAMPLING, **sample_kwargs, "random_seed": seed}
            found[one.name] = fit_population(counts, spec, subject, options)
    evidence = side_by_side({name: one.evidence for name, one in found.items()})
    total = evidence.sum(subject)
    order = [*map(str, evidence["model"].values[np.argsort(-total.values, kind="stable")])]
    evidence = evidence.transpose(subject, "model").sel(model=order)
    population = model_frequencies(evidence) if evidence.sizes[subject] > 1 else None
    rows = pd.DataFrame([one.row for one in found.values()], index=[*found]).loc[order]
    known, cells = {one.name: one for one in chosen}, map(str, counts["cell"].values)
    table = ranked(evidence, subject, population).join(rows)
    # From a fit that failed as a whole, or that people cannot be left out of, none is clear.
    failed = np.array([any(map(is_failure, notices(found[name].fit))) for name in order])
    failed |= table["high_k"].to_numpy() > 0 if "high_k" in table else False
    table["is_clear"] &= ~(failed | failed[0])
    return Selection(
        table,
        evidence,
        population,
        side_by_side({name: one.predicted for name, one in found.items()}),
        counts,
        {name: one.fit for name, one in found.items()},
        tuple(known[name] for name in order),
        "maximum likelihood" if quick else "hierarchical",
        subject,
        difficulty or "",
        tuple(said_of(found, chosen, dict(zip(cells, people, strict=True)))),
    )


@dataclass(frozen=True)
class ModelEvidence:
    """A model fitted: evidence by person, predicted counts, and its columns of the table."""

    fit: xr.Dataset | xr.DataTree
    evidence: xr.DataArray
    predicted: xr.DataArray
    row: Mapping[str, Any]


def fit_people(
    counts: xr.DataArray, spec: ModelSpec, subject: str, correction: Correction, seed: int
) -> ModelEvidence:
    """Maximum likelihood, person by person."""
    found = fit_mle(counts, spec, correction=correction, seed=seed)
    record = spec.record
    values = {name: found[name].to_numpy() for name in record.results}
    shown = counts.transpose(*OUTCOME).sum(["response", "rating"])
    coords = {name: counts[name].values for name in OUTCOME}
    with np.errstate(divide="ignore"):
        # At an edge a rating may have no probability.
        share = xr.DataArray(np.exp(record.outcomes(values)), coords, OUTCOME)
    # A unit is a person, or a cell where there is one of each.
    people = found[subject].groupby(found["of_unit"]).first().sel(of_unit=found["unit"].values)
    evidence = xr.DataArray(
        -found["aic"].to_numpy() / 2, {subject: people.to_numpy().astype(str)}, (subject,)
    )
    row = {
        "parameters": int(found["parameters"].max()),
        "loglik": float(found["loglik"].sum()),
        "aic": float(found["aic"].sum()),
        "aicc": float(found["aicc"].sum()),
        "bic": float(found["bic"].sum()),
        "at_edge": int(found["at_edge"].sum()),
    }
    return ModelEvidence(found, evidence, share * shown, row)


def fit_population(
    counts: xr.DataArray, spec: ModelSpec, subject: str, options: Mapping[str, Any]
) -> ModelEvidence:
    """Hierarchical model, and every person left out of it."""
    tree = fit(counts, spec, **options)
    with warnings.catch_warnings():
        # The table has the numbers of people for whom Pareto's k is high.
        warnings.simplefilter("ignore", UserWarning)
        left_out = loo(tree, by=subject, seed=options["random_seed"])
    people = cell_table(counts)[subject].astype(str).unique()
    evidence = xr.DataArray(left_out.elpd_i.to_numpy(), {subject: people}, (subject,))
    row = {
        "elpd": float(left_out.elpd),
        "high_k": int((left_out.pareto_k > LARGEST_K).sum()),
    }
    return ModelEvidence(tree, evidence, mean_counts(tree), row)


def side_by_side(values: Mapping[str, xr.DataArray]) -> xr.DataArray:
    """Arrays of all models, with dim model."""
    bare = [value.reset_coords(drop=True) for value in values.values()]
    return xr.concat(bare, pd.Index([*values], name="model"), coords="minimal")


def ranked(evidence: xr.DataArray, subject: str, population: xr.Dataset | None) -> pd.DataFrame:
    """Differences from the best model, whether they are clear, and for whom a model is best."""
    away = evidence.isel(model=0) - evidence
    people = evidence.sizes[subject]
    difference = away.sum(subject)
    se = (people * away.var(subject, ddof=1)) ** 0.5 if people > 1 else difference * np.nan
    best = evidence.transpose(subject, "model").to_numpy().argmax(axis=1)
    frame = pd.DataFrame(
        {
            "difference": difference.values,
            "se": se.values,
            "is_clear": (difference > SMALL).values & ~(difference < ERRORS * se).values,
            "best_for": np.bincount(best, minlength=evidence.sizes["model"]),
        },
        index=pd.Index(evidence["model"].values, name="model"),
    )
    if population is not None:
        for name in ("frequency", "exceedance", "protected_exceedance"):
            frame[name] = population[name].sel(model=frame.index).to_numpy()
    return frame


def is_failure(notice: Notice) -> bool:
    """Whether a notice is an error that concerns all of a fit."""
    return notice.severity == "error" and not notice.cells


def said_of(
    found: Mapping[str, ModelEvidence], models: Sequence[Candidate], people: Mapping[str, str]
) -> list[Notice]:
    """Notices of the fits that the comparison rests on, and of models that are the same."""
    said = [
        notice_of("same-model", one=one.name, other=one.same_as)
        for one in models
        if one.same_as in found
    ]
    edges: list[str] = []
    for name, one in found.items():
        for notice in notices(one.fit):
            if notice.code in SAID or is_failure(notice):
                whose = tuple(dict.fromkeys(people.get(cell, cell) for cell in notice.cells))
                notice = replace(notice, message=f"{name}: {notice.message}", cells=whose)
                if whose and notice.severity == "error":
                    # The comparison has these people all the same.
                    words = f"{name}: {short_words(notice.code)}: evidence of these may be off."
                    notice = replace(notice, severity="warning", message=words)
                said.append(notice)
        if isinstance(one.fit, xr.Dataset) and one.row["at_edge"]:
            edges.append(f"{name} ({one.row['at_edge']}: {', '.join(open_parameters(one.fit))})")
    return [*said, *([notice_of("at-edge.models", models="; ".join(edges))] if edges else [])]


def open_parameters(fitted: xr.Dataset) -> list[str]:
    """Parameters that the counts of some people do not determine, the most frequent first."""
    named = pd.Series(", ".join(fitted["edge"].values.tolist()).split(", "))
    return [str(name) for name in named[named != ""].value_counts().index]
