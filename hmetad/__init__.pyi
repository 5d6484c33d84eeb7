"""Public names of the package, and the modules they come from."""

from hmetad import datasets as datasets
from hmetad import likelihood as likelihood
from hmetad.bayes.fit import fit as fit
from hmetad.bayes.loading import load_model as load_model
from hmetad.bayes.loo import loo as loo
from hmetad.bayes.model import build_model as build_model
from hmetad.bayes.model import rebuild_model as rebuild_model
from hmetad.bayes.predict import predict as predict
from hmetad.bayes.predictive import predicted_counts as predicted_counts
from hmetad.bayes.prior_predictive import draw_prior as draw_prior
from hmetad.bayes.sensitivity import other_choices as other_choices
from hmetad.bayes.sensitivity import sensitivity as sensitivity
from hmetad.bayes.spec import ModelSpec as ModelSpec
from hmetad.bayes.store import load_fit as load_fit
from hmetad.bayes.store import save_fit as save_fit
from hmetad.compare.bayes_factor import bayes_factor as bayes_factor
from hmetad.compare.contrasts import contrast as contrast
from hmetad.compare.decisions import Decisions as Decisions
from hmetad.compare.decisions import decide as decide
from hmetad.compare.model_comparison import compare_models as compare_models
from hmetad.compare.normal_decisions import decide_normal as decide_normal
from hmetad.compare.ranking import rank as rank
from hmetad.compare.ranking import rank_table as rank_table
from hmetad.compare.repeat import repeat_decisions as repeat_decisions
from hmetad.compare.superiority import superiority_table as superiority_table
from hmetad.counts.binning import bin_confidence as bin_confidence
from hmetad.counts.correct import count_correct as count_correct
from hmetad.counts.correct import type2_counts as type2_counts
from hmetad.counts.detection import as_detection as as_detection
from hmetad.counts.intervals import resample_interval as resample_interval
from hmetad.counts.resample import resample as resample
from hmetad.counts.table import count_trials as count_trials
from hmetad.counts.table import from_nr as from_nr
from hmetad.counts.table import to_nr as to_nr
from hmetad.errors import InputError as InputError
from hmetad.likelihood.priors import Prior as Prior
from hmetad.logs.inspect_ai import read_inspect as read_inspect
from hmetad.logs.lm_eval import read_lm_eval as read_lm_eval
from hmetad.logs.pairs import count_pairs as count_pairs
from hmetad.logs.pairs import option_pairs as option_pairs
from hmetad.logs.readers import read_log as read_log
from hmetad.logs.stated import parse_confidence as parse_confidence
from hmetad.logs.tables import read_table as read_table
from hmetad.logs.wide import long_table as long_table
from hmetad.logs.wide import read_trials as read_trials
from hmetad.measures.calibration import calibration as calibration
from hmetad.measures.catalogue import measure as measure
from hmetad.measures.groups import (
    combine_predictions as combine_predictions,
)
from hmetad.measures.groups import (
    confidence_weighted_vote as confidence_weighted_vote,
)
from hmetad.measures.groups import (
    group_bounds as group_bounds,
)
from hmetad.measures.groups import (
    majority_vote as majority_vote,
)
from hmetad.measures.groups import (
    predictionwise_vote as predictionwise_vote,
)
from hmetad.measures.information import meta_information as meta_information
from hmetad.measures.information_bounds import (
    information_bounds as information_bounds,
)
from hmetad.measures.information_bounds import (
    type1_roc_bounds as type1_roc_bounds,
)
from hmetad.measures.information_bounds import (
    type2_roc_bounds as type2_roc_bounds,
)
from hmetad.measures.information_noise import (
    noise_information as noise_information,
)
from hmetad.measures.information_noise import (
    normal_noise_information as normal_noise_information,
)
from hmetad.measures.monotonicity import accuracy_by_confidence as accuracy_by_confidence
from hmetad.measures.sdt import sdt as sdt
from hmetad.measures.sdt import z_test as z_test
from hmetad.measures.selection import selective_prediction as selective_prediction
from hmetad.measures.type2 import (
    auroc2 as auroc2,
)
from hmetad.measures.type2 import (
    gamma as gamma,
)
from hmetad.measures.type2 import (
    mean_confidence as mean_confidence,
)
from hmetad.measures.type2 import (
    phi as phi,
)
from hmetad.measures.type2 import (
    type2_roc as type2_roc,
)
from hmetad.measures.type2 import (
    v_statistic as v_statistic,
)
from hmetad.mle.dmc import fit_dmc as fit_dmc
from hmetad.mle.measured import measure_all as measure_all
from hmetad.mle.meta_d import fit_mle as fit_mle
from hmetad.mle.uvsdt import uvsdt as uvsdt
from hmetad.notice import Notice as Notice
from hmetad.notice import notices as notices
from hmetad.report.contents.estimates import (
    convergence_record as convergence_record,
)
from hmetad.report.contents.estimates import (
    estimate_frame as estimate_frame,
)
from hmetad.report.contents.estimates import (
    measure_frame as measure_frame,
)
from hmetad.report.contents.fit_report import (
    combine_reports as combine_reports,
)
from hmetad.report.contents.fit_report import (
    fit_report as fit_report,
)
from hmetad.report.contents.fits_report import fits_report as fits_report
from hmetad.report.contents.measures_report import measures_report as measures_report
from hmetad.report.page.records import decisions_record as decisions_record
from hmetad.report.page.report import Report as Report
from hmetad.report.plots.bars import plot_sensitivity_bars as plot_sensitivity_bars
from hmetad.report.plots.by import plot_by as plot_by
from hmetad.report.plots.by import plot_criterion as plot_criterion
from hmetad.report.plots.calibration import plot_calibration as plot_calibration
from hmetad.report.plots.fit import plot_fit as plot_fit
from hmetad.report.plots.intervals import (
    plot_decisions as plot_decisions,
)
from hmetad.report.plots.intervals import (
    plot_forest as plot_forest,
)
from hmetad.report.plots.measures import (
    plot_group_accuracy as plot_group_accuracy,
)
from hmetad.report.plots.measures import (
    plot_information_plane as plot_information_plane,
)
from hmetad.report.plots.measures import (
    plot_type1_roc as plot_type1_roc,
)
from hmetad.report.plots.measures import (
    plot_type2_roc as plot_type2_roc,
)
from hmetad.report.plots.ratings import plot_accuracy_by_rating as plot_accuracy_by_rating
from hmetad.simulate.calibration import calibrate_sampler as calibrate_sampler
from hmetad.simulate.power import plan_trials as plan_trials
from hmetad.simulate.recovery import recover as recover
from hmetad.simulate.simulate import (
    simulate_counts as simulate_counts,
)
from hmetad.simulate.simulate import (
    simulate_trials as simulate_trials,
)
from hmetad.simulate.trials_needed import trials_needed as trials_needed
