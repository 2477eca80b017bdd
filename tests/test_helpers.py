"""The results of helpers of many modules, one line each, where no other test calls them by name."""

import datetime as dt
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from toolkit import Approx, Pure, Zcdp, warner
from toolkit.analysis.estimating import checked_method
from toolkit.analysis.homogeneity import rao_scott
from toolkit.analysis.regression.covariates import right_side_without
from toolkit.analysis.regression.rows import split_missing
from toolkit.analysis.reports import cell_key
from toolkit.budget.charges import add_charge, convert_loss, price_of
from toolkit.central.release import constant_diagonal
from toolkit.central.robust.releases import SmoothSensitivity
from toolkit.central.selection import Exponential, PermuteAndFlip
from toolkit.central.sensitivity import covariance, sqrt_rounded_up
from toolkit.core.checks import explain_call
from toolkit.core.inference.digits import format_fixed
from toolkit.core.inference.fit import format_p
from toolkit.core.inference.intervals import imbens_manski_quantile
from toolkit.learning.tables import make_examples
from toolkit.local.matrix.encoding import as_labels, codes_are_ambiguous, yes_no_codes
from toolkit.local.matrix.tables import join_labels
from toolkit.studio.folder import fingerprint
from toolkit.survey.consent.wheel import fill_slots
from toolkit.survey.plan import _round_up
from toolkit.survey.questions.declaring import plain_data
from toolkit.survey.results.survey_results import _format_percent
from toolkit.survey.serving.access import access_promise
from toolkit.texts.figures import format_lower_chance, format_margin, format_three_digits, format_upper_chance
from toolkit.texts.multilingual import character_name, find_unquotable, isolate_slots, visible_form
from toolkit.texts.odds import describe, epsilon_bound
from toolkit.texts.phrases import base_language
from toolkit.texts.voice import quotable

NAN = float("nan")
TABLE = [
    (right_side_without("cheated * age + C(town)", ("cheated",)), "1 + age + C(town)"),
    ([split_missing("refuse"), split_missing((9, "refused"))], [("refuse", ()), ("drop", (9, "refused"))]),
    ([cell_key("Yes "), cell_key("1")], [cell_key("yes"), cell_key(1.0)]),
    (convert_loss(Pure(0.5), ceiling=Zcdp(1)), Zcdp(0.125)),
    (convert_loss(Pure(0.5), ceiling=Approx(1, 1e-6)), Approx(0.5, 0.0)),
    (price_of(Exponential.for_epsilon(1), ceiling=Zcdp(1)), (Pure(1.0), Zcdp(0.125))),
    (price_of(PermuteAndFlip.for_epsilon(1), ceiling=Zcdp(1)), (Pure(1.0), Zcdp(0.5))),
    (add_charge(Pure(0.1), Pure(0.2), ceiling=Pure(0.3)), (Pure(0.2), Pure(0.3))),
    (constant_diagonal(2.0, 2).tolist(), [[2.0, 0.0], [0.0, 2.0]]),
    ([sqrt_rounded_up(4), float(sqrt_rounded_up(2))], [2, math.sqrt(2)]),
    (covariance((0, 1), (0, 10), 50, neighbors="replace").l1, Fraction(1, 5)),
    (
        [format_fixed(-12.345, 1, " %"), format_fixed(-0.04, 1, " %"), format_fixed(NAN, 1, " %")],
        ["−12.3 %", "0.0 %", "—"],
    ),
    ([format_p(p) for p in (0.0261, 3.03e-13, 0.0, 1.0)], ["p = 0.026", "p = 3e-13", "p < 1e-300", "p = 1"]),
    ([round(imbens_manski_quantile(width, 0.95), 4) for width in (0.0, 100.0)], [1.96, 1.6449]),
    (as_labels(np.array([1, 0]), (1, "undisclosed")).tolist(), ["undisclosed", 1]),
    ([codes_are_ambiguous(one) for one in (("1", "2"), ("0", "1"), ("yes", "no"))], [True, False, True]),
    ([yes_no_codes(("no", "Yes")), yes_no_codes(("different", "same"))], [{True: 1, False: 0}, None]),
    (join_labels(("no", "yes"), ("a", "b")), ["no / a", "no / b", "yes / a", "yes / b"]),
    (fingerprint(b"")[:8], "e3b0c442"),
    (fill_slots("Tap “{label}”.", label="{label}"), "Tap “{label}”."),
    (fill_slots("Tap “{label}”.", label="Yes”. Tap “No"), "Tap “Yes’. Tap ‘No”."),
    ([_round_up(number) for number in (3.141, 12.01, 0.0312, 123.4)], ["3.2", "13", "0.032", "124"]),
    ([_format_percent(part, 606) for part in (604, 606, 1)], ["99.7 %", "100 %", "0.2 %"]),
    (
        access_promise("blind", 8).split(". ")[-1],
        "Of 60 people, on average up to 48 have a unique pattern after 8 waves, if somebody looks while they answer.",
    ),
    (
        plain_data({1: (Fraction(1, 2), Fraction(3)), "day": dt.date(2026, 12, 1)}),
        {"1": ["1/2", 3], "day": "2026-12-01"},
    ),
    ([format_upper_chance(percent) for percent in (23.2, 0.52, 99.3)], ["24", "0.6", "100"]),
    ([format_lower_chance(percent) for percent in (3.98, 0.58, 0.02)], ["3", "0.5", "0"]),
    ([format_three_digits(number) for number in (0.029957, 5.9915, 29957)], ["0.0300", "5.99", "30,000"]),
    ([format_margin(margin) for margin in (8.41, 0.2345, 195.9)], ["8.4", "0.23", "100 or more"]),
    ([character_name("\u202e"), character_name("\n")], ["U+202E (RIGHT-TO-LEFT OVERRIDE)", "U+000A"]),
    ([find_unquotable(one) for one in ("Yes, I’ve", "Yes”, we receive “Yes", "Yes\u202e")], [None, "”", "\u202e"]),
    ([visible_form("Yes"), visible_form("\u0423e\u200bs\ufe0f ")], ["Yes", "Yes"]),
    (isolate_slots("{n} من {of}"), "\u2068{n}\u2069 من \u2068{of}\u2069"),
    (describe(warner(p="2/3"))[-25:], "Epsilon is at most 0.694."),
    (epsilon_bound(20.0)[-23:], " 9,999 times in 10,000."),
    ([base_language("de-AT"), base_language("it")], ["de", None]),
    ([quotable("Have you read “1984”?"), quotable("yes\u202e\nno")], ["Have you read ‘1984’?", "yes no"]),
    (quotable("نعم"), "\u2068نعم\u2069"),
]


