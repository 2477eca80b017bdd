import math

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import kstest, laplace, norm

from toolkit import Gaussian, Laplace
from toolkit.teaching import explorers
from toolkit.teaching.explorers.mechanism_explorer import (
    DELTAS,
    EPSILONS,
    LEVELS,
    SENSITIVITIES,
    SENTENCES,
    _epsilons,
    mechanism_row,
    mechanism_table,
)

pytestmark = pytest.mark.slow  # the first test that needs its table computes it


@pytest.fixture(scope="module")
def table():
    return mechanism_table()


@pytest.fixture
def explorer():
    return explorers.mechanism("analytic", epsilon=0.5, sensitivity=2.0)


def grouping(table, law, delta=None):
    (rows,) = [entry["rows"] for entry in table["laws"] if entry["law"] == law and delta in (None, entry["delta"])]
    return rows


def test_the_classic_calibration_is_proven_up_to_one():
    assert {law: _epsilons(law)[-1] for law in ("laplace", "analytic", "classic")} == {
        "laplace": EPSILONS[-1],
        "analytic": EPSILONS[-1],
        "classic": 1.0,
    }
    for law, epsilon, used, proven in (
        ("laplace", 0.5, 0.5, 3),
        ("laplace", 1.0, 1.0, 3),
        ("laplace", 1.5, 1.5, 2),
        ("classic", 1.5, 1.0, 3),
    ):
        row = mechanism_row(law, epsilon, 1e-6, 2.0, 0.95)
        assert (row["asked"], row["epsilon"], len(row["errors"])) == (epsilon, used, proven)


def test_laplace_noise_and_its_errors_are_those_of_the_mechanism(table):
    """The scale of the noise is sensitivity over epsilon."""
    for row in grouping(table, "laplace"):
        for size, errors in zip(SENSITIVITIES, row["errors"], strict=True):
            mechanism = Laplace.for_epsilon(row["epsilon"], sensitivity=size)
            assert row["ratio"] * size == pytest.approx(mechanism.scale, rel=1e-5)
            assert errors == pytest.approx([mechanism.error(level) for level in LEVELS], rel=1e-5)


@pytest.mark.parametrize("law", ["analytic", "classic"])
@pytest.mark.parametrize("delta", DELTAS)
def test_the_noise_of_gauss_is_that_of_its_calibration(table, law, delta):
    for row in grouping(table, law, delta)[::3]:
        for size, errors in list(zip(SENSITIVITIES, row["errors"], strict=True))[::3]:
            mechanism = Gaussian.for_loss(row["epsilon"], delta, sensitivity=size, calibration=law)
            assert row["ratio"] * size == pytest.approx(mechanism.scale, rel=1e-5)
            assert errors == pytest.approx([mechanism.error(level) for level in LEVELS], rel=1e-5)


def test_no_release_of_laplace_passes_the_promised_ratio_and_some_reach_it(table):
    for row in grouping(table, "laplace"):
        assert max(row["shares"]) == 1
        assert min(row["shares"]) == -1
        assert row["factor"] == pytest.approx(math.exp(row["epsilon"]), rel=1e-5)


def test_releases_of_gauss_pass_the_promised_ratio_by_delta_in_all(table):
    """The loss is linear in the release; its slope and intercept are computed from two points, and its tail from the
    normal distribution.
    """
    places = np.array(table["noise"])
    for delta in DELTAS:
        for row in grouping(table, "analytic", delta):
            slope, height = np.polyfit(places, row["shares"], 1)
            crossing = (1 - height) / slope  # in units of the noise, where the loss equals epsilon
            excess = ndtr(crossing) - math.exp(row["epsilon"]) * ndtr(crossing - 1 / row["ratio"])
            assert excess == pytest.approx(delta, rel=0.08)  # shares are shown with three decimals


def test_dots_are_quantiles_of_the_laws(table):
    chances = (np.arange(40) + 0.5) / 40
    assert table["dots"]["laplace"] == pytest.approx(laplace.ppf(chances), rel=1e-4)
    assert table["dots"]["gaussian"] == pytest.approx(norm.ppf(chances), rel=1e-4)


