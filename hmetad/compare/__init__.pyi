"""Comparisons beyond `hmetad.contrast` and `hmetad.decide`."""

from hmetad.compare.frequencies import model_frequencies as model_frequencies
from hmetad.compare.leaving_out import leave_out as leave_out
from hmetad.compare.pooling import trials_by_level as trials_by_level
from hmetad.compare.ranking import rank_table as rank_table
from hmetad.compare.relations import relation_table as relation_table
from hmetad.compare.repeat import repeat_decisions as repeat_decisions
from hmetad.compare.savage_dickey import bayes_factor as bayes_factor
from hmetad.compare.superiority import superiority_table as superiority_table
