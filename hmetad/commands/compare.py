"""The command that compares, and decides.

Fits and a question → decisions, on the terminal, as a table or as a report.
"""

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import hmetad
from hmetad.base.errors import (
    ChoiceError,
    ConflictError,
    EmptyError,
    LevelError,
    ModelError,
    NumberError,
    nearest,
)
from hmetad.base.lazy import import_on_call
from hmetad.base.results import results, shown_in
from hmetad.commands.answer import (
    DATA_FILES,
    REPORTS,
    Answer,
    Listing,
    Output,
    PrintOptions,
    command_line,
    output_file,
    rows_of,
)
from hmetad.commands.fits import (
    Fits,
    about_fits,
    are_conditions,
    are_resampled,
    bearing_notices,
    fit_notices,
    fits_otherwise,
    judged_quantity,
    levels_of,
    named_fits,
    read_fits,
)
from hmetad.commands.gate import KINDS, asked_gates, judge_gate, with_outcomes
from hmetad.commands.options import options_named, parse_limits
from hmetad.compare.cells import refuse_covariate
from hmetad.compare.words import (
    COLUMNS,
    correction_words,
    headings,
    ranked_words,
    setting_words,
)
from hmetad.report.terminal import say
from hmetad.text.names import column_name

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from hmetad.compare.decisions import Decisions

type Rope = tuple[float, float]

method_text: Callable[..., Any] = import_on_call(
    "hmetad.report.contents.estimates_fit", "method_text"
)


@dataclass(frozen=True, kw_only=True)
class CompareOptions(PrintOptions):
    """What is compared, how it is judged, and what is written of it.

    Parameters
    ----------
    files : FILE
        Fits of hmetad fit or estimates, or draws of hmetad measures; name=file.nc names one of
        several.
    over : COLUMN
        Column whose levels are compared; with several files any name, such as fit. Without --over,
        the quantity itself is compared with the ROPE.
    rope : LOW,HIGH
        Region of practical equivalence: the differences that you call negligible, in units of
        --var. Required, as in --rope=-0.05,0.05.
    var : NAME
        Quantity to compare: log_m, m_ratio, dprime, a coefficient such as log_m_task, or a measure
        that the model predicts, such as auroc2. Default: log_m, or m_ratio if M of the model may be
        negative; auroc2 for draws.
    population : flag
        Compare the population-level means of the conditions, not the cells of the data; at the
        means of the covariates. Default: for conditions and groups that hmetad fit was given.
    new : COLUMNS
        Predict a new level of these columns, such as an unseen set of items or a new domain.
    within : COLUMNS
        Compare only cells that have the same levels of these columns.
    pool : COLUMNS
        Average the contrasts over the levels of these columns, such as sets of items.
    against : LEVEL
        Compare all other levels with this one. Default: all pairs.
    matrix : FILE
        Table of contrasts: a row for each, its name first, then a weight for each level.
    null : X
        Null value.
    bonferroni : flag
        Widen the intervals for the number of contrasts.
    rank : flag
        Also rank the levels.
    bayes_factor : flag
        Add the Bayes factor against --null, by the prior of the fit, and by one half and twice as
        wide.
    sensitivity : flag
        Repeat the decisions with the other rule for κ, M instead of log M normal between people,
        other priors and fewer ratings. The fits are kept in a folder next to FILE. Default: only
        for a report of fits without thousands of cells.
    fail_if : CONDITION
        Condition such as "new worse than old"; may be repeated. Exit status: 1 if a verdict shows
        it, 3 if there is no verdict, else 0; of several, the worst (1, then 3).
    fail_unless : CONDITION
        Condition such as "new not worse than old" (non-inferiority); may be repeated. Exit status:
        0 if the interval shows it, 3 if there is no verdict, else 1.
    gates : FILE
        Conditions in TOML: [[gate]] tables with fail_if or fail_unless, and var and rope if they
        are not those of the command line.
    """

    files: Annotated[list[str], typer.Argument()]
    over: str | None = None
    rope: str | None = None
    var: str | None = None
    population: bool = False
    new: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    pool: tuple[str, ...] = ()
    against: str | None = None
    matrix: Path | None = None
    null: float = 0.0
    bonferroni: bool = False
    rank: bool = False
    bayes_factor: bool = False
    sensitivity: bool | None = None
    ci_prob: float = 0.95
    fail_if: list[str] | None = None
    fail_unless: list[str] | None = None
    gates: Path | None = None
    output: Output = None

    @property
    def levels(self) -> list[str]:
        """Columns whose levels are compared, or held equal."""
        return [*filter(None, (self.over, *self.within, *self.pool))]

    @property
    def pairing(self) -> dict[str, Any]:
        """What `hmetad.contrast` and `hmetad.rank` are both asked."""
        return {"var": self.var, "within": [*self.within], "pool": [*self.pool]}


