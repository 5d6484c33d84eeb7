"""The commands that say how many trials, people, or labels a study needs.

Truth, design and ROPE → what studies of several sizes would find; labels have a formula.
"""

import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import hmetad
from hmetad.base.errors import ChoiceError, ConflictError, NeedError
from hmetad.base.threads import usable_cpus
from hmetad.base.workers import Workers
from hmetad.commands.answer import DATA_FILES, Answer, Listing, Output, PrintOptions, output_file
from hmetad.commands.options import (
    Seed,
    given_options,
    option_name,
    options_named,
    parse_limits,
    parse_numbers,
    sampling_options,
)
from hmetad.report.terminal import say

if TYPE_CHECKING:
    import xarray as xr

VERDICTS = ("different", "negligible", "inconclusive", "unreliable")
PLANNED = {"subjects": "people", "trials": "trials"}
PLANNED |= {f"probability_{verdict}": verdict for verdict in VERDICTS}
PLANNED |= {"half_width": "half-width", "coverage": "coverage"}
PLANNED |= {"studies": "studies", "mc_error": "MC error"}
# Results whose Monte Carlo errors a plan limits.
PROPORTIONS = ("probability_se_", "coverage_se")
Question = Literal["mean", "difference", "tasks", "correlation", "slope"]
# Arguments of `plan_groups` that have their own defaults.
GUESSES = ("effect", "m_ratio", "between_sd", "correlation", "dprime")


@dataclass(frozen=True, kw_only=True)
class PlanOptions(PrintOptions):
    """What a study should find.

    Parameters
    ----------
    ratings : K
        Number of confidence ratings. Default: 4.
    rope : LOW,HIGH
        Differences in log M that you call negligible: --rope=-0.05,0.05.
    probability : P
        Report the size that gives the true verdict with this probability.
    half_width : W
        Report the size that gives intervals of log M with this half-width.
    draws : N
        Simulated studies of each size. Default: 1000 of single cells; of a population, or with
        items, as many as make the Monte Carlo error at most 0.05 within 10 minutes.
    output : FILE
        Rows: .csv or .json.
    """

    ratings: Annotated[int | None, typer.Option(min=2)] = None
    rope: str | None = None
    probability: Annotated[float | None, typer.Option(min=0.001, max=0.999)] = None
    half_width: Annotated[float | None, typer.Option(min=0.001)] = None
    ci_prob: float = 0.95
    draws: Annotated[int | None, typer.Option(min=2)] = None
    seed: Seed = None
    output: Output = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.goal) > 1:
            raise ConflictError("--probability", "--half-width")
        if self.probability is not None and self.rope is None:
            step = "Add --rope=-0.05,0.05, or use --half-width."
            raise NeedError("--probability", "--rope", next_step=step)

    @property
    def goal(self) -> dict[str, float]:
        """What is to be reached, by name, where something is."""
        return given_options(probability=self.probability, half_width=self.half_width)

    @property
    def shared(self) -> dict[str, Any]:
        """Arguments of both planners."""
        rope = None if self.rope is None else parse_limits(self.rope)
        return {
            **given_options(ratings=self.ratings, n=self.draws),
            **{"rope": rope, "ci_prob": self.ci_prob},
        }


