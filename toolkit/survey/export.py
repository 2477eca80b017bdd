"""Export of reports and results to files for other programs, with a codebook."""

import json
import os
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit.core.checks import check_choice, reject
from toolkit.core.extras import check_extras, extra
from toolkit.core.tables import escape_formulas
from toolkit.local.protocol import Randomizer
from toolkit.survey.consent.page_data import scale
from toolkit.survey.questions.declaring import plain_data
from toolkit.survey.questions.question import Question, answer_codes, coded_labels, printed_answers
from toolkit.survey.questions.survey_fields import CHANNEL, PERSON
from toolkit.survey.spec import OPEN_ACCESS_REMARK, REHEARSAL_REMARK, Survey
from toolkit.survey.stat_files import write_stat
from toolkit.texts.multilingual import text_in
from toolkit.texts.phrases import phrases

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".csv", ".parquet", ".feather", ".sav", ".dta")
METADATA = b"toolkit.codebook"
"""The key of the codebook in the metadata of .parquet and .feather files."""

_REQUIRED_PACKAGES = {".parquet": "pyarrow", ".feather": "pyarrow", ".sav": "pyreadstat", ".dta": "pyreadstat"}
_CHANNEL_REMARK = "The column channel tells whether a report comes from a phone or from a sheet of paper."


def write(
    frame: "pd.DataFrame",
    path: str | Path,
    survey: Survey | None = None,
    *,
    remarks: Sequence[str] = (),
    language: str | None = None,
) -> Path:
    """Write a frame to a file; if a survey is given, also write its codebook to name.codebook.json beside the file.

    `remarks` are sentences about the collection for the codebook. `language` is the language of the labels in .sav and
    .dta files, which require a survey. Only the owner can read the file. In a CSV file, strings that a spreadsheet
    would interpret as formulas are prefixed with an apostrophe; see `toolkit.core.tables.escape_formulas`.
    """
    target = Path(path)
    if target.suffix not in SUFFIXES:
        reject(f"a file of reports must end in {' or '.join(SUFFIXES)}", repr(target.suffix), "nothing was written")
    if target.suffix in _REQUIRED_PACKAGES:
        check_extras(_REQUIRED_PACKAGES[target.suffix])
    codebook_data = (
        None if survey is None else codebook(survey, [*remarks, _CHANNEL_REMARK] if CHANNEL in frame else remarks)
    )
    if survey is None and _REQUIRED_PACKAGES.get(target.suffix) == "pyreadstat":
        reject(f"a {target.suffix} file needs a survey", "none", "the survey defines the codes and labels")
    with _private_file(target) as file:
        if target.suffix == ".csv":
            frame.map(escape_formulas).to_csv(file, index=False)
        elif survey is not None and _REQUIRED_PACKAGES[target.suffix] == "pyreadstat":
            label_language = (
                survey.languages[0] if language is None else check_choice(language, "language", survey.languages)
            )
            write_stat(frame, file, target.suffix, survey, label_language, _spss_notes(survey))
        else:
            _write_arrow(frame, file, target.suffix, codebook_data)
    if codebook_data is not None:
        codebook_path = target.with_name(f"{target.stem}.codebook.json")
        codebook_path.write_text(json.dumps(codebook_data, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return target


def _write_arrow(frame: "pd.DataFrame", path: Path, suffix: str, book: dict[str, Any] | None) -> None:
    """Write a .parquet or .feather file with the codebook in its metadata, which other programs may discard."""
    table = extra("pyarrow").Table.from_pandas(frame, preserve_index=False)
    if book is not None:
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), METADATA: json.dumps(book)})
    if suffix == ".parquet":
        extra("pyarrow.parquet").write_table(table, path)
    else:
        extra("pyarrow.feather").write_feather(table, path)


def _spss_notes(survey: Survey) -> list[str]:
    """Return the notes of an SPSS file, wrapped to the line length that SPSS requires."""
    hidden = [question for question in survey.questions if question.design is not None]
    sentences = [
        "Reports, not answers: columns marked RANDOMIZED were changed by chance.",
        f"Survey hash {survey.hash}",
        f"Epsilon of all questions {survey.loss.epsilon:.6g}",
        *(f"{question.name}: {question.design.describe()}" for question in hidden if question.design is not None),
    ]
    return [line for text in sentences for line in textwrap.wrap(text, 40)]  # SPSS allows 80 bytes


