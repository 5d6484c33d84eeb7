"""Value and derivatives of the compiled likelihoods, under the names of their arguments."""

from collections import namedtuple

from hmetad.likelihood import linear_gaussian_compiled, lognormal_compiled, meta_d_compiled

MetaD = namedtuple("MetaD", "value d c m kappa gaps s")
LinearGaussian = namedtuple("LinearGaussian", "value d c a b w sigma theta")
Lognormal = namedtuple("Lognormal", "value d c q t")


def meta_d(counts, d, c, m, kappa, gaps, s):
    return MetaD(*meta_d_compiled.evaluate(counts, d, c, m, kappa, gaps, s))


def linear_gaussian(counts, d, c, a, b, w, sigma, theta):
    return LinearGaussian(*linear_gaussian_compiled.evaluate(counts, d, c, a, b, w, sigma, theta))


def lognormal(counts, d, c, q, t):
    return Lognormal(*lognormal_compiled.evaluate(counts, d, c, q, t))
