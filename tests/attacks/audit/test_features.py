import numpy as np
import pytest
from scipy.optimize import minimize

from toolkit.attacks.audit.events import _logistic, features, fingerprint, shares

NAMES = ["a", "b", "c"]


def looks(first, second, **options):
    return dict(features(first, second, NAMES, **options))


def test_columns_that_never_vary_are_not_looked_at():
    rng = np.random.default_rng(1)
    table = np.column_stack([np.full(100, 7.0), rng.integers(0, 2, 100), np.full(100, 8e307)])
    assert list(looks(table, table)) == ["b"]
    assert list(looks(np.ones((5, 3)), np.ones((5, 3)))) == ["a"]


def test_last_bits_are_looked_at_where_there_are_fractions_or_minus_zero():
    whole = np.arange(6.0).reshape(6, 1) @ np.ones((1, 3))
    assert not any("bits" in name for name in looks(whole, whole))
    assert "the last bits of a" in looks(whole + 0.1, whole)
    assert "the last bits of a" not in looks(whole + 0.1, whole, last_bits=False)
    signed = looks(whole * -1.0, whole)["the last bits of a"]
    assert signed(np.array([[-0.0]])) != signed(np.array([[0.0]]))


def test_the_fingerprint_is_the_same_for_the_same_row_and_no_other():
    """2,000 rows of small whole numbers, whose bits differ at the top only; by chance two coincide with
    probability 2e-10.
    """
    rows = np.unique(np.random.default_rng(1).integers(-3, 4, (3000, 5)).astype(float), axis=0)[:2000]
    prints = fingerprint(rows)
    assert len(np.unique(prints)) == len(rows) == 2000
    assert np.array_equal(fingerprint(rows[::-1])[::-1], prints)
    assert np.array_equal(fingerprint(rows * 1.0), prints)
    assert fingerprint(np.array([[-0.0, 1.0]])) == fingerprint(np.array([[0.0, 1.0]]))
    assert fingerprint(np.array([[1.0, 0.0]])) != fingerprint(np.array([[0.0, 1.0]]))
    assert np.all((prints >= 0) & (prints < 2.0**53) & (prints == np.floor(prints)))


def test_the_likelihood_allows_for_entries_that_say_the_same():
    """Three copies of a weak entry count once: the event of an independent, stronger fourth is not drowned."""
    rng = np.random.default_rng(1)

    def drawn(shift):
        weak, strong = rng.normal(0.3 * shift, 1, 20_000), rng.normal(0.6 * shift, 1, 20_000)
        return np.column_stack([weak, weak, weak, strong])

    first, second = drawn(1), drawn(0)
    column = dict(features(first, second, [*"abcd"]))["the likelihood of all entries"]
    a, b = column(drawn(1)), column(drawn(0))
    best = [0.3 * rng.normal(0.3 * shift, 1, 20_000) + 0.6 * rng.normal(0.6 * shift, 1, 20_000) for shift in (1, 0)]

    def seen(one, other):
        """How often the first exceeds the second: the area under the curve of all tails."""
        ranks = np.argsort(np.argsort(np.concatenate([one, other])))
        return (ranks[: len(one)].sum() - len(one) * (len(one) - 1) / 2) / len(one) / len(other)

    assert seen(a, b) > seen(*best) - 0.01


def test_shares_are_even_where_values_are_many():
    assert shares(np.array([1.0, 2.0, 2.0]), 2).tolist() == [1.0, 2.0]
    counts = np.bincount(np.searchsorted(shares(np.arange(1200.0), 6), np.arange(1200.0), side="right"))
    assert counts.tolist() == pytest.approx([200] * 6, abs=1)


def test_weights_are_those_of_logistic_regression_with_a_penalty_for_what_is_not_one():
    """Of two entries, one of which says too much and the other too little."""
    rng = np.random.default_rng(1)
    ratios = rng.normal(size=(400, 2))
    is_first = rng.random(400) < 1 / (1 + np.exp(-ratios @ [0.3, 1.8]))

    def loss(w):
        return np.logaddexp(0, np.where(is_first, -1, 1) * (ratios @ w)).sum() + 5 * ((w - 1) ** 2).sum()

    assert _logistic(ratios, is_first) == pytest.approx(minimize(loss, np.ones(2)).x, abs=1e-4)


def test_every_way_to_look_at_several_entries_is_what_its_name_says() -> None:
    first, second = np.array([[3.0, 1.0, 7.0], [4.0, 1.0, 5.0]]), np.array([[9.0, 2.0, 6.0]])
    table = np.concatenate([first, second])
    seen = {name: column(table).tolist() for name, column in features(first, second, ["a", "b", "c"])}
    expected = {
        **{name: table[:, i].tolist() for i, name in enumerate("abc")},
        "a less b": [2, 3, 7],
        "b less c": [-6, -4, -4],
        "the sum of the entries": [11, 10, 17],
        "the largest entry": [7, 5, 9],
        "the smallest entry": [1, 1, 2],
        "the place of the largest entry": [2, 2, 0],
        "the place of the smallest entry": [1, 1, 1],
    }
    assert {name: seen[name] for name in expected} == expected
