from tests.survey.samples import survey
from toolkit.survey.reading.stepwise_disclosure import Shown
from toolkit.survey.reading.survey_results import FLOODED, OPEN_ACCESS, remarks
from toolkit.survey.storage.protocol import State


def test_a_closed_collection_of_single_use_links_needs_no_remark():
    assert remarks(survey(access="token"), Shown(State.CLOSED, ("{}",), 1)) == ()


def test_open_access_is_said_also_after_closing_and_an_open_state_while_it_lasts():
    assert remarks(survey(), Shown(State.CLOSED, ("{}",), 1)) == (OPEN_ACCESS,)
    steps, *others = remarks(survey(), Shown(State.PAUSED, (), 12))
    assert steps == (
        "While the collection is paused, it is shown in steps of 10, and the last 10 wait: from 40 "
        "reports on. So far 12 are stored."
    )
    assert others == [OPEN_ACCESS, FLOODED]
    (steps,) = remarks(survey(access="token"), Shown(State.OPEN, (), 1))
    assert steps.endswith("So far 1 is stored.")
    tried = remarks(survey().as_rehearsal(), Shown(State.OPEN, (), 5))
    assert tried[0].endswith("in steps of 10: from 30 reports on. So far 5 are stored.")
    assert tried[1:] == (OPEN_ACCESS,)
