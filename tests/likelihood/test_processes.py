"""Records of processes: golden values of published models, models that are one, mixed difficulty.

All by expected probabilities. The golden values and the identities are those of PROCESS_MODELS.md,
where two routes by SciPy agree to 1e-15.
"""

import json
import re

import numpy as np
import pytest
from scipy.stats import norm

from hmetad import fit_mle, from_nr
from hmetad.bayes import by_difficulty
from hmetad.likelihood import load_likelihood

OUTWARD = np.array([[-1.0], [1.0]])
THETA = np.array([[-0.4, -1.2], [0.9, 1.7]])
LOG_THETA = OUTWARD * np.log([[0.6, 1.4], [0.7, 1.5]])
D, C = 1.5, 0.2
BOUNDS = norm.ppf([0.65, 0.85])
# Process (None: a likelihood without one), its parameters, and criteria on its own scale.
MODELS = {
    "SDT": ("signal-detection", None, {}, THETA),
    "GN": ("linear-gaussian", "gaussian_noise", {"noise": 0.6}, THETA),
    "WEV": ("linear-gaussian", "wev", {"visibility": 0.4, "noise": 0.6}, THETA),
    # Its criteria cut a lognormal variable.
    "logWEV": ("linear-gaussian", "wev", {"visibility": 0.4, "noise": 0.6}, LOG_THETA),
    "PDA": ("linear-gaussian", "pda", {"later": 0.5}, THETA),
    "IG": ("linear-gaussian", "ig", {"relative_dprime": 0.8}, THETA),
    "RCE": ("linear-gaussian", "rce", {}, THETA),
    # Bounds of a probability, from the decision outward.
    "CNCB": ("linear-gaussian", "cncb", {"boost": 0.3, "noise": 0.7}, [C - BOUNDS, C + BOUNDS]),
    "Fleming-Daw": (
        "linear-gaussian",
        "fleming_daw",
        {"confidence_sd": 1.2, "correlation": 0.6},
        THETA,
    ),
    "ITGc": ("meta-d", "absolute", {"m_ratio": 0.8}, THETA),
    "ITGcm": ("meta-d", "relative", {"m_ratio": 0.8}, THETA),
    "logN": ("lognormal", None, {"meta_noise": 0.5}, THETA),
    # Its σ is the SD of the lognormal variable, and its criteria are distances from c.
    "CASANDRE": ("lognormal", None, {"meta_noise": np.sqrt(np.log1p(0.5**2))}, THETA),
}
# Probabilities at d′ = 1.5 and c = .2 of responses S1 with rating 3..1, then S2 with 1..3, of
# stimuli S1 and S2: PROCESS_MODELS.md, section 1.
PRINTED = """
SDT         .3263552203 .3104754309 .1921132225 .1215846583 .0423286573 .0071428107
            .0255880595 .0994838761 .1660877512 .2684580056 .2693261813 .1710561263
GN          .3493768574 .2589547745 .2206122419 .1036083863 .0499746726 .0174730675
            .0465177177 .0968598038 .1477821653 .2703383084 .2312226066 .2072793982
WEV         .4205709562 .2958148666 .1125580509 .0718809137 .0722223844 .0269528282
            .0871723219 .1309462376 .0730411273 .1982920342 .2943292927 .2162189863
logWEV      .7316434570 .0906764005 .0066240162 .0025575687 .0259272886 .1425712691
            .2268235716 .0589552521 .0053808631 .0053907746 .0641166384 .6393329002
PDA         .4711468132 .2208819958 .1369150647 .1280741543 .0327054110 .0102765611
            .0283169928 .0680834998 .1947591942 .1746305309 .2196197808 .3145900015
IG          .2273404418 .2528333456 .3487700863 .1596283452 .0095933563 .0018344247
            .0104614605 .0357325536 .2449656727 .4380005260 .1746742140 .0961655731
RCE         .2600253456 .3888858259 .1800327022 .1058247487 .0578599891 .0073713886
            .0401592888 .1422182853 .1087821126 .3193552991 .3005773726 .0889076415
CNCB        .4534614137 .2161100602 .1593723998 .1120828651 .0402232160 .0187500452
            .0479764879 .0791076463 .1640755526 .2012748790 .2088655138 .2986999204
Fleming-Daw .3425880411 .2311434724 .2552123602 .1229185489 .0331940203 .0149435571
            .0412681378 .0696869603 .1802045886 .3067569037 .1990237646 .2030596449
ITGc        .2884501669 .3207956321 .2196980747 .1171147062 .0452825673 .0086588528
            .0303601873 .1036993853 .1571001142 .2956105255 .2665065910 .1467231967
ITGcm       .2928238455 .3256597548 .2104602733 .1199542195 .0428988619 .0082030449
            .0317044165 .1082907846 .1511644856 .3046207969 .2606955464 .1435239699
logN        .3695055268 .2639831532 .1954551936 .1120652202 .0400060607 .0189848454
            .0488638188 .0869414795 .1553543886 .2610682703 .2197739681 .2279980748
CASANDRE    .3650637406 .2685092695 .1953708636 .1130074923 .0402127918 .0178358422
            .0467102555 .0879619455 .1564874857 .2621494332 .2238808092 .2228100709
"""
PROBABILITIES = np.array(re.findall(r" (\.\d+)", PRINTED), dtype=float).reshape(-1, 2, 6)
GOLDEN = dict(zip(re.findall(r"^[\w-]+", PRINTED, re.MULTILINE), PROBABILITIES, strict=True))


