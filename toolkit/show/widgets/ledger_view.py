"""What has been spent of a privacy budget, on what, and what remains: a bar and a table that stay up to date."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from IPython import get_ipython
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from toolkit.budget.charges import Entry, parts, symbols
from toolkit.budget.ledger import Ledger
from toolkit.core.checks import reject
from toolkit.core.loss import Loss, shown
from toolkit.show.canvas import BLUE, GREY, INK, SKY
from toolkit.show.widgets.explorer import Explorer, browser_code, makes, say, still
from toolkit.texts.figures import fill, short

WORDS = {
    "spent": "Spent {spent} of {ceiling}; {remaining} remains.",
    "next": "That is enough for {times} more like the last one ({last}).",
    "state": "Charges: {count}. {neighbors}. A charge is never taken back.",
}
_NOTHING = "Nothing has been charged yet."
_ROWS = 8  # lines that are told apart; all earlier ones are one


@dataclass(frozen=True)
class ChargeRow:
    """Charges one after the other for the same thing: a line of the table and a segment of the bar."""

    first: int
    last: int
    what: str
    amounts: tuple[Fraction, ...]


class LedgerView(Explorer):
    """What has been spent of a privacy budget, and what remains? As a bar and a table.

    The view looks at the ledger again after every cell that runs in this notebook, and when its button is
    pressed (for charges of other processes). It reads; it cannot charge.

    Parameters
    ----------
    ledger : Ledger
        The ledger to look at.

    Examples
    --------
    >>> from toolkit import Ledger, Pure
    >>> view = LedgerView(Ledger(Pure(1)))  # shown in a notebook, it follows every charge
    """

    _esm = browser_code("ledger_view.js")
    _shell: Any = None  # also where a view was refused: it is closed all the same

    def __init__(self, ledger: Ledger) -> None:
        if not isinstance(ledger, Ledger):
            reject("`ledger` must be a Ledger", type(ledger).__name__, "a view looks at charges", TypeError)
        self._ledger = ledger
        super().__init__(table=ledger_table(ledger))
        self.on_msg(self._look_again)
        self._shell = get_ipython()
        if self._shell is not None:
            self._shell.events.register("post_run_cell", self._look_again)

    def refresh(self) -> None:
        """Look at the ledger again."""
        self.table = ledger_table(self._ledger)

    def setting(self) -> str:
        return f"{self.table['summary']}; charges: {self.table['count']:,}"

    def describe(self) -> dict[str, str]:
        return dict(self.table["sentences"])

    def picture(self) -> Figure:
        return _still(self.table)

    def close(self) -> None:
        """Look no more."""
        if self._shell is not None:
            self._shell.events.unregister("post_run_cell", self._look_again)
            self._shell = None
        super().close()

    def _look_again(self, *_news: object) -> None:
        self.refresh()


@makes(LedgerView)
def show_ledger(ledger: Ledger) -> LedgerView:
    """Show what has been spent of a ledger's budget.

    Examples
    --------
    >>> from toolkit import Ledger, Pure, show
    >>> ledger = Ledger(Pure(1))
    >>> _ = ledger.charge(Pure(0.25), "mean of age")
    >>> show.show_ledger(ledger)
    <LedgerView: spent ε = 0.25 of ε = 1, remaining ε = 0.75; charges: 1>
    """
    return LedgerView(ledger)


def ledger_table(ledger: Ledger) -> dict[str, Any]:
    """A bar for each measure of the ceiling, with a segment per line of like charges, and the latest lines as rows."""
    entries = ledger.entries()
    lines = _lines(entries)
    spent, ceiling, remaining = ledger.spent, ledger.ceiling, ledger.remaining
    return {
        "summary": f"spent {spent} of {ceiling}, remaining {remaining}",
        "count": len(entries),
        "earlier": sum(line.last - line.first + 1 for line in lines[:-_ROWS]),
        "measures": [_measure(lines, ledger, place) for place in range(len(parts(ceiling)))],
        "head": ["", "for what", *symbols(ceiling)],
        "rows": [_row(line) for line in lines[-_ROWS:]],
        "sentences": _sentences(entries, ledger),
    }


def _lines(entries: Sequence[Entry]) -> list[ChargeRow]:
    lines: list[ChargeRow] = []
    for entry in entries:
        what = f"{entry.label or 'no label'}{f' ({entry.mechanism})' if entry.mechanism else ''}"
        amounts = parts(entry.charged)
        if lines and lines[-1].what == what:
            before = lines.pop()
            amounts = tuple(a + b for a, b in zip(before.amounts, amounts, strict=True))
            lines.append(ChargeRow(before.first, entry.number, what, amounts))
        else:
            lines.append(ChargeRow(entry.number, entry.number, what, amounts))
    return lines


def _measure(lines: Sequence[ChargeRow], ledger: Ledger, place: int) -> dict[str, Any]:
    """One bar: shares of the ceiling, the earliest charge first."""
    limit = parts(ledger.ceiling)[place]
    charged = [line.amounts[place] for line in lines]
    early, latest = sum(charged[:-_ROWS], Fraction(0)), charged[-_ROWS:]
    return {
        "symbol": symbols(ledger.ceiling)[place],
        "earlier": short(float(early / limit)) if limit else 0.0,
        "segments": [short(float(amount / limit)) if limit else 0.0 for amount in latest],
        "told": f"{shown(sum(charged, Fraction(0)))} of {shown(limit)} spent",
    }


def _row(line: ChargeRow) -> list[str]:
    several = line.last - line.first + 1
    number = str(line.last) if several == 1 else f"{line.first}–{line.last}"
    what = line.what if several == 1 else f"{line.what}, {several:,} times"
    return [number, what, *(shown(part) for part in line.amounts)]


def _sentences(entries: Sequence[Entry], ledger: Ledger) -> dict[str, str]:
    relations = {"replace": "Neighbors: one record changes", "add_remove": "Neighbors: one person comes or goes"}
    values = {
        "spent": _tied(ledger.spent),
        "ceiling": _tied(ledger.ceiling),
        "remaining": _tied(ledger.remaining),
        "count": f"{len(entries):,}",
        "neighbors": relations.get(ledger.neighbors or "", "Neighbors: not said"),
        "last": _tied(entries[-1].charged) if entries else "",
        "times": _times(entries[-1], ledger) if entries else "",
    }
    sentences = fill(WORDS, values)
    return sentences if entries else {**sentences, "next": _NOTHING}


def _tied(loss: Loss) -> str:
    """A loss whose symbol and number stay on one line."""
    return str(loss).replace(" = ", "\u00a0=\u00a0")


def _times(last: Entry, ledger: Ledger) -> str:
    """How many more of the last charge fit into what remains."""
    pairs = zip(parts(ledger.remaining), parts(last.charged), strict=True)
    return f"{min((left // price for left, price in pairs if price), default=0):,}"


def _still(table: dict[str, Any]) -> Figure:
    rows, measures = len(table["rows"]) + 1, table["measures"]
    height = max(2.2 + 0.3 * len(measures), 0.9 + 0.26 * rows)
    canvas = still(height, table["summary"], "live view")
    bar, charges = canvas.subplots(1, 2, width_ratios=[1, 1.1])
    for place, measure in enumerate(measures):
        _bar(bar, place, measure)
    bar.set(xlim=(0, 1.004), ylim=(len(measures) + 2.2, -0.7), xticks=[], yticks=[])
    bar.spines[:].set_visible(False)
    say(bar, len(measures) - 0.2, *table["sentences"].values(), width=48)
    _charges(charges, table)
    bar.set_title("What is left?", loc="left", fontsize=11)
    charges.set_title("What was it spent on?", loc="left", fontsize=11)
    return canvas


def _bar(ax: Axes, place: int, measure: dict[str, Any]) -> None:
    left = 0.0
    for i, share in enumerate([measure["earlier"], *measure["segments"]]):
        colour = GREY if i == 0 else (SKY, BLUE)[i % 2]
        ax.barh(place, share, left=left, height=0.5, color=colour, edgecolor="white", linewidth=0.8)
        left += share
    ax.barh(place, 1, height=0.5, facecolor="none", edgecolor=INK, linewidth=1)
    ax.text(0, place - 0.36, f"{measure['symbol']}: {measure['told']}", va="bottom", color=INK, fontsize=9.5)


def _charges(ax: Axes, table: dict[str, Any]) -> None:
    ax.axis("off")
    ax.set(xlim=(0, 1), ylim=(max(len(table["rows"]) + 1.5, 6), -0.6))
    measures = len(table["measures"])
    longest = 44 - 6 * measures
    places = [0.05, 0.08, *(1 - 0.15 * (measures - 1 - i) for i in range(measures))]
    for down, cells in enumerate([table["head"], *table["rows"]]):
        for column, (across, text) in enumerate(zip(places, cells, strict=True)):
            side = "right" if column != 1 else "left"
            short_text = text if len(text) <= longest else f"{text[:longest]}…"
            ax.text(across, down, short_text, ha=side, va="center", color=GREY if down == 0 else INK, fontsize=9)
    if table["earlier"]:
        ax.text(0.08, len(table["rows"]) + 1, f"and {table['earlier']:,} earlier", va="center", color=GREY, fontsize=9)
