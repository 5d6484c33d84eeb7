"""Draws of cells as a fit or resampling leaves them, and what their fit says of them."""

import json

import numpy as np
import xarray as xr


def drawn_cells(values, name="log_m", attrs=None, **columns):
    """Draws (…, cell) whose cells are told apart by columns: a model each, if none is given."""
    values = np.asarray(values, dtype=float)
    columns = columns or {"model": [f"m{i}" for i in range(values.shape[-1])]}
    labels = [" | ".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    coords = {"cell": labels} | {key: ("cell", list(x)) for key, x in columns.items()}
    return xr.DataArray(values, coords, ("chain", "draw", "cell")[-values.ndim :], name, attrs)


def said(*errors):
    """The attr of a fit that says such errors: (code, cells) each."""
    records = [
        {"code": code, "severity": "error", "message": "", "cells": cells} for code, cells in errors
    ]
    return {"notices": json.dumps(records)}
