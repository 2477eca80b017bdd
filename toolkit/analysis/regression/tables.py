"""Tables of fitted models: one model in detail, or several models side by side."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from toolkit.core.checks import check_choice, reject
from toolkit.core.fit_table import Cells, FitTable, format_p_value

if TYPE_CHECKING:
    pass

_STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
_LEGEND = "* p < 0.05, ** p < 0.01, *** p < 0.001"


def compare_models(
    fits: Mapping[str, Any] | Sequence[Any],
    *,
    below: Literal["se", "interval", "p"] = "se",
    stars: bool = True,
    exp: bool = False,
) -> FitTable:
    """Compare several fits in one table: a column per fit, with coefficients, errors, likelihood and privacy loss.

    Parameters
    ----------
    fits : sequence or mapping of fits
        The fits in the order of the columns; the keys of a mapping are the names of the columns.
    below : {"se", "interval", "p"}
        The quantity that is printed below each coefficient.
    stars : bool
        Whether to mark p-values below 0.05, 0.01 and 0.001 with stars.
    exp : bool
        Whether to show ratios instead of coefficients, such as odds ratios for the logit link, with intervals below.

    Returns
    -------
    FitTable
        A table with `to_latex`, `to_html` and `to_frame`.

    Raises
    ------
    TypeError
        If an element is not a fit.

    Examples
    --------
    >>> from toolkit import forced
    >>> from toolkit.analysis import logistic
    >>> rng, die = np.random.default_rng(0), forced("1/6", "1/6")
    >>> frame = {"job": rng.integers(0, 2, 4000), "age": rng.normal(size=4000)}
    >>> frame["report"] = die.randomize(rng.random(4000) < 0.2 + 0.2 * frame["job"], rng=rng)
    >>> small, large = (logistic(f"report ~ {right}", frame, die) for right in ("job", "job + age"))
    >>> print(compare_models({"job alone": small, "with age": large}))
    3 coefficients in 2 models
                    job alone  with age
    Intercept        -1.46***  -1.46***
                       (0.10)    (0.10)
    job               1.00***   1.00***
                       (0.12)    (0.12)
    age                           0.018
                                (0.058)
    -----------------------------------
    n                   4,000     4,000
    log-likelihood   -2573.85  -2573.80
    AIC               5151.69   5153.60
    BIC               5164.28   5172.48
    privacy loss     ε = 1.61  ε = 1.61
    Standard errors in brackets; * p < 0.05, ** p < 0.01, *** p < 0.001
    """
    fits = _checked_fits(fits)
    measure = check_choice(below, "below", ("se", "interval", "p"))
    if exp and measure == "se":
        measure = "interval"
    columns = [_cells_by_label(fit, measure, stars, exp) for fit in fits.values()]
    labels = list(dict.fromkeys(label for column in columns for label in column))
    rows: list[Cells] = []
    for label in labels:
        pairs = [column.get(label, ("", "")) for column in columns]
        rows += [(label, *(first for first, _ in pairs)), ("", *(second for _, second in pairs))]
    measures = [dict(fit._fit_measures()) for fit in fits.values()]
    names = list(dict.fromkeys(name for by_name in measures for name in by_name))
    legend = {"se": "Standard errors", "interval": "95 % intervals", "p": "p-values"}[measure] + " in brackets"
    return FitTable(
        f"{len(labels)} coefficients in {len(fits)} models{', as ratios' if exp else ''}",
        ("", *fits),
        tuple(rows),
        tuple((name, *(by_name.get(name, "") for by_name in measures)) for name in names),
        (f"{legend}; {_LEGEND}" if stars else legend,),
    )


def _checked_fits(fits: object) -> Mapping[str, Any]:
    """Return the fits by column name; the fits of a sequence are named (1), (2), …."""
    if not isinstance(fits, Mapping | Sequence) or isinstance(fits, str):
        reject("`fits` must be several fits", type(fits).__name__, "write compare_models([first, second])", TypeError)
    by_name = dict(fits) if isinstance(fits, Mapping) else {f"({i})": fit for i, fit in enumerate(fits, 1)}
    if others := [type(fit).__name__ for fit in by_name.values() if not hasattr(fit, "_fit_measures")]:
        reject("`fits` must be fitted models", others[0], "give fits, such as those of logistic(…)", TypeError)
    if not by_name:
        reject("there must be at least one fit", "none", "write compare_models([first, second])")
    return {str(name): fit for name, fit in by_name.items()}


def _cells_by_label(fit: Any, below: str, with_stars: bool, exp: bool) -> dict[str, tuple[str, str]]:
    """Return for each label the coefficient with its stars, and the text below it."""
    estimate = fit._exponentials() if exp else fit.coefficients
    p_values = np.atleast_1d(fit.coefficients.test().p)
    cells = {}
    for (label, value, se, limits), p in zip(estimate.text_rows(), p_values, strict=True):
        star = next((mark for limit, mark in _STARS if p < limit), "") if with_stars else ""
        cells[str(label)] = (
            value + star,
            f"({ {'se': se, 'interval': limits, 'p': format_p_value(float(p))}[below] })",
        )
    return cells
