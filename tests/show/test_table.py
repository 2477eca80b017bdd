import math

import pytest

from toolkit import warner
from toolkit.show.table import (
    DEVICES,
    EPSILONS,
    PREVALENCES,
    WORDS,
    bound,
    chance,
    explorer_table,
    figure,
    reading,
    table_row,
    three_digits,
)

Z = 1.959963984540054  # the 97.5 % point of the normal distribution


@pytest.fixture(scope="module")
def table():
    return explorer_table(PREVALENCES)


def test_every_margin_divided_by_the_root_of_n_is_that_of_the_designs_own_variance(table):
    for row in table["rows"][::5]:
        design = warner(epsilon=row["epsilon"])
        for margin, x in zip(row["margin"], table["prevalences"], strict=True):
            for n in (1, 1200):
                assert margin / math.sqrt(n) == pytest.approx(Z * math.sqrt(design.variance(x, n)), rel=1e-5)


def test_asking_directly_has_the_margin_of_a_plain_proportion(table):
    for margin, x in zip(table["direct"], table["prevalences"], strict=True):
        assert margin == pytest.approx(Z * math.sqrt(x * (1 - x)), rel=1e-5)


def test_the_multiplier_of_the_sample_size_is_the_published_one(table):
    """1 + e^epsilon / ((e^epsilon - 1)^2 x (1 - x)), which follows from Warner's variance (1965)."""
    for row in table["rows"]:
        odds = math.exp(row["epsilon"])
        for multiplier, x in zip(row["multiplier"], table["prevalences"], strict=True):
            assert multiplier == pytest.approx(1 + odds / ((odds - 1) ** 2 * x * (1 - x)), rel=1e-5)


def test_beliefs_are_the_designs_posterior_and_the_factor_moves_their_odds(table):
    for row in table["rows"][::10]:
        for before, no, yes in zip(table["prevalences"], row["after_no"], row["after_yes"], strict=True):
            posterior = warner(epsilon=row["epsilon"]).posterior(before)
            assert (no, yes) == pytest.approx(tuple(posterior[1]), rel=1e-5)
            assert yes / (1 - yes) == pytest.approx(before / (1 - before) * row["factor"], rel=1e-3)


def test_no_row_claims_more_privacy_than_its_design_has(table):
    for row in table["rows"]:
        assert row["factor"] <= math.exp(row["epsilon"]) * (1 + 1e-12)
        assert row["p"] == pytest.approx(1 / (1 + math.exp(-row["epsilon"])), abs=1e-6)


def test_the_promised_factor_is_never_shown_smaller_than_it_is(table):
    for row in table["rows"]:
        shown = float(bound(row["factor"]))
        assert row["factor"] <= shown + 1e-9
        assert shown - row["factor"] < max(0.01, row["factor"] / 100)


def test_rows_rise_in_epsilon_and_hold_every_step_and_every_device(table):
    epsilons = [row["epsilon"] for row in table["rows"]]
    assert epsilons == sorted(set(epsilons))
    assert set(EPSILONS) < set(epsilons)
    assert {device["epsilon"] for device in table["devices"]} < set(epsilons)


@pytest.mark.parametrize(("p", "odds"), [("2/3", 2), ("3/4", 3), ("5/6", 5)])
def test_each_device_realises_its_design_exactly(table, p, odds):
    place = [share for _, share in DEVICES].index(p)
    assert warner(p=p).devices()[0].exact
    assert table["devices"][place]["how"] == warner(p=p).devices()[0].instructions
    assert table["devices"][place]["epsilon"] == pytest.approx(math.log(odds))


def test_the_sentences_of_the_professors_die():
    table = explorer_table((0.25,))
    assert reading(table, table_row(math.log(2), (0.25,)), 0.25, 1200) == {
        "icons": "Of 100 people whose true answer is yes, 67 report yes and 33 report no.",
        "odds": "One report shifts the odds between yes and no by a factor of 2.00, never more.",
        "belief": "An observer who guessed 25 % before thinks 14 % after a “no” and 40 % after a “yes”.",
        "margin": "95 % margin: ± 8.4 points. Asking directly, if nobody lied: ± 2.4 points.",
        "people": "To be as precise as 1,200 direct answers, ask 14,000 people: 11.7 times as many.",
    }


def test_every_number_of_every_sentence_is_filled_in(table):
    said = reading(table, table["rows"][0], 0.01, 50)
    assert set(said) == set(WORDS)
    assert not any(mark in text for text in said.values() for mark in "{}")


def test_figures_for_people():
    assert [figure(x) for x in (0.5, 9.994, 10, 99.94, 100, 12345)] == ["0.50", "9.99", "10.0", "99.9", "100", "12,345"]
    assert [figure(x, 0) for x in (0, 0.4, 1, 40)] == ["0", "0.4", "1", "40"]
    assert [chance(x) for x in (0, 0.05, 0.14, 14.3, 99.4, 99.5, 99.99, 100)] == [
        "0",
        "under 0.1",
        "0.1",
        "14",
        "99",
        "99.5",
        "99.9",
        "100",
    ]
    assert [three_digits(x) for x in (0.6, 7, 999.4, 1234, 1235, 98765)] == [1, 7, 999, 1230, 1240, 98800]
