"""Posteriors beyond `hmetad.fit`: predictions of a model, its priors, other choices."""

from hmetad.base.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__, __file__)
