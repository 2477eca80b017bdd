"""The wheel of a guided question, on which each sector states the report to tap for every true answer.

Most designs are mixtures: with some probability the report is the same for everybody, and otherwise it follows from the
true answer. In this case k reports need k + 1 sectors with short instructions. For other designs the instructions name
the report for each true answer.
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
"""Options or reports in the page's data: {"value": …, "label": {language: text}}."""


Sector = tuple[int, int, tuple[int, ...]]
"""Start and end of the draws of a sector, and its report for each true answer."""


def sectors(design: Design) -> list[Sector]:
    """Return the sectors of a wheel with exactly the odds of the design; adjacent sectors always differ."""
    return _mixture_sectors(design) or _general_sectors(design)


def is_mixture(design: Design) -> bool:
    """Return whether the design is a mixture of reports for everybody and one report for each true answer."""
    return bool(_mixture_sectors(design))


def _mixture_sectors(design: Design) -> list[Sector]:
    """Return the sectors of a mixture, with the sector that depends on the answer second, or [] for other designs.

    The minimum of each column of the matrix is the weight with which everybody gives this report.
    """
    everybody = design.weights.min(axis=0)
    remainder = design.weights - everybody
    if (np.count_nonzero(remainder, axis=1) != 1).any():
        return []
    k = len(design.options)
    instructions = [((j,) * k, int(size)) for j, size in enumerate(everybody.tolist())]
    instructions.insert(1, (tuple(remainder.argmax(axis=1).tolist()), int(remainder[0].sum())))
    positive = [(reports, size) for reports, size in instructions if size]
    ends = list(accumulate(size for _, size in positive))
    return [(end - size, end, reports) for (reports, size), end in zip(positive, ends, strict=True)]


def _general_sectors(design: Design) -> list[Sector]:
    """Return the sectors of any design: a sector begins wherever a cell of any row of the matrix begins."""
    ends = np.cumsum(design.weights, axis=1)
    edges = sorted({0, *ends.ravel().tolist()})
    return [(start, end, tuple((ends <= start).sum(axis=1).tolist())) for start, end in pairwise(edges)]


def wheel(
    design: Design, options: Labels, reports: Labels, texts: Mapping[str, Mapping[str, str]]
) -> list[dict[str, Any]]:
    """Return the sectors for the page, each with its size and its instruction by language."""
    return [
        {
            "size": end - start,
            "order": {code: _instruction(sector_reports, options, reports, texts[code], code) for code in texts},
        }
        for start, end, sector_reports in sectors(design)
    ]


def _instruction(
    sector_reports: Sequence[int], options: Labels, reports: Labels, texts: Mapping[str, str], language: str
) -> str:
    pairs = [
        (options[truth]["label"][language], reports[report]["label"][language])
        for truth, report in enumerate(sector_reports)
    ]
    if all(truth == label for truth, label in pairs):
        return texts["tap_truth"]
    if len(set(sector_reports)) == 1:
        return fill_slots(texts["tap_this"], label=pairs[0][1])
    return " ".join(fill_slots(texts["tap_if"], truth=truth, label=label) for truth, label in pairs)


def fill_slots(text: str, **values: str) -> str:
    """Fill the slots of a text in one pass, so that braces in a label are kept and no label changes the text."""
    safe = {name: quotable(value, text) for name, value in values.items()}
    return _SLOT.sub(lambda slot: safe.get(slot[1], slot[0]), text)