@dataclass(frozen=True, kw_only=True)
class TrialPlanOptions(PlanOptions):
    """What is true of single cells.

    Parameters
    ----------
    trials : N,…
        Trials of each participant in each condition.
    m_ratio : M[,M]
        True M-ratio of one condition, or of two to compare.
    dprime : D[,D]
        True d′, of all conditions or of each.
    c : C[,C]
        True criterion c, in units of d′, of all conditions or of each.
    options : M
        Number of answer options; with more than two, only correct and incorrect are distinguished.
    subjects : N
        Participants in each condition: with several, their mean is evaluated.
    between_sd : SD
        SD of log M between participants.
    item_sds : SD[,SD]
        SDs between items of d′, and of log criteria: all observers answer the same items, as many
        as trials.
    others : N
        Further observers who answer the same items.
    comparisons : N
        Number of comparisons to correct for (Bonferroni).
    """

    trials: str = "100,200,400,800,1600"
    m_ratio: str = "1,0.8"
    dprime: str = "1.5"
    c: Annotated[str, typer.Option("--criterion")] = "0"
    options: Annotated[int, typer.Option(min=2)] = 2
    subjects: Annotated[int, typer.Option(min=1)] = 1
    between_sd: float = 0.0
    item_sds: str | None = None
    others: Annotated[int, typer.Option(min=0)] = 0
    comparisons: Annotated[int, typer.Option(min=1)] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        # The planner says so too, some seconds later: its imports take them.
        if self.rope is None and "," in self.m_ratio:
            step = "Write both limits, as in --rope=-0.05,0.05, or plan for one condition."
            raise ChoiceError("--rope", "none", "(lower, upper) of a difference", step)


@dataclass(frozen=True, kw_only=True)
class GroupPlanOptions(PlanOptions):
    """What is true of a population of people.

    Parameters
    ----------
    question : WHAT
        The mean of a group; the difference between two groups (--groups of hmetad fit), or two
        tasks of the same participants (--conditions); the correlation between tasks (--correlated);
        the slope on a covariate (--predictors).
    effect : E
        True difference in log M, correlation or slope; a mean has none.
    subjects : N,…
        Numbers of participants; for two groups, half are in each.
    trials : N,…
        Trials of each participant in each task.
    m_ratio : M
        Median M-ratio in the population. Default: 0.8.
    between_sd : SD
        SD of log M between participants. Default: 0.3.
    correlation : R
        Correlation of a participant's log M between the two tasks. Default: 0.5.
    dprime : D
        Mean d′. Default: 1.5.
    pilot : FIT
        Fit (.nc) that supplies the parameters that are not given; or a name such as published,
        perception or memory: medians of published populations.
    """

    question: Question
    effect: float | None = None
    subjects: str = "20,40,80"
    trials: str = "200"
    m_ratio: float | None = None
    between_sd: float | None = None
    correlation: float | None = None
    dprime: float | None = None
    pilot: str | None = None


@dataclass(frozen=True, kw_only=True)
class LabelPlanOptions(PrintOptions):
    """How precise a study of judges should be.

    Parameters
    ----------
    half_width : W
        Half-width that the interval should have.
    pass_rate : P
        Share of good outputs, as you guess it.
    output : FILE
        Rows: .csv or .json.
    """

    half_width: float
    pass_rate: float = 0.5
    ci_prob: float = 0.95
    output: Output = None

    def give_labels(self, function: Callable[..., float], **given: Any) -> None:
        """Number of labels by a planner, as an answer."""
        shared = {name: getattr(self, name) for name in ("half_width", "pass_rate", "ci_prob")}
        with options_named({"c": "--criterion"}):
            number = math.ceil(function(**shared, **given))
        row = {**shared, **given, "labels": number}
        shown = {name: name.replace("_", " ") for name in row}
        answer = Answer((Listing([row], shown, "Human labels that a study needs"),))
        self.deliver(answer, output_file(self.output, DATA_FILES))


@dataclass(frozen=True, kw_only=True)
class PassRatePlanOptions(LabelPlanOptions):
    """What a judge explains of the labels.

    Parameters
    ----------
    r2 : R2
        Share of the variance of labels that the judge explains; 0 without a judge.
    pool : M
        Outputs with a verdict, labelled or not. Default: without end.
    """

    r2: float = 0.0
    pool: Annotated[int | None, typer.Option(min=1)] = None