def compare(asked: CompareOptions) -> int:
    r"""Compare models, conditions or groups, and decide each difference by a ROPE.

    Examples
    --------
    hmetad compare fit.nc --over model --within task --rope=-0.05,0.05 -o page.html
    hmetad compare fit.nc --over model --within task --against GPT-5 \
      --rope=-0.05,0.05 --rank
    hmetad compare sets.nc --new set --over model --rope=-0.02,0.02
    hmetad compare fit.nc --over model --within task --matrix weights.csv \
      --rope=-0.05,0.05 --format markdown
    hmetad compare draws.nc --var auroc2 --over model --pool set --rope=-0.02,0.02 --rank
    hmetad compare fit.nc --var log_m_task --rope=-0.1,0.1 --bayes-factor
    hmetad compare young=a.nc old=b.nc --over fit --var mu_log_m --rope=-0.1,0.1
    hmetad compare draws.nc --var auroc2 --over model --within set --rope=-0.02,0.02 \
      --fail-if "new worse than old"
    hmetad compare draws.nc --var auroc2 --over model --rope=-0.02,0.02 \
      --fail-unless "new not worse than old"
    hmetad compare draws.nc --over model --gates gates.toml
    """
    limits = limits_for(asked)
    refuse_together(asked)
    paths = named_fits(asked.files)
    written = output_file(asked.output, (*DATA_FILES, *REPORTS), *paths.values(), asked.matrix)
    own = None if asked.matrix is None else read_weights(asked.matrix)
    fits = read_fits(paths)
    may_repeat = repeats_decisions(asked, fits)
    is_average = asked.population or (not asked.new and are_conditions(fits, asked.levels))
    asked = replace(asked, population=is_average)
    typed = {kind: getattr(asked, kind) or [] for kind in KINDS}
    gates = asked_gates(typed, asked.gates, asked.var or judged_quantity(fits), limits)
    place = "--var"
    if limits is None:
        # The table is about what the first gate is about.
        asked = replace(asked, var=gates[0].quantity)
        place, limits = gates[0].place, gates[0].rope
    asked = replace(asked, var=asked.var or judged_quantity(fits))
    with options_named({"var": place}):
        sources, decisions = decided(fits, asked, own, limits)
    if asked.bayes_factor:
        decisions = with_bayes_factors(decisions, fits, asked, own)
    answer = decisions_answer(decisions)
    ranks = ranks_of(sources, asked) if asked.rank else None
    if ranks is not None:
        answer = with_ranks(answer, ranks)
    others = {}
    if may_repeat:
        others = decided_otherwise(fits, paths, asked, own, limits)
        answer = with_others(answer, others)
    answer = with_sources(answer, fits, paths, asked)
    made = {(str(asked.var), limits): decisions}
    for gate in gates:
        if (gate.quantity, gate.rope) not in made:
            of_gate = replace(asked, var=gate.quantity)
            with options_named({"var": gate.place}):
                made[gate.quantity, gate.rope] = decided(fits, of_gate, own, gate.rope)[1]
    outcomes = [judge_gate(one, made[one.quantity, one.rope]) for one in gates]
    if outcomes:
        answer = with_outcomes(answer, outcomes)

    def save_page(path: Path) -> None:
        shared: dict[str, Any] = {"command": command_line(), "ranks": ranks}
        if any(are_resampled(fit) for fit in fits.values()):
            shared["method"] = method_of(fits, asked)
            page = hmetad.report.decisions_report(decisions, one_or_all(fits), **shared)
        else:
            shared["sensitivity"] = others
            page = hmetad.report.fit_report(one_or_all(fits), decisions, **shared)
        page.save(path)

    asked.deliver(answer, written, save_page)
    say_how_to_settle(answer, fits)
    for outcome in outcomes:
        say(f"{outcome.word}: {outcome.sentence}")
    return int(answer.more["gate"]["exit"]) if outcomes else 0


