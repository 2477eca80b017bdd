"""The three files of a publication: a tidy CSV, all facts as JSON, and a page for people."""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Any

from toolkit.core.covers import Covers
from toolkit.core.inference.digits import short

SCHEMA = "toolkit.release/1"
NUMBERS = {
    "estimate": "the released number; a count may be negative, which keeps it unbiased unless notes object",
    "se": "its standard error by the noise, to two digits; empty where the error would tell about the data",
    "low": "lower end of the interval, rounded down",
    "high": "upper end of the interval, rounded up",
}
COUNTS = {
    "count": "the number of values behind it, with noise of its own; it may be negative",
    "count se": "the standard error of that number",
}
_WHOLE = 2**53
# A float has at most 309 digits before the point; what was released is written whatever its size.
_EVERY_DIGIT = Context(prec=400)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_UNITS = {
    ("person", "replace"): "one person, whose record is exchanged for another",
    ("person", "add_remove"): "one person, who comes or goes",
    ("record", "replace"): "one record, which is exchanged for another",
    ("record", "add_remove"): "one record, which comes or goes",
}


def key_columns(axes: Sequence[str]) -> list[str]:
    """What the columns of keys are called: as in the data, unless that is the name of a number.

    >>> key_columns(["region", "se"]), key_columns([])
    (['region', 'key se'], ['label'])
    """
    return [f"key {axis}" if axis in NUMBERS or axis in COUNTS else axis for axis in axes] or ["label"]


def csv_text(
    axes: Sequence[str],
    rows: Sequence[Sequence[Any]],
    whole: bool,
    counts: Sequence[tuple[float, float]] | None = None,
) -> str:
    """One line a cell: its keys, estimate, se, low, high, with the digits that the error allows, and the
    number of values behind it with its own error, where that is told.

    A key that a spreadsheet would take for a formula has an apostrophe before it.
    """
    columns = key_columns(axes)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*columns, *NUMBERS, *(COUNTS if counts is not None else ())])
    errors = [se for *_, se, _, _ in rows if math.isfinite(se) and se > 0]
    digits = 0 if whole or not errors else max(0, 1 - math.floor(math.log10(min(errors))))
    for place, (label, value, se, low, high) in enumerate(rows):
        keys = label if isinstance(label, tuple) and len(columns) > 1 else (label,)
        known = math.isfinite(se)
        writer.writerow(
            [
                *map(_key, keys),
                _number(value, digits if known else None, ROUND_HALF_EVEN),
                _error(se),
                _number(low, digits if known else None, ROUND_FLOOR),
                _number(high, digits if known else None, ROUND_CEILING),
                *(_counted(*counts[place]) if counts is not None else ()),
            ]
        )
    return out.getvalue()


def json_text(facts: Mapping[str, Any]) -> str:
    return json.dumps(facts, indent=2, ensure_ascii=False, default=str) + "\n"


def page_text(title: str, facts: Mapping[str, Any], promise: str, covers: Covers) -> str:
    """For people: what was counted, how sure it is, and what it costs whom."""
    query, unit, noise, ledger = (facts[part] for part in ("query", "unit", "noise", "ledger"))
    table, told = facts["table"], facts["estimate"]
    level = f"{100 * told['level']:g}"
    spent = f"spent {ledger['before']} before, {ledger['after']} after, of {ledger['ceiling']}"
    lines = [f"# {title}", ""]
    if facts["randomness"] != "operating system":
        lines += ["**Simulated: drawn with a generator. These numbers protect nobody.**", ""]
    lines += [
        f"- What: {query['statistic']}; {_cells(table['cells'])}, in {table['file']}.",
        *([f"- Only rows where {query['where']}."] if query.get("where") else []),
        *(f"- Values of {name}: {_clamped(limits)}." for name, limits in query.get("bounds", {}).items()),
        *([f"- Missing values: {query['missing']}."] if query.get("missing") else []),
        f"- Noise: {noise.get('words', noise['mechanism'])}{_scale(noise)}; no number here is exact.",
        f"- Error: {_error_words(covers, level, clamped=bool(query.get('bounds')))}.",
        f"- Whom it protects: {_UNITS[unit.get('one', 'person'), unit['neighbors']]}; {unit['person']}.",
        f"- Cost: {ledger['loss']}. {promise}",
        *([f"- Charged: {ledger['charged']}; {ledger['terms']}."] if ledger.get("terms") else []),
        f"- Ledger {ledger['id']}, entry {ledger['entry']}: {spent}.",
        *(f"- Afterwards: {step}." for step in facts["post_processing"]),
        *(f"- Note: {note}." for note in told["notes"]),
        f"- Made on {facts['date']} with {facts['software']}; SHA-256 of the table {table['sha256']}.",
    ]
    return "\n".join(lines) + "\n"


def _cells(number: int) -> str:
    return f"{number:,} cell{'s' * (number != 1)}"


def _error_words(covers: Covers, level: str, *, clamped: bool) -> str:
    """What is known of the error; one "in ranks", say, has no interval in the unit of the table."""
    left = f"covers {covers.words} alone, not who was asked{', nor what was clamped' if clamped else ''}"
    told = f"how far it is off in {covers.unit} is in the notes" if covers.unit else f"intervals of {level} %"
    return f"{left}; {told}"


def _scale(noise: Mapping[str, Any]) -> str:
    return f", standard deviation {short(noise['sd'])} in a cell" if noise.get("sd") else ""


def _clamped(limits: Mapping[str, Any]) -> str:
    return f"clamped to {limits['low']} to {limits['high']}, in steps of {limits['step']}"


def _key(key: Any) -> str:
    text = str(key)
    return f"'{text}" if isinstance(key, str) and text.startswith(_FORMULA) else text


def _number(number: float, digits: int | None, rounding: str) -> str:
    if not math.isfinite(number):
        return ""
    if digits is None:
        return str(int(number)) if number == int(number) and abs(number) < _WHOLE else str(number)
    return str(Decimal(str(number)).quantize(Decimal(1).scaleb(-digits), rounding, _EVERY_DIGIT))


def _counted(number: float, se: float) -> tuple[str, str]:
    return _number(number, 0, ROUND_HALF_EVEN), _error(se)


def _error(se: float) -> str:
    """To two digits."""
    if not math.isfinite(se) or se <= 0:
        return ""
    digits = 1 - math.floor(math.log10(se))
    return f"{round(se, digits):.{max(digits, 0)}f}"
