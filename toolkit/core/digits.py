"""Numbers as text, with the digits that their errors allow."""

import math


def written(number: float, se: float) -> str:
    """A number with the decimals that two digits of its standard error reach.

    >>> written(43067.21, 281.4), written(0.33333, 0.0204), written(5.0, float("nan"))
    ('43,067', '0.333', '5')
    """
    if math.isnan(number):
        return "—"
    if not (math.isfinite(number) and math.isfinite(se) and se > 0):
        return f"{number:.4g}"
    return f"{number:,.{max(1 - math.floor(math.log10(se)), 0)}f}"


def between(low: float, high: float, se: float) -> str:
    """Two limits, with as many more decimals as it takes to tell them apart: an interval is never written as
    a point.

    >>> between(0.25, 0.75, 0.1), between(0.0, 0.0004, 0.016)
    ('0.25 to 0.75', '0.0000 to 0.0004')
    """
    finer = se
    while low < high and written(low, finer) == written(high, finer) and finer > 1e-12 * se:
        finer /= 10
    return f"{written(low, finer)} to {written(high, finer)}"
