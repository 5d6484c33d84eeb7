"""Information that confidence transmits about the stimulus."""

from hmetad.measures.ideal_observers import information_bounds as information_bounds
from hmetad.measures.ideal_observers import noise_information as noise_information
from hmetad.measures.ideal_observers import normal_noise_information as normal_noise_information
from hmetad.measures.ideal_observers import type1_roc_bounds as type1_roc_bounds
from hmetad.measures.ideal_observers import type2_roc_bounds as type2_roc_bounds
from hmetad.measures.information import meta_information as meta_information
