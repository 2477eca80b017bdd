import pytest

from toolkit.central.stream.comparison import compare
from toolkit.core.loss import Approx, Pure, Zcdp
from toolkit.teaching import explorers
from toolkit.teaching.explorers.weeks_explorer import EPSILONS, WEEKS, fill_sentences, weeks_row, weeks_table


@pytest.mark.slow
@pytest.mark.parametrize(("weeks", "epsilon"), [(1, 1.0), (7, 1.0), (52, 0.5), (365, 2.0)])
def test_errors_are_those_of_the_toolkit(weeks, epsilon):
    pure = compare(Pure(epsilon), weeks)
    gauss = compare(Zcdp.within(Approx(epsilon, 1e-6)), weeks)
    known = [pure[name].largest for name in list(pure)[:3]] + [
        pure["best tree"].largest,
        gauss["square root, columns of equal length"].largest,
    ]
    assert weeks_row(weeks, epsilon)["errors"] == pytest.approx(known, rel=1e-5)


def test_curves_end_at_most_at_the_largest_error():
    for weeks in WEEKS:
        row = weeks_row(weeks, 1.0)
        assert max(row["curves"][0]) == row["errors"][1]
        # of 40 weeks, one is close to the largest value
        assert 0.9 < max(row["curves"][1]) / row["errors"][3] < 1 + 1e-5
        assert len(row["places"]) == min(weeks, 40)
        assert row["places"][0] == 1
        assert row["places"][-1] == weeks


def test_who_is_counted_in_every_week_has_a_loss_in_every_week():
    assert fill_sentences({"group": "{group}"}, weeks_row(8, 0.5)) == {"group": "4.00"}


@pytest.mark.slow
def test_the_sentences_name_the_numbers():
    said = explorers.weeks(52).describe()
    assert "{" not in " ".join(said.values())
    assert "73.5 if ε is divided among the totals, 10.2 with fresh noise" in said["errors"]
    assert "19.0 with a binary tree, and 9.80 with the best tree" in said["errors"]
    assert "it is 9.73; ε then holds with a δ of one in a million." in said["root"]
    assert "up to 12 noisy numbers with the tree, and of up to 52 with fresh noise" in said["weeks"]
    assert "at most ε\u00a0=\u00a052.0 together" in said["level"]


@pytest.mark.slow
def test_a_setting_between_the_steps_gets_a_row_of_its_own():
    explorer = explorers.weeks()
    explorer.weeks, explorer.epsilon = 53, 0.7
    assert (explorer.row["weeks"], explorer.row["epsilon"]) == (53, 0.7)
    assert explorer.describe() == fill_sentences(weeks_table()["words"], weeks_row(53, 0.7))
    assert len(weeks_table()["rows"]) == len(WEEKS)
    assert len(weeks_table()["rows"][0]) == len(EPSILONS)