@contextmanager
def _private_file(path: Path) -> Iterator[Path]:
    """Yield a temporary file that only its owner can read; when complete, it replaces `path`."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}")
    os.close(handle)
    try:
        yield Path(name)
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)


def codebook(survey: Survey, remarks: Sequence[str] = ()) -> dict[str, Any]:
    """Return a description of questions, designs and columns that is sufficient for estimation without this toolkit."""
    language = survey.languages[0]
    standing_remarks = [
        *([REHEARSAL_REMARK] if survey.rehearsal else []),
        *([OPEN_ACCESS_REMARK] if survey.access == "open" else []),
    ]
    return {
        "title": survey.name,
        "hash": survey.hash,
        "rehearsal": survey.rehearsal,
        "access": survey.access,
        "remarks": list(dict.fromkeys([*standing_remarks, *remarks])),
        "epsilon": plain_data(survey.loss.epsilon),
        "consent": survey.consent_text(),
        "survey": survey.to_dict(),
        "labels": {code: _labels_by_question(survey, code) for code in survey.languages},
        "columns": {question.name: _column(question, language) for question in survey.questions},
        **_wave_fields(survey),
    }


def _labels_by_question(survey: Survey, language: str) -> dict[str, Any]:
    """Return the text of each question in one language, and the labels of its answers or reports in code order."""
    sentences = phrases(language, survey.words)
    return {
        question.name: {
            "text": text_in(question.text, language),
            "values": [question.label(option, language, sentences) for option in printed_answers(question)],
        }
        for question in survey.questions
    }


def _wave_fields(survey: Survey) -> dict[str, Any]:
    """Return the fields about waves: their number, the current wave, the panel, and the column that links reports."""
    if survey.waves == 1:
        return {}
    note = f"the column {PERSON} joins reports of one phone over waves; it is not an answer"
    return {"waves": survey.waves, "wave": survey.wave, "panel": survey.panel and survey.panel.identity, PERSON: note}


def _column(question: Question, language: str) -> dict[str, Any]:
    """Return the description of a question's column."""
    column: dict[str, Any] = {"text": text_in(question.text, language), "kind": question.kind, "mode": question.mode}
    if question.options:
        column["options"] = list(question.options)
    if codes := answer_codes(question):
        column["codes"] = dict(zip(map(str, coded_labels(question)), codes, strict=True))
    if question.anchor is not None:
        column["anchor"] = question.anchor
    if question.design is None:
        return {**column, "randomized": False, **({"reading": _TICKS_MEANING} if question.multiple else {})}
    column |= {"randomized": True, "epsilon": plain_data(question.loss.epsilon), "design": question.design.to_dict()}
    if question.memo is not None:
        column["memo"] = question.memo.to_dict()
    reading = _report_meaning(question, question.design)
    return column if reading is None else {**column, "reading": reading}


_TICKS_MEANING = "the indices of the options, from 0, that were ticked"
_REPORT_MEANINGS = {
    "random_box": "[box, ticked]: the index of one option, from 0, and 1 for ticked or 0 for not, as sent",
    "capped_boxes": "the indices of the options, from 0, that were sent as ticked",
    "subset": "the indices of the options, from 0, in the set that was sent",
    "unary": "the indices of the options, from 0, for which a yes was sent",
    "one_bit": "0 is a no and 1 is a yes, as sent",
    "local_hash": "[group, …]: the group that was sent, and the parameters of the hash function that formed groups",
}
"""The meaning of a column of reports, by kind of randomizer."""


def _report_meaning(question: Question, design: Randomizer) -> str | None:
    """Describe how to read a report in the column of a question."""
    if design.matrix is not None:
        return "weights[truth][report] / denominator is the probability of a report, given the truth"
    if question.kind != "number" or design.name in _REPORT_MEANINGS:
        return _REPORT_MEANINGS.get(design.name)
    parameters = scale(design)
    number = f"a report r is the number {parameters['zero']:.12g} + {parameters['step']:.12g} * r"
    return f"0 is a no and 1 is a yes; any other {number[2:]}" if parameters["bits"] else number