@dataclass(frozen=True, kw_only=True)
class JudgePlanOptions(LabelPlanOptions):
    """Two judges of the same outputs.

    Parameters
    ----------
    dprime : D[,D]
        d′ of both judges, or of each.
    c : C[,C]
        Criterion of both judges, or of each.
    correlation : R[,R]
        Tetrachoric correlation of their verdicts, on bad and on good outputs.
    """

    dprime: str
    c: Annotated[str, typer.Option("--criterion")] = "0"
    correlation: str = "0"


def plan_pass_rate(asked: PassRatePlanOptions) -> None:
    r"""Plan the number of human labels for a pass rate by a judge's verdicts.

    Examples
    --------
    hmetad plan pass-rate --half-width 0.03 --r2 0.39 --pool 10000
    """
    asked.give_labels(hmetad.simulate.labels_needed, r2=asked.r2, pool=asked.pool)


def plan_judges(asked: JudgePlanOptions) -> None:
    r"""Plan the number of human labels that tell the d′ of two judges apart.

    Examples
    --------
    hmetad plan judges --half-width 0.1 --dprime 1.9,2.0 --correlation 0.7,0.9
    """
    names = {"dprime": "--dprime", "c": "--criterion", "correlation": "--correlation"}
    given = {name: parse_numbers(option, getattr(asked, name)) for name, option in names.items()}
    asked.give_labels(
        hmetad.simulate.labels_for_difference,
        **{name: one_or_more(numbers) for name, numbers in given.items()},
    )


def plan_trials(asked: TrialPlanOptions) -> None:
    r"""Plan the number of trials of single cells, by simulation.

    Examples
    --------
    hmetad plan trials --m-ratio 1,0.8 --rope=-0.05,0.05 --trials 400,1600,6400
    hmetad plan trials --m-ratio 1,0.8 --subjects 40 --between-sd 0.3 --rope=-0.05,0.05 \
      --probability 0.8
    hmetad plan trials --m-ratio 0.9 --half-width 0.2 --seed 1
    hmetad plan trials --options 4 --m-ratio 0.8 --half-width 0.2 --draws 200
    hmetad plan trials --options 4 --item-sds 1.4,0.7 --others 8 --m-ratio 1,0.8 \
      --rope=-0.05,0.05 --trials 300,1000,3000 --draws 100
    """
    written = output_file(asked.output, DATA_FILES)
    names = ("options", "subjects", "between_sd", "others", "comparisons")
    with options_named({"c": "--criterion"}):
        found = hmetad.simulate.plan_trials(
            trials=parse_numbers("--trials", asked.trials, int),
            m_ratio=parse_numbers("--m-ratio", asked.m_ratio),
            dprime=one_or_more(parse_numbers("--dprime", asked.dprime)),
            c=one_or_more(parse_numbers("--criterion", asked.c)),
            item_sds=parse_numbers("--item-sds", asked.item_sds) if asked.item_sds else (),
            **{name: getattr(asked, name) for name in names},
            # Without a seed one is drawn here, so that the answer can say it.
            seed=secrets.randbelow(2**31) if asked.seed is None else asked.seed,
            **asked.shared,
        )
    give_plan(asked, found, written)


def plan_groups(asked: GroupPlanOptions) -> None:
    r"""Plan the number of participants of a hierarchical model, by simulation.

    Examples
    --------
    hmetad plan groups --question difference --subjects 20,40,80 --trials 100,200 --effect 0.4 \
      --rope=-0.1,0.1 --probability 0.8
    hmetad plan groups --question correlation --effect 0.5 --pilot memory --half-width 0.3
    """
    pilot = None if asked.pilot is None else Path(asked.pilot)
    written = output_file(asked.output, DATA_FILES, pilot)
    with Workers(usable_cpus()) as executor:
        found = hmetad.simulate.plan_groups(
            asked.question,
            subjects=parse_numbers("--subjects", asked.subjects, int),
            trials=parse_numbers("--trials", asked.trials, int),
            # A fit, where a file is named; else the published populations that are.
            pilot=hmetad.load_fit(pilot) if pilot and pilot.suffix == ".nc" else asked.pilot,
            executor=executor,
            seed=asked.seed,
            progressbar=sampling_options()["progressbar"],
            **given_options(**{name: getattr(asked, name) for name in GUESSES}),
            **asked.shared,
        )
    give_plan(asked, found, written)


