"""A known mistake gives another result than the right function, in the hidden cases and therefore for students."""

import numpy as np
import pytest

from toolkit.teaching.hidden_cases import draw_cases
from toolkit.teaching.mistakes import MISTAKES, STATISTICS, results_agree
from toolkit.teaching.survey_mistakes import SURVEY_MISTAKES

# That 1.96 instead of 1.959964 makes one person too many is rare, so most cases cannot show it.
RARE = {"Use 1.959964; with 1.96 this is one person too many."}
COMPUTED = [name for name in MISTAKES if name not in STATISTICS]


@pytest.mark.parametrize("name", COMPUTED)
def test_a_wrong_version_is_wrong_in_some_hidden_case(name):
    """Otherwise the check would blame a student for a mistake that makes no difference, or never find it."""
    cases = [case for seed in (1, 2) for case in draw_cases(name, seed)]
    with np.errstate(all="ignore"):
        agreeing = [
            mistake.reason
            for mistake in MISTAKES[name]
            if all(
                results_agree(
                    name,
                    np.asarray(mistake.wrong_version(*case.arguments), dtype=float),
                    np.asarray(case.expected),
                    case.arguments,
                )
                for case in cases
            )
        ]
    assert set(agreeing) <= RARE


def test_the_mistakes_about_surveys_are_among_all_and_have_a_reason():
    assert SURVEY_MISTAKES.items() <= MISTAKES.items()
    reasons = [mistake.reason for mistakes in SURVEY_MISTAKES.values() for mistake in mistakes]
    assert all(reason.endswith((".", "?")) and len(reason) > 20 for reason in reasons)
