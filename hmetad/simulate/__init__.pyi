"""Recovery, calibration and planning by simulation."""

from hmetad.simulate.calibration import calibrate_sampler as calibrate_sampler
from hmetad.simulate.power import plan_trials as plan_trials
from hmetad.simulate.recovery import recover as recover
from hmetad.simulate.sample_size import trials_needed as trials_needed
