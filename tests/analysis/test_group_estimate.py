import numpy as np
import pytest

from tests.slowly import each
from tests.survey.samples import DESIGNS, survey_with
from toolkit import forced, k_ary
from toolkit.analysis import plain
from toolkit.analysis.reports import GroupEstimate, empty_estimate
from toolkit.local import numeric, oracles
from toolkit.local.oracles.support import COVARIANCE_LIMIT
from toolkit.survey.rehearsal import report


def test_where_there_is_no_report_there_is_no_number() -> None:
    for design, shape in ((forced("1/6", "1/6"), ()), (k_ary(3, epsilon=1.0), (3,)), (numeric.one_bit((0, 1), 1), ())):
        empty = empty_estimate(design)
        assert np.shape(empty.value) == shape
        assert np.all(np.isnan(empty.value))
        assert empty.n == 0
        one = GroupEstimate("q", (), empty, 5, 5)
        assert one.used == 0
        assert len(one._entries()) == max(1, *shape, 1) if shape else 1


@pytest.mark.slow
@each(name=DESIGNS)
def test_it_has_the_shape_and_the_price_of_an_estimate_from_reports(name: str) -> None:
    question = survey_with(DESIGNS[name])["asked"]
    truths = {
        "choice": question.options[0] if question.options else 0,
        "ticks": list(question.options[:1]),
        "number": 1,
    }
    rng = np.random.default_rng(1)
    found = question.design._estimate_from_raw_reports([report(question, truths[question.kind], rng) for _ in range(2)])
    empty = empty_estimate(question.design)
    assert (empty.labels, empty.loss, empty.n) == (found.labels, found.loss, 0)
    assert np.shape(empty.value) == np.shape(found.value)
    assert np.shape(empty.cov) == np.shape(found.cov)
    assert np.isnan(empty.value).all()
    assert np.isnan(empty.to_frame()[["estimate", "se", "low", "high"]].to_numpy()).all()
    assert "nobody answered" in empty.notes[0]
    assert "nobody answered" in empty._repr_html_()


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (plain(["arts", "law"]), 0),
        (plain([1, 2, 3]), 0),
        (plain(["a"]), 0),
        (plain(["a", "b"], multiple=True), [0]),
        (plain(bounds=(18, 99)), 20),
    ],
)
def test_plain_questions_too_and_they_promise_nothing(asked, answer) -> None:
    found, empty = asked._estimate_from_raw_reports([answer] * 2), empty_estimate(asked)
    assert (empty.labels, np.shape(empty.value), empty.loss) == (found.labels, np.shape(found.value), None)
    assert "nothing hides it" in asked.describe()


def test_of_very_many_options_there_is_no_table_of_covariances() -> None:
    assert np.shape(empty_estimate(oracles.subset(COVARIANCE_LIMIT, 1.0)).cov) == (COVARIANCE_LIMIT,) * 2
    assert empty_estimate(oracles.subset(COVARIANCE_LIMIT + 1, 1.0)).cov is None
