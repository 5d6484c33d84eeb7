"""Posteriors beyond `hmetad.fit`: what a model predicts, its priors, other choices."""

from hmetad.bayes.model import rebuild_model as rebuild_model
from hmetad.bayes.predictive import predicted_counts as predicted_counts
from hmetad.bayes.prior_predictive import draw_prior as draw_prior
from hmetad.bayes.sensitivity import other_choices as other_choices
