"""Reports of several waves, drawn for many people at once by the two draws of a memo."""

import numpy as np
import numpy.typing as npt

from toolkit.local.waves import Memo

Codes = npt.NDArray[np.intp]


def draw_memos(memo: Memo, n: int, rng: np.random.Generator) -> Codes:
    """Draw the permanent answers of n people, one for each possible truth."""
    return np.column_stack([memo.permanent._randomize_codes(np.full(n, truth), rng) for truth in (0, 1)])


def draw_wave(memo: Memo, memos: Codes, truths: npt.NDArray[np.integer], rng: np.random.Generator) -> Codes:
    """Draw the codes of one wave's reports from the memos of the current truths."""
    return memo.fresh._randomize_codes(memos[np.arange(len(truths)), truths], rng)
