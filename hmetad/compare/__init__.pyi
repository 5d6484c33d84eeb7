"""Comparisons beyond `hmetad.contrast` and `hmetad.decide`."""

from hmetad.compare.averaging import trials_by_level as trials_by_level
from hmetad.compare.follow_ups import relation_table as relation_table
from hmetad.compare.follow_ups import repeat_decisions as repeat_decisions
from hmetad.compare.follow_ups import superiority_table as superiority_table
from hmetad.compare.model_comparison import model_frequencies as model_frequencies
from hmetad.compare.pooling import pool_studies as pool_studies
from hmetad.compare.ranking import rank_table as rank_table
from hmetad.compare.savage_dickey import bayes_factor as bayes_factor
