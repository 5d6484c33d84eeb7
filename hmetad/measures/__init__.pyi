"""Measures of a count table or of trials, each alone; `hmetad.measure` gives all of a table."""

from hmetad.measures.agreement import split_half as split_half
from hmetad.measures.expectation import relative_to_sdt as relative_to_sdt
from hmetad.measures.items import common_items as common_items
from hmetad.measures.items import repeated_items as repeated_items
from hmetad.measures.items import unequal_answers as unequal_answers
from hmetad.measures.items import unit_columns as unit_columns
from hmetad.measures.reliability import accuracy_by_confidence as accuracy_by_confidence
from hmetad.measures.reliability import calibration as calibration
from hmetad.measures.reliability import selective_prediction as selective_prediction
from hmetad.measures.sdt import z_test as z_test
from hmetad.measures.stated_confidence import scale_report as scale_report
from hmetad.measures.trial_measures import measure_trials as measure_trials
from hmetad.measures.trial_measures import resample_trials as resample_trials
from hmetad.measures.trial_measures import resample_trials_interval as resample_trials_interval
from hmetad.measures.type2 import auroc2 as auroc2
from hmetad.measures.type2 import gamma as gamma
from hmetad.measures.type2 import mean_confidence as mean_confidence
from hmetad.measures.type2 import meta_delta as meta_delta
from hmetad.measures.type2 import overconfidence as overconfidence
from hmetad.measures.type2 import phi as phi
from hmetad.measures.type2 import type2_roc as type2_roc
from hmetad.measures.type2 import type2_zroc as type2_zroc
from hmetad.measures.type2 import v_statistic as v_statistic
from hmetad.mle.judged import judge as judge
from hmetad.mle.judged import operating_point as operating_point
