"""Public names of the comparison of models of confidence."""

from hmetad.mle.measure import measure_scales as measure_scales
from hmetad.select.models import Candidate as Candidate
from hmetad.select.models import Selection as Selection
from hmetad.select.models import candidates as candidates
from hmetad.select.models import select_models as select_models
