"""Posteriors beyond `hmetad.fit`: what a model predicts, its priors, other choices."""

from hmetad.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__, __file__)