def record_of(likelihood, choice):
    """Record of a likelihood, with the process or the rule for κ."""
    if choice is None:
        return load_likelihood(likelihood)
    return load_likelihood(
        likelihood, **{"meta_criterion" if likelihood == "meta-d" else "process": choice}
    )


def probabilities(likelihood, choice, values, criteria, d=D, c=C):
    """P(response, rating | stimulus), shape (2, 2, K)."""
    known = {"dprime": d, "c": c, "criteria": criteria, **values}
    known = {name: np.asarray(value, dtype=float) for name, value in known.items()}
    return np.exp(record_of(likelihood, choice).outcomes(known))


def linear(process, values, criteria, d=D, c=C):
    return probabilities("linear-gaussian", process, values, criteria, d, c)


def classic(p):
    """Ratings K..1 of response S1, then 1..K of S2, a line for each stimulus."""
    return np.concatenate([p[..., 0, ::-1], p[..., 1, :]], axis=-1)


@pytest.mark.parametrize("name", GOLDEN)
def test_a_record_has_the_golden_values_of_the_published_model(name):
    found = classic(probabilities(*MODELS[name]))
    # Ten digits are printed.
    np.testing.assert_allclose(found, GOLDEN[name], rtol=0, atol=6e-11)


def test_all_digits_of_the_golden_values_agree(shared):
    file = shared / "reference" / "process_models" / "golden.json"
    golden = {key.split()[0]: p for key, p in json.loads(file.read_text()).items()}
    for name, record in MODELS.items():
        expected = golden[{"CASANDRE": "CAS"}.get(name, name)]
        # Owen's T, by which these were made, has errors of some 1e-15.
        found = classic(probabilities(*record))
        np.testing.assert_allclose(found, [expected["S1"], expected["S2"]], rtol=0, atol=1e-14)


