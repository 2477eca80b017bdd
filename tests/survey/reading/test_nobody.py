import json

import numpy as np
import pytest

from tests.survey.samples import DESIGNS, faculty, survey_with
from toolkit import Question
from toolkit.survey.reading.nobody import nobody
from toolkit.survey.reading.plain_estimates import plain_estimate
from toolkit.survey.rehearsal import report


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_it_has_the_shape_and_the_price_of_an_estimate_from_reports(name):
    question = survey_with(DESIGNS[name])["asked"]
    truths = {
        "choice": question.options[0] if question.options else 0,
        "ticks": list(question.options[:1]),
        "number": 1,
    }
    rng = np.random.default_rng(1)
    found = question.design.estimate_sent([report(question, truths[question.kind], rng) for _ in range(2)])
    empty = nobody(question)
    assert (empty.labels, empty.loss, empty.n) == (found.labels, found.loss, 0)
    assert np.shape(empty.value) == np.shape(found.value)
    assert np.shape(empty.cov) == np.shape(found.cov)
    assert np.isnan(empty.value).all()
    assert np.isnan(empty.to_frame()[["estimate", "se", "low", "high"]].to_numpy()).all()
    assert "nobody answered" in empty.notes[0]
    assert "nobody answered" in empty._repr_html_()


PLAIN = {
    "choice": (faculty(), (0, 2)),
    "several": (Question("year", "Year?", options=[1, 2, 3]), (0, 2)),
    "ticks": (Question("tried", "What?", options=["a", "b"], multiple=True), ([0], 2)),
    "number": (Question("age", "Age?", bounds=(18, 99)), (20, 2)),
}


@pytest.mark.parametrize("kind", PLAIN)
def test_plain_questions_too_and_they_promise_nothing(kind):
    question, value = PLAIN[kind]
    found, empty = plain_estimate(question, [value]), nobody(question)
    assert (empty.labels, np.shape(empty.value), empty.loss) == (found.labels, np.shape(found.value), None)
    assert json.dumps(repr(empty))
