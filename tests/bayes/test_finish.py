"""What a fit says of itself: of signs that M cannot have, and of ratings made by quantiles.

What is said of signs depends on the scale and on who is pooled.
"""

import numpy as np
import pytest
from sampled_items import sampled_items

import hmetad
from hmetad import (
    contrast,
    decide,
    fit,
    load_model,
    notices,
    plots,
    predict,
    report,
    simulate_counts,
)

OPTIONS = {"draws": 100, "tune": 300, "chains": 2, "random_seed": 1}
QUIET = {"progressbar": False, "quiet": True}
ON_M = load_model("group", scale="m", formula={"m": "1 + (1 | subject)"})


def said(result, code, severity):
    return [n for n in notices(result) if (n.code, n.severity) == (code, severity)]


@pytest.fixture(scope="module")
def counts():
    """Six people, the confidence of one of whom runs backward."""
    coords = {"subject": list("abcdef"), "group": list("xxxyyy")}
    m_ratio = [0.8, 0.9, 1.0, 0.9, 0.8, -0.6]
    return simulate_counts(1.5, m_ratio=m_ratio, trials=600, coords=coords, seed=1)


@pytest.fixture(scope="module")
def on_log(counts):
    return fit(counts, "group_comparison", **OPTIONS, **QUIET)


@pytest.mark.integration
def test_confidence_that_runs_backward_is_an_error_that_log_m_hides():
    counts = simulate_counts(1.5, m_ratio=-0.5, trials=4000, seed=1)
    draws = fit(counts, **{**OPTIONS, "draws": 200}, **QUIET)
    assert float(draws["posterior"]["m_ratio"].mean()) > 0
    (notice,) = said(draws, "meta-d-sign", "error")
    assert "Exclude the cell" in notice.next_step
    verdict = decide(draws["posterior"]["log_m"], rope=(-0.1, 0.1)).table()["verdict"]
    assert verdict.tolist() == ["unreliable"]


@pytest.mark.integration
def test_m_below_0_of_one_is_one_warning_of_a_population_and_an_error_of_that_persons_m(on_log):
    (notice,) = [one for one in notices(on_log) if one.code == "meta-d-sign"]
    assert (notice.severity, notice.cells) == ("warning", ("f | y",))
    assert "In 1 of 6 cells" in notice.message
    assert "Keep the cells" in notice.next_step
    for name, is_judged in {"log_m": False, "m_ratio": False, "dprime": True}.items():
        table = decide(on_log["posterior"][name], rope=(-0.1, 0.1)).table()
        withheld = table["withheld"].str.contains("sign")
        assert table["label"][withheld].tolist() == ([] if is_judged else ["f | y"])


@pytest.mark.integration
def test_the_population_says_how_many_it_holds_and_is_judged(on_log):
    draws = contrast(on_log, var="log_m_group", over="group")
    judged = decide(draws, rope=(-0.1, 0.1))
    for shared in (on_log["posterior"]["log_m_group"], predict(on_log)["log_m"], judged.results):
        (notice,) = said(shared, "meta-d-sign", "warning")
        assert notice.cells == ()
    assert "sign" not in judged.table()["withheld"].item()


@pytest.mark.integration
def test_on_the_scale_of_m_a_negative_meta_d_is_a_remark(counts):
    draws = fit(counts, ON_M, **OPTIONS, **QUIET)
    assert float(draws["posterior"]["m"].sel(cell="f | y").mean()) < 0
    (notice,) = [one for one in notices(draws) if one.code == "meta-d-sign"]
    assert (notice.severity, "not log_m" in notice.next_step) == ("info", True)
    verdicts = decide(draws["posterior"]["m_ratio"], rope=(-0.1, 0.1)).table()
    assert not verdicts["withheld"].str.contains("sign").any()


@pytest.mark.integration
def test_what_is_thin_in_people_whose_m_is_above_0_is_no_news_of_a_population():
    coords = {"subject": range(12)}
    m_ratio = [0.6] * 3 + [1.0] * 9
    counts = simulate_counts(1.2, m_ratio=m_ratio, trials=90, coords=coords, seed=1)
    assert {one.code for one in notices(counts)} == {"few-trials"}
    assert (hmetad.fit_mle(counts)["m_ratio"] > 0).all()
    assert notices(fit(counts, "group", random_seed=1, **QUIET)) == []


@pytest.mark.integration
@pytest.mark.parametrize("card", ["group", ON_M], ids=["log M", "M"])
def test_a_reversed_scale_is_an_error_of_the_whole_fit_and_the_population_is_not_judged(card):
    coords = {"subject": [*"abcd"]}
    counts = simulate_counts(1.5, m_ratio=[0.8] * 4, trials=300, coords=coords, seed=1)
    turned = counts.copy(data=counts.values[..., ::-1])
    draws = fit(turned, card, **OPTIONS, **QUIET)
    first, *others = notices(draws)
    assert (first.code, first.severity, first.cells) == ("reversed-scale", "error", ())
    assert "in 4 of 4 cells: the scale seems reversed" in first.message
    assert "meta-d-sign" not in {one.code for one in others}
    for judged in (predict(draws)["m_ratio"], draws["posterior"]["dprime"]):
        table = decide(judged, rope=(-0.1, 0.1)).table()
        assert set(table["verdict"]) == {"unreliable"}
        assert table["withheld"].str.contains("reversed-scale").all()


