"""Edit a survey's TOML and keep all the rest of it: comments, order, spaces, and every question that stays as it is.

A file is cut before each [[questions]], and above the comment that stands on it: so a comment moves with its question.
Only what differs is written, by tomlkit; what comes out must read back as what was meant, or nothing is written.
"""

import json
import math
import re
import tomllib
from collections.abc import Mapping
from datetime import date, time
from typing import Any

from toolkit.core.checks import reject
from toolkit.core.extras import extra

ORIGIN = "#"
"""The key of a question, in what the page sends, that says which question of the file it was."""

_MOST_SAFE = 2**53
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}]|\n', re.DOTALL
)
_QUESTIONS = re.compile(r"""\s*\[\[\s*["']?questions["']?\s*\]\]""")
_WITHIN = re.compile(r"""\s*\[{1,2}\s*["']?questions["']?\s*\.""")


def plain(value: object) -> Any:
    """Return data of TOML as JSON has it: days as text, infinity as "inf"."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def same(one: object, other: object) -> bool:
    """Return whether two values are the same in a file: true is not 1, and 3.0 is 3."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def is_safe(value: object) -> bool:
    """Return whether a page can hold the data: no whole number beyond 2**53, which it would round."""
    if isinstance(value, Mapping | list):
        return all(map(is_safe, value.values() if isinstance(value, Mapping) else value))
    return not isinstance(value, int) or abs(value) <= _MOST_SAFE


def edited(text: str, data: Mapping[str, Any], *, toml: bool = True) -> str:
    """Return a survey's file with this data in it: the same text where nothing differs.

    A question's "#" is its place in the file before, if it had one. ValueError if the file would not read back as this
    data.
    """
    content = {key: _clean(value) for key, value in data.items() if value is not None}
    if not toml:
        before = plain(json.loads(text))
        return text if same(before, content) else f"{json.dumps(content, indent=2, ensure_ascii=False)}\n"
    before = plain(tomllib.loads(text))
    if same(before, content) and _origins(data) == list(range(len(before.get("questions", [])))):
        return text
    result = _in_pieces(text, before, data, content)
    if result is None or not _reads_as(result, content):
        result = _merged(text, before, content)
    if not _reads_as(result, content):
        reject("what is written must read back as what was meant", "another text", "edit the file by hand")
    return result


def _reads_as(text: str, content: Mapping[str, Any]) -> bool:
    try:
        return same(plain(tomllib.loads(text)), content)
    except tomllib.TOMLDecodeError:
        return False


def _clean(value: object) -> Any:
    """Without what is null, and without the page's own keys."""
    if isinstance(value, Mapping):
        return {str(key): _clean(one) for key, one in value.items() if one is not None and key != ORIGIN}
    return [_clean(one) for one in value] if isinstance(value, list) else value


def _origins(data: Mapping[str, Any]) -> list[Any]:
    tables = data.get("questions", [])
    return [one.get(ORIGIN) if isinstance(one, Mapping) else None for one in tables] if isinstance(tables, list) else []


def _pieces(text: str) -> list[tuple[str, str]]:
    """The text cut before every table that is not a part of a question, by what it holds."""
    cuts, depth, start = [0], 0, 0
    for token in _TOKEN.finditer(text):
        mark = token.group()
        begins = mark == "[" and depth == 0 and not text[start : token.start()].strip()
        if begins and not _WITHIN.match(text, start):
            cuts.append(_above(text, start))
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(mark, 0)
        if "\n" in mark:
            start = token.end() if mark == "\n" else start
    parts = [text[low:high] for low, high in zip(cuts, [*cuts[1:], len(text)], strict=True)]
    kinds = ["head", *("question" if _is_question(part) else "other" for part in parts[1:])]
    return list(zip(kinds, parts, strict=True))


def _above(text: str, place: int) -> int:
    """Where the comment begins that stands on this line without a gap."""
    while place:
        line = text.rfind("\n", 0, place - 1) + 1
        if not text[line:place].lstrip().startswith("#"):
            break
        place = line
    return place


