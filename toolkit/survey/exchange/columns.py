"""The columns of a question in a file: a single column, or one column for each option."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from toolkit.core.checks import reject
from toolkit.survey.exchange.raw_files import RawTable
from toolkit.survey.stat_files import column_name_in_file

ColumnNames = Mapping[str, str | Mapping[Any, str]]

_NOTHING = "nothing was read"


@dataclass(frozen=True)
class BoxName:
    """A pattern for the name of an option's column: a prefix, the option, and a suffix.

    `endings` states how the option is written: by name or label ("names"), by number ("numbers" or "SQ001"), or by
    either of them ("codes").
    """

    start: str
    end: str
    endings: str


_BOX_NAMES = {
    "REDCap": BoxName("{column}___", "", "codes"),
    "Kobo": BoxName("{column}/", "", "names"),
    "LimeSurvey": BoxName("{column}[", "]", "codes"),
    "LimeSurvey, numbered": BoxName("{column}[SQ", "]", "SQ001"),
    "Qualtrics": BoxName("{column}_", "", "numbers"),
    "REDCap, labeled": BoxName("{text} (choice=", ")", "names"),
    "Kobo, labeled": BoxName("{text}/", "", "names"),
    "LimeSurvey, labeled": BoxName("{text} [", "]", "names"),
}


class ColumnFinder:
    """An index of the columns of a file, which finds the columns of a question by name or wording.

    `names` is the argument `columns` of `read_reports`.
    """

    def __init__(self, raw: RawTable, names: ColumnNames) -> None:
        self._raw, self._names = raw, names
        self._by_end, self._by_text = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
        for name in map(str, raw.frame):
            self._by_end[_last_part(name)].append(name)
            for text in {_normalize(name), _normalize(raw.texts.get(name, ""))}:
                self._by_text[text].append(name)

    def column(self, name: str, texts: Sequence[str] = ()) -> str | None:
        """Return the column of a question, or None; its wording and the last part of a path also count as names."""
        columns = self._names.get(name)
        if columns is not None:
            # If each option has a column, the caller gives the shared part of their names, which is not itself a
            # column.
            return columns if isinstance(columns, str) and columns in self._raw.frame else None
        names = [name, *(column_name_in_file(name, suffix) for suffix in (".sav", ".dta"))]
        if exact_matches := [column for column in names if column in self._raw.frame]:
            return exact_matches[0]
        for matches in (self._by_end[name.casefold()], *(self._by_text[_normalize(text)] for text in texts)):
            if len(matches) > 1:
                advice = f"{_NOTHING}; state which, columns={{{name!r}: {matches[0]!r}}}"
                reject(f"only one column must match the question {name!r}", ", ".join(matches[:4]), advice)
            if matches:
                return matches[0]
        return None

    def boxes(self, name: str, texts: Sequence[str], option_names: Sequence[Sequence[str]]) -> list[str] | None:
        """Return the column of each option, or None.

        `option_names` contains the names of all options in the survey, in a form, and in each language.
        """
        columns = self._names.get(name, name)
        if not isinstance(columns, str):
            return self._named_boxes(name, columns, option_names)
        if name in self._names and columns in self._raw.frame:
            return None
        if boxes := self._boxes_by_text(columns, option_names) or self._exported_boxes(columns, len(option_names[0])):
            return boxes
        numbers = [str(number) for number in range(1, len(option_names[0]) + 1)]
        padded = [number.zfill(3) for number in numbers]
        endings: dict[str, list[Sequence[str]]]
        endings = {"names": [*option_names, numbers], "numbers": [numbers], "SQ001": [padded]}
        endings["codes"] = endings["names"]
        for box in _BOX_NAMES.values():
            starts = [
                box.start.format(column=columns, text=text) for text in (texts if "{text}" in box.start else [""])
            ]
            pairs = [(start, names) for start in starts for names in endings[box.endings]]
            matches = [
                (boxes, names) for start, names in pairs if (boxes := self._matching_columns(start, names, box.end))
            ]
            if not matches:
                continue
            boxes, names = matches[0]
            # If options are numbers, a code may be an option or its position.
            if box.endings == "codes" and any(other != boxes for other, _ in matches):
                _reject_boxes(name, "numbers that may be options or positions", option_names[0], boxes)
            start = boxes[0][: -len(f"{names[0]}{box.end}")]
            self._check_extra(name, boxes, (start, box.end), option_names[0], numbered=box.endings == "numbers")
            return boxes
        return None

    def _matching_columns(self, prefix: str, endings: Sequence[str], suffix: str) -> list[str] | None:
        matches = [self._columns_ending_with(f"{prefix}{ending}{suffix}") for ending in endings]
        return [names[0] for names in matches] if all(len(names) == 1 for names in matches) else None

    def _columns_ending_with(self, end: str) -> list[str]:
        return [name for name in self._by_end.get(_last_part(end), []) if _has_path(name, end)]

    def _exported_boxes(self, column: str, options: int) -> list[str] | None:
        """Return the columns that `toolkit export` writes."""
        numbers = range(1, options + 1)
        for suffix in (".sav", ".dta"):
            if boxes := self._matching_columns(
                "", [column_name_in_file(f"{column}__{number}", suffix) for number in numbers], ""
            ):
                return boxes
        return None

    def _boxes_by_text(self, column: str, option_names: Sequence[Sequence[str]]) -> list[str] | None:
        """Return numbered columns, which are identified by the option at the end of their wording.

        Their numbers alone are not reliable, because Qualtrics skips the numbers of deleted options.
        """
        pattern = re.compile(rf"{re.escape(column)}_\d+", re.IGNORECASE)
        texts = {name: _normalize(text) for name, text in self._raw.texts.items() if text and pattern.fullmatch(name)}
        for options in option_names if texts else ():
            ends = {option: f" - {_normalize(option)}" for option in options}
            owners = {}
            for name, text in texts.items():
                # If two options match, such as "beer" and "root - beer", the longer name is meant.
                owners[name] = max((x for x in options if text.endswith(ends[x])), key=len, default=None)
            if sorted(map(str, owners.values())) == sorted(options):
                by_option = {option: name for name, option in owners.items()}
                return [by_option[option] for option in options]
        return None

    def _named_boxes(
        self, name: str, columns_by_option: Mapping[Any, str], option_names: Sequence[Sequence[str]]
    ) -> list[str]:
        """Return the columns that the caller gives for the options; an option may be given by any of its names."""
        by_name = {str(option): column for option, column in columns_by_option.items()}
        by_option = [
            next((by_name[x] for x in names if x in by_name), None) for names in zip(*option_names, strict=True)
        ]
        pairs = zip(option_names[0], by_option, strict=True)
        if absent := [option for option, column in pairs if column not in self._raw.frame]:
            rule = f"`columns` must name a column of the file for each option of {name!r}"
            reject(rule, f"none for {', '.join(absent[:8])}", f"{_NOTHING}; {_boxes_advice(name, option_names[0], [])}")
        return [str(column) for column in by_option]

    def _check_extra(
        self, name: str, boxes: list[str], ends: tuple[str, str], options: Sequence[str], *, numbered: bool
    ) -> None:
        """Reject columns of options that the question does not have, because their ticks would be lost."""
        start, end = map(re.escape, ends)
        middle = r"\d+" if numbered else r"[^/]+"
        pattern = re.compile(f"{start}{middle}{end}", re.IGNORECASE)
        box_names = set(boxes)
        others = [column for column in map(str, self._raw.frame) if column not in box_names]
        if extras := [column for column in others if pattern.fullmatch(column)]:
            _reject_boxes(name, f"{', '.join(extras[:4])} besides", options, boxes)


def _reject_boxes(name: str, received: str, options: Sequence[str], boxes: Sequence[str]) -> NoReturn:
    rule = f"each option of {name!r} must have one column"
    reject(rule, received, f"{_NOTHING}; {_boxes_advice(name, options, boxes)}")


def _boxes_advice(name: str, options: Sequence[str], boxes: Sequence[str]) -> str:
    column = boxes[0] if boxes else "…"
    return f"state which, columns={{{name!r}: {{{options[0]!r}: {column!r}, …}}}}"


def _last_part(name: str) -> str:
    return re.split(r"[/.]", name)[-1].casefold()


def _has_path(name: str, end: str) -> bool:
    folded = f"/{name}".casefold()
    return folded.endswith((f"/{end}".casefold(), f".{end}".casefold()))


def _normalize(text: str) -> str:
    return " ".join(text.split()).casefold()
