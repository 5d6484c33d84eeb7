"""Bayesian hierarchical meta-d′: how much of what an observer knows reaches its confidence.

From trials to a verdict in four calls: `count_trials`, `fit`, `contrast`, `decide`. Importing
the package imports nothing else; each name brings in what it needs when it is first used.
"""

from importlib import import_module

# The module typing takes longer to import than all the rest, and an interrupt may come meanwhile.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hmetad import datasets as datasets
    from hmetad.bayes.fit import fit
    from hmetad.bayes.loading import load_model
    from hmetad.bayes.loo import loo
    from hmetad.bayes.model import build_model, rebuild_model
    from hmetad.bayes.predict import predict
    from hmetad.bayes.predictive import predicted_counts
    from hmetad.bayes.prior_predictive import draw_prior
    from hmetad.bayes.sensitivity import other_choices, sensitivity
    from hmetad.bayes.spec import ModelSpec, Prior
    from hmetad.bayes.store import load_fit, save_fit
    from hmetad.compare.bayes_factor import bayes_factor
    from hmetad.compare.contrasts import contrast
    from hmetad.compare.decisions import Decisions, decide
    from hmetad.compare.model_comparison import compare_models
    from hmetad.compare.normal_decisions import decide_normal
    from hmetad.compare.ranking import rank, rank_table
    from hmetad.compare.repeat import repeat_decisions
    from hmetad.compare.superiority import superiority_table
    from hmetad.counts.binning import bin_confidence
    from hmetad.counts.correct import count_correct, type2_counts
    from hmetad.counts.detection import as_detection
    from hmetad.counts.intervals import resample_interval
    from hmetad.counts.resample import resample
    from hmetad.counts.table import count_trials, from_nr, to_nr
    from hmetad.errors import InputError
    from hmetad.logs.inspect_ai import read_inspect
    from hmetad.logs.lm_eval import read_lm_eval
    from hmetad.logs.pairs import count_pairs, option_pairs
    from hmetad.logs.readers import read_log
    from hmetad.logs.stated import parse_confidence
    from hmetad.logs.tables import read_table
    from hmetad.logs.wide import long_table, read_trials
    from hmetad.measures.calibration import calibration
    from hmetad.measures.catalogue import measure
    from hmetad.measures.groups import (
        combine_predictions,
        confidence_weighted_vote,
        group_bounds,
        majority_vote,
        predictionwise_vote,
    )
    from hmetad.measures.information import meta_information
    from hmetad.measures.information_bounds import (
        information_bounds,
        type1_roc_bounds,
        type2_roc_bounds,
    )
    from hmetad.measures.information_noise import noise_information, normal_noise_information
    from hmetad.measures.monotonicity import accuracy_by_confidence
    from hmetad.measures.sdt import sdt, z_test
    from hmetad.measures.selection import selective_prediction
    from hmetad.measures.type2 import (
        auroc2,
        gamma,
        mean_confidence,
        phi,
        type2_roc,
        v_statistic,
    )
    from hmetad.mle.dmc import fit_dmc
    from hmetad.mle.measured import measure_all
    from hmetad.mle.meta_d import fit_mle
    from hmetad.mle.uvsdt import uvsdt
    from hmetad.notice import Notice, notices
    from hmetad.report.contents.estimates import convergence_record, estimate_frame, measure_frame
    from hmetad.report.contents.fit_report import combine_reports, fit_report
    from hmetad.report.contents.fits_report import fits_report
    from hmetad.report.contents.measures_report import measures_report
    from hmetad.report.page.records import decisions_record
    from hmetad.report.page.report import Report
    from hmetad.report.plots.bars import plot_sensitivity_bars
    from hmetad.report.plots.by import plot_by, plot_criterion
    from hmetad.report.plots.calibration import plot_calibration
    from hmetad.report.plots.fit import plot_fit
    from hmetad.report.plots.intervals import plot_decisions, plot_forest
    from hmetad.report.plots.measures import (
        plot_group_accuracy,
        plot_information_plane,
        plot_type1_roc,
        plot_type2_roc,
    )
    from hmetad.report.plots.ratings import plot_accuracy_by_rating
    from hmetad.simulate.calibration import calibrate_sampler
    from hmetad.simulate.power import plan_trials
    from hmetad.simulate.recovery import recover
    from hmetad.simulate.simulate import simulate_counts, simulate_trials
    from hmetad.simulate.trials_needed import trials_needed

__all__ = [
    "Decisions",
    "InputError",
    "ModelSpec",
    "Notice",
    "Prior",
    "Report",
    "accuracy_by_confidence",
    "as_detection",
    "auroc2",
    "bayes_factor",
    "bin_confidence",
    "build_model",
    "calibrate_sampler",
    "calibration",
    "combine_predictions",
    "combine_reports",
    "compare_models",
    "confidence_weighted_vote",
    "contrast",
    "convergence_record",
    "count_correct",
    "count_pairs",
    "count_trials",
    "decide",
    "decide_normal",
    "decisions_record",
    "draw_prior",
    "estimate_frame",
    "fit",
    "fit_dmc",
    "fit_mle",
    "fit_report",
    "fits_report",
    "from_nr",
    "gamma",
    "group_bounds",
    "information_bounds",
    "load_fit",
    "load_model",
    "long_table",
    "loo",
    "majority_vote",
    "mean_confidence",
    "measure",
    "measure_all",
    "measure_frame",
    "measures_report",
    "meta_information",
    "noise_information",
    "normal_noise_information",
    "notices",
    "option_pairs",
    "other_choices",
    "parse_confidence",
    "phi",
    "plan_trials",
    "plot_accuracy_by_rating",
    "plot_by",
    "plot_calibration",
    "plot_criterion",
    "plot_decisions",
    "plot_fit",
    "plot_forest",
    "plot_group_accuracy",
    "plot_information_plane",
    "plot_sensitivity_bars",
    "plot_type1_roc",
    "plot_type2_roc",
    "predict",
    "predicted_counts",
    "predictionwise_vote",
    "rank",
    "rank_table",
    "read_inspect",
    "read_lm_eval",
    "read_log",
    "read_table",
    "read_trials",
    "rebuild_model",
    "recover",
    "repeat_decisions",
    "resample",
    "resample_interval",
    "save_fit",
    "sdt",
    "selective_prediction",
    "sensitivity",
    "simulate_counts",
    "simulate_trials",
    "superiority_table",
    "to_nr",
    "trials_needed",
    "type1_roc_bounds",
    "type2_counts",
    "type2_roc",
    "type2_roc_bounds",
    "uvsdt",
    "v_statistic",
    "z_test",
]

