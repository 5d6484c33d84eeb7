"""Public names of the likelihoods, and the modules they come from."""

from hmetad.likelihood.family import Arrays as Arrays
from hmetad.likelihood.family import Choice as Choice
from hmetad.likelihood.family import Family as Family
from hmetad.likelihood.family import OutcomeLayout as OutcomeLayout
from hmetad.likelihood.family import Parameter as Parameter
from hmetad.likelihood.family import Quantity as Quantity
from hmetad.likelihood.ratings import LOG_GAP as LOG_GAP
from hmetad.likelihood.ratings import criteria_quantities as criteria_quantities
from hmetad.likelihood.ratings import log_interval_area as log_interval_area
from hmetad.likelihood.ratings import log_rating_shares as log_rating_shares
from hmetad.likelihood.registry import likelihood_names as likelihood_names
from hmetad.likelihood.registry import load_likelihood as load_likelihood
from hmetad.likelihood.registry import register as register