def test_hypothetical_releases_follow_the_laws_and_are_the_same_each_time(table):
    for name, law in (("laplace", laplace), ("gaussian", norm)):
        assert kstest(table["draws"][name], law.cdf).pvalue > 0.05
    assert [table["draws"][name][0] for name in ("laplace", "gaussian")] == [-0.390756, -0.430525]


def test_forty_dots_lie_within_the_error_as_often_as_the_level_says(explorer):
    """At a level of 95 %, two of the forty dots in the picture lie outside."""
    for level, outside in ((0.95, 2), (0.5, 20)):
        explorer.level = level
        dots = [line.get_xdata()[0] for ax in explorer.picture().axes for line in ax.lines if line.get_marker() == "o"]
        one, other = (line.get_xdata() for line in explorer.picture().axes[0].lines)
        assert np.array(other) - one == pytest.approx(1 / explorer.row["ratio"])  # a neighbor, in units of the noise
        assert len(dots) == 40
        assert np.count_nonzero(np.abs(dots) > explorer.row["error"]) == outside


def test_the_shape_is_the_density_of_the_law(table):
    places = np.array(table["noise"])
    assert table["shapes"]["laplace"] == pytest.approx(np.exp(-np.abs(places)), rel=1e-5)
    assert table["shapes"]["gaussian"] == pytest.approx(np.exp(-(places**2) / 2), rel=1e-5)


def test_the_sentences_follow_the_mechanism(explorer):
    mechanism = Gaussian.for_loss(0.5, 1e-6, sensitivity=2)
    said = {name: text.replace("\u00a0", " ") for name, text in explorer.describe().items()}
    assert said["ratio"] == (
        "No release is more than 1.65 times likelier with one record than with another, but for some that exceed this "
        "by at most 1e-06 in all."
    )
    noise = f"the noise stays within ± {mechanism.error():.1f}: {mechanism.error() / 2:.1f} times"
    assert said["error"].startswith(f"With a probability of 95 %, {noise}")
    assert f"scale {mechanism.scale:.1f}, its standard deviation" in said["scale"]
    assert f"Laplace ± {Laplace.for_epsilon(0.5, sensitivity=2).error():.1f}" in said["others"]
    assert explorer.mechanism == mechanism
    assert set(said) == set(SENTENCES)


def test_laplace_needs_no_delta_and_says_so():
    said = explorers.mechanism(epsilon=1.0).describe()
    assert said["ratio"] == "No release is more than 2.72 times likelier with one record than with another."
    assert "its mean size" in said["scale"]


def test_the_classic_formula_stays_where_it_is_proven():
    explorer = explorers.mechanism("classic", epsilon=3.0)
    assert (explorer.epsilon, explorer.row["epsilon"]) == (3.0, 1.0)
    assert explorer.mechanism == Gaussian.for_loss(1, 1e-6, calibration="classic")
    explorer.law = "analytic"
    assert explorer.mechanism == Gaussian.for_loss(3, 1e-6)
    assert "by the classic formula not proven" in explorer.describe()["others"]


def test_a_setting_between_the_steps_gets_a_row_of_its_own(explorer):
    explorer.epsilon, explorer.sensitivity, explorer.level, explorer.delta = 0.77, 3.3, 0.8, 1e-5
    mechanism = Gaussian.for_loss(0.77, 1e-5, sensitivity=3.3)
    assert explorer.row["error"] == pytest.approx(mechanism.error(0.8), rel=1e-5)
    assert repr(explorer) == "<MechanismExplorer: analytic, epsilon 0.77, delta 1e-05, sensitivity 3.3, level 0.8>"


def test_the_row_of_a_setting_is_that_of_the_table(table):
    for row in grouping(table, "analytic", 1e-6)[::5]:
        found = mechanism_row("analytic", row["epsilon"], 1e-6, SENSITIVITIES[3], LEVELS[1])
        assert (found["ratio"], found["shares"], found["error"]) == (row["ratio"], row["shares"], row["errors"][3][1])


def test_epsilon_walks_from_private_to_precise(table):
    for entry in table["laws"]:
        ratios = [row["ratio"] for row in entry["rows"]]
        assert ratios == sorted(ratios, reverse=True)
        assert [row["epsilon"] for row in entry["rows"]] == [e for e in EPSILONS if entry["law"] != "classic" or e <= 1]
