"""The designs that reports came through, row by row: one for all people, or one for each way of asking."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.analysis.regression.reading.columns import Column
from toolkit.analysis.reports import Asked, Reader, cell_key, with_matrix
from toolkit.core.arrays import Array, Labels, Mask
from toolkit.core.checks import choice, refuse
from toolkit.core.loss import Pure
from toolkit.local.catalogue import restore
from toolkit.local.design import Design
from toolkit.local.matrix.encoding import encode, looks_like_others

_ADVICE = "leave empty what is no answer, or say what stands for it with missing=(…)"
_LEAST = 1e-150  # and its square is still a float


@dataclass(frozen=True, eq=False)
class Channel:
    """Reports as codes, and for each row the design that it came through.

    Parameters
    ----------
    designs : the designs; they share their options.
    which : for each row the place of its design among them.
    codes : for each row its report's code in that design.
    """

    designs: tuple[Design, ...]
    which: npt.NDArray[np.intp]
    codes: npt.NDArray[np.intp]

    @property
    def options(self) -> Labels:
        return self.designs[0].options

    @property
    def loss(self) -> Pure:
        """What a report costs its sender: that of the design with the greatest epsilon."""
        return Pure(max(design.epsilon for design in self.designs))

    @property
    def described(self) -> str:
        """The designs by name."""
        found = list(dict.fromkeys(design.name for design in self.designs))
        return f"{' and '.join(found)} design{'s' if len(found) > 1 else ''}"

    @cached_property
    def seen(self) -> Array:
        """Pr(the report that was seen | truth), one row a truth, one column a person."""
        if len(self.designs) == 1:
            return np.asarray(self.designs[0].matrix[:, self.codes])
        found = np.empty((len(self.options), len(self.codes)))
        for rows, matrix in self.parts():
            found[:, rows] = matrix[:, self.codes[rows]]
        return found

    def parts(self) -> Iterator[tuple[Any, Array]]:
        """The rows of each design, and its matrix."""
        if len(self.designs) == 1:
            yield slice(None), self.designs[0].matrix
            return
        for place, design in enumerate(self.designs):
            yield np.flatnonzero(self.which == place), design.matrix

    def likelihood(self, share: Array, rest: Array) -> Array:
        """Pr(the report that was seen) for two truths with these probabilities."""
        return np.asarray(np.maximum(self.seen[0] * rest + self.seen[1] * share, _LEAST))

    def curvature(self, share: Array, rest: Array) -> tuple[Array, Array]:
        """Of two truths: the sums over all reports of difference**2 / probability, and of its derivative.

        The first is what one report is expected to tell about the share of its sender's group.
        """
        kappa, slope = np.zeros_like(share), np.zeros_like(share)
        for rows, (without, given) in self.parts():
            for low, high in zip(without, given, strict=True):
                if low != high:
                    probability = np.maximum(low * rest[rows] + high * share[rows], _LEAST)
                    kappa[rows] += (high - low) ** 2 / probability
                    slope[rows] -= (high - low) ** 3 / probability / probability
        return kappa, slope


def through(reports: Column, design: Any, ways: Column | None, missing: tuple[Any, ...] = ()) -> Channel:
    """Reports read by their designs; `ways` says for each row which one of a mapping of designs it is.

    `missing` : what stood for no answer, and must not be a report.
    """
    if ways is None:
        if isinstance(design, Mapping) and "weights" not in design:
            if len(design) != 1:
                told = f"there are {len(design)} designs; write design_by='a column with their names'"
                refuse("`design_by` must say which design is whose", "none", told)
            design = next(iter(design.values()))
        found = (_with_matrix(design),)
        codes = _codes(reports, found[0], missing)
        return Channel(found, np.zeros(len(codes), dtype=np.intp), codes)
    if not isinstance(design, Mapping):
        refuse("`design_by` needs a mapping of designs", type(design).__name__, "it chooses among several", TypeError)
    designs = tuple(_with_matrix(one) for one in design.values())
    if not designs or any(one.options != designs[0].options for one in designs):
        refuse(
            "designs must have the same options in the same order",
            " and ".join(str(list(one.options[:8])) for one in designs) or "none",
            "one model has one set of truths",
        )
    which = np.full(len(ways), -1, dtype=np.intp)
    found_codes = np.zeros(len(ways), dtype=np.intp)
    for place, (key, one) in enumerate(zip(design, designs, strict=True)):
        mine = np.flatnonzero(ways == key)
        which[mine] = place
        if len(mine):
            found_codes[mine] = _codes(reports[mine], one, missing)
    if unknown := int(np.count_nonzero(which < 0)):
        rule = f"`design_by` must hold the keys of `design` ({', '.join(map(str, design))})"
        refuse(rule, f"{unknown} of {len(ways)} rows that do not", "their reports cannot be read")
    return Channel(designs, which, found_codes)


def unsaid(reports: Column, codes: tuple[Any, ...] = ()) -> Mask:
    """Which reports are nobody's answer: empty text, or what was said to stand for none."""
    if reports.dtype.kind not in "OUT" and not codes:
        return np.zeros(len(reports), dtype=bool)
    keys, given = {"", *map(cell_key, codes)}, reports.tolist()
    none = {report for report in set(given) if cell_key(report) in keys}
    return np.fromiter((report in none for report in given), dtype=bool, count=len(given))


def missing_codes(missing: Any) -> tuple[str, tuple[Any, ...]]:
    """What becomes of rows with missing values, and what stands for a missing report, besides empty cells.

    >>> missing_codes("refuse"), missing_codes((9, "refused"))
    (('refuse', ()), ('drop', (9, 'refused')))
    """
    if isinstance(missing, str):
        return choice(missing, "missing", ("refuse", "drop")), ()
    return "drop", tuple(missing) if isinstance(missing, Iterable) else (missing,)


def _codes(reports: Column, design: Design, missing: tuple[Any, ...]) -> npt.NDArray[np.intp]:
    """Reports as codes. Numbers and truth values are those that the design itself makes; text, and what looks
    like a label's text, is read as everywhere in an analysis: labels in any case, and the usual words for yes
    and no.
    """
    reader = Reader("reports", design, missing, _ADVICE)
    if reports.dtype.kind == "O" and not any(isinstance(report, str) for report in reports):
        reports = np.asarray(reports.tolist())
    if reports.dtype.kind not in "OUT" and not looks_like_others(design.report_options):
        return encode(reports, design.report_options, "reports").codes.astype(np.intp)
    given = reports.tolist()
    counts = Counter(given)
    read = reader.read_all(counts.items())
    code = dict(zip(counts, (code for code, _ in read), strict=True))
    return np.fromiter((code[report] for report in given), dtype=np.intp, count=len(given))


def _with_matrix(design: Any) -> Design:
    """What has a table of probabilities, or the data that its `to_dict` wrote."""
    made = restore(design) if isinstance(design, dict) else design
    if not isinstance(made, Asked) or isinstance(made, type) or not with_matrix(made):
        consequence = "give a design such as warner('3/4'); a bare name leaves its probabilities open"
        refuse("`design` must be a Design", type(design).__name__, consequence, TypeError)
    return made
