"""Recovery and planning by simulation."""

from hmetad.simulate.plan import plan_trials as plan_trials
from hmetad.simulate.plan import size_needed as size_needed
from hmetad.simulate.plan_labels import labels_for_difference as labels_for_difference
from hmetad.simulate.plan_labels import labels_needed as labels_needed
from hmetad.simulate.plan_people import plan_groups as plan_groups
from hmetad.simulate.recovery import recover as recover
from hmetad.simulate.recovery import recover_models as recover_models
