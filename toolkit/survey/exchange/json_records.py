"""Reading JSON exports of SurveyJS and jsPsych: objects with one key per column, one after another or in lists."""

import json
import re
from collections.abc import Iterator
from typing import Any

from toolkit.survey.questions.strict_json import decoder

_NOT_SPACE = re.compile(r"\S")


def json_records(text: str, *, max_digits: int) -> list[dict[str, Any]]:
    """Return the objects in a text of one or more JSON documents, each an object or a list of objects.

    Files of several people may be joined, as JATOS does. A list or an object in a cell becomes its JSON text. If the
    text is something else, a ValueError without a quotation is raised.

    >>> json_records('[{"cheated": "yes", "tried": [0, 1]}] {"cheated": "no"}', max_digits=20)
    [{'cheated': 'yes', 'tried': '[0,1]'}, {'cheated': 'no'}]
    """
    try:
        return [record for document in _documents(text, max_digits) for record in _objects(document)]
    except (ValueError, RecursionError):
        raise ValueError("not a sequence of JSON objects") from None


def _documents(text: str, max_digits: int) -> Iterator[Any]:
    position = 0
    while start := _NOT_SPACE.search(text, position):
        document, position = decoder(max_digits).raw_decode(text, start.start())
        yield document


def _objects(document: Any) -> Iterator[dict[str, Any]]:
    for entry in document if isinstance(document, list) else [document]:
        if not isinstance(entry, dict):
            raise ValueError("not an object")
        yield {key: _cell(value) for key, value in entry.items()}


def _cell(value: Any) -> Any:
    return json.dumps(value, separators=(",", ":")) if isinstance(value, list | dict) else value
