"""Comparisons beyond `hmetad.contrast` and `hmetad.decide`."""

from hmetad.compare.bayes_factors import add_bayes_factors as add_bayes_factors
from hmetad.compare.bayes_factors import bayes_factor as bayes_factor
from hmetad.compare.follow_ups import relation_table as relation_table
from hmetad.compare.model_comparison import model_frequencies as model_frequencies
from hmetad.compare.ranking import rank_table as rank_table
