import math

import numpy as np
import pytest
from scipy.stats import lognorm, trim_mean

from toolkit.central.robust import Huber, InverseSensitivity
from toolkit.central.robust.admissible import PowerLaw
from toolkit.central.robust.smooth import smooth_sensitivity
from toolkit.teaching import explorers
from toolkit.teaching.explorers.outlier_explorer import EPSILONS, SALARIES, fill_sentences, outlier_row, outlier_table


@pytest.mark.slow
def test_one_million_moves_the_mean_by_its_501st_part():
    """The median and the Huber location hardly move."""
    rich, poor = (explorers.outlier(salary) for salary in (1000.0, 0.0))
    assert rich.statistics["mean"] - poor.statistics["mean"] == pytest.approx(1000 / 501, abs=1e-3)
    assert rich.statistics["median"] - poor.statistics["median"] < 1
    assert rich.statistics["Huber location"] - poor.statistics["Huber location"] < 1


@pytest.mark.slow
def test_the_means_noise_is_for_the_bounds_and_the_same_whoever_is_there():
    sizes = {outlier_row(salary, 1.0)["noise"][0] for salary in SALARIES}
    assert [*sizes] == pytest.approx([math.sqrt(2) * 1000 / 501], rel=1e-5)
    assert all(row["noise"][3] < row["noise"][0] for rows in outlier_table()["rows"] for row in rows)


@pytest.mark.slow
def test_more_epsilon_is_less_noise_for_every_statistic():
    for rows in outlier_table()["rows"]:
        for place in range(4):
            line = [row["noise"][place] for row in rows]
            assert line == sorted(line, reverse=True)
    assert len(outlier_table()["rows"]) == len(SALARIES)
    assert len(outlier_table()["rows"][0]) == len(EPSILONS)


@pytest.mark.parametrize(("salary", "epsilon"), [(900.0, 1.0), (0.0, 0.5)])
def test_statistics_and_noise_are_those_of_the_salaries(salary, epsilon):
    other_salaries = lognorm(0.6, scale=30).ppf((np.arange(500) + 0.5) / 500).round(1)
    row, values = outlier_row(salary, epsilon), [*other_salaries, salary]
    mean, trimmed, huber, median = row["values"]
    assert (mean, median) == pytest.approx((np.mean(values), np.median(values)), rel=1e-5)
    assert trimmed == pytest.approx(trim_mean(values, 50 / 501), rel=1e-5)
    assert np.mean(np.clip(values - np.array(huber), -20, 20)) == pytest.approx(0, abs=1e-3)
    assert row["noise"][0] == pytest.approx(math.sqrt(2) * 1000 / 501 / epsilon, rel=1e-5)
    law = PowerLaw.for_epsilon(epsilon)
    smooth = smooth_sensitivity("trimmed", values, bounds=(0, 1000), beta=law.smoothness, trim=50)
    assert row["noise"][1] == pytest.approx(law.sd * smooth, rel=1e-3)
    for place, statistic in ((2, Huber(20)), (3, "median")):
        chosen = InverseSensitivity.for_epsilon(epsilon, statistic, bounds=(0, 1000), step="1/2").probabilities(values)
        squares = (np.linspace(0, 1000, 2001) - row["values"][place]) ** 2
        assert row["noise"][place] == pytest.approx(math.sqrt(chosen @ squares), rel=1e-4)


@pytest.mark.slow
def test_a_setting_between_the_steps_gets_a_row_of_its_own():
    explorer = explorers.outlier()
    explorer.salary, explorer.epsilon = 333.0, 0.7
    assert (explorer.row["salary"], explorer.row["epsilon"]) == (333.0, 0.7)
    assert explorer.describe() == fill_sentences(outlier_table(), outlier_row(333.0, 0.7))
    assert "One of 501 people earns 333 thousand" in explorer.describe()["values"]
    assert "the mean would be 0.7 lower" in explorer.describe()["moved"]  # 333 of 501 people's


def test_every_number_that_is_said_can_be_written_in_the_browser_alike():
    """The JavaScript function `figure` cannot format negative numbers, but no statistic decreases when the salary
    increases.
    """
    lowest = outlier_table()["lowest"]
    assert all(np.all(np.array(row["values"]) >= np.array(lowest)) for rows in outlier_table()["rows"] for row in rows)