def turned_scale(cells):
    """Confidence from the most to the least."""
    return cells[..., ::-1]


def one_rating(cells):
    """All trials with the lowest rating."""
    return np.insert(np.zeros((*cells.shape[:-1], 3), int), 0, cells.sum(-1), axis=-1)


def choices_by_a_coin(cells):
    """Half of the trials of each stimulus with each response."""
    return np.broadcast_to(cells.mean(axis=(1, 2), keepdims=True).astype(int), cells.shape)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("change", "code"),
    [
        (turned_scale, "reversed-scale"),
        (one_rating, "all-one-rating"),
        (choices_by_a_coin, "at-chance"),
    ],
)
def test_a_fault_of_one_group_withholds_the_verdicts_that_touch_it_and_no_others(change, code):
    coords = {"subject": [*"abcdefghi"], "group": [*"xxxyyyzzz"]}
    counts = simulate_counts(1.5, m_ratio=[0.9] * 9, trials=600, coords=coords, seed=1)
    counts.values[6:] = change(counts.values[6:])
    draws = fit(counts, "group_comparison", **OPTIONS | {"draws": 500}, **QUIET)
    for judged, name in ((predict(draws), "log_m"), (draws, "log_m_group")):
        differences = contrast(judged, var=name, over="group")
        table = decide(differences, rope=(-0.1, 0.1)).table().set_index("label")
        assert table["withheld"].str.contains(code).to_dict() == {
            "x − y": False,
            "x − z": True,
            "y − z": True,
        }
    population = load_model("group", formula={"log_m": "1 + (1 | subject)"})
    judged = decide(predict(fit(counts, population, **OPTIONS, **QUIET))["log_m"], rope=(-1, 1))
    # A reversed scale is part of it, and M that a third of people have not is not.
    assert (code in judged.table()["withheld"].item()) == (code == "reversed-scale")


@pytest.mark.integration
def test_a_cell_of_one_rating_is_not_told_that_its_meta_d_is_below_0(counts):
    values = counts.values.copy()
    # One with one rating, one with one rating for each response, and the one that runs backward.
    values[0] = np.insert(np.zeros((2, 2, 3), int), 0, values[0].sum(-1), axis=-1)
    values[1] = 0
    values[1, :, 0, 0], values[1, :, 1, 2] = [200, 100], [100, 200]
    draws = fit(counts.copy(data=values), "group_comparison", **OPTIONS, **QUIET)
    named = {one.code: one for one in notices(draws) if one.severity == "warning"}
    assert named["all-one-rating"].cells == ("a | x", "b | x")
    for one in notices(draws):
        if one.code == "meta-d-sign":
            assert not {"a | x", "b | x"} & {*one.cells}
    assert named["meta-d-sign"].cells == ("f | y",)
    table = report.estimate_table(draws).set_index("cell")
    assert table["m_ratio"].isna().tolist() == [True, True, False, False, False, False]


NO_ERROR = [[[0, 20, 80, 200], [0] * 4], [[0] * 4, [0, 20, 80, 200]]]


@pytest.fixture(scope="module")
def with_one_who_never_errs():
    """Counts of six people in two tasks; one made no error in task y, and another in neither."""
    coords = {"subject": [*"aabbccddeeff"], "task": ["x", "y"] * 6}
    counts = simulate_counts(1.5, m_ratio=[0.8] * 12, trials=600, coords=coords, seed=1)
    values = counts.values.copy()
    values[[9, 10, 11]] = NO_ERROR
    return fit(counts.copy(data=values), "multitask", **OPTIONS, **QUIET)


@pytest.mark.integration
def test_without_errors_m_and_meta_d_are_left_out_and_not_judged(with_one_who_never_errs):
    draws, none = with_one_who_never_errs, ["e | y", "f | x", "f | y"]
    for notice in said(draws, "no-errors", "warning") + said(
        draws["posterior"]["m_ratio"], "no-errors", "error"
    ):
        assert list(notice.cells) == none
    assert not said(draws, "no-errors", "error")
    table = report.estimate_table(draws).set_index("cell")
    assert table[["dprime", "c"]].notna().all(axis=None)
    for name in ("m_ratio", "log_m", "meta_d", "meta_d_lower"):
        assert table.index[table[name].isna()].tolist() == none
    drawn = [x for line in plots.people(draws).lines for x in line.get_ydata()]
    assert np.isnan(drawn).sum() == len(none)
    for name, is_judged in {"m_ratio": False, "meta_d": False, "dprime": True}.items():
        judged = decide(contrast(draws, var=name, over="task", within="subject"), rope=(-0.1, 0.1))
        rows = judged.table().set_index("subject")["withheld"].str.contains("no-errors")
        assert rows[rows].index.tolist() == ([] if is_judged else ["e", "f"])


def test_items_of_an_observer_are_looked_at_together():
    card = sampled_items()
    counts = hmetad.simulate_counts(**{**card.example, "trials": 6}, seed=1)
    quiet = {"progressbar": False, "quiet": True, "random_seed": 1, "draws": 50, "tune": 50}
    # One observer has too few trials of one item to show how confidence tells right from wrong.
    for table, is_asked in ((counts, False), (counts.drop_attrs(), True)):
        fit = hmetad.fit(table, card, chains=2, **quiet)
        assert ("meta-d-sign" in {one.code for one in notices(fit)}) == is_asked
