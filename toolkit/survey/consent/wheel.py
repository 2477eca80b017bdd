"""The wheel of a guided question: a draw decides, for every true answer at once, which report to tap.

Most designs are a mixture: with some probability a report is the same for everybody, and with the rest it
follows from the true answer. Then k reports need k + 1 orders of a few words. Of any other design the orders
name the report for each true answer.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from toolkit.local.design import Design
from toolkit.texts.voice import quotable

_SLOT = re.compile(r"\{(\w+)\}")

Labels = Sequence[Mapping[str, Any]]
"""Options or reports as the page gets them: {"value": …, "label": {language: words}}."""


Sector = tuple[int, int, tuple[int, ...]]
"""Start and end of a run of draws with one order, and the order: the report for each true answer."""


def sectors(design: Design) -> list[Sector]:
    """Return the sectors of a wheel with exactly the odds of the design: two neighbors never say the same."""
    return _mixed(design) or _side_by_side(design)


def is_mixture(design: Design) -> bool:
    """Return whether every order is short: a report for everybody, or one report for each true answer."""
    return bool(_mixed(design))


def _mixed(design: Design) -> list[Sector]:
    """A report for everybody per column's minimum, and one order by answer, second; [] if more is left over."""
    everybody = design.weights.min(axis=0)
    remainder = design.weights - everybody
    if (np.count_nonzero(remainder, axis=1) != 1).any():
        return []
    k = len(design.options)
    orders = [((j,) * k, int(size)) for j, size in enumerate(everybody.tolist())]
    orders.insert(1, (tuple(remainder.argmax(axis=1).tolist()), int(remainder[0].sum())))
    positive = [(says, size) for says, size in orders if size]
    ends = list(accumulate(size for _, size in positive))
    return [(end - size, end, says) for (says, size), end in zip(positive, ends, strict=True)]


def _side_by_side(design: Design) -> list[Sector]:
    """The rows of the matrix laid on one another: a sector begins wherever a cell of any row begins."""
    ends = np.cumsum(design.weights, axis=1)
    edges = sorted({0, *ends.ravel().tolist()})
    return [(start, end, tuple((ends <= start).sum(axis=1).tolist())) for start, end in pairwise(edges)]


def wheel(
    design: Design, options: Labels, reports: Labels, texts: Mapping[str, Mapping[str, str]]
) -> list[dict[str, Any]]:
    """Return the sectors as the page draws them, each with its order in words, by language."""
    return [
        {"size": end - start, "order": {code: _order(says, options, reports, texts[code], code) for code in texts}}
        for start, end, says in sectors(design)
    ]


def _order(says: Sequence[int], options: Labels, reports: Labels, texts: Mapping[str, str], language: str) -> str:
    pairs = [
        (options[truth]["label"][language], reports[report]["label"][language]) for truth, report in enumerate(says)
    ]
    if all(truth == label for truth, label in pairs):
        return texts["tap_truth"]
    if len(set(says)) == 1:
        return filled(texts["tap_this"], label=pairs[0][1])
    return " ".join(filled(texts["tap_if"], truth=truth, label=label) for truth, label in pairs)


def filled(text: str, **values: str) -> str:
    """Return the text, filled in one pass: braces in a label stay, and no label changes how the text reads."""
    safe = {name: quotable(value, text) for name, value in values.items()}
    return _SLOT.sub(lambda slot: safe.get(slot[1], slot[0]), text)
