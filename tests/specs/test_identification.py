"""Parameters that a table cannot tell are named before they are believed."""

import numpy as np

from hmetad.simulate.simulate import simulate_counts
from hmetad.specs.design import designs_of
from hmetad.specs.identification import identification_notices
from hmetad.specs.loading import load_model
from hmetad.specs.spec import with_changes

COORDS = {"subject": [*"aaabbb"], "item": [*"xyzxyz"]}


def said(counts, **formula):
    spec = with_changes(load_model("crossed_items"), formula=formula or None)
    return identification_notices(counts, spec, designs_of(counts, spec))


def one_stimulus_an_item(counts, stimuli):
    """The same counts, of each item those of one stimulus."""
    values = counts.values.copy()
    values[np.arange(len(stimuli)), 1 - np.array(stimuli)] = 0
    return counts.copy(data=values)


def test_items_of_one_stimulus_cannot_have_effects_on_both_dprime_and_c():
    both = simulate_counts([1.5] * 6, m_ratio=0.8, trials=20, coords=COORDS, seed=1)
    assert said(both) == []
    single = one_stimulus_an_item(both, [0, 1, 1, 0, 1, 1])
    (notice,) = said(single)
    assert notice.code == "not-identified"
    assert "item" in notice.message
    assert said(single, c="1 + (1|subject)") == []
    # An item that is old to one observer and new to another tells them apart.
    assert said(one_stimulus_an_item(both, [0, 1, 1, 1, 0, 0])) == []
