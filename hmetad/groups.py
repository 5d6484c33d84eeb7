"""Several observers as one: votes, and the least and greatest accuracy of a group."""

from hmetad.base.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__, __file__)
