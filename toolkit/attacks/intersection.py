"""Two releases of the same people, each anonymous: what is possible in both is less than what is possible in
either.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.attacks.anonymity import Generalised
from toolkit.attacks.classes import class_of_rows, codes, quietly, values_of
from toolkit.core.checks import refuse


def left_over(sensitive: npt.ArrayLike, releases: Sequence[Generalised]) -> list[set[Any]]:
    """For each person the sensitive values that occur in their class of every release: one value left is a
    secret told.

    `sensitive` has one value a person, and each release was made from all of these people. Whoever was
    dropped from a release is not helped by it, nor exposed: it rules nothing out.

    >>> from toolkit.attacks.anonymity import generalise
    >>> people = {"zip": [1, 1, 2, 2], "age": [30, 40, 30, 40]}
    >>> by_zip, by_age = (generalise(people, {name: []}, k=2) for name in people)
    >>> ill = ["flu", "gout", "cold", "flu"]
    >>> [[len(values) for values in left_over(ill, made)] for made in ([by_zip], [by_age], [by_zip, by_age])]
    [[2, 2, 2, 2], [2, 2, 2, 2], [1, 2, 2, 1]]

    References: S. R. Ganta, S. P. Kasiviswanathan and A. Smith, Composition attacks and auxiliary information
    (2008).
    """
    values, numbered = values_of(sensitive).tolist(), codes(sensitive).tolist()
    if not releases or any(len(release.kept) != len(values) for release in releases):
        refuse("each of `releases` must be made from these people", "none, or of others", "its rows are theirs")
    left = [set(numbered) for _ in values]
    for release in releases:
        rows, classes = np.flatnonzero(release.kept), class_of_rows(release.columns)
        present: list[set[int]] = [set() for _ in range(int(classes.max()) + 1)]
        for row, place in zip(rows.tolist(), classes.tolist(), strict=True):
            present[place].add(numbered[row])
        for row, place in zip(rows.tolist(), classes.tolist(), strict=True):
            left[row] &= present[place]
    shown = dict(zip(numbered, values, strict=True))
    return quietly(lambda: [{shown[code] for code in one} for one in left])