@pytest.mark.parametrize(("got", "expected"), TABLE)
def test_a_helper_returns(got: object, expected: object) -> None:
    assert got == expected


def test_an_estimator_is_spelled_as_it_is_written() -> None:
    with pytest.raises(ValueError, match=r"one of moment, mle, simplex, got 'MLE': write 'mle'\."):
        checked_method("MLE")


def test_rao_and_scott_hardly_change_a_simple_random_sample() -> None:
    """For a simple random sample, the correction of Rao and Scott is one."""
    table = np.array([[0.15, 0.35], [0.2, 0.3]])
    alike = (np.diag(table.ravel()) - np.outer(table, table)) / 100
    said = "<TableTest p = 0.2944: statistic 1.1111, df (1.0, 99.0), Rao and Scott's F of the reports, X² = 1.0989>"
    assert repr(rao_scott(table, alike, 100, 99)) == said


def test_the_bound_of_a_scale_costs_what_it_was_given_and_is_above_zero() -> None:
    mechanism = SmoothSensitivity.for_epsilon(1, "median", n=5, bounds=(0, 100)).scale_bound("1/2")
    assert mechanism.loss == Pure(0.5)
    assert mechanism.release([0.0, 0.0, 0.0, 0.0, 100.0]) > 0


def test_a_call_that_does_not_fit_is_answered_in_words() -> None:
    @explain_call("half(3)", number="the half of nothing is not known")
    def half(number: float) -> float:
        return number / 2

    with pytest.raises(TypeError, match=r"`half` needs `number`, got none: the half of nothing .* write half\(3\)\."):
        half()  # type: ignore[call-arg]


def test_a_text_names_the_column_of_the_targets() -> None:
    both = make_examples(pd.DataFrame({"age": [21, 34], "cheated": ["no", "yes"]}), "cheated")
    batches = [(cells.tolist(), column.cells()) for cells, column in both.read_batches()]
    assert (both.rows.names, batches) == (("age",), [([[21.0], [34.0]], ["no", "yes"])])
