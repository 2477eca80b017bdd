"""The wheel of a guided question: a draw decides, for every true answer at once, which report is to be
tapped.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from toolkit.local.design import Design

_SLOT = re.compile(r"\{(\w+)\}")

Labels = Sequence[Mapping[str, Any]]
"""Options or reports as the page gets them: {"value": …, "label": {language: words}}."""


def sectors(design: Design) -> list[tuple[int, int, tuple[int, ...]]]:
    """Start and end of each run of draws with the same instruction, and the instruction: the report for each
    true answer.

    A sector begins wherever a cell of any row begins; so two neighbours never say the same.

    >>> from toolkit import warner
    >>> sectors(warner(p="2/3"))
    [(0, 1, (0, 0)), (1, 2, (0, 1)), (2, 3, (1, 1))]
    """
    edges = sorted({0, *np.cumsum(design.weights, axis=1).ravel().tolist()})
    truths = np.arange(len(design.options))
    return [
        (start, end, tuple(design.report_codes(truths, start).tolist())) for start, end in pairwise(edges)
    ]


def wheel(
    design: Design, options: Labels, reports: Labels, words: Mapping[str, Mapping[str, str]]
) -> list[dict[str, Any]]:
    """The sectors as the page draws them, each with its order in words, by language."""
    return [
        {
            "size": end - start,
            "order": {code: _order(says, options, reports, words[code], code) for code in words},
        }
        for start, end, says in sectors(design)
    ]


def _order(
    says: Sequence[int], options: Labels, reports: Labels, words: Mapping[str, str], language: str
) -> str:
    pairs = [
        (options[truth]["label"][language], reports[report]["label"][language])
        for truth, report in enumerate(says)
    ]
    if all(truth == label for truth, label in pairs):
        return words["tap_truth"]
    if len(set(says)) == 1:
        return filled(words["tap_this"], label=pairs[0][1])
    return " ".join(filled(words["tap_if"], truth=truth, label=label) for truth, label in pairs)


def filled(text: str, **values: str) -> str:
    """The text in one pass, so that braces in a label stay what they are.

    >>> filled("Tap “{label}”.", label="{label}")
    'Tap “{label}”.'
    """
    return _SLOT.sub(lambda slot: values.get(slot[1], slot[0]), text)
