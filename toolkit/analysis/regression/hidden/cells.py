"""What could be behind a person's reports: every combination of yes and no, as columns of a model."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from toolkit.analysis.regression.reading.channel import Channel, missing_codes, through, unsaid
from toolkit.analysis.regression.reading.columns import as_frame, column, numbers, some_rows, with_column
from toolkit.analysis.regression.reading.covariates import (
    Covariates,
    absent_in,
    from_formula,
    sides,
    terms_without,
    variables,
)
from toolkit.analysis.regression.reading.people import People
from toolkit.analysis.regression.reading.rows import complete, counted_rows, gaps_in, sampling_columns, stays_away, who
from toolkit.core.arrays import Array
from toolkit.core.checks import refuse
from toolkit.core.loss import Pure

_MOST = 6


@dataclass(frozen=True, eq=False)
class Hidden:
    """Covariates of the outcome for each cell of truths, covariates of the truths, reports and people."""

    outcome: Array
    columns: tuple[Array, ...]
    labels: tuple[str, ...]
    truths: Covariates
    items: tuple[str, ...]
    channels: tuple[Channel, ...]
    people: People
    dropped: Mapping[str, int]
    said: tuple[str, ...] = ()

    @property
    def cells(self) -> list[tuple[int, ...]]:
        """All combinations of no (0) and yes (1), in the order 00, 01, 10, 11."""
        return combinations(self.items)

    @property
    def seen(self) -> Array:
        """Pr(the reports that were seen | cell): reports are drawn independently of each other."""
        found = [
            np.prod([channel.seen[truth] for channel, truth in zip(self.channels, cell, strict=True)], axis=0)
            for cell in self.cells
        ]
        return np.array(found)

    @property
    def loss(self) -> Pure:
        """What all reports of a person cost together."""
        return Pure(sum(channel.loss.epsilon for channel in self.channels))

    @property
    def notes(self) -> tuple[str, ...]:
        assumed = "given the truth, the outcome is taken to be independent of the report"
        return (assumed, *self.said)


def combinations(items: tuple[str, ...]) -> list[tuple[int, ...]]:
    """All combinations of no (0) and yes (1) of these items."""
    return list(product((0, 1), repeat=len(items)))


def read_hidden(
    formula: str, data: Any, designs: Any, truth: str | None, sampling: Mapping[str, Any], missing: Any
) -> Hidden:
    """A formula with randomized answers on its right side, and a frame."""
    left, right = sides(formula)
    if stays_away(data):
        told = variables(truth.strip().removeprefix("~").strip(), data) if truth is not None else ()
        data, sampling = counted_rows(data, [left, *variables(right, data), *told], sampling)
    frame = as_frame(data)
    items = _items(designs, variables(right, frame))
    truth_side = terms_without(right, items) if truth is None else truth.strip().removeprefix("~").strip()
    covariates = tuple(set(variables(right, frame)) | set(variables(truth_side, frame)) - set(items))
    if set(items) & set(variables(truth_side, frame)):
        refuse("`truth` must not hold the randomized answers", truth, "they are what it explains")
    columns = {"outcome": column(frame, left, "the outcome")}
    columns |= {item: column(frame, item, "reports") for item in items}
    columns |= sampling_columns(frame, sampling)
    gaps = gaps_in(columns, sampling)
    way, codes = missing_codes(missing)
    for item in items:
        gaps[item] |= unsaid(columns[item], codes)
    gaps["covariates"] = absent_in(frame, tuple(sorted(set(covariates) - set(items))))
    kept, dropped = complete(gaps, way, columns.get("times"))
    drawn, said = who(columns, kept, sampling, dropped, frame, finite=False)
    used, columns = some_rows(frame, kept), {what: values[kept] for what, values in columns.items()}
    count = int(kept.sum())
    empty = _with_truths(used, items, (0,) * len(items), count)
    made = from_formula(right, empty)
    return Hidden(
        outcome=numbers(columns["outcome"], "outcomes"),
        columns=tuple(made.of(_with_truths(empty, items, cell, count)) for cell in combinations(items)),
        labels=made.labels,
        truths=from_formula(truth_side, empty),
        items=items,
        channels=tuple(through(columns[item], designs[item], None, codes) for item in items),
        people=drawn,
        dropped=dropped,
        said=said,
    )


def _items(designs: Any, found: tuple[str, ...]) -> tuple[str, ...]:
    if not isinstance(designs, Mapping) or not designs:
        received = type(designs).__name__
        refuse(
            "`designs` must map the randomized columns to their designs",
            received,
            "it says how each is read",
            TypeError,
        )
    items = tuple(str(name) for name in designs)
    if absent_items := [name for name in items if name not in found]:
        refuse(
            "every column of `designs` must be on the right side of the formula",
            ", ".join(absent_items),
            "it would explain nothing",
        )
    if len(items) > _MOST:
        refuse(
            f"there may be at most {_MOST} randomized answers",
            len(items),
            f"{2 ** len(items)} combinations of truths are too many",
        )
    for name, design in designs.items():
        if len(getattr(design, "options", ())) not in (0, 2):
            refuse(
                f"the design of {name!r} must have two options",
                len(design.options),
                "only yes or no stands on the right side",
            )
    return items


def _with_truths(frame: Any, items: tuple[str, ...], cell: tuple[int, ...], count: int) -> Any:
    """The frame if everybody's truths were these."""
    for item, truth in zip(items, cell, strict=True):
        frame = with_column(frame, item, np.full(count, float(truth)))
    return frame
