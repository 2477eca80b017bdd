"""A live view of a privacy budget: a bar of the spent budget and a table of the charges."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from IPython import get_ipython
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from toolkit.budget.charges import Entry, components, symbols
from toolkit.budget.ledger import Ledger
from toolkit.core.checks import reject
from toolkit.core.loss import Loss, format_amount
from toolkit.show.canvas import BLUE, GREY, INK, SKY
from toolkit.show.widgets.explorer import Explorer, browser_code, document_widget, new_still_figure, write_sentences
from toolkit.texts.figures import fill_templates, round_for_browser

SENTENCES = {
    "spent": "Spent {spent} of {ceiling}; {remaining} remains.",
    "next": "That is enough for {times} more like the last one ({last}).",
    "state": "Charges: {count}. {neighbors}. A charge is never taken back.",
}
_NO_CHARGES = "Nothing has been charged yet."
_MAX_ROWS = 8  # the latest rows are shown one by one, and all earlier rows are added up


@dataclass(frozen=True)
class ChargeRow:
    """Consecutive charges with the same label: a row of the table and a segment of the bar."""

    first_number: int
    last_number: int
    label: str
    amounts: tuple[Fraction, ...]


class LedgerView(Explorer):
    """The spent and the remaining part of a privacy budget, as a bar and a table.

    The view reads the ledger again after every cell of the notebook. A button does the same, for charges by other
    processes. The view cannot charge the ledger.

    Parameters
    ----------
    ledger : Ledger
        The ledger to show.

    Examples
    --------
    >>> from toolkit import Ledger, Pure
    >>> view = LedgerView(Ledger(Pure(1)))  # shown in a notebook, it follows every charge
    """

    _esm = browser_code("ledger_view.js")
    _shell: Any = None  # `close` is also called for a view whose ledger was rejected

    def __init__(self, ledger: Ledger) -> None:
        if not isinstance(ledger, Ledger):
            reject("`ledger` must be a Ledger", type(ledger).__name__, "make one with Ledger(ceiling)", TypeError)
        self._ledger = ledger
        super().__init__(table=ledger_table(ledger))
        self.on_msg(self._refresh_on_event)
        self._shell = get_ipython()
        if self._shell is not None:
            self._shell.events.register("post_run_cell", self._refresh_on_event)

    def refresh(self) -> None:
        """Read the ledger again."""
        self.table = ledger_table(self._ledger)

    def setting_text(self) -> str:
        return f"{self.table['summary']}; charges: {self.table['count']:,}"

    def describe(self) -> dict[str, str]:
        return dict(self.table["sentences"])

    def picture(self) -> Figure:
        return _draw_ledger(self.table)

    def close(self) -> None:
        """Close the view and stop following the ledger."""
        if self._shell is not None:
            self._shell.events.unregister("post_run_cell", self._refresh_on_event)
            self._shell = None
        super().close()

    def _refresh_on_event(self, *_event: object) -> None:
        self.refresh()


@document_widget(LedgerView)
def show_ledger(ledger: Ledger) -> LedgerView:
    """Show the spent and the remaining budget of a ledger.

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
    """Return the data of the view: a bar for each measure of the ceiling, and a row for each of the latest charges."""
    entries = ledger.entries()
    rows = _charge_rows(entries)
    spent, ceiling, remaining = ledger.spent, ledger.ceiling, ledger.remaining
    return {
        "summary": f"spent {spent} of {ceiling}, remaining {remaining}",
        "count": len(entries),
        "earlier": sum(row.last_number - row.first_number + 1 for row in rows[:-_MAX_ROWS]),
        "measures": [_measure_bar(rows, ledger, index) for index in range(len(components(ceiling)))],
        "head": ["", "for what", *symbols(ceiling)],
        "rows": [_row_cells(row) for row in rows[-_MAX_ROWS:]],
        "sentences": _sentences(entries, ledger),
    }


def _charge_rows(entries: Sequence[Entry]) -> list[ChargeRow]:
    """Return the charges as rows; consecutive charges with the same label are added up."""
    rows: list[ChargeRow] = []
    for entry in entries:
        label = f"{entry.label or 'no label'}{f' ({entry.mechanism})' if entry.mechanism else ''}"
        amounts = components(entry.charged)
        if rows and rows[-1].label == label:
            previous = rows.pop()
            amounts = tuple(a + b for a, b in zip(previous.amounts, amounts, strict=True))
            rows.append(ChargeRow(previous.first_number, entry.number, label, amounts))
        else:
            rows.append(ChargeRow(entry.number, entry.number, label, amounts))
    return rows


