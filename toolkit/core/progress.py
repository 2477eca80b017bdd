"""Long work goes in pieces, and shows how far it is."""

from collections.abc import Iterable, Iterator

_LONG = 64  # fewer pieces are done before anyone could read a bar


def chunks(total: int, size: int, what: str) -> Iterator[slice]:
    """Slices that cover 0 … total-1; a bar appears when they take longer than a second and tqdm is installed."""
    starts = range(0, total, size)
    for start in starts if len(starts) < _LONG else _with_bar(starts, what):
        yield slice(start, start + size)


def _with_bar(starts: range, what: str) -> Iterable[int]:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return starts
    bar: Iterable[int] = tqdm(starts, desc=what, unit=" pieces", delay=1, leave=False)
    return bar
