"""Edit the TOML of a survey and preserve its comments, order, spaces and unchanged questions.

The text is split before each [[questions]] and above the comment directly before it, so a comment moves with its
question. tomlkit writes only what differs. The result is parsed again and rejected unless it equals the new data.
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
"""In data from the page, the key of a question that holds its index in the file before the edit."""

_MAX_SAFE_INTEGER = 2**53
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}]|\n', re.DOTALL
)
_QUESTIONS_HEADER = re.compile(r"""\s*\[\[\s*["']?questions["']?\s*\]\]""")
_QUESTION_SUBTABLE = re.compile(r"""\s*\[{1,2}\s*["']?questions["']?\s*\.""")


def plain(value: object) -> Any:
    """Convert TOML data to what JSON can hold: dates become text, infinity becomes "inf"."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def same(first: object, second: object) -> bool:
    """Return whether two values are equal in a file: true differs from 1, and 3.0 equals 3."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    return isinstance(first, bool) == isinstance(second, bool) and bool(first == second)


def is_safe(value: object) -> bool:
    """Return whether JavaScript can hold the data: integers beyond 2**53 would be rounded."""
    if isinstance(value, Mapping | list):
        return all(map(is_safe, value.values() if isinstance(value, Mapping) else value))
    return not isinstance(value, int) or abs(value) <= _MAX_SAFE_INTEGER


def edited(text: str, data: Mapping[str, Any], *, toml: bool = True) -> str:
    """Return the text of a survey's file with new data, unchanged where the data do not differ.

    The key "#" of a question is its index in the file so far, if it has one. Raises ValueError if the edited text would
    not parse to the new data.
    """
    content = {key: _clean(value) for key, value in data.items() if value is not None}
    if not toml:
        before = plain(json.loads(text))
        return text if same(before, content) else f"{json.dumps(content, indent=2, ensure_ascii=False)}\n"
    before = plain(tomllib.loads(text))
    if same(before, content) and _origins(data) == list(range(len(before.get("questions", [])))):
        return text
    # Editing each question by itself keeps the most of the file. If it is not laid out so, tomlkit edits it as a whole.
    result = _edited_by_section(text, before, data, content)
    if result is None or not _reads_as(result, content):
        result = _merged(text, before, content)
    if not _reads_as(result, content):
        reject("the edited file must parse to the new survey", "a different result", "edit the file by hand")
    return result


def _reads_as(text: str, content: Mapping[str, Any]) -> bool:
    try:
        return same(plain(tomllib.loads(text)), content)
    except tomllib.TOMLDecodeError:
        return False


def _clean(value: object) -> Any:
    """Remove null values and the keys that only the page uses."""
    if isinstance(value, Mapping):
        return {str(key): _clean(item) for key, item in value.items() if item is not None and key != ORIGIN}
    return [_clean(item) for item in value] if isinstance(value, list) else value


def _origins(data: Mapping[str, Any]) -> list[Any]:
    tables = data.get("questions", [])
    if not isinstance(tables, list):
        return []
    return [table.get(ORIGIN) if isinstance(table, Mapping) else None for table in tables]


def _sections(text: str) -> list[tuple[str, str]]:
    """Split the text before every table that is not a part of a question; return (kind, text) pairs."""
    cuts, depth, start = [0], 0, 0
    for token in _TOKEN.finditer(text):
        symbol = token.group()
        # A bracket opens a table if it is the first of its line and outside of all arrays and inline tables.
        begins = symbol == "[" and depth == 0 and not text[start : token.start()].strip()
        if begins and not _QUESTION_SUBTABLE.match(text, start):
            cuts.append(_comment_start(text, start))
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(symbol, 0)
        if "\n" in symbol:
            start = token.end() if symbol == "\n" else start
    sections = [text[low:high] for low, high in zip(cuts, [*cuts[1:], len(text)], strict=True)]
    kinds = ["head", *("question" if _is_question(section) else "other" for section in sections[1:])]
    return list(zip(kinds, sections, strict=True))


def _comment_start(text: str, line: int) -> int:
    """Return the offset of the comment directly above the line at this offset, or that of the line itself."""
    while line:
        previous = text.rfind("\n", 0, line - 1) + 1
        if not text[previous:line].lstrip().startswith("#"):
            break
        line = previous
    return line


def _is_question(section: str) -> bool:
    lines = [line for line in section.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return bool(lines and _QUESTIONS_HEADER.match(lines[0]))


def _edited_by_section(
    text: str, before: Mapping[str, Any], data: Mapping[str, Any], content: dict[str, Any]
) -> str | None:
    """Edit every section by itself; return None if the layout of the file does not allow it."""
    sections, old = _sections(text), before.get("questions", [])
    blocks = [section for kind, section in sections if kind == "question"]
    around = "".join(section for kind, section in sections if kind != "question")
    if blocks:
        blocks[-1], tail = _without_tail(blocks[-1])
    else:
        tail = ""
    # Each section must mean the same alone as in the file, for example not extend a table of another section.
    fields = {key: value for key, value in before.items() if key != "questions"}
    if not _reads_as(around + tail, fields) or [_question(block) for block in blocks] != old:
        return None
    new_fields = {key: value for key, value in content.items() if key != "questions"}
    first = next((index for index, (kind, _) in enumerate(sections) if kind == "question"), 1)
    head = "".join(section for _, section in sections[:first])
    foot = tail + "".join(section for kind, section in sections[first:] if kind != "question")
    # A field stays above or below the questions. New tables go below, as fields after a table's header belong to it.
    below = plain(tomllib.loads(foot))
    late = {key for key in new_fields if key in below or (key not in fields and _is_table_of_file(key))}
    above = {key: value for key, value in fields.items() if key not in below}
    head = _merged(head, above, {key: value for key, value in new_fields.items() if key not in late})
    foot = _merged(foot, below, {key: value for key, value in new_fields.items() if key in late})
    new_blocks = [
        _block(blocks[origin], old[origin], table) if _is_index(origin, old) else _block("", {}, table)
        for origin, table in zip(_origins(data), content.get("questions", []), strict=True)
    ]
    return _joined([head, *new_blocks, foot]) if new_blocks != blocks else head + "".join(blocks) + foot


def _is_index(origin: object, old: list[Any]) -> bool:
    return isinstance(origin, int) and not isinstance(origin, bool) and 0 <= origin < len(old)


def _question(block: str) -> Any:
    try:
        return plain(tomllib.loads(block))["questions"][0]
    except tomllib.TOMLDecodeError:
        return None


def _without_tail(block: str) -> tuple[str, str]:
    """Split the last question from comments at the end of the file that a blank line separates from it."""
    for gap in re.finditer(r"\n[ \t]*\n(?=[ \t]*#)", block):
        if all(not line.strip() or line.lstrip().startswith("#") for line in block[gap.end() :].splitlines()):
            return block[: gap.end()], block[gap.end() :]
    return block, ""


def _block(text: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return the text of a question with new data; an empty text is a new question."""
    if text and same(old, new):
        return text
    if not text:
        return "[[questions]]\n" + str(extra("tomlkit").dumps(_item(new, inline=False)))
    document = extra("tomlkit").parse(text)
    _merge(document["questions"][0], old, new)
    return str(document.as_string())


def _joined(sections: list[str]) -> str:
    """Join sections with a blank line between them."""
    text = ""
    for section in filter(str.strip, sections):
        gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
        text += gap + section
    return text if text.endswith("\n") else f"{text}\n"


def _merged(text: str, before: Mapping[str, Any], content: Mapping[str, Any]) -> str:
    """Return the text with the fields that differ replaced; without a difference, the text itself."""
    if same(before, content):
        return text
    document = extra("tomlkit").parse(text)
    _merge(document, before, content)
    return str(document.as_string())


def _merge(table: Any, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Change a tomlkit table in place from the old data to the new, touching only what differs."""
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
                for index, (old_item, new_item) in enumerate(zip(old[key], value, strict=True)):
                    _merge(table[key][index], old_item, new_item)
            else:
                table[key] = _item(value, inline=not _is_table_of_file(key))


def _are_tables(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, Mapping) for item in value)


def _is_table_of_file(key: str) -> bool:
    return key in ("protection", "words", "questions")


def _item(value: object, *, inline: bool = True) -> Any:
    """Convert a value for tomlkit: tables become inline tables, texts with line breaks multiline strings."""
    kit = extra("tomlkit")
    if isinstance(value, Mapping):
        table = kit.inline_table() if inline else kit.table()
        for key, item in value.items():
            table[key] = _item(item)
        return table
    if isinstance(value, list):
        array = kit.array()
        if not inline and value and isinstance(value[0], Mapping):
            array = kit.aot()
        for item in value:
            array.append(_item(item, inline=inline))
        return array
    if isinstance(value, str) and "\n" in value and not value.startswith("\n") and '"""' not in value:
        return kit.string(value, multiline=True)
    return value