def _measure_bar(rows: Sequence[ChargeRow], ledger: Ledger, index: int) -> dict[str, Any]:
    """Return the bar of one measure, with its segments as shares of the ceiling in order of the charges."""
    limit = components(ledger.ceiling)[index]
    charged = [row.amounts[index] for row in rows]
    early, latest = sum(charged[:-_MAX_ROWS], Fraction(0)), charged[-_MAX_ROWS:]
    return {
        "symbol": symbols(ledger.ceiling)[index],
        "earlier": round_for_browser(float(early / limit)) if limit else 0.0,
        "segments": [round_for_browser(float(amount / limit)) if limit else 0.0 for amount in latest],
        "caption": f"{format_amount(sum(charged, Fraction(0)))} of {format_amount(limit)} spent",
    }


def _row_cells(row: ChargeRow) -> list[str]:
    """Return the cells of a table row."""
    count = row.last_number - row.first_number + 1
    number = str(row.last_number) if count == 1 else f"{row.first_number}–{row.last_number}"
    label = row.label if count == 1 else f"{row.label}, {count:,} times"
    return [number, label, *(format_amount(amount) for amount in row.amounts)]


def _sentences(entries: Sequence[Entry], ledger: Ledger) -> dict[str, str]:
    relations = {"replace": "Neighbors: one record changes", "add_remove": "Neighbors: one person comes or goes"}
    values = {
        "spent": _with_nonbreaking_spaces(ledger.spent),
        "ceiling": _with_nonbreaking_spaces(ledger.ceiling),
        "remaining": _with_nonbreaking_spaces(ledger.remaining),
        "count": f"{len(entries):,}",
        "neighbors": relations.get(ledger.neighbors or "", "Neighbors: not stated"),
        "last": _with_nonbreaking_spaces(entries[-1].charged) if entries else "",
        "times": _n_more_charges(entries[-1], ledger) if entries else "",
    }
    sentences = fill_templates(SENTENCES, values)
    return sentences if entries else {**sentences, "next": _NO_CHARGES}


def _with_nonbreaking_spaces(loss: Loss) -> str:
    """Format a loss so that no line break separates the symbol from the number."""
    return str(loss).replace(" = ", "\u00a0=\u00a0")


def _n_more_charges(last: Entry, ledger: Ledger) -> str:
    """Return the number of further charges, each like the last charge, that the remaining budget allows."""
    pairs = zip(components(ledger.remaining), components(last.charged), strict=True)
    return f"{min((amount // cost for amount, cost in pairs if cost), default=0):,}"


def _draw_ledger(table: dict[str, Any]) -> Figure:
    """Draw the view as a still figure."""
    rows, measures = len(table["rows"]) + 1, table["measures"]
    height = max(2.2 + 0.3 * len(measures), 0.9 + 0.26 * rows)
    canvas = new_still_figure(height, table["summary"], "live view")
    bar, charges = canvas.subplots(1, 2, width_ratios=[1, 1.1])
    for row, measure in enumerate(measures):
        _draw_bar(bar, row, measure)
    bar.set(xlim=(0, 1.004), ylim=(len(measures) + 2.2, -0.7), xticks=[], yticks=[])
    bar.spines[:].set_visible(False)
    write_sentences(bar, len(measures) - 0.2, *table["sentences"].values(), width=48)
    _draw_charges(charges, table)
    bar.set_title("What is left?", loc="left", fontsize=11)
    charges.set_title("What was it spent on?", loc="left", fontsize=11)
    return canvas


def _draw_bar(ax: Axes, row: int, measure: dict[str, Any]) -> None:
    """Draw a bar with a segment for each charge and an outline for the ceiling."""
    start = 0.0
    for i, share in enumerate([measure["earlier"], *measure["segments"]]):
        colour = GREY if i == 0 else (SKY, BLUE)[i % 2]
        ax.barh(row, share, left=start, height=0.5, color=colour, edgecolor="white", linewidth=0.8)
        start += share
    ax.barh(row, 1, height=0.5, facecolor="none", edgecolor=INK, linewidth=1)
    ax.text(0, row - 0.36, f"{measure['symbol']}: {measure['caption']}", va="bottom", color=INK, fontsize=9.5)


def _draw_charges(ax: Axes, table: dict[str, Any]) -> None:
    """Draw the table of charges; long labels are truncated."""
    ax.axis("off")
    ax.set(xlim=(0, 1), ylim=(max(len(table["rows"]) + 1.5, 6), -0.6))
    measures = len(table["measures"])
    longest = 44 - 6 * measures
    positions = [0.05, 0.08, *(1 - 0.15 * (measures - 1 - i) for i in range(measures))]
    for down, cells in enumerate([table["head"], *table["rows"]]):
        for column, (across, text) in enumerate(zip(positions, cells, strict=True)):
            side = "right" if column != 1 else "left"
            short_text = text if len(text) <= longest else f"{text[:longest]}…"
            ax.text(across, down, short_text, ha=side, va="center", color=GREY if down == 0 else INK, fontsize=9)
    if table["earlier"]:
        ax.text(0.08, len(table["rows"]) + 1, f"and {table['earlier']:,} earlier", va="center", color=GREY, fontsize=9)
