"""Questions and surveys of every kind, for the tests of the code that describes, promises and checks them."""

import json
import math
from typing import Any

from toolkit import crosswise, forced, forced_options, k_ary, kuk, mangat, triangular, unrelated, warner
from toolkit.local import numeric, oracles
from toolkit.local.catalogue import CATALOGUE, make_example
from toolkit.local.protocol import Randomizer
from toolkit.local.waves import Memo
from toolkit.survey.questions.question import Question
from toolkit.survey.spec import Survey

KEY = "00112233445566778899aabbccddeeff"

DESIGNS: dict[str, Randomizer] = {name: make_example(name) for name in CATALOGUE} | {
    "warner": warner(p="2/3"),
    "warner_mirrored": warner(p="1/3"),
    "forced": forced(yes="1/6", no="1/6"),
    "unrelated": unrelated(p=0.7, prevalence=0.3),
    "mangat": mangat("2/3"),
    "kuk": kuk("4/5", "1/5", draws=2),
    "crosswise": crosswise("1/4"),
    "triangular": triangular("1/4"),
    "k_ary": k_ary(["never", "once", "often"], epsilon=1.0),
    "k_ary_strong": k_ary(6, epsilon=5.0),
    "forced_options": forced_options(["a", "b", "c", "d", "e"], ["1/20", "1/20", "1/20", "1/20", "1/10"]),
    "forced_many": forced_options(12, ["1/20"] * 11 + ["1/10"]),
    "subset": oracles.subset(10, 1.0),
    "subset_one": oracles.subset(4, 2.0),
    "unary": oracles.unary(5, 1.0),
    "local_hash": oracles.local_hash(100, 1.0),
    "random_box": oracles.tick_boxes(["w", "x", "y", "z"], 1.0),
    "capped_boxes": oracles.tick_boxes(10, 1.0, most=1),
    "one_bit": numeric.one_bit((0, 80), 1.0),
    "piecewise": numeric.piecewise((0, 80), 2.0),
    "hybrid": numeric.hybrid((0, 80), 2.0),
    "hybrid_bit": numeric.hybrid((0, 80), 0.5),
    "local_laplace": numeric.local_laplace((0, 80), 1.0),
    "square_wave": numeric.square_wave((0, 80), 1.0, points=41),
    "additive": numeric.additive((0, 20), {-3: 0.25, 0: 0.5, 3: 0.25}),
    "multiplicative": numeric.multiplicative((1, 30), {"1/2": 0.5, "3/2": 0.5}),
    "signs": numeric.multiplicative((-1, 1), {1: "3/4", -1: "1/4"}, step=2),
}


SAID = {
    "controller": "Institute of Examples",
    "contact": "us@example.org",
    "purpose": "a study",
    "retention": "ten years",
    "publication": "totals",
    "approval": "none needed",
}
"""What must be said before a survey is served beyond this machine."""


def cheated(**changes: Any) -> Question:
    return Question("cheated", "Have you ever cheated on an exam?", **{"design": warner(p="2/3"), **changes})


def faculty(**changes: Any) -> Question:
    return Question("faculty", "Which faculty are you in?", **{"options": ["arts", "law"], **changes})


def survey(*questions: Question, **changes: Any) -> Survey:
    return Survey("Exams", questions or (faculty(), cheated()), **{"consent": "We study exams.", **changes})


def survey_with(design: Randomizer, **changes: Any) -> Survey:
    """Return a survey with one question; infinite losses are allowed explicitly."""
    certain = {"ceiling": math.inf, "check": False} if math.isinf(design.epsilon) else {"ceiling": 8}
    return survey(Question("asked", "What is it?", design=design), **{**certain, **changes})


def submission(survey: Survey, answers: Any, /, **changes: Any) -> bytes:
    data = {"survey": survey.hash, "key": KEY, "answers": answers, "understood": True if survey.check else None}
    return json.dumps({**data, **changes}).encode()


MEMO = Memo(warner("3/4"), warner("3/4"))


def panel(*questions: Question, **changes: Any) -> Survey:
    """Return a survey of two waves, the smallest possible number; the result does not depend on plain questions."""
    asked = questions or (cheated(design=MEMO), faculty())
    return survey(*asked, **{"waves": 2, **changes})
