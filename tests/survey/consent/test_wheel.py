"""The wheel of a guided question is the design itself: sectors and orders reproduce its matrix exactly."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from toolkit import Design, crosswise, forced, forced_options, k_ary, kuk, mangat, triangular, unrelated, warner
from toolkit.survey.consent.wheel import is_mixture, sectors, wheel
from toolkit.texts.phrases import page_words_by_language

LATIN = Design([[5, 2, 2, 1], [1, 5, 2, 2], [2, 1, 5, 2], [2, 2, 1, 5]], 10, options=["a", "b", "c", "d"])
DESIGNS = [
    LATIN,
    warner(p="2/3"), warner(p="1/4"), warner(epsilon=1.0), forced(yes="1/6", no="1/6"),
    unrelated(p=0.7, prevalence=0.3), mangat(0.7), kuk("4/5", "1/5", draws=2), crosswise("1/4"), triangular("1/4"), k_ary(5, epsilon=1.0),  # noqa: E501
    k_ary(12, epsilon=1.0), forced_options(["a", "b", "c", "d"], ["1/20", "1/10", "1/20", "1/10"]),
]  # fmt: skip


def labelled(options):
    return [{"value": option, "label": {"en": f"[{option}]"}} for option in options]


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_the_sectors_cover_the_round_and_give_back_the_matrix(design):
    parts = sectors(design)
    assert (parts[0][0], parts[-1][1]) == (0, design.denominator)
    assert all(before[1] == after[0] and before[2] != after[2] for before, after in pairwise(parts))
    counted = np.zeros(design.weights.shape, dtype=object)
    for start, end, says in parts:
        for truth, report in enumerate(says):
            counted[truth, report] += Fraction(end - start)
    assert (counted == design.weights).all()
    made = wheel(design, labelled(design.options), labelled(design.report_options), page_words_by_language(["en"]))
    assert [sector["size"] for sector in made] == [end - start for start, end, _ in parts]


@pytest.mark.parametrize("k", [2, 3, 5, 8, 12])
def test_k_options_need_k_plus_1_orders_of_a_few_words(k):
    design = k_ary([f"o{i}" for i in range(k)], epsilon=1.0)
    made = wheel(design, labelled(design.options), labelled(design.report_options), page_words_by_language(["en"]))
    assert is_mixture(design)
    assert not is_mixture(LATIN)
    assert len(made) == k + 1
    assert max(len(sector["order"]["en"].split()) for sector in made) <= 8
    assert made[1]["order"]["en"] == "Tap your real answer."


def test_orders_say_what_each_true_answer_leads_to():
    design = crosswise("1/4")
    made = wheel(design, labelled(design.options), labelled(design.report_options), page_words_by_language(["en"]))
    assert [sector["order"]["en"] for sector in made] == [
        "Tap “[different]”, whatever your real answer is.",
        "If your real answer is “[no]”, tap “[same]”. If your real answer is “[yes]”, tap “[different]”.",
        "Tap “[same]”, whatever your real answer is.",
    ]


def test_braces_in_a_label_stay_what_they_are():
    design = warner(p="2/3")
    braces = [{"label": {"en": "{label}"}}, {"label": {"en": "{truth}"}}]
    assert (
        wheel(design, braces, braces, page_words_by_language(["en"]))[0]["order"]["en"]
        == "Tap “{label}”, whatever your real answer is."
    )
