"""Reports drawn through a design, many at a time: exact integers, no float decides an outcome."""

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Codes
from toolkit.core.randomness import Rng
from toolkit.core.sampling.categorical import CHUNK, Categorical
from toolkit.local.matrix.moments import Forced, forced_form


def draw_reports(weights: npt.NDArray[np.int64], form: Forced | None, codes: Codes, rng: Rng) -> Codes:
    """One report code for each answer code; `form` is the forced form of the weights, if they have one."""
    if form is not None and form.truth < 0 and len(weights) == 2:  # the opposite answer, seen in the mirror
        codes, form = codes ^ 1, forced_form(weights[::-1])
    if form is not None and form.truth > 0:
        return _kept_or_forced(codes, Categorical([*form.forced, form.truth]), rng)
    reports = np.empty(len(codes), dtype=np.intp)
    for truth, row in enumerate(weights):
        members = np.flatnonzero(codes == truth)
        reports[members] = Categorical(row).draw(len(members), rng)
    return reports


def _kept_or_forced(codes: Codes, cells: Categorical, rng: Rng) -> Codes:
    """The last cell keeps the answer, cell j before it replaces the answer by option j."""
    keep = cells.outcomes - 1
    reports = np.empty_like(codes)
    for start in range(0, len(codes), CHUNK):
        truth = codes[start : start + CHUNK]
        cell = cells.draw(len(truth), rng).astype(codes.dtype, copy=False)
        # All bits set where the answer is replaced: choosing without branches is ten times as fast as with a
        # mask.
        replaced = -(cell < keep).astype(codes.dtype)
        reports[start : start + CHUNK] = truth ^ ((truth ^ cell) & replaced)
    return reports
