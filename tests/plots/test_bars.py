"""Bars of sensitivities with their ratio."""

import numpy as np
import pandas as pd

from hmetad import plots


def test_bars_differ_by_hatch_and_carry_their_ratio():
    frame = pd.DataFrame(
        {
            "model": ["one", "two"],
            "dprime": [2.0, 1.0],
            "dprime_lower": [1.9, np.nan],
            "dprime_upper": [2.1, np.nan],
            "meta_d": [1.5, 0.5],
            "m_ratio": [0.75, np.nan],
        }
    )
    ax = plots.sensitivity_bars(frame)
    assert [bar.get_height() for bar in ax.patches] == [2.0, 1.0, 1.5, 0.5]
    assert len({bar.get_hatch() for bar in ax.patches}) == 2
    assert [text.get_text() for text in ax.texts] == ["0.75", "–"]
    assert [text.xy[1] for text in ax.texts] == [2.1, 1.0]
