import json
import math

import pytest
from scipy.stats import norm

from toolkit import Laplace, Pure
from toolkit.teaching import explorers
from toolkit.teaching.explorers.reconstruction_game import (
    FILE,
    N_GAMES,
    N_PEOPLE,
    NOISES,
    SUMS,
    compute_grid,
    game_row,
    game_table,
    play_games,
    stored_games,
)


@pytest.fixture
def game():
    return explorers.reconstruction(400, noise=3)


@pytest.mark.parametrize("setting", [(10, 0.0), (100, 1.0), (400, 3.0), (800, 10.0), (1600, 1600.0)])
def test_the_stored_games_are_those_that_the_attack_plays_now(setting):
    assert stored_games()[setting] == play_games(*setting)


def test_what_is_played_afresh_is_written_as_what_is_stored(monkeypatch):
    monkeypatch.setitem(compute_grid.__globals__, "play_games", lambda *setting: stored_games()[setting])
    assert compute_grid() == json.loads(FILE.read_text(encoding="utf-8"))


def test_every_setting_was_played_with_all_people():
    """Each setting has the same number of games."""
    assert set(stored_games()) == {(sums, noise) for sums in SUMS for noise in NOISES}
    assert {len(right) for games in stored_games().values() for right in games} == {N_PEOPLE}
    assert {len(games) for games in stored_games().values()} == {N_GAMES}


def test_exact_sums_of_as_many_groups_as_people_give_everybody_away():
    assert all(set(right) == {"1"} for sums in SUMS if sums >= N_PEOPLE for right in stored_games()[sums, 0.0])


def test_the_share_found_is_what_theory_says_where_sums_are_many():
    """Five games of 100 bits have a standard error of at most 2.3 of 100; the tolerance is 4 standard errors. The
    attacker does no worse than theory predicts.
    """
    for sums, noise in ((400, 5.0), (800, 7.0), (1600, 10.0), (1600, 20.0)):
        theory = 100 * norm.cdf(math.sqrt(sums - N_PEOPLE) / (4 * math.sqrt(2) * noise))
        assert game_row(sums, noise)["mean"] == pytest.approx(theory, abs=9.2)


def test_noise_that_keeps_a_promise_stops_the_attack():
    """At epsilon 1, at most 73.2 of 100 bits are right on average; the standard error over all 14 * 5 such games is
    0.6.
    """
    kept = [count for sums in SUMS for noise in NOISES if noise >= sums for count in game_row(sums, noise)["found"]]
    assert len(kept) > 100
    assert sum(kept) / len(kept) < 73.2


def test_more_noise_never_helps_the_attacker_and_more_sums_never_hurt():
    """Both statements hold up to the random error of the games.

    Means of five games have a standard error of at most 2.3, differences of two means 3.2; the tolerance is 4 standard
    errors.
    """
    rows = game_table()["rows"]
    for i, j in ((i, j) for i in range(len(SUMS)) for j in range(len(NOISES) - 1)):
        assert rows[i][j + 1]["mean"] <= rows[i][j]["mean"] + 13
    for i, j in ((i, j) for i in range(len(SUMS) - 1) for j in range(len(NOISES))):
        assert rows[i + 1][j]["mean"] >= rows[i][j]["mean"] - 13


def test_the_loss_is_that_of_all_sums_together(game):
    assert game.loss == Pure("400/3")
    assert sum([Laplace.for_epsilon("1/3").loss] * 400, Pure(0)) == game.loss
    assert explorers.reconstruction(noise=0).loss == Pure(math.inf)
    assert game_row(400, 3.0)["epsilon"] == pytest.approx(400 / 3, rel=1e-5)
    assert game_row(400, 0.0)["epsilon"] is None


def test_the_sentences_count_the_first_game_and_the_mean_of_all(game):
    said = game.describe()
    assert said["found"].startswith(f"The attacker has {game.row['right'][0].count('1')} of 100 secrets right")
    assert f"{round(sum(game.row['found']) / 5)} of 100" in said["games"]
    assert "ε\u00a0=\u00a0134" in said["promise"]  # 400 / 3, rounded up
    assert "bare" not in said


def test_a_loss_at_which_all_may_be_found_out_is_no_promise():
    assert explorers.reconstruction(400, noise=3).describe()["promise"].endswith("an attack may get all 100 right.")


def test_without_noise_there_is_no_promise():
    assert explorers.reconstruction(noise=0).describe()["promise"] == "Exact sums guarantee nothing: ε is infinite."


def test_a_promise_of_epsilon_one_is_said_as_the_share_of_right_guesses():
    assert "no attack gets more than 74 of 100 right" in explorers.reconstruction(100, noise=100).describe()["promise"]


def test_a_setting_between_the_steps_of_the_sliders_is_played_at_once(game):
    game.sums, game.noise = 333, 2.5
    assert (game.row["sums"], game.row["noise"]) == (333, 2.5)
    assert game.row["right"] == play_games(333, 2.5)
    assert game.correct == game.row["right"][0].count("1")
    assert game.table is game_table()


def test_the_still_picture_fills_those_who_are_found_out(game):
    for noise, place in ((0, 0.25), (3, 3)):  # no noise has no position on a logarithmic axis
        game.noise = noise
        people, games, *_ = game.picture().axes
        curve, _, point = games.lines
        assert list(curve.get_xdata()) == [0.25, *NOISES[1:]]
        assert (point.get_xdata()[0], point.get_ydata()[0]) == (place, game.row["mean"])
    found, hidden = people.lines
    assert len(found.get_xdata()) == game.correct
    assert len(hidden.get_xdata()) == N_PEOPLE - game.correct
    assert found.get_markerfacecolor() != hidden.get_markerfacecolor()