def _is_question(part: str) -> bool:
    lines = [line for line in part.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return bool(lines and _QUESTIONS.match(lines[0]))


def _in_pieces(text: str, before: Mapping[str, Any], data: Mapping[str, Any], content: dict[str, Any]) -> str | None:
    """Edit each piece by itself; None if the file is not written so that this can be done."""
    pieces, old = _pieces(text), before.get("questions", [])
    blocks = [part for kind, part in pieces if kind == "question"]
    around = "".join(part for kind, part in pieces if kind != "question")
    if blocks:
        blocks[-1], tail = _without_tail(blocks[-1])
    else:
        tail = ""
    own = {key: value for key, value in before.items() if key != "questions"}
    if not _reads_as(around + tail, own) or [_question(part) for part in blocks] != old:
        return None
    rest = {key: value for key, value in content.items() if key != "questions"}
    first = next((place for place, (kind, _) in enumerate(pieces) if kind == "question"), 1)
    head = "".join(part for _, part in pieces[:first])
    after = tail + "".join(part for kind, part in pieces[first:] if kind != "question")
    below = plain(tomllib.loads(after))
    late = {key for key in rest if key in below or (key not in own and _is_table_of_file(key))}
    above = {key: value for key, value in own.items() if key not in below}
    head = _merged(head, above, {key: value for key, value in rest.items() if key not in late})
    after = _merged(after, below, {key: value for key, value in rest.items() if key in late})
    written = [
        _block(blocks[origin], old[origin], table) if _fits(origin, old) else _block("", {}, table)
        for origin, table in zip(_origins(data), content.get("questions", []), strict=True)
    ]
    return _joined([head, *written, after]) if written != blocks else head + "".join(blocks) + after


def _fits(origin: object, old: list[Any]) -> bool:
    return isinstance(origin, int) and not isinstance(origin, bool) and 0 <= origin < len(old)


def _question(part: str) -> Any:
    try:
        return plain(tomllib.loads(part))["questions"][0]
    except tomllib.TOMLDecodeError:
        return None


def _without_tail(block: str) -> tuple[str, str]:
    """The last question, and comments at the end of the file that a blank line sets apart from it."""
    gap = list(re.finditer(r"\n[ \t]*\n(?=[ \t]*#)", block))
    for place in gap:
        if all(not line.strip() or line.lstrip().startswith("#") for line in block[place.end() :].splitlines()):
            return block[: place.end()], block[place.end() :]
    return block, ""


def _block(part: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """One question: as it was, with what differs, or a new one."""
    if part and same(old, new):
        return part
    if not part:
        return "[[questions]]\n" + str(extra("tomlkit").dumps(_item(new, inline=False)))
    document = extra("tomlkit").parse(part)
    _merge(document["questions"][0], old, new)
    return str(document.as_string())


def _joined(parts: list[str]) -> str:
    """Pieces one below the other, with a blank line between them."""
    text = ""
    for part in filter(str.strip, parts):
        gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
        text += gap + part
    return text if text.endswith("\n") else f"{text}\n"


def _merged(text: str, before: Mapping[str, Any], content: Mapping[str, Any]) -> str:
    """The text with what differs, and the very same where nothing does."""
    if same(before, content):
        return text
    document = extra("tomlkit").parse(text)
    _merge(document, before, content)
    return str(document.as_string())


def _merge(table: Any, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    for key in old:
        if key not in new:
            table.remove(key)
    for key, value in new.items():
        if key not in old:
            table[key] = _item(value, inline=not _is_table_of_file(key))
        elif isinstance(old[key], Mapping) and isinstance(value, Mapping):
            _merge(table[key], old[key], value)
        elif not same(old[key], value):
            if _are_tables(old[key]) and _are_tables(value) and len(value) == len(old[key]):
                for place, (one, other) in enumerate(zip(old[key], value, strict=True)):
                    _merge(table[key][place], one, other)
            else:
                table[key] = _item(value, inline=not _is_table_of_file(key))


def _are_tables(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, Mapping) for one in value)


def _is_table_of_file(key: str) -> bool:
    return key in ("protection", "words", "questions")


def _item(value: object, *, inline: bool = True) -> Any:
    """A value as tomlkit writes it: tables in one line, long texts in several."""
    kit = extra("tomlkit")
    if isinstance(value, Mapping):
        table = kit.inline_table() if inline else kit.table()
        for key, one in value.items():
            table[key] = _item(one)
        return table
    if isinstance(value, list):
        array = kit.array()
        if not inline and value and isinstance(value[0], Mapping):
            array = kit.aot()
        for one in value:
            array.append(_item(one, inline=inline))
        return array
    if isinstance(value, str) and "\n" in value and not value.startswith("\n") and '"""' not in value:
        return kit.string(value, multiline=True)
    return value
