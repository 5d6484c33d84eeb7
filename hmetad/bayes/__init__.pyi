"""Posteriors beyond `hmetad.fit`: what a model predicts, its priors, other choices."""

from hmetad.bayes.estimates import fit_estimates as fit_estimates
from hmetad.bayes.items import item_effects as item_effects
from hmetad.bayes.kept_cells import posterior_bytes as posterior_bytes
from hmetad.bayes.model import draw_prior as draw_prior
from hmetad.bayes.predict import average_conditions as average_conditions
from hmetad.bayes.predict import covariate_means as covariate_means
from hmetad.bayes.predict import predict_levels as predict_levels
from hmetad.bayes.predict import predict_measures as predict_measures
from hmetad.bayes.predicted_estimates import predict_estimates as predict_estimates
from hmetad.bayes.predictive import add_groups as add_groups
from hmetad.bayes.predictive import predicted_counts as predicted_counts
from hmetad.bayes.sensitivity import other_choices as other_choices
from hmetad.bayes.store import load_draws as load_draws
from hmetad.bayes.store import load_source as load_source
from hmetad.bayes.store import save_draws as save_draws
from hmetad.bayes.store import thin_draws as thin_draws
from hmetad.specs.loading import by_difficulty as by_difficulty
from hmetad.specs.loading import card_names as card_names
from hmetad.specs.loading import model_of as model_of
from hmetad.specs.spec import spec_of as spec_of
