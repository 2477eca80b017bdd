import math

import pytest

from toolkit import warner
from toolkit.teaching import explorers
from toolkit.teaching.explorers.design_explorer import (
    DEVICES,
    EPSILONS,
    PREVALENCES,
    SENTENCES,
    explorer_table,
    fill_sentences,
    table_row,
)
from toolkit.texts.figures import format_factor

Z = 1.959963984540054  # the 97.5 % point of the normal distribution


@pytest.fixture(scope="module")
def table():
    return explorer_table(PREVALENCES)


@pytest.mark.slow
def test_every_margin_is_computed_from_the_variance_of_the_design(table):
    """A stored margin is divided by the square root of n."""
    for row in table["rows"][::5]:
        design = warner(epsilon=row["epsilon"])
        for margin, x in zip(row["margin"], table["prevalences"], strict=True):
            for n in (1, 1200):
                assert margin / math.sqrt(n) == pytest.approx(Z * math.sqrt(design.variance(x, n)), rel=1e-5)


@pytest.mark.slow
def test_asking_directly_has_the_margin_of_a_plain_proportion(table):
    for margin, x in zip(table["direct"], table["prevalences"], strict=True):
        assert margin == pytest.approx(Z * math.sqrt(x * (1 - x)), rel=1e-5)


@pytest.mark.slow
def test_the_multiplier_of_the_sample_size_is_the_published_one(table):
    """1 + e^epsilon / ((e^epsilon - 1)^2 x (1 - x)), which follows from Warner's variance (1965)."""
    for row in table["rows"]:
        odds = math.exp(row["epsilon"])
        for multiplier, x in zip(row["multiplier"], table["prevalences"], strict=True):
            assert multiplier == pytest.approx(1 + odds / ((odds - 1) ** 2 * x * (1 - x)), rel=1e-5)


@pytest.mark.slow
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
        shown = float(format_factor(row["factor"]))
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
    assert fill_sentences(table, table_row(math.log(2), (0.25,)), 0.25, 1200) == {
        "icons": "Of 100 people whose true answer is yes, on average 67 report yes and 33 report no.",
        "odds": "One report shifts the odds between yes and no by a factor of 2.00 (rounded up), never more.",
        "belief": "A belief of 25 % in yes becomes 14 % after a “no” and 40 % after a “yes”.",
        "margin": "95 % margin: ± 8.4 points. With direct questions and honest answers: ± 2.4 points.",
        "people": "To be as precise as 1,200 direct answers, ask 14,000 people: 11.7 times as many.",
    }


def test_every_number_of_every_sentence_is_filled_in(table):
    said = fill_sentences(table, table["rows"][0], 0.01, 50)
    assert set(said) == set(SENTENCES)
    assert not any(mark in text for text in said.values() for mark in "{}")


@pytest.fixture
def explorer():
    return explorers.design(epsilon=1.0, n=500, prevalence=0.2)


def test_an_epsilon_between_the_steps_of_the_slider_gets_a_row_of_its_own(explorer):
    explorer.epsilon = math.log(4)
    assert explorer.row["epsilon"] == math.log(4)
    assert explorer.row["p"] == pytest.approx(0.8)
    assert "80 report yes" in explorer.describe()["icons"]


@pytest.mark.slow
def test_a_prevalence_between_the_steps_of_the_slider_gets_a_column(explorer):
    """The sentences use the exact prevalence as well."""
    explorer.prevalence = 0.17
    assert explorer.table["prevalences"] == sorted({*PREVALENCES, 0.17})
    assert len(explorer.row["margin"]) == len(explorer.table["prevalences"])
    assert explorer.describe()["belief"].startswith("A belief of 17 % in yes")
    assert "A belief of 99.9 % in yes" in explorers.design(prevalence=0.9999).describe()["belief"]


def test_the_design_on_the_screen_is_found_again_in_python(explorer):
    explorer.epsilon = 1.35
    assert explorer.design == warner(epsilon=1.35)
    assert explorer.row["p"] == explorer.design.matrix[1, 1]


def test_the_sentences_follow_the_design(explorer):
    margin = 100 * 1.959964 * math.sqrt(explorer.design.variance(0.2, n=500))
    assert f"± {margin:.1f} points. With direct" in explorer.describe()["margin"]


@pytest.mark.slow
def test_the_dashed_line_is_the_margin_of_asking_directly(explorer):
    """The line is drawn in the still picture."""
    people, *others = explorer.picture().axes
    assert len(people.lines[0].get_xdata()) == round(100 * explorer.row["p"])  # filled
    assert [axes.axison for axes in (people, *others)] == [True, True, False]  # the last has only text
    (line,) = [line for axes in others for line in axes.lines if line.get_linestyle() == "--"]
    assert line.get_ydata() == pytest.approx([100 * 1.959964 * math.sqrt(0.2 * 0.8 / 500)] * 2, rel=1e-3)
