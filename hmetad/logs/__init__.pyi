"""Evaluation logs and tables → trials."""

from hmetad.counts.noticed import frame_notices as frame_notices
from hmetad.logs.helm import read_helm as read_helm
from hmetad.logs.inspect_ai import read_inspect as read_inspect
from hmetad.logs.lighteval import read_lighteval as read_lighteval
from hmetad.logs.lm_eval import read_lm_eval as read_lm_eval
from hmetad.logs.matlab import read_matlab as read_matlab
from hmetad.logs.repeats import agreement as agreement
from hmetad.logs.samples import read_log as read_log
from hmetad.logs.stated import parse_confidence as parse_confidence
from hmetad.logs.trial_tables import read_trials as read_trials
from hmetad.rows.files import read_table as read_table
from hmetad.rows.files import scan_table as scan_table
from hmetad.rows.sample_frames import trials_of as trials_of
