"""Lists with covariates, against numbers computed twice by codes that share nothing with ours."""

import numpy as np
import pytest

from toolkit.analysis.latent import list_experiment

pytestmark = pytest.mark.slow


def expit(eta):
    return 1 / (1 + np.exp(-eta))


def survey(n, dependent):
    """A control count that has nothing to do with the trait, or that depends on it and is overdispersed."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=n)
    w = (rng.random(n) < 0.5) * 1.0
    z = rng.random(n) < expit(-1 + 0.5 * x + 0.6 * w)
    mean = expit(-0.2 + 0.3 * x + (0.6 * z if dependent else 0))
    chance = rng.beta(4 * mean, 4 * (1 - mean)) if dependent else mean
    count = rng.binomial(4, chance)
    treated = rng.random(n) < 0.5
    return {"y": count + (treated & z), "x": x, "w": w, "t": treated}


SQUARES = {
    (1500, False): ([-0.871006, 0.293367, 0.840827], [0.369995, 0.236764, 0.479668], (0.408163921, 0.056017790)),
    (6000, False): ([-0.844026, 0.624569, 0.648811], [0.190671, 0.137124, 0.248208], (0.400693956, 0.028023390)),
    (1500, True): ([-1.488746, 0.670824, 0.943719], [0.666721, 0.402804, 0.779216], (0.265097979, 0.073084689)),
    (6000, True): ([-0.493369, 0.314711, 0.238517], [0.215082, 0.147882, 0.297243], (0.414933580, 0.036398065)),
}


@pytest.mark.parametrize("key", SQUARES, ids=str)
def test_least_squares_count_the_errors_of_both_steps(key) -> None:
    value, se, (difference, spread) = SQUARES[key]
    fit = list_experiment("y ~ x + w", survey(*key), treatment="t", items=4)
    assert fit.value[:3] == pytest.approx(value, abs=2e-6)
    assert fit.se[:3] == pytest.approx(se, rel=1e-5)
    assert float(fit.difference) == pytest.approx(difference, abs=1e-9)
    assert fit.difference.se == pytest.approx(spread, abs=1e-9)


LIKELIHOODS = [
    ((1500, False), {}, -2136.311574, [-0.992888, 0.211973, 0.987770], [0.405898, 0.278747, 0.517525], 0.387556),
    (
        (1500, False),
        {"constrained": False},
        -2135.406677,
        [-0.829210, 0.273929, 0.810487],
        [0.353809, 0.251784, 0.476977],
        0.401766,
    ),
    ((6000, False), {}, -8555.906024, [-0.801957, 0.630087, 0.597945], [0.179356, 0.150838, 0.249991], 0.387010),
    ((1500, True), {}, -2628.518854, [-0.501623, 0.398387, 0.342979], [0.206043, 0.153191, 0.278645], 0.418946),
    (
        (1500, True),
        {"control": "beta-binomial"},
        -2456.830614,
        [-0.667410, 0.130312, 0.210212],
        [0.256358, 0.191073, 0.348945],
        0.363418,
    ),
    (
        (6000, True),
        {"control": "beta-binomial", "constrained": False},
        -9798.796471,
        [-0.603532, 0.279198, 0.330692],
        [0.215650, 0.149837, 0.288733],
        0.394052,
    ),
]


@pytest.mark.parametrize(("key", "options", "height", "value", "se", "mean"), LIKELIHOODS, ids=str)
def test_likelihoods_are_those_of_two_other_codes(key, options, height, value, se, mean) -> None:
    fit = list_experiment("y ~ x + w", survey(*key), treatment="t", items=4, method="ml", **options)
    assert fit.log_likelihood == pytest.approx(height, abs=1e-5)
    assert fit.value[:3] == pytest.approx(value, abs=3e-6)
    assert fit.se[:3] == pytest.approx(se, rel=2e-5)
    assert float(fit.margins()) == pytest.approx(mean, abs=2e-6)


def test_a_wrong_law_of_the_control_count_is_seen_beside_the_difference_in_means() -> None:
    """The constrained binomial model of B, 6,000 people: .455 ± .017 where .358 are carriers."""
    wrong = list_experiment("y ~ x + w", survey(1500, True), treatment="t", items=4, method="ml")
    right = list_experiment("y ~ x + w", survey(6000, False), treatment="t", items=4, method="ml")
    z = (0.418946 - 0.265097979) / np.sqrt(0.073084689**2 - float(wrong.margins().se) ** 2)
    assert wrong.agreement.statistic == pytest.approx(z**2, rel=1e-4)
    assert wrong.agreement.p < 0.05 < right.agreement.p


def floored():
    rng = np.random.default_rng(5)
    n = 6000
    x = rng.normal(size=n)
    z = rng.random(n) < expit(-0.5 + 0.5 * x)
    count = rng.binomial(3, expit(-0.6 + 0.3 * x))
    treated = rng.random(n) < 0.5
    silent = (rng.random(n) < 0.4) & treated & z & (count == 0)
    return {"y": count + (treated & z & ~silent), "x": x, "t": treated}


@pytest.mark.parametrize("options", [{"floor": True}, {"floor": True, "ceiling": True}])
def test_a_floor_is_estimated_and_a_ceiling_that_is_not_there_is_left_out(options) -> None:
    fit = list_experiment("y ~ x", floored(), treatment="t", items=3, method="ml", **options)
    assert fit.value == pytest.approx([-0.406564, 0.297770, -0.598274, 0.313687, 0.479183], abs=2e-5)
    assert fit.se[[0, 1, 4]] == pytest.approx([0.100658, 0.089283, 0.309395], rel=1e-4)
    assert fit.log_likelihood == pytest.approx(-7725.450232, abs=1e-5)
    assert any("no ceiling was seen" in note for note in fit.notes) == ("ceiling" in options)


def test_a_direct_question_beside_the_list() -> None:
    rng = np.random.default_rng(6)
    n = 3000
    x = rng.normal(size=n)
    z = rng.random(n) < expit(-0.8 + 0.5 * x)
    direct = z & (rng.random(n) < 0.5)
    count = rng.binomial(4, expit(-0.2 + 0.3 * x))
    treated = rng.random(n) < 0.5
    frame = {"y": count + (treated & z), "x": x, "t": treated, "d": direct}
    fit = list_experiment("y ~ x", frame, treatment="t", items=4, method="ml", direct="d")
    assert fit.value == pytest.approx([-0.605038, 0.529515, -0.224563, 0.316192, -0.228703], abs=2e-6)
    assert fit.se[[0, 1, 4]] == pytest.approx([0.131993, 0.072049, 0.151442], rel=1e-4)
    assert fit.log_likelihood == pytest.approx(-5543.348168, abs=1e-5)
    alone = list_experiment("y ~ x", frame, treatment="t", items=4, method="ml")
    assert alone.se[1] == pytest.approx(0.184685, rel=1e-4)


def test_overdispersion_that_is_not_there_is_left_out_and_said() -> None:
    fit = list_experiment(
        "y ~ x + w", survey(1500, False), treatment="t", items=4, method="ml", control="beta-binomial"
    )
    assert fit.log_likelihood == pytest.approx(-2136.311574, abs=1e-5)
    assert any("no overdispersion was seen" in note for note in fit.notes)


def test_what_cannot_be_is_refused() -> None:
    frame = survey(1500, False)
    with pytest.raises(ValueError, match="1 of 1500 that are not"):
        list_experiment("y ~ x", frame | {"y": np.where(np.arange(1500) == 7, 6, frame["y"])}, treatment="t", items=4)
    with pytest.raises(ValueError, match="`floor` must go with method='ml'"):
        list_experiment("y ~ x", frame, treatment="t", items=4, floor=True)
    with pytest.raises(ValueError, match="at least two people"):
        list_experiment("y ~ x", frame | {"t": np.ones(1500, bool)}, treatment="t", items=4)
