"""Figures of results."""

from hmetad.plots.conditions import by as by
from hmetad.plots.conditions import criterion as criterion
from hmetad.plots.curves import expected_score as expected_score
from hmetad.plots.curves import group_accuracy as group_accuracy
from hmetad.plots.curves import information_plane as information_plane
from hmetad.plots.curves import norms as norms
from hmetad.plots.curves import risk_coverage as risk_coverage
from hmetad.plots.curves import type1_roc as type1_roc
from hmetad.plots.curves import type2_roc as type2_roc
from hmetad.plots.fits import fit as fit
from hmetad.plots.intervals import decisions as decisions
from hmetad.plots.intervals import forest as forest
from hmetad.plots.intervals import interval_panels as interval_panels
from hmetad.plots.posteriors import correlations as correlations
from hmetad.plots.posteriors import people as people
from hmetad.plots.processes import confusion as confusion
from hmetad.plots.processes import predicted_ratings as predicted_ratings
from hmetad.plots.processes import rating_residuals as rating_residuals
from hmetad.plots.reliability import accuracy_by_rating as accuracy_by_rating
from hmetad.plots.reliability import calibration as calibration
from hmetad.plots.reliability import calibration_panels as calibration_panels
from hmetad.plots.saving import save as save