def settings(seed, n=20):
    """d′, c, criteria (first ones on either side of c), R of criteria, and numbers of (0, 1)."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        c = rng.normal(0, 0.4)
        first = rng.normal(0.3, 0.4, (2, 1))
        criteria = c + OUTWARD * (first + np.cumsum([[0, 0.6, 0.4], [0, 0.3, 0.9]], axis=1))
        yield rng.uniform(0.2, 3), c, criteria, rng.uniform(0.1, 0.9, 2)


def wev_as_rce(d, c, theta, _):
    wev = linear("wev", {"visibility": 1 / 3, "noise": 2 / 3}, theta * 4 / 3, d, c)
    return wev, linear("rce", {}, theta, d, c)


def pda_as_cncb(d, c, theta, u):
    b = 3 * u[0]
    cncb = {"boost": b / (1 + b), "noise": np.sqrt(b) / (1 + b)}
    return linear("cncb", cncb, theta / (1 + b), d, c), linear("pda", {"later": b}, theta, d, c)


def fleming_daw_as_cncb(d, c, theta, u):
    tau, rho = 0.2 + u[0], u[1] / 1.2
    cncb = {"boost": 1 - rho * tau, "noise": tau * np.sqrt(1 - rho**2)}
    own = {"confidence_sd": tau, "correlation": rho}
    return linear("cncb", cncb, theta, d, c), linear("fleming_daw", own, theta, d, c)


def ig_as_superideal_cncb(d, c, theta, u):
    m = 2 * u[0]
    cncb = linear("cncb", {"boost": 1, "noise": 1 / m}, theta / m, d, c)
    return cncb, linear("ig", {"relative_dprime": m}, theta, d, c)


def noise_as_cncb_without_boost(d, c, theta, u):
    noise = linear("gaussian_noise", {"noise": u[0]}, theta, d, c)
    return linear("cncb", {"boost": 0, "noise": u[0]}, theta, d, c), noise


def noise_as_wev_without_visibility(d, c, theta, u):
    noise = linear("gaussian_noise", {"noise": u[0]}, theta, d, c)
    return linear("wev", {"visibility": 0, "noise": u[0]}, theta, d, c), noise


def wev_of_one_difficulty_as_noise(d, c, theta, u):
    """What depends on the response alone shifts criteria."""
    w, sigma = u
    moved = (theta - w * OUTWARD * d) / (1 - w)
    noise = linear("gaussian_noise", {"noise": sigma / (1 - w)}, moved, d, c)
    return noise, linear("wev", {"visibility": w, "noise": sigma}, theta, d, c)


def rce_of_one_difficulty_as_noise(d, c, theta, _):
    noise = linear("gaussian_noise", {"noise": 1}, 2 * theta - OUTWARD * d / 2, d, c)
    return noise, linear("rce", {}, theta, d, c)


def one_with_all_as_wev_and_cncb(d, c, theta, u):
    both = {"boost": [0, u[0]], "visibility": [u[0], 0], "noise": [u[1], u[1]]}
    whole = linear("boost_and_visibility", both, np.tile(theta, (2, 1, 1)), [d, d], [c, c])
    wev = linear("wev", {"visibility": u[0], "noise": u[1]}, theta, d, c)
    cncb = linear("cncb", {"boost": u[0], "noise": u[1]}, theta, d, c)
    return whole, np.stack([wev, cncb])


SAME = [wev_as_rce, pda_as_cncb, fleming_daw_as_cncb, ig_as_superideal_cncb]
SAME += [noise_as_cncb_without_boost, noise_as_wev_without_visibility]
SAME += [wev_of_one_difficulty_as_noise, rce_of_one_difficulty_as_noise]
SAME += [one_with_all_as_wev_and_cncb]


@pytest.mark.parametrize("pair", SAME, ids=lambda pair: pair.__name__)
def test_two_models_are_one_in_other_units(pair):
    for setting in settings(seed=3):
        one, other = pair(*setting)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def test_log_noise_of_criteria_is_meta_uncertainty():
    """CASANDRE: confidence is |x - c| over a lognormal variable of mean 1 and this SD."""
    record = load_likelihood("lognormal")
    known = {"dprime": 1.0, "c": 0.0, "meta_noise": np.sqrt(np.log1p(0.7**2)), "criteria": THETA}
    found = record.derived({name: np.asarray(value) for name, value in known.items()})
    np.testing.assert_allclose(found["meta_uncertainty"], 0.7, rtol=1e-12)


def test_without_noise_all_are_signal_detection():
    for d, c, theta, _ in settings(seed=4):
        theta = c + OUTWARD * np.sort(np.abs(theta - c), axis=1)
        ratings = probabilities("signal-detection", None, {}, theta, d, c)
        noise = linear("gaussian_noise", {"noise": 0}, theta, d, c)
        np.testing.assert_allclose(noise, ratings, rtol=0, atol=1e-12)
        lognormal = probabilities("lognormal", None, {"meta_noise": 1e-7}, theta, d, c)
        # It is off by the first power of that noise at most.
        np.testing.assert_allclose(lognormal, ratings, rtol=0, atol=1e-7)
        for rule in ("absolute", "relative"):
            meta_d = probabilities("meta-d", rule, {"m_ratio": 1}, theta, d, c)
            np.testing.assert_allclose(meta_d, ratings, rtol=0, atol=1e-12)


LEVELS = {"subject": ["1"] * 3, "difficulty": ["hard", "medium", "easy"]}


def expected_counts(p, trials=1e6):
    """Count table of three difficulties."""
    rows = classic((trials * p).round().astype(int))
    return from_nr(rows[:, 0], rows[:, 1], **LEVELS)


def levels_of(likelihood, choice, values, dprimes, c=0.0):
    """Probabilities of three difficulties with the same criteria."""
    criteria = c + OUTWARD * [0.5, 1, 1.5]
    each = [probabilities(likelihood, choice, values, criteria, d, c) for d in dprimes]
    return np.stack(each)


def m_ratio(counts, model=None):
    return fit_mle(counts, model)["m_ratio"].values


def m_of_shared_criteria(counts):
    return m_ratio(counts, by_difficulty("meta_d_by_difficulty", counts, pooled=False))


@pytest.mark.parametrize(("m", "c"), [(0.5, 0.3), (0.8, 0.0), (1.0, 0.3)])
def test_pooled_difficulties_inflate_m_and_shared_criteria_do_not(m, c):
    """Trap 5 where meta-d′ is true. Counts are rounded, a millionth of their number."""
    counts = expected_counts(levels_of("meta-d", "relative", {"m_ratio": m}, [0.3, 1.5, 3], c))
    pooled = from_nr(*classic(counts.sum("cell").values))
    np.testing.assert_allclose(m_of_shared_criteria(counts), m, atol=1e-5)
    # Each difficulty by itself has fewer errors to tell from.
    np.testing.assert_allclose(m_ratio(counts), m, atol=1e-4)
    # By 2.4 to 3.5 % at these distances.
    assert 1.02 * m < m_ratio(pooled)[0] < 1.04 * m


def test_visibility_inflates_m_of_pooled_difficulties_by_half_and_of_shared_criteria_twice():
    """M is .60 in each difficulty, .90 in one table, 1.16 by criteria that are shared."""
    visibility = {"visibility": 0.4, "noise": 0.5}
    counts = expected_counts(levels_of("linear-gaussian", "wev", visibility, [0.5, 1.5, 2.5]))
    pooled = from_nr(*classic(counts.sum("cell").values))
    np.testing.assert_allclose(m_ratio(counts), 0.6, atol=0.01)
    np.testing.assert_allclose(m_ratio(pooled), 0.90, atol=0.005)
    np.testing.assert_allclose(m_of_shared_criteria(counts), 1.16, atol=0.005)
    right = fit_mle(counts, by_difficulty("wev", counts, pooled=False))
    np.testing.assert_allclose(right["visibility"], 0.4, atol=1e-3)
    np.testing.assert_allclose(right["noise"], 0.5, atol=1e-3)


@pytest.mark.parametrize("h", [-1.3, 0.4])
def test_evidence_of_next_to_no_weight_leaves_a_distribution(h):
    # The rest of the evidence is its mean, so that ratings do not depend on it at a weight of 0.
    record = load_likelihood("linear-gaussian", process="cncb")
    logits = np.linspace(12, 40, 400)
    values = {
        "dprime": np.full(400, 0.7),
        "c": np.full(400, h),
        "logit_boost": logits,
        "log_noise": np.zeros(400),
        "first_gap": np.tile([0.3, 0.4], (400, 1)),
        "log_gap": np.full((400, 2, 2), -0.5),
    }
    log_p = record.outcomes(values)
    np.testing.assert_allclose(np.exp(log_p).sum(axis=(2, 3)), 1, rtol=1e-12)
    # They change by at most what the weight is, e^-logit, times some standard deviations.
    away = abs(log_p - log_p[-1]).max(axis=(1, 2, 3))
    assert (away < 10 * np.exp(-logits) + 1e-12).all()
