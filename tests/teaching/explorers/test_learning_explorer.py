import pytest

from toolkit.core.loss import Pure
from toolkit.learning import PrivateLogisticRegression
from toolkit.learning.classifiers import default_strength
from toolkit.teaching import explorers
from toolkit.teaching.explorers import learning_explorer
from toolkit.teaching.explorers.learning_explorer import (
    EPSILONS,
    METHODS,
    N_COLUMNS,
    PEOPLE,
    STRENGTHS,
    accuracy,
    baseline_accuracy,
    compute_grid,
    default_strengths,
    fill_sentences,
    learning_row,
    learning_table,
    majority_accuracy,
    max_strength,
    simulated_people,
    stored_accuracies,
)


@pytest.mark.slow
def test_what_is_stored_is_what_the_learners_do():
    """The same noise is drawn again; on another machine, differences in the last digit may reclassify one of 10,000
    people.
    """
    found = stored_accuracies()
    assert found["base"] == pytest.approx(majority_accuracy(), abs=0.011)
    assert found["plain"][0] == pytest.approx(baseline_accuracy(PEOPLE[0]), abs=0.05)
    for way in (0, 1):
        own = accuracy(METHODS[way], PEOPLE[0], EPSILONS[3], default_strengths(EPSILONS[3])[way])
        assert found["own"][way][0][3] == pytest.approx(own, abs=0.05)
    for way, people, strength, epsilon in ((0, 0, 4, 3), (1, 1, 2, 5)):
        cell = METHODS[way], PEOPLE[people], EPSILONS[epsilon], STRENGTHS[strength]
        assert found["right"][way][people][strength][epsilon] == pytest.approx(accuracy(*cell), abs=0.05)


def test_more_people_and_more_epsilon_help_and_without_privacy_is_best():
    """The differences exceed the variation between ten fits at the ends of the grid where C is sensible."""
    for way, strength in ((0, 5), (1, 2)):
        grid = stored_accuracies()["right"][way]
        assert grid[-1][strength][-1] > grid[0][strength][-1] + 2
        assert grid[3][strength][-1] > grid[3][strength][0] + 5
        assert max(max(row) for row in grid[3]) < stored_accuracies()["plain"][3] + 1


def test_what_is_said_of_c_is_what_the_learner_takes():
    rows, ill = simulated_people(250)
    for epsilon in (0.1, 1.0, 4.0):
        row = learning_row(2000, epsilon, 0.3)
        own = [default_strength(Pure(epsilon), N_COLUMNS + 1, method, 0.25) for method in METHODS]
        assert row["own"] == pytest.approx(own, rel=1e-5)
        said = {"C": 1000, "classes": (False, True), "bounds": (0, 1), "missing": "drop"}
        model = PrivateLogisticRegression(epsilon, **said)
        assert pytest.approx(max_strength(epsilon), rel=1e-5) == model.fit(rows, ill).C_


def test_the_sentences_name_the_numbers():
    explorer = explorers.learning(500, epsilon=0.5, strength=0.01)
    said = explorer.describe()
    assert "{" not in " ".join(said.values())
    assert said["right"].startswith("500 simulated people, ε\u00a0=\u00a00.5, C\u00a0=\u00a00.01.")
    assert f"{explorer.accuracies['objective']:.1f} are classified correctly with noise in" in said["right"]
    with_own = [f"{way[PEOPLE.index(500)][EPSILONS.index(0.5)]:.1f}" for way in stored_accuracies()["own"]]
    assert f"default C: 0.25 for noise in the objective, with {with_own[0]} of 100 correct" in said["penalty"]
    assert f"0.0048 for noise on the weights, with {with_own[1]}." in said["penalty"]
    assert said["penalty"].endswith("lowers a C above 1.1.")


@pytest.mark.slow
def test_a_setting_between_the_steps_is_fitted_now():
    explorer = explorers.learning(250)
    explorer.epsilon = 0.7
    assert explorer.row["epsilon"] == 0.7
    assert explorer.describe() == fill_sentences(learning_table()["words"], learning_row(250, 0.7, 0.3))
    assert explorer.row["curves"] == learning_row(250, 1.0, 0.3)["curves"]
    assert [len(learning_table()["rows"]), len(learning_table()["rows"][0])] == [len(PEOPLE), len(STRENGTHS)]


def test_what_stands_on_the_grid_is_read_and_all_else_is_fitted(monkeypatch):
    monkeypatch.setattr(learning_explorer, "baseline_accuracy", lambda people: -people)
    monkeypatch.setattr(learning_explorer, "accuracy", lambda method, *setting: -METHODS.index(method) - sum(setting))
    fresh, grid = learning_row.__wrapped__, stored_accuracies()
    row, at = fresh(500, 2.0, 0.1), (PEOPLE.index(500), STRENGTHS.index(0.1))
    cells = [way[at[0]][at[1]][EPSILONS.index(2.0)] for way in grid["right"]]
    assert row["right"] == [grid["plain"][at[0]], *cells, grid["base"]]
    assert row["own_right"] == [way[at[0]][EPSILONS.index(2.0)] for way in grid["own"]]
    assert fresh(500, 2.0, 0.2)["right"] == [row["right"][0], -502.2, -503.2, grid["base"]]
    between = fresh(600, 2.0, 0.1)
    assert between["right"][:3] == [-600, -602.1, -603.1]
    assert between["own_right"] == pytest.approx([-602 - 1.0, -603 - 0.4 / 21], rel=1e-5)
    assert between["curves"] == row["curves"]
    made = compute_grid()
    assert made["right"][1][0][4][3] == round(-1 - PEOPLE[0] - EPSILONS[3] - STRENGTHS[4], 2)
    assert made["own"][1][2][3] == round(-1 - PEOPLE[2] - EPSILONS[3] - default_strengths(EPSILONS[3])[1], 2)
    assert made["base"] == grid["base"]
    assert made["plain"] == [-people for people in PEOPLE]
