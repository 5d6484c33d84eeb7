"""Public names of the likelihoods, and the modules they come from."""

from hmetad.likelihood.arrays import Arrays as Arrays
from hmetad.likelihood.criteria import LOG_GAP as LOG_GAP
from hmetad.likelihood.criteria import criteria_quantities as criteria_quantities
from hmetad.likelihood.ratings import log_interval_area as log_interval_area
from hmetad.likelihood.ratings import log_rating_shares as log_rating_shares
from hmetad.likelihood.records import Choice as Choice
from hmetad.likelihood.records import Likelihood as Likelihood
from hmetad.likelihood.records import Parameter as Parameter
from hmetad.likelihood.records import Quantity as Quantity
from hmetad.likelihood.registry import likelihood_names as likelihood_names
from hmetad.likelihood.registry import load_likelihood as load_likelihood
from hmetad.likelihood.registry import register as register
