"""Several observers as one: votes, and the least and greatest accuracy of a group."""

from hmetad.measures.groups import combine_predictions as combine_predictions
from hmetad.measures.groups import confidence_weighted_vote as confidence_weighted_vote
from hmetad.measures.groups import group_bounds as group_bounds
from hmetad.measures.groups import majority_vote as majority_vote
from hmetad.measures.groups import predictionwise_vote as predictionwise_vote