def limits_for(asked: CompareOptions) -> Rope | None:
    """Limits of the ROPE, which is required; None where those of gates in a file do."""
    if asked.rope is not None:
        return parse_limits(asked.rope)
    if asked.gates is None or asked.var is not None:
        step = "You decide which differences are negligible: --rope=-0.05,0.05."
        raise EmptyError("--rope", "nothing", "two numbers", step)
    return None


def refuse_together(asked: CompareOptions) -> None:
    """Refuse options that exclude each other, or need one that is not there."""
    of_levels = ("within", "pool", "against", "matrix", "rank", *KINDS, "gates")
    asked.refuse_idle(
        **dict.fromkeys(of_levels, "" if asked.over else "with --over"),
    )
    if "csv" in (asked.format, Path(asked.output or "").suffix[1:]):
        one_table = "without CSV, which holds one table: use json"
        asked.refuse_idle(rank=one_table, sensitivity=one_table if asked.sensitivity else "")
    if asked.population and asked.new:
        step = "--population is about the average of groups, --new about a single new one."
        raise ConflictError("--population", "--new", next_step=step)


def repeats_decisions(asked: CompareOptions, fits: Fits) -> bool:
    """Whether decisions are made again under other choices: as asked, else for a page of fits."""
    has_fits = not any(are_resampled(fit) for fit in fits.values())
    if asked.sensitivity and not has_fits:
        raise ModelError("--sensitivity", "draws without a model", "a fit", "Leave it out.")
    if asked.sensitivity is not None:
        return asked.sensitivity
    # Four more fits of thousands of cells would take an hour or more.
    are_small = all(one.code != "cells-not-kept" for one in fit_notices(fits))
    has_page = Path(asked.output or "").suffix in REPORTS
    return has_page and has_fits and are_small


def source_of(fit: "xr.DataTree", asked: CompareOptions) -> Any:
    """Draws that are compared: a fit's own, of its population, or of a measure that it predicts.

    Values of the population are those at the means of covariates.
    """
    var, population, is_new = str(asked.var), asked.population, bool(asked.new)
    if are_resampled(fit):
        if "formula" in fit.attrs:
            if not (population or is_new):
                return fit
            cells = hmetad.bayes.average_conditions(fit, keep=asked.levels)
            return hmetad.bayes.predict_estimates(fit, cells, new=[*asked.new])
        for option, given in {"--new": is_new, "--population": population}.items():
            if given:
                step = "Model them first: hmetad estimates draws.nc --formula …"
                raise ModelError(option, "draws without a model", "a fit of estimates", step)
        return fit
    if is_new:
        cells = hmetad.bayes.average_conditions(fit, keep=asked.levels)
        return hmetad.predict(fit, cells, new=[*asked.new])
    is_own = var in fit["posterior"]
    if not is_own and not population and var in hmetad.bayes.spec_of(fit).record.results:
        # A fit of very many cells keeps none of them.
        return hmetad.bayes.predict_levels(fit)
    cells = hmetad.bayes.average_conditions(fit, keep=asked.levels) if population else None
    if not is_own and any(one.measured and one.name == var for one in results()):
        return hmetad.bayes.predict_measures(fit, var, cells, group_terms=not population)
    return hmetad.predict(fit, cells) if population else fit


def refuse_covariates(posterior: "xr.Dataset", asked: CompareOptions) -> None:
    """Refuse values of a covariate as levels, before values of the population are computed."""
    given = {"--over": [asked.over], "--within": asked.within, "--pool": asked.pool}
    for option, name in ((option, x) for option, names in given.items() for x in names if x):
        own = [
            str(variable)
            for variable, x in posterior.items()
            if x.attrs.get("parameter") == asked.var and name in str(x.attrs.get("term", ""))
        ]
        refuse_covariate(posterior, name, own[0] if own else f"{asked.var}_{name}", option)


