"""Public names of the comparison of models of confidence."""

from hmetad.mle.measure import measure_scales as measure_scales
from hmetad.select.models import Candidate as Candidate
from hmetad.select.models import Selection as Selection
from hmetad.select.models import candidates as candidates
from hmetad.select.models import select_models as select_models
from hmetad.select.signals import compare_signals as compare_signals
from hmetad.select.signals import signal_differences as signal_differences
