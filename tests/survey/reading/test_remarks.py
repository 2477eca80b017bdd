from tests.survey.samples import survey
from toolkit.survey.reading.remarks import OPEN_ACCESS, remarks
from toolkit.survey.reading.steps import Shown
from toolkit.survey.storage.protocol import State


def test_a_closed_collection_of_single_use_links_needs_no_remark():
    assert remarks(survey(access="token"), Shown(State.CLOSED, ("{}",), 1)) == ()


def test_open_access_is_said_also_after_closing_and_an_open_state_while_it_lasts():
    assert remarks(survey(), Shown(State.CLOSED, ("{}",), 1)) == (OPEN_ACCESS,)
    steps, access = remarks(survey(), Shown(State.PAUSED, (), 12))
    assert (
        steps
        == "While the collection is paused, it is shown in steps of 10, from 30 reports on: there are 12."
    )
    assert access == OPEN_ACCESS