def one_or_all(fits: Fits) -> Any:
    """The fit where there is one, else all by name."""
    return next(iter(fits.values())) if len(fits) == 1 else fits


def asked_draws(
    sources: Mapping[str, Any], fits: Fits, asked: CompareOptions, own: "pd.DataFrame | None"
) -> "xr.DataArray":
    """Draws of the contrasts asked for; without `over` the quantity itself."""
    if asked.over is None:
        return draws_of_one(sources, str(asked.var))
    levels, against = levels_of(fits, asked.over), asked.against
    if against is not None and levels:
        if against not in levels:
            hint = nearest(against, levels)
            raise LevelError("--against", repr(against), f"a level of {asked.over}", hint)
        against = levels[against]
    with options_named({"over and within": "--over and --within"}):
        return hmetad.contrast(
            one_or_all(sources),
            over=asked.over,
            against=against,
            matrix=None if own is None else own.rename(columns=levels),
            independent=len(fits) > 1,
            **asked.pairing,
        )


def draws_of_one(sources: Mapping[str, Any], var: str) -> "xr.DataArray":
    """Draws of a quantity of one fit, a number for each cell or level."""
    if len(sources) > 1:
        step = "Write --over fit to compare the fits with one another."
        raise ModelError("--over", "nothing, with several fits", "a coordinate", step)
    source = one_or_all(sources)
    posterior = source["posterior"].to_dataset() if "posterior" in source else source
    if var not in posterior:
        step = nearest(var, map(str, posterior))
        raise ChoiceError("--var", repr(var), "a quantity of the fit", step)
    places = [str(dim) for dim in posterior[var].dims if dim not in ("chain", "draw")]
    if len(places) > 1:
        step = f"Compare levels of one of them: --over {places[-1]}."
        raise NumberError("--var", f"{var} by {', '.join(places)}", "one number a place", step)
    return posterior[var]


def read_weights(path: Path) -> "pd.DataFrame":
    """Weights of contrasts: names in the first column, a level of `over` in each other."""
    table = hmetad.logs.read_table(path)
    named = table.set_index(table.columns[0])
    return named.set_axis(named.index.astype(str)).fillna(0)


def decided(
    fits: Fits, asked: CompareOptions, own: "pd.DataFrame | None", rope: Rope
) -> "tuple[dict[str, Any], Decisions]":
    """Draws by fit, and decisions on their contrasts, corrected for the number of them if asked."""
    if asked.population:
        for fit in fits.values():
            refuse_covariates(fit["posterior"].to_dataset(), asked)
    sources = {name: source_of(fit, asked) for name, fit in fits.items()}
    draws = asked_draws(sources, fits, asked, own)
    places = draws.size // (draws.sizes["chain"] * draws.sizes["draw"])
    made = hmetad.decide(
        draws,
        rope=rope,
        null=asked.null,
        ci_prob=asked.ci_prob,
        comparisons=places if asked.bonferroni else 1,
    )
    return sources, made


def with_bayes_factors(
    decisions: "Decisions", fits: Fits, asked: CompareOptions, own: "pd.DataFrame | None"
) -> "Decisions":
    """Decisions with the Bayes factor of each, by the same contrast of the prior."""
    priors = {}
    for name, fit in fits.items():
        if not are_resampled(fit):
            priors[name] = hmetad.bayes.draw_prior(fit)
        if name not in priors or not (asked.population or asked.var in priors[name]["posterior"]):
            got = f"{asked.var}, of which {name} does not have the prior alone"
            allowed = (
                "coefficients, conditions of the population, or cells of a model without formulas"
            )
            step = "Compare conditions: --population. For draws of resampling there is no prior."
            raise ModelError("--bayes-factor", got, allowed, step)
    sources = [{x: source_of(fit, asked) for x, fit in one.items()} for one in (fits, priors)]
    drawn, prior = (asked_draws(source, fits, asked, own) for source in sources)
    with options_named(dict.fromkeys(("draws", "prior"), "--bayes-factor")):
        factors = hmetad.compare.bayes_factor(drawn, prior=prior, null=asked.null)
    return hmetad.compare.add_bayes_factors(decisions, factors)


