#!/bin/sh
# Guess: a posterior with a draw of -inf, as log M = log 0 gives, or with one of 1e9 fails the
# checks of convergence.
# What happens: R-hat stays 1.00, bulk and tail ESS stay near 4,000, and the interval is as before.
# They are computed from ranks, of which such a draw is the first or the last. The mean is -inf, or
# moves by 250,000.
# Why it matters: who looks at R-hat and ESS, as all guides say, reports a mean of log M-ratio that
# one draw made.
# arviz-stats 1.3.3; that ranks are used is documented, and not what they do to such a draw.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q "arviz-stats[xarray]==1.3.3"
cat > ranks.py <<'PYTHON'
import sys
import warnings

import arviz_stats
import numpy as np
import xarray as xr

print("arviz-stats", arviz_stats.__version__)
warnings.simplefilter("ignore")
good, passed = np.random.default_rng(0).normal(size=(4, 1000)), []
for value in (good[1, 500], -np.inf, 1e9):
    draws = good.copy()
    draws[1, 500] = value
    log_m = xr.Dataset({"log_m": (("chain", "draw"), draws)})
    rhat = arviz_stats.rhat(log_m)["log_m"].item()
    bulk = arviz_stats.ess(log_m, method="bulk")["log_m"].item()
    tail = arviz_stats.ess(log_m, method="tail")["log_m"].item()
    print(f"a draw of {value:.3g}: R-hat {rhat:.4f}, ESS {bulk:.0f} and {tail:.0f}, "
          f"mean {draws.mean():.3g}")
    passed.append(rhat < 1.01 and min(bulk, tail) > 3000)
sys.exit(0 if all(passed) else 1)
PYTHON
venv/bin/python ranks.py
