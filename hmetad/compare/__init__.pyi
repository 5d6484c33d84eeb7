"""Comparisons beyond `hmetad.contrast` and `hmetad.decide`."""

from hmetad.compare.follow_ups import relation_table as relation_table
from hmetad.compare.model_comparison import model_frequencies as model_frequencies
from hmetad.compare.ranking import rank_table as rank_table
from hmetad.compare.savage_dickey import bayes_factor as bayes_factor
