"""An estimate as a frame: one row an entry, or a cross-tab of a table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from toolkit.core.checks import choice, refuse
from toolkit.core.extras import extra

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("estimate", "se", "low", "high", "empty")


def framed(rows: Sequence[tuple[Any, ...]], axes: tuple[str, ...]) -> "pd.DataFrame":
    """Rows of label and numbers; with axes the labels are an index with these names, one level each."""
    pd = extra("pandas")
    labels = [row[0] for row in rows]
    if len(axes) > 1:
        index = pd.MultiIndex.from_tuples(labels, names=axes)
    else:
        index = pd.Index(labels, name=axes[0] if axes else None, tupleize_cols=False)
    return pd.DataFrame([row[1:] for row in rows], columns=_COLUMNS, index=index)


def crossed(frame: "pd.DataFrame", wide: str, axes: tuple[str, ...]) -> "pd.DataFrame":
    """The estimates with the keys of one axis side by side; both in the order that they have."""
    if len(axes) < 2:
        refuse(
            "only a table by two or more columns is a cross-tab",
            f"{len(axes)}",
            "see to_frame() without wide",
        )
    place = axes.index(choice(wide, "wide", axes))
    kept = [axis for axis in axes if axis != wide]
    across = frame.index.get_level_values(place).unique()
    down = frame.index.droplevel(place).unique()
    found = frame["estimate"].unstack(level=place).reindex(index=down, columns=across)
    found.index.names = kept
    return found


def said(label: Any) -> str | int:
    """A label in words: the keys of a table side by side."""
    return ", ".join(map(str, label)) if isinstance(label, tuple) else label