def give_plan(asked: PlanOptions, found: "xr.Dataset", written: Sequence[Path]) -> None:
    """Print a plan, with the sizes that a goal takes, and write it."""
    needed, remark = needed_for(found, asked.goal) if asked.goal else ({}, "")
    rows = rows_of_plan(found)
    for row in rows:
        errors = [x for name, x in row.items() if name.startswith(PROPORTIONS) and x == x]
        row["mc_error"] = max(errors, default=None)
    shown = {name: heading for name, heading in PLANNED.items() if name in rows[0]}
    said = {str(name): value for name, value in found.attrs.items() if name != "seed"}
    title = f"Simulated studies of {found.attrs['judged']}"
    if "truth" in found.attrs:
        title += f" (true verdict: {found.attrs['truth']}): share of each verdict"
    else:
        title += f": median half-width of the {100 * found.attrs['ci_prob']:g} % interval"
    listing, seed = Listing(rows, shown, title), int(found.attrs["seed"])
    asked.deliver(Answer((listing,), hmetad.notices(found), seed, more={**said, **needed}), written)
    reached = max((row["mc_error"] or 0.0 for row in rows), default=0.0)
    told = f"Monte Carlo error of proportions: at most {reached:.2g}"
    if "minutes" in said:
        goal, time = f"{said['most_error']:g}", f"{said['minutes']:g} minutes"
        is_over = reached > said["most_error"]
        told += f"; {time} ended before {goal}: give --draws" * is_over
        told += f"; the goal was {goal} within {time}" * (not is_over)
    for text in filter(None, (f"{told}.", remark)):
        say(text)


def needed_for(found: "xr.Dataset", goal: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Sizes that a goal takes, None where the plan stops short of it; and that in words."""
    ((name, wanted),) = goal.items()
    sizes = hmetad.simulate.size_needed(found, **goal)
    over = str(sizes.name).removesuffix("_needed")
    of_groups = found.attrs.get("question") == "difference"
    what = "trials" if over == "trials" else "people in both groups" if of_groups else "people"
    needed: dict[str, int | None] = {}
    parts: list[str] = []
    for number in sizes.values.ravel().tolist():
        trials = sizes["trials"].values.tolist()[len(parts)] if sizes.dims else ""
        is_enough = math.isfinite(number)
        needed[str(trials)] = int(number) if is_enough else None
        most = f"about {number:.0f}" if is_enough else f"more than {int(found[over].max())}"
        parts.append(f"{most} {what}" + (f" with {trials} trials" if sizes.dims else " are needed"))
    said = f"{option_name(name)} {wanted:g}: {', '.join(parts)}."
    return {str(sizes.name): needed if sizes.dims else needed[""]}, said


def one_or_more(numbers: list[float]) -> Any:
    """A number alone where there is one: it then holds of every condition."""
    return numbers[0] if len(numbers) == 1 else numbers


def rows_of_plan(found: "xr.Dataset") -> list[dict[str, Any]]:
    """A row per size; results by verdict or condition have a column for each."""
    dims = [dim for dim in ("subjects", "trials") if dim in found.dims]
    rows = []
    for size in product(*(found[dim].values.tolist() for dim in dims)):
        row = dict(zip(dims, size, strict=True))
        for name, values in found.sel(row).data_vars.items():
            if not values.dims:
                row[str(name)] = values.item()
            for dim in values.dims:
                for place in values[dim].values.tolist():
                    row[f"{name}_{place}"] = values.sel({dim: place}).item()
        rows.append(row)
    return rows