# Used by their own name: hmetad.datasets.load.
MODULES = ("datasets",)
HOMES = {
    "bayes.fit": ("fit",),
    "bayes.loo": ("loo",),
    "bayes.model": (
        "build_model",
        "rebuild_model",
    ),
    "bayes.predict": ("predict",),
    "bayes.predictive": ("predicted_counts",),
    "bayes.prior_predictive": ("draw_prior",),
    "bayes.sensitivity": ("other_choices", "sensitivity"),
    "bayes.loading": ("load_model",),
    "bayes.spec": (
        "ModelSpec",
        "Prior",
    ),
    "bayes.store": (
        "load_fit",
        "save_fit",
    ),
    "compare.bayes_factor": ("bayes_factor",),
    "compare.contrasts": ("contrast",),
    "compare.decisions": (
        "Decisions",
        "decide",
    ),
    "compare.model_comparison": ("compare_models",),
    "compare.normal_decisions": ("decide_normal",),
    "compare.ranking": ("rank", "rank_table"),
    "compare.repeat": ("repeat_decisions",),
    "compare.superiority": ("superiority_table",),
    "counts.binning": ("bin_confidence",),
    "counts.correct": (
        "count_correct",
        "type2_counts",
    ),
    "counts.detection": ("as_detection",),
    "counts.intervals": ("resample_interval",),
    "notice": (
        "Notice",
        "notices",
    ),
    "counts.resample": ("resample",),
    "counts.table": (
        "count_trials",
        "from_nr",
        "to_nr",
    ),
    "errors": ("InputError",),
    "logs.inspect_ai": ("read_inspect",),
    "logs.lm_eval": ("read_lm_eval",),
    "logs.pairs": ("count_pairs", "option_pairs"),
    "logs.readers": ("read_log",),
    "logs.stated": ("parse_confidence",),
    "logs.tables": ("read_table",),
    "logs.wide": ("long_table", "read_trials"),
    "measures.calibration": ("calibration",),
    "measures.catalogue": ("measure",),
    "measures.monotonicity": ("accuracy_by_confidence",),
    "measures.selection": ("selective_prediction",),
    "measures.groups": (
        "combine_predictions",
        "confidence_weighted_vote",
        "group_bounds",
        "majority_vote",
        "predictionwise_vote",
    ),
    "measures.information": ("meta_information",),
    "measures.information_bounds": (
        "information_bounds",
        "type1_roc_bounds",
        "type2_roc_bounds",
    ),
    "measures.information_noise": (
        "noise_information",
        "normal_noise_information",
    ),
    "measures.sdt": (
        "sdt",
        "z_test",
    ),
    "measures.type2": (
        "auroc2",
        "gamma",
        "mean_confidence",
        "phi",
        "type2_roc",
        "v_statistic",
    ),
    "mle.dmc": ("fit_dmc",),
    "mle.measured": ("measure_all",),
    "mle.meta_d": ("fit_mle",),
    "mle.uvsdt": ("uvsdt",),
    "report.contents.fit_report": ("combine_reports", "fit_report"),
    "report.contents.fits_report": ("fits_report",),
    "report.contents.estimates": ("convergence_record", "estimate_frame", "measure_frame"),
    "report.contents.measures_report": ("measures_report",),
    "report.plots.bars": ("plot_sensitivity_bars",),
    "report.plots.by": ("plot_by", "plot_criterion"),
    "report.plots.calibration": ("plot_calibration",),
    "report.plots.fit": ("plot_fit",),
    "report.plots.intervals": ("plot_decisions", "plot_forest"),
    "report.plots.measures": (
        "plot_group_accuracy",
        "plot_information_plane",
        "plot_type1_roc",
        "plot_type2_roc",
    ),
    "report.plots.ratings": ("plot_accuracy_by_rating",),
    "report.page.records": ("decisions_record",),
    "report.page.report": ("Report",),
    "simulate.calibration": ("calibrate_sampler",),
    "simulate.power": ("plan_trials",),
    "simulate.recovery": ("recover",),
    "simulate.simulate": (
        "simulate_counts",
        "simulate_trials",
    ),
    "simulate.trials_needed": ("trials_needed",),
}
HOME_OF = {name: f"hmetad.{home}" for home, names in HOMES.items() for name in names}


def __getattr__(name: str) -> "Any":
    """Bring in a public name when it is first used."""
    if name in MODULES:
        return import_module(f"hmetad.{name}")
    if name not in HOME_OF:
        raise AttributeError(f"module 'hmetad' has no attribute {name!r}")
    value = getattr(import_module(HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Public names, for completion."""
    return [*__all__, *MODULES]
