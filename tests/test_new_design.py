"""A design that is added by one function and one line: survey file, phone, plan, audit and consent know it
without another edit.
"""

import json

import numpy as np
import pytest

from tests.verbs.shell import said
from toolkit import Design, Survey, plan
from toolkit.attacks import audit
from toolkit.core.randomness import drawer
from toolkit.local import catalogue
from toolkit.local.catalogue import Listed, restore


def two_coins() -> Design:
    """Two coins: at two heads say yes, at two tails say no, else the truth."""
    return Design([[3, 1], [1, 3]], 4, ("no", "yes"), name="two_coins")


@pytest.fixture(autouse=True)
def _added(monkeypatch):
    monkeypatch.setitem(catalogue.CATALOGUE, "two_coins", Listed(two_coins, {}))


FILE = """
title = "Exams"
consent = "Why we ask."
[[questions]]
name = "cheated"
text = "Have you ever cheated on an exam?"
design = {two_coins = {}}
"""


@pytest.fixture
def survey(tmp_path):
    (tmp_path / "exams.toml").write_text(FILE)
    return Survey.load(tmp_path / "exams.toml")


def test_a_survey_file_calls_for_it_and_keeps_it(survey, tmp_path):
    assert survey["cheated"].design == two_coins()
    survey.save(tmp_path / "again.toml")
    assert Survey.load(tmp_path / "again.toml").hash == survey.hash
    assert restore(json.loads(json.dumps(two_coins().to_dict()))) == two_coins()


def test_a_phone_draws_it_and_the_results_go_back_through_it(survey):
    shown = survey.for_page()["questions"][0]["randomizer"]
    assert (shown["weights"], shown["denominator"]) == ([[3, 1], [1, 3]], 4)
    draw = drawer(np.random.default_rng(1))
    reports = [survey["cheated"].design.report(truth, draw) for truth in [1] * 300 + [0] * 700]
    found = survey["cheated"].design.estimate_sent(reports)
    assert abs(found.value - 0.3) < 4 * found.se


def test_people_are_told_its_odds(survey):
    assert "3 times in 4" in survey.consent_text()
    assert two_coins().devices()[0].exact


def test_it_can_be_planned_in_python_and_in_the_shell(capsys):
    assert plan(two_coins(), prevalence=0.1, n=1000).se == pytest.approx(two_coins().variance(0.1, 1000) ** 0.5)
    assert "1,000 people, epsilon 1.099," in said(capsys, "plan", "two_coins", "--prevalence", "0.1", "--n", "1000")


def test_it_can_be_audited():
    verdict = audit(two_coins(), runs=2000, rng=np.random.default_rng(1))
    assert not verdict.violated
