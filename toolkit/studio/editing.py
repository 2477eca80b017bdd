"""Edit the TOML of a survey, and preserve its comments, order, whitespace and unchanged questions.

The text is split at each [[questions]] header. A comment directly above the header belongs to the question and moves
with it. tomlkit writes only the differences. The result is parsed again and rejected unless it equals the new data.
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
"""The key, in data from the page, of a question's index in the file before the edit."""

_MAX_SAFE_INTEGER = 2**53
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}]|\n', re.DOTALL
)
_QUESTIONS_HEADER = re.compile(r"""\s*\[\[\s*["']?questions["']?\s*\]\]""")
_QUESTION_SUBTABLE = re.compile(r"""\s*\[{1,2}\s*["']?questions["']?\s*\.""")


def to_json_data(value: object) -> Any:
    """Convert TOML data to JSON data: dates become text, and infinity becomes "inf"."""
    if isinstance(value, Mapping):
        return {str(key): to_json_data(item) for key, item in value.items()}
    if isinstance(value, list):
        return [to_json_data(item) for item in value]
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def are_equal(first: object, second: object) -> bool:
    """Return whether two values are equal in a TOML or JSON file, where true differs from 1 and 3.0 equals 3."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(are_equal(first[key], second[key]) for key in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(are_equal, first, second))
    return isinstance(first, bool) == isinstance(second, bool) and bool(first == second)


def is_javascript_safe(value: object) -> bool:
    """Return whether JavaScript can represent the data; it rounds integers beyond 2**53."""
    if isinstance(value, Mapping | list):
        return all(map(is_javascript_safe, value.values() if isinstance(value, Mapping) else value))
    return not isinstance(value, int) or abs(value) <= _MAX_SAFE_INTEGER


def edit_text(text: str, data: Mapping[str, Any], *, toml: bool = True) -> str:
    """Return the text of a survey's file with new data; parts whose data do not change keep their text.

    The key "#" of a question is its index in the current file, if it has one. Raises ValueError if the edited text
    would not parse to the new data.
    """
    content = {key: _without_nulls(value) for key, value in data.items() if value is not None}
    if not toml:
        before = to_json_data(json.loads(text))
        return text if are_equal(before, content) else f"{json.dumps(content, indent=2, ensure_ascii=False)}\n"
    before = to_json_data(tomllib.loads(text))
    if are_equal(before, content) and _question_origins(data) == list(range(len(before.get("questions", [])))):
        return text
    # Editing each question by itself preserves most of the file. If the layout prevents this, the whole file is edited.
    result = _edit_by_section(text, before, data, content)
    if result is None or not _reads_as(result, content):
        result = _merge_text(text, before, content)
    if not _reads_as(result, content):
        reject("the edited file must parse to the new survey", "a different result", "edit the file by hand")
    return result


def _reads_as(text: str, content: Mapping[str, Any]) -> bool:
    try:
        return are_equal(to_json_data(tomllib.loads(text)), content)
    except tomllib.TOMLDecodeError:
        return False


def _without_nulls(value: object) -> Any:
    """Remove null values and the keys that only the page uses."""
    if isinstance(value, Mapping):
        return {str(key): _without_nulls(item) for key, item in value.items() if item is not None and key != ORIGIN}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _question_origins(data: Mapping[str, Any]) -> list[Any]:
    tables = data.get("questions", [])
    if not isinstance(tables, list):
        return []
    return [table.get(ORIGIN) if isinstance(table, Mapping) else None for table in tables]


def _split_sections(text: str) -> list[tuple[str, str]]:
    """Split the text before every table that is not a part of a question; return (kind, text) pairs."""
    cuts, depth, start = [0], 0, 0
    for token in _TOKEN.finditer(text):
        symbol = token.group()
        # A bracket begins a table if it is the first character of its line and outside all arrays and inline tables.
        begins_table = symbol == "[" and depth == 0 and not text[start : token.start()].strip()
        if begins_table and not _QUESTION_SUBTABLE.match(text, start):
            cuts.append(_comment_start(text, start))
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(symbol, 0)
        if "\n" in symbol:
            start = token.end() if symbol == "\n" else start
    sections = [text[low:high] for low, high in zip(cuts, [*cuts[1:], len(text)], strict=True)]
    kinds = ["head", *("question" if _is_question(section) else "other" for section in sections[1:])]
    return list(zip(kinds, sections, strict=True))


def _comment_start(text: str, line: int) -> int:
    """Return the offset of the comment directly above a line; without a comment, the offset of the line itself."""
    while line:
        previous = text.rfind("\n", 0, line - 1) + 1
        if not text[previous:line].lstrip().startswith("#"):
            break
        line = previous
    return line


def _is_question(section: str) -> bool:
    lines = [line for line in section.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return bool(lines and _QUESTIONS_HEADER.match(lines[0]))


def _edit_by_section(
    text: str, before: Mapping[str, Any], data: Mapping[str, Any], content: dict[str, Any]
) -> str | None:
    """Edit every section separately; return None if the layout of the file does not allow it."""
    sections, old_data = _split_sections(text), before.get("questions", [])
    blocks = [section for kind, section in sections if kind == "question"]
    other_sections = "".join(section for kind, section in sections if kind != "question")
    if blocks:
        blocks[-1], tail = _split_tail(blocks[-1])
    else:
        tail = ""
    # Each section must have the same meaning alone as in the file; it must not extend a table of a different section.
    fields = {key: value for key, value in before.items() if key != "questions"}
    if not _reads_as(other_sections + tail, fields) or [_parse_question(block) for block in blocks] != old_data:
        return None
    new_fields = {key: value for key, value in content.items() if key != "questions"}
    first_question_index = next((index for index, (kind, _) in enumerate(sections) if kind == "question"), 1)
    text_above = "".join(section for _, section in sections[:first_question_index])
    text_below = tail + "".join(section for kind, section in sections[first_question_index:] if kind != "question")
    # A field stays above or below the questions. New tables are added below, because fields after a table's header
    # belong to the table.
    fields_below = to_json_data(tomllib.loads(text_below))
    keys_below = {key for key in new_fields if key in fields_below or (key not in fields and _is_table_of_file(key))}
    fields_above = {key: value for key, value in fields.items() if key not in fields_below}
    text_above = _merge_text(
        text_above, fields_above, {key: value for key, value in new_fields.items() if key not in keys_below}
    )
    text_below = _merge_text(
        text_below, fields_below, {key: value for key, value in new_fields.items() if key in keys_below}
    )
    new_blocks = [
        _edit_question(blocks[origin], old_data[origin], table)
        if _is_question_index(origin, old_data)
        else _edit_question("", {}, table)
        for origin, table in zip(_question_origins(data), content.get("questions", []), strict=True)
    ]
    return (
        _join_sections([text_above, *new_blocks, text_below])
        if new_blocks != blocks
        else text_above + "".join(blocks) + text_below
    )


def _is_question_index(origin: object, old_data: list[Any]) -> bool:
    return isinstance(origin, int) and not isinstance(origin, bool) and 0 <= origin < len(old_data)


def _parse_question(block: str) -> Any:
    try:
        return to_json_data(tomllib.loads(block))["questions"][0]
    except tomllib.TOMLDecodeError:
        return None


def _split_tail(block: str) -> tuple[str, str]:
    """Split the last question from comments that follow it after a blank line at the end of the file."""
    for gap in re.finditer(r"\n[ \t]*\n(?=[ \t]*#)", block):
        if all(not line.strip() or line.lstrip().startswith("#") for line in block[gap.end() :].splitlines()):
            return block[: gap.end()], block[gap.end() :]
    return block, ""


def _edit_question(text: str, old_data: Mapping[str, Any], new_data: Mapping[str, Any]) -> str:
    """Return the text of a question with new data; if the text is empty, the question is new."""
    if text and are_equal(old_data, new_data):
        return text
    if not text:
        return "[[questions]]\n" + str(extra("tomlkit").dumps(_tomlkit_item(new_data, inline=False)))
    document = extra("tomlkit").parse(text)
    _merge_table(document["questions"][0], old_data, new_data)
    return str(document.as_string())


def _join_sections(sections: list[str]) -> str:
    """Join sections with a blank line between them."""
    text = ""
    for section in filter(str.strip, sections):
        gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
        text += gap + section
    return text if text.endswith("\n") else f"{text}\n"


def _merge_text(text: str, before: Mapping[str, Any], content: Mapping[str, Any]) -> str:
    """Return the text with changed fields replaced, or the text itself if no field changes."""
    if are_equal(before, content):
        return text
    document = extra("tomlkit").parse(text)
    _merge_table(document, before, content)
    return str(document.as_string())


def _merge_table(table: Any, old_data: Mapping[str, Any], new_data: Mapping[str, Any]) -> None:
    """Change a tomlkit table in place from the old data to the new data; only differences are written."""
    for key in old_data:
        if key not in new_data:
            table.remove(key)
    for key, value in new_data.items():
        if key not in old_data:
            table[key] = _tomlkit_item(value, inline=not _is_table_of_file(key))
        elif isinstance(old_data[key], Mapping) and isinstance(value, Mapping):
            _merge_table(table[key], old_data[key], value)
        elif not are_equal(old_data[key], value):
            if _are_tables(old_data[key]) and _are_tables(value) and len(value) == len(old_data[key]):
                for index, (old_item, new_item) in enumerate(zip(old_data[key], value, strict=True)):
                    _merge_table(table[key][index], old_item, new_item)
            else:
                table[key] = _tomlkit_item(value, inline=not _is_table_of_file(key))


def _are_tables(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, Mapping) for item in value)


def _is_table_of_file(key: str) -> bool:
    return key in ("protection", "words", "questions")


def _tomlkit_item(value: object, *, inline: bool = True) -> Any:
    """Convert a value for tomlkit: mappings become inline tables, texts with line breaks become multiline strings."""
    tomlkit = extra("tomlkit")
    if isinstance(value, Mapping):
        table = tomlkit.inline_table() if inline else tomlkit.table()
        for key, item in value.items():
            table[key] = _tomlkit_item(item)
        return table
    if isinstance(value, list):
        array = tomlkit.array()
        if not inline and value and isinstance(value[0], Mapping):
            array = tomlkit.aot()
        for item in value:
            array.append(_tomlkit_item(item, inline=inline))
        return array
    if isinstance(value, str) and "\n" in value and not value.startswith("\n") and '"""' not in value:
        return tomlkit.string(value, multiline=True)
    return value
