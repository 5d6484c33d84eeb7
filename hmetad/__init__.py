"""Bayesian hierarchical meta-d′: how much of what an observer knows reaches its confidence.

From trials to a verdict in four calls: `count_trials`, `fit`, `contrast`, `decide`. Importing
the package imports nothing else; each name brings in what it needs when it is first used.
"""

from hmetad.base.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__, __file__)
