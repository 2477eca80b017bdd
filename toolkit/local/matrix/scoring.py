"""Scores: for each report a number for each option whose mean over the randomization is 1 or 0, the truth.

The mean score of the reports is the unbiased estimate. Weighted means, strata, clusters and regressions can
be made of scores as of any measured variable.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, Labels
from toolkit.core.checks import refuse
from toolkit.local.matrix.tables import TABLE_LIMIT


def scored_option(options: Labels, option: object, *, focus: bool = True) -> int | None:
    """The code of the option that scores are asked for; None for all of them.

    Of two options that exclude each other the last is in `focus`, as in an estimate.
    """
    if option is None:
        if len(options) == 2 and focus:
            return 1
        if len(options) > TABLE_LIMIT:
            refuse(
                f"scores of all options are there for up to {TABLE_LIMIT} of them",
                f"{len(options)} options",
                "name one: scores(reports, option=…)",
            )
        return None
    if isinstance(option, bool) or option not in options:
        refuse("`option` must be one of the design's options", repr(option)[:40], "it has no score")
    return options.index(option)


def no_option(option: object) -> None:
    """A number has no options to name."""
    if option is not None:
        refuse("`option` must be left out", repr(option)[:40], "a number is asked for, and it has no options")


def from_table(table: Array, codes: npt.NDArray[Any], options: Labels, option: object) -> Array:
    """Scores of codes from a table G[report, option]: one row a report; a single number of one option."""
    column = scored_option(options, option)
    return np.asarray((table if column is None else table[:, column])[codes], dtype=np.float64)


def from_support(
    supports: Callable[[int], npt.NDArray[np.bool_]],
    limits: tuple[Array, Array],
    options: Labels,
    option: object,
    *,
    focus: bool = True,
) -> Array:
    """Scores of reports that support an option or do not: one of two numbers, `limits`."""
    column = scored_option(options, option, focus=focus)
    if column is not None:
        return np.where(supports(column), limits[1], limits[0])
    return np.stack([np.where(supports(code), limits[1], limits[0]) for code in range(len(options))], axis=1)
