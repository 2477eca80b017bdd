"""`estimates`: from a frame of reports and their designs to findings, in all or by group."""

from collections.abc import Iterable, Sequence
from typing import Any

from toolkit.analysis.findings import Findings, groupless_notes
from toolkit.analysis.from_counts import Counted
from toolkit.analysis.from_sample import Sampled
from toolkit.analysis.reports import Reader, checked_designs
from toolkit.analysis.sampling.sample import Sample
from toolkit.core.checks import choice, explains, refuse
from toolkit.frames.counts import columns_of

METHODS = ("moment", "mle", "simplex")
_DRAWN = frozenset({"weight", "weights", "wt", "pweight", "cluster", "clusters", "psu", "stratum", "strata"})


@explains(
    'estimates(frame, {"report": forced("1/6", "1/6")}, by="sex")',
    designs="they say how each column was hidden",
    weights='write sample=Sample(weights=frame["w"])',
)
def estimates(
    frame: Any,
    designs: Any,
    by: Sequence[str] | str | None = None,
    *,
    sample: Sample | None = None,
    missing: Sequence[Any] = (),
    method: str | None = None,
) -> Findings:
    """An estimate for each column of reports, in all or for each group.

    Parameters
    ----------
    frame : of pandas, polars, pyarrow, DuckDB, Dask, PySpark or Ibis; the counting is done there. With a
    `sample` the rows are needed, in its order.
    designs : the randomizer of each column: {"report": forced("1/6", "1/6")}. Cells may be labels in any
    case; of yes and no also truth values, 0 and 1, and the usual words; anything else is refused. Of plain
    answers it is `plain(…)`.
    by : columns that make the groups, of any kind. sample : how people were drawn, if not all alike.
    missing : what stands for no answer, besides empty cells: (9, "refused").
    method : "moment" (unbiased, the default), "mle" or "simplex" (inside 0 to 1, for display).

    >>> import pandas as pd
    >>> from toolkit import warner
    >>> frame = pd.DataFrame({"report": ["yes"] * 40 + ["No"] * 60 + [9], "sex": ["f", "m"] * 50 + ["f"]})
    >>> found = estimates(frame, {"report": warner("3/4")}, missing=(9,))
    >>> round(found["report"].value, 3), found.missing["missing report"].item()
    (0.3, 1)
    """
    names = _named(by)
    made = checked_designs(designs)
    if len(set(names)) < len(names):
        refuse("`by` must name each column once", "one that comes twice", "a group has one value of it")
    both = [name for name in names if name in made]
    if both:
        refuse(
            "`by` must name columns that nothing hides", ", ".join(both), "people cannot be sorted by a hidden answer"
        )
    if sample is not None and not isinstance(sample, Sample):
        refuse("`sample` must be a Sample", type(sample).__name__, "Sample(weights=…, clusters=…)", TypeError)
    codes = (missing,) if isinstance(missing, str | int | float) else tuple(missing)
    readers = {name: Reader(name, design, codes) for name, design in made.items()}
    way, held = checked_method(method), columns_of(frame)
    source = Counted(frame, names, readers) if sample is None else Sampled(frame, names, readers, sample)
    if not source.groups():
        refuse("the frame must have a row that is in a group", "none", "there is nothing to estimate from")
    found = tuple(one for name in made for one in source.found(name, way))
    told = groupless_notes(source.groupless(), names)
    return Findings(made, names, found, source, (*told, *_notes(held, names, made, sample)))


def _named(by: Any) -> tuple[str, ...]:
    """The columns that make the groups."""
    if hasattr(by, "to_numpy"):
        remedy = f"write by={by.name!r}" if isinstance(getattr(by, "name", None), str) else 'write by="city"'
        refuse("`by` must be names of columns", f"a {type(by).__name__}", remedy, TypeError)
    names = () if by is None else (by,) if isinstance(by, str) or not isinstance(by, Iterable) else tuple(by)
    if bad := [name for name in names if not isinstance(name, str)]:
        refuse("`by` must be names of columns", type(bad[0]).__name__, "columns go by name, as texts", TypeError)
    return names


def checked_method(method: str | None) -> str:
    """The name of an estimator; "moment", the unbiased one, if none is named.

    >>> checked_method("MLE")
    Traceback (most recent call last):
    ValueError: `method` must be one of moment, mle, simplex, got 'MLE': write 'mle'.
    """
    return choice("moment" if method is None else method, "method", METHODS)


def _notes(held: Sequence[str], by: Sequence[str], designs: Any, sample: Sample | None) -> tuple[str, ...]:
    """Say so where a column looks as if people were not drawn alike, and nobody said how."""
    drawn = [name for name in held if str(name).casefold() in _DRAWN and name not in (*by, *designs)]
    if sample is not None or not drawn:
        return ()
    told = f"the frame has {', '.join(drawn)}, which no error here takes into account"
    return (f"{told}: give sample=Sample(…) if people were drawn with weights, in strata or in clusters",)
