"""Reports and results as files for other programs, with a codebook that says what they mean."""

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from toolkit.core.checks import refuse
from toolkit.core.extras import check_extras
from toolkit.local.protocol import Randomizer
from toolkit.survey.consent.page_data import scale
from toolkit.survey.question import Question
from toolkit.survey.reading.survey_results import OPEN_ACCESS, TRIED_OUT
from toolkit.survey.reading.table import CHANNEL
from toolkit.survey.spec import Survey
from toolkit.survey.writing.survey_fields import PERSON

if TYPE_CHECKING:
    import pandas as pd

_FORMULA = re.compile(r"^[=+\-@\t\r]")
SUFFIXES = (".csv", ".parquet")
_CHANNELS = "The column channel says where a report comes from: a phone, or a sheet of paper that was typed in."


def write(
    frame: "pd.DataFrame", path: str | Path, survey: Survey | None = None, *, remarks: Sequence[str] = ()
) -> Path:
    """Write a frame as .csv or .parquet; with a survey, its codebook comes beside it, as name.codebook.json.

    `remarks` are sentences about the collection, for the codebook. The reports are for their owner's eyes: nobody else
    on the machine can read the file. In a CSV file a text that a spreadsheet would take for a formula gets a leading
    apostrophe, as "=1+1" in a comment.
    """
    target = Path(path)
    if target.suffix not in SUFFIXES:
        refuse(f"a file of reports must end in {' or '.join(SUFFIXES)}", repr(target.suffix), "nothing was written")
    if target.suffix == ".parquet":
        check_extras("pyarrow")
    told = [*remarks, _CHANNELS] if CHANNEL in frame else remarks
    with _private(target) as file:
        if target.suffix == ".csv":
            frame.map(harmless).to_csv(file, index=False)
        else:
            frame.to_parquet(file, index=False)
    if survey is not None:
        note = target.with_name(f"{target.stem}.codebook.json")
        note.write_text(json.dumps(codebook(survey, told), ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return target


@contextmanager
def _private(path: Path) -> Iterator[IO[bytes]]:
    """A file that only its owner can read, from its first byte on and even if it was there before."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:  # noqa: PTH123  a descriptor
        path.chmod(0o600)
        yield file


def harmless(value: Any) -> Any:
    """A text that no spreadsheet takes for a formula; anything else as it is.

    >>> harmless("=HYPERLINK(1)"), harmless("fine"), harmless(-3)
    ("'=HYPERLINK(1)", 'fine', -3)
    """
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def codebook(survey: Survey, remarks: Sequence[str] = ()) -> dict[str, Any]:
    """What was asked, how answers were hidden, and what the columns mean: enough to estimate without this toolkit."""
    language = survey.languages[0]
    always = [*([TRIED_OUT] if survey.rehearsal else []), *([OPEN_ACCESS] if survey.access == "open" else [])]
    return {
        "title": survey.name,
        "hash": survey.hash,
        "rehearsal": survey.rehearsal,
        "access": survey.access,
        "remarks": list(dict.fromkeys([*always, *remarks])),
        "epsilon": survey.loss.epsilon,
        "consent": survey.consent_text(),
        "columns": {question.name: _column(question, language) for question in survey.questions},
        **_waves(survey),
    }


def _waves(survey: Survey) -> dict[str, Any]:
    """Which wave it is, and what joins it with the others."""
    if survey.waves == 1:
        return {}
    note = f"the column {PERSON} joins reports of one phone over waves; it is no answer"
    return {"waves": survey.waves, "wave": survey.wave, "panel": survey.panel and survey.panel.identity, PERSON: note}


def _column(question: Question, language: str) -> dict[str, Any]:
    text = question.text if isinstance(question.text, str) else question.text[language]
    column: dict[str, Any] = {"text": text, "kind": question.kind, "mode": question.mode}
    if question.options:
        column["options"] = list(question.options)
    if question.anchor is not None:
        column["anchor"] = question.anchor
    if question.design is None:
        return {**column, "randomized": False}
    column |= {"randomized": True, "epsilon": question.loss.epsilon, "design": question.design.to_dict()}
    if question.memo is not None:
        column["memo"] = question.memo.to_dict()
    reading = _reading(question, question.design)
    return column if reading is None else {**column, "reading": reading}


_READINGS = {
    "random_box": "[box, ticked]: the place of one option, from 0, and 1 for ticked or 0 for not, as sent",
    "capped_boxes": "the places of the options, from 0, that were sent as ticked",
    "subset": "the places of the options, from 0, in the set that was sent",
    "unary": "the places of the options, from 0, for which a yes was sent",
    "one_bit": "0 is a no and 1 is a yes, as sent",
    "local_hash": "[group, …]: the group that was sent, and the numbers that say how options were sorted",
}
"""What stands in a column of reports, by the kind of their randomizer."""


def _reading(question: Question, design: Randomizer) -> str | None:
    """How a report in the column is to be read, on the scale that was asked for."""
    if design.matrix is not None:
        return "weights[truth][report] / denominator is the probability of a report, given the truth"
    if question.kind != "number" or design.name in _READINGS:
        return _READINGS.get(design.name)
    read = scale(design)
    number = f"a report r is the number {read['zero']:.12g} + {read['step']:.12g} * r"
    return f"0 is a no and 1 is a yes; any other {number[2:]}" if read["bits"] else number