def ranks_of(sources: Mapping[str, Any], asked: CompareOptions) -> "xr.Dataset":
    """Posterior of the ranks of the levels."""
    return hmetad.rank(
        one_or_all(sources),
        over=str(asked.over),
        ci_prob=asked.ci_prob,
        independent=len(sources) > 1,
        **asked.pairing,
    )


def decided_otherwise(
    fits: Fits,
    paths: Mapping[str, Path],
    asked: CompareOptions,
    own: "pd.DataFrame | None",
    rope: Rope,
) -> "dict[str, Decisions]":
    """Decisions on refitted models, by the choice that differs."""
    again = {name: fits_otherwise(fit, paths[name]) for name, fit in fits.items()}
    # M on another scale has other coefficients.
    is_own = all(asked.var in fit["posterior"] for fit in fits.values())
    made = {}
    for choice in next(iter(again.values())):
        changed = {name: x[choice] for name, x in again.items() if choice in x}
        is_there = all(asked.var in fit["posterior"] for fit in changed.values())
        if len(changed) == len(fits) and (is_there or not is_own):
            made[choice] = decided(changed, asked, own, rope)[1]
    return made


def decisions_answer(decisions: "Decisions") -> Answer:
    """Decisions as an answer: a row for each, and the fits and settings."""
    record = hmetad.report.decisions_record(decisions)
    rows = record.pop("results")
    record.pop("notices")
    low, high = decisions.rope
    kind = record.get("kind", "value").replace("_", " ")
    of = "" if kind == "value" else " in"
    is_separate = record.get("pairing") == "independent"
    remarks = (
        f"{kind}{of} {decisions.quantity}; ROPE {low:g} to {high:g}",
        correction_words(decisions.comparisons, len(rows)),
        setting_words(record),
        "separate fits, as if independent" * is_separate,
    )
    columns = headings(rows, "terminal", f"{decisions.null:g}")
    listing = Listing(rows, columns, "; ".join(filter(None, remarks)))
    return Answer((listing,), hmetad.notices(decisions.results), more=record)


def with_ranks(answer: Answer, ranks: "xr.Dataset") -> Answer:
    """Answer with a table of ranks after its first."""
    rows = rows_of(hmetad.compare.rank_table(ranks))
    for row in rows:
        for end in ("rank_lower", "rank_upper"):
            row[end] = None if math.isnan(row[end]) else int(row[end])
    columns = {"cell": heading_of_ranks(rows, ranks.attrs)}
    columns |= {name: column_name(name, "rank") for name in shown_in("rank")}
    if any(row.get("coverage", 1) < 1 for row in rows):
        columns["coverage"] = "coverage"
    first = "largest" if ranks.attrs["largest_first"] else "smallest"
    number = ranked_words(ranks["mean_rank"].values.tolist())
    named = f"Ranks{number} in {ranks.attrs['quantity']}, the {first} first"
    title = "; ".join(filter(None, (named, setting_words(ranks.attrs))))
    reasons = {column.name for column in COLUMNS if column.is_reason}
    columns |= {k: text for k, text in headings(rows, "terminal").items() if k in reasons}
    listing = Listing(rows, columns, title)
    said = {(one.code, one.message) for one in answer.notices}
    new = [one for one in hmetad.notices(ranks) if (one.code, one.message) not in said]
    return replace(answer, notices=[*answer.notices, *new]).adding(listing, ranks=rows)


def heading_of_ranks(rows: Sequence[Mapping[str, Any]], attrs: Mapping[str, Any]) -> str:
    """Heading over labels of cells: the columns that they are made of, where these are known."""
    own = {str(attrs["over"]), *str(attrs["within"]).split(", ")}
    names = [name for name in rows[0] if name in own]
    are_labels = all(row["cell"] == " | ".join(str(row[name]) for name in names) for row in rows)
    return " | ".join(names) if names and are_labels else "cell"


