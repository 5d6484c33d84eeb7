"""Normal tails against SciPy and mpmath."""

import mpmath as mp
import numpy as np
from scipy.special import erfcx, ndtr

from hmetad.likelihood.tails import FAR, fill_logarithms, fill_tails, mills


def test_mills_ratio_is_that_of_scipy():
    y = np.concatenate([np.linspace(0, 40, 401), [1e3, 1e8]])
    expected = np.sqrt(np.pi / 2) * erfcx(y / np.sqrt(2))
    np.testing.assert_allclose([mills(v) for v in y], expected, rtol=2e-14)


def test_tails_of_an_array_are_those_of_mpmath():
    y = np.concatenate([np.linspace(-FAR, FAR, 301), [0.0, -0.0, 1e-300, -1e-9]])
    density, signed, below, room = np.empty((4, y.size))
    fill_tails(y.size, y, density, signed, below, room)
    with mp.workdps(30):
        expected_density = [float(mp.npdf(v)) for v in y]
        smaller = [float(mp.ncdf(-abs(v))) for v in y]
    # y²/2 = 450 is rounded to 2⁻⁴⁴, and the exponential takes that over.
    np.testing.assert_allclose(density, expected_density, rtol=1e-13)
    np.testing.assert_allclose(abs(signed), smaller, rtol=1e-13)
    np.testing.assert_allclose(signed + below, ndtr(-y), rtol=3e-13)


def test_logarithms_of_an_array_are_those_of_the_library():
    rng = np.random.default_rng(0)
    x = np.concatenate([np.exp(rng.uniform(-700, 300, 5000)), rng.uniform(0.5, 2, 5000), [1.0]])
    out, exponent, mantissa = np.empty((3, x.size))
    fill_logarithms(x.size, x, out, exponent, mantissa)
    np.testing.assert_allclose(out, np.log(x), rtol=4e-16, atol=2e-16)
