from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from data import make_attack_data as made
from tests.work import calls
from toolkit.teaching.attacks.linkage import Match, Ratings, link, recognize, uniqueness

PATIENTS, VOTERS, TRUTH = made.hospital_and_voters()
HOSPITAL = pd.DataFrame(PATIENTS, columns=["zip", "born", "sex", "diagnosis"])
ROLL = pd.DataFrame(VOTERS, columns=["name", "zip", "born", "sex"])


@pytest.mark.parametrize(
    "engine", [pd.DataFrame, pl.from_pandas, lambda frame: {c: frame[c].to_numpy() for c in frame}]
)
def test_planted_matches_are_found_by_zip_birth_date_and_sex(engine):
    links = link(engine(HOSPITAL), engine(ROLL), on=["zip", "born", "sex"])
    right = np.count_nonzero(np.array(TRUTH)[links.anonymous] == links.public)
    assert right >= 0.99 * len(links.anonymous)
    assert right >= 0.95 * np.count_nonzero(np.array(TRUTH) >= 0)
    assert len(links.anonymous) == pytest.approx(600, rel=0.05)


def test_coarse_columns_match_nobody():
    links = link(HOSPITAL, ROLL, on=["zip", "sex"])
    assert not len(links.anonymous)
    assert links.ambiguous == 900


def test_the_uniqueness_profile_agrees_with_counting_by_hand():
    profile = uniqueness(HOSPITAL, sizes=(1, 2, 3))
    for names in combinations(HOSPITAL.columns, 2):
        by_hand = (HOSPITAL.groupby(list(names)).size() == 1).sum() / len(HOSPITAL)
        assert profile.shares[names] == pytest.approx(by_hand)
    assert list(profile.shares.values()) == sorted(profile.shares.values(), reverse=True)
    assert profile.n_rows == 900


@pytest.mark.slow
def test_all_pairs_of_twelve_columns_need_no_function_for_each_row():
    rng = np.random.default_rng(1)
    values = (2, 5, 12, 50, 100, 365, 900, 3000, 20_000, 30_000, 100_000, 500_000)
    frame = pd.DataFrame({f"c{i}": rng.integers(0, k, 10**5) for i, k in enumerate(values)})
    profiles = []
    assert calls(lambda: profiles.append(uniqueness(frame, sizes=(2,)))) < 10**5
    assert len(profiles[0].shares) == 66


def ratings():
    table, reviews, chosen = made.ratings_and_reviews()
    user, item, stars, day = np.array(table).T
    return Ratings(user, item, stars.astype(float), day.astype(float)), reviews, chosen


def test_six_approximate_reviews_recognize_nearly_every_reviewer():
    """The public reviews differ by up to a star and a week."""
    released, reviews, chosen = ratings()
    right = accepted = 0
    for place, user in enumerate(chosen):
        rows = np.array([row[1:] for row in reviews if row[0] == f"reviewer {place + 1}"])
        match = recognize(
            Ratings(np.zeros(len(rows), int), rows[:, 0], rows[:, 1].astype(float), rows[:, 2].astype(float)), released
        )
        right += match.user == user
        accepted += match.is_accepted and match.user == user
    assert right >= 39
    assert accepted >= 38


def test_a_stranger_is_not_recognized():
    """Reviews of other people's films do not single out anybody: of 40 strangers, at most a few are accepted."""
    released, _, _ = ratings()
    rng, accepted = np.random.default_rng(1), 0
    for _ in range(40):
        known = Ratings(
            np.zeros(6, int),
            rng.choice(made.MOVIES, 6, replace=False),
            rng.integers(1, 6, 6).astype(float),
            rng.integers(0, 720, 6).astype(float),
        )
        accepted += recognize(known, released).is_accepted
    assert accepted <= 12


def test_rare_films_say_more_than_popular_ones():
    user = np.array([0, 1, 0, *range(2, 40)])
    item = np.array([5, 7, 7, *[7] * 38])
    released = Ratings(user, item, np.full(len(user), 3.0), np.zeros(len(user)))
    known = Ratings(np.zeros(2, int), np.array([5, 7]), np.array([3.0, 3.0]), np.zeros(2))
    match = recognize(known, released)
    assert match.user == 0
    assert match.score == pytest.approx(2 / np.log(2) + 2 / np.log(41))
    with pytest.raises(ValueError, match="at least one rating"):
        recognize(Ratings(user[:0], item[:0], np.array([]), np.array([])), released)


def test_scores_add_up_over_known_films_and_matches_must_stand_out():
    """A match is accepted by the distance of its score from the second best score."""
    rng = np.random.default_rng(1)
    rated = [(user, film) for user in range(6) for film in range(5) if rng.random() < 0.6]
    pairs = np.array([*rated, (6, 1)])  # the last user saw none of the known films, and is counted
    released = Ratings(*pairs.T, rng.integers(1, 6, len(pairs)) + 0.0, rng.integers(0, 90, len(pairs)) + 0.0)
    known = Ratings(np.zeros(3, int), np.array([0, 2, 4]), np.array([1.0, 5.0, 3.0]), np.array([9.0, 40.0, 80.0]))
    scores = np.zeros(7)
    for user, film, stars, day in zip(released.user, released.item, released.stars, released.day, strict=True):
        for other, theirs, when in zip(known.item, known.stars, known.day, strict=True):
            near = np.exp(-abs(stars - theirs) / 2) + np.exp(-abs(day - when) / 7)
            scores[user] += (film == other) * near / np.log(1 + np.count_nonzero(released.item == film))
    match = recognize(known, released, stars_scale=2.0, day_scale=7.0)
    assert (match.user, match.score) == (scores.argmax(), pytest.approx(scores.max()))
    assert match.eccentricity == pytest.approx(np.diff(np.sort(scores))[-1] / scores.std())
    assert [Match(0, 1.0, gap).is_accepted for gap in (1.5, 1.51)] == [False, True]


def test_rows_that_match_more_than_once_are_ambiguous():
    """Their values occur in both tables, and at least twice in one of them."""
    links = link({"x": [1, 1, 2, 3, 4, 4]}, {"x": [1, 2, 2, 3, 5]}, on=["x"])
    assert links.ambiguous == 3  # of 1 and of 2; no row has a 4 there
    assert (links.anonymous.tolist(), links.public.tolist()) == ([3], [3])
    assert not len(link({"x": [1]}, {"x": [2]}, on=["x"]).anonymous)