def with_others(answer: Answer, others: "Mapping[str, Decisions]") -> Answer:
    """Answer with a table of the verdicts that other choices give."""
    records = {name: hmetad.report.decisions_record(one) for name, one in others.items()}
    columns = {"label": "contrast", "verdict": "as decided", **{name: name for name in records}}
    rows = [{"label": row["label"], "verdict": row["verdict"]} for row in answer.rows]
    for name, record in records.items():
        reasons = hmetad.report.reasons_withheld(others[name])
        for row, other, reason in zip(rows, record["results"], reasons, strict=True):
            why = f" ({reason})" if reason else ""
            row[name] = f"{other['verdict']}{why}"
    listing = Listing(rows, columns, "Verdicts under other choices")
    return answer.adding(listing, sensitivity=records)


def with_sources(
    answer: Answer, fits: Fits, paths: Mapping[str, Path], asked: CompareOptions
) -> Answer:
    """Answer that says of which fits and levels it is; its own notices come before theirs."""
    of_fits = [notice for fit in fits.values() for notice in hmetad.notices(fit)]
    more = {**answer.more, **about_fits(fits, paths)}
    listings = answer.listings
    if asked.new:
        named = f"; for a new {' and '.join(asked.new)}"
        listings = tuple(replace(one, title=one.title + named) for one in listings)
        more["new"] = [*asked.new]
    if asked.population:
        means = [hmetad.bayes.covariate_means(x, keep=asked.levels) for x in fits.values()]
        more["at_means"] = dict(zip(fits, means, strict=True))
        words = [f"{name} {x:.4g}" for own in means for name, x in own.items()]
        at = f"; at the mean of {', '.join(dict.fromkeys(words))}" if words else ""
        listings = tuple(replace(one, title=one.title + at) for one in listings)
    found = sorted(answer.notices, key=of_fits.__contains__)
    rows = [*answer.rows, *more.get("ranks", ())]
    withheld = [str(row.get("withheld", "")) for row in rows]
    said = bearing_notices(found, fits, str(asked.var), withheld)
    whole = shlex.join(["hmetad", "notices", *map(str, paths.values())])
    return replace(answer, listings=listings, notices=found, more=more, said=said, whole=whole)


def say_how_to_settle(answer: Answer, fits: Fits) -> None:
    """Report how many draws suffice, if Monte Carlo error could change a verdict."""
    number = sum(
        row.get("verdict") == "unreliable" and "verdict" in str(row.get("unsettled", ""))
        for row in answer.rows
    )
    if number:
        commands = dict.fromkeys(
            f"hmetad {command_of(fit)} --draws {4 * fit['posterior'].sizes['draw']}"
            for fit in fits.values()
        )
        said = f"{number} of {len(answer.rows)} verdicts could change by Monte Carlo error"
        say(f"{said}: draw more samples, {' and '.join(commands)}.")


def command_of(fit: "xr.DataTree") -> str:
    """Command that makes such draws."""
    if not are_resampled(fit):
        return "fit"
    return "estimates" if "formula" in fit.attrs else "measures"


def method_of(fits: Fits, asked: CompareOptions) -> str:
    """How draws were made, those that are compared one after the other, and what they predict."""
    each = {name: source_method(fit) for name, fit in fits.items()}
    words = [f"{name}: {text}" if len(each) > 1 else text for name, text in each.items()]
    pairs = "Draws of one are paired with draws of another as independent ones."
    words.append(pairs if len(each) > 1 else "Differences are taken draw by draw.")
    if asked.new:
        new = " and ".join(asked.new)
        words.append(f"They are predictions for a new {new}, with effects from its population.")
    elif asked.population:
        words.append("They are of the population: of groups as they are on average.")
    return " ".join(words)


def source_method(fit: "xr.DataTree") -> str:
    """How draws were made, in a sentence."""
    command, sizes = command_of(fit), fit["posterior"].sizes
    if command == "estimates":
        return str(method_text(fit))
    made = "posterior draws of a model of counts"
    if command == "measures":
        unit = (fit.attrs.get("cluster") or "trial").replace(", ", " and ")
        made = f"{fit.attrs.get('kind', '')} draws, with {unit} as the unit that is drawn"
    seed = fit.attrs.get("seed", "")
    return f"{sizes.get('chain', 1) * sizes['draw']:,} {made} (seed {seed})."
