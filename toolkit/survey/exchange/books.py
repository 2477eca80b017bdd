"""Codebooks as documents for people and as DDI-Codebook 2.5 for archives, with the code that computes each estimate."""

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from toolkit.analysis.reports import estimated_labels
from toolkit.core.checks import check_choice, reject
from toolkit.local.protocol import Randomizer
from toolkit.survey.consent.page_data import headings
from toolkit.survey.export import codebook
from toolkit.survey.questions.question import (
    Question,
    answer_codes,
    coded_labels,
    inserted_names,
    printed_answers,
    readable_text,
)
from toolkit.survey.spec import Survey
from toolkit.survey.stat_files import column_name_in_file, reports_are_sets
from toolkit.texts.document import Block, Document
from toolkit.texts.multilingual import text_in
from toolkit.texts.phrases import phrases

SUFFIXES = (".json", ".md", ".html", ".docx", ".pdf", ".xml")
_NAMESPACE = "ddi:codebook:2_5"
_WIDEST = 12
_REPORTS = (
    "A column that is marked as randomized contains randomized reports and not answers: the share of reports that are "
    "yes is not the share of people whose answer is yes. Each such column comes with its estimator."
)
_CODES = (
    "Files in .sav and .dta format contain codes; all others contain the answers themselves. An answer that is a whole "
    "number of up to nine digits is its own code."
)
_ORDER = "Asked in random order, which was not stored: {names}."
_INSERTED = "In place of {{answer:…}}, people read the labels of their answers to: {names}."
_EMPTY = (
    "Missing values: .sav files have two negative codes, the lower one for a question that was not asked because of an "
    "earlier answer, and the other for a question that was left out; .dta files have .a and .b; all others have an "
    "empty cell in both cases."
)


def write_codebook(survey: Survey, path: str | Path, language: str | None = None, remarks: Sequence[str] = ()) -> Path:
    """Write a codebook: the questions, how answers were randomized, and how to compute each estimate from the reports.

    Parameters
    ----------
    survey : Survey
        The survey that was conducted.
    path : str or Path
        A .json file, which `Survey.load` reads; a .md, .html, .docx or .pdf file for people; or an .xml file for an
        archive, in DDI-Codebook 2.5 with all languages. The code for R, Stata and SPSS reads a data file of the same
        name.
    language : str, optional
        The language of labels and questions; by default the survey's first language.
    remarks : sequence of str
        Remarks about the collection, as complete sentences.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ValueError
        If the file has an unsupported suffix.

    Examples
    --------
    >>> import tempfile
    >>> from toolkit import Question, warner
    >>> cheated = Question("cheated", "Have you ever cheated?", design=warner("3/4"))
    >>> survey = Survey("Exams", [cheated], consent="We are a research group.")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_codebook(survey, f"{folder}/codebook.md").name
    'codebook.md'
    """
    target = Path(path)
    code = survey.languages[0] if language is None else check_choice(language, "language", survey.languages)
    if target.suffix not in SUFFIXES:
        reject(f"a codebook must end in {', '.join(SUFFIXES)}", repr(target.suffix), "nothing was written")
    stem = target.stem.removesuffix(".codebook")
    if target.suffix == ".json":
        text = json.dumps(codebook(survey, remarks), ensure_ascii=False, indent=2) + "\n"
    elif target.suffix == ".xml":
        text = _ddi(survey, stem)
    else:
        return _document(survey, code, stem, remarks).save(target)
    target.write_text(text, encoding="utf-8")
    return target


def program_lines(question: Question) -> dict[str, str]:
    """Return the line of code that computes a question's estimate in each program, or {} if there is none."""
    design = question.design
    if design is None:
        return {}
    if reports_are_sets(question):
        each = enumerate(_scores_by_tick(design), start=1)
        lines = [_by_program(f"{question.name}__{i}", partial(_affine, ends=ends)) for i, ends in each]
        return {program: "\n".join(line[program] for line in lines) for program in lines[0]}
    if design.matrix is not None:
        codes = answer_codes(question)
        scores = np.asarray(design._scores_of_raw_reports(list(range(len(codes))))).reshape(len(codes), -1)
        return _by_program(question.name, partial(_coded, codes=codes, scores=scores))
    ends = _scores_of_bits(design) if question.kind == "number" else None
    return {} if ends is None else _by_program(question.name, partial(_affine, ends=ends))


def _by_program(name: str, lines: Callable[[str], dict[str, str]]) -> dict[str, str]:
    """Return the line of code for each program, with the name of the column in that program's file."""
    files = {"R": ".sav", "Stata": ".dta", "SPSS": ".sav"}
    return {program: lines(column_name_in_file(name, suffix))[program] for program, suffix in files.items()}


def _scores_by_tick(design: Randomizer) -> list[tuple[float, float]]:
    """Return each option's scores for reports without and with this option; other options do not affect them."""
    k = len(design.options)
    sets = [sorted((first + i) % k for i in range(size)) for size in range(k + 1) for first in range(k)]
    reports = [report for report in sets if design._accepts(report)]
    scores = np.asarray(design._scores_of_raw_reports(reports)).reshape(len(reports), -1)
    ends = []
    for option in range(k):
        inside = np.array([option in report for report in reports])
        ends.append((float(scores[~inside, option][0]), float(scores[inside, option][0])))
    return ends


def _scores_of_bits(design: Randomizer) -> tuple[float, float] | None:
    """Return the scores of the reports 0 and 1 if scores are linear in reports, or otherwise None."""
    points = [point for point in range(-50, 200) if design._accepts(point)]
    try:
        scores = np.asarray(design._scores_of_raw_reports(points), dtype=np.float64)
    except TypeError:  # the estimate is not a mean
        return None
    slopes = [(b - a) / (q - p) for (p, a), (q, b) in pairwise(zip(points, scores, strict=True))]
    if not slopes or not np.allclose(slopes, slopes[0], rtol=1e-9):
        return None
    zero = float(scores[0] - points[0] * slopes[0])
    return zero, zero + float(slopes[0])


def _affine(name: str, ends: tuple[float, float]) -> dict[str, str]:
    zero, step = ends[0], ends[1] - ends[0]
    return {
        "R": f"mean({zero!r} + {step!r} * d${name}, na.rm = TRUE)",
        "Stata": f'mata: mean({zero!r} :+ {step!r} :* select(st_data(., "{name}"), st_data(., "{name}") :< .))',
        "SPSS": f"COMPUTE e = {zero!r} + {step!r} * {name}.\nFORMATS e (F16.6).\nDESCRIPTIVES e.",
    }


def _coded(name: str, codes: Sequence[int], scores: Any) -> dict[str, str]:
    """Return lines that look up the scores of each report in a table; Mata compares only matrices of the same shape."""
    rows, single = [[repr(float(score)) for score in row] for row in scores], scores.shape[1] == 1
    code_list = ", ".join(map(str, codes))
    index = f"match(as.numeric(d${name}), c({code_list}))"
    if single:
        r_line = f"mean(c({', '.join(row[0] for row in rows)})[{index}], na.rm = TRUE)"
    else:
        numbers = ", ".join(", ".join(row) for row in rows)
        r_line = f"colMeans(matrix(c({numbers}), ncol = {len(rows[0])}, byrow = TRUE)[{index}, ], na.rm = TRUE)"
    table = " \\ ".join(", ".join(row) for row in rows)
    column = f'select(st_data(., "{name}"), st_data(., "{name}") :< .)'
    recoded = [
        f"RECODE {name} {' '.join(f'({code}={row[index]})' for code, row in zip(codes, rows, strict=True))} "
        f"INTO e{index + 1}."
        for index in range(len(rows[0]))
    ]
    names = " ".join(f"e{index + 1}" for index in range(len(rows[0])))
    return {
        "R": r_line,
        "Stata": f"mata: mean((J(1, {len(codes)}, {column}) :== ({code_list})) * ({table}))",
        "SPSS": "\n".join([*recoded, f"FORMATS {names} (F16.6).", f"DESCRIPTIVES {names}."]),
    }


def _names_in_random_order(survey: Survey) -> str:
    return "all questions" if survey.random_order is True else ", ".join(survey.random_order or ())


def _document(survey: Survey, language: str, stem: str, remarks: Sequence[str]) -> Document:
    book = codebook(survey, remarks)
    facts = f"Hash {survey.hash}. The privacy loss of one respondent is at most epsilon {survey.loss.epsilon:.4g}."
    opening = f'R: d <- haven::read_sav("{stem}.sav")\nStata: use "{stem}.dta"\nSPSS: GET FILE="{stem}.sav".'
    blocks = [Block("h1", f"Codebook: {headings(survey)[language]}"), Block("p", facts), Block("p", _REPORTS)]
    blocks += [*(Block("p", remark) for remark in book["remarks"]), Block("p", _CODES), Block("p", _EMPTY)]
    blocks += [Block("p", _ORDER.format(names=_names_in_random_order(survey)))] if survey.random_order else []
    blocks += [Block("p", "The lines below compute each estimate once the file is read:"), Block("code", opening)]
    for question in survey.questions:
        blocks += [Block("h2", question.name), Block("p", text_in(question.text, language))]
        blocks += _question_blocks(survey, question, language, book["columns"][question.name])
    return Document(tuple(blocks), language)


def _question_blocks(survey: Survey, question: Question, language: str, column: dict[str, Any]) -> list[Block]:
    sentences = phrases(language, survey.words)
    options = printed_answers(question)
    codes: Sequence[Any] = answer_codes(question) or range(len(options))
    if reports_are_sets(question):
        codes = [column_name_in_file(f"{question.name}__{number}", ".sav") for number in range(1, len(options) + 1)]
    label_rows = [
        (str(code), str(option), question.label(option, language, sentences))
        for code, option in zip(codes, options, strict=True)
    ]
    kind = "column" if reports_are_sets(question) else "code"
    head = (kind, "report" if question.randomized else "answer", "label")
    blocks = [Block("table", rows=(head, *label_rows))] if label_rows else []
    if inserted := inserted_names(question.text):
        blocks.append(Block("p", _INSERTED.format(names=", ".join(dict.fromkeys(inserted)))))
    if question.show_if:
        condition = "; ".join(f"{name} is {' or '.join(map(str, those))}" for name, those in question.show_if.items())
        blocks.append(Block("p", f"Asked if {condition}."))
    if question.random_order:
        blocks.append(Block("p", "Options in random order, which was not stored."))
    if question.design is None:
        reading = [Block("p", f"Reading: {column['reading']}.")] if "reading" in column else []
        return [*blocks, *reading, Block("p", "Plain: the answer as it was given.")]
    cost = f"epsilon {question.loss.epsilon:.6g}"
    blocks.append(Block("p", f"Randomized ({question.mode}), {cost}. {question.design.describe()}"))
    if question.anchor is not None:
        blocks.append(Block("p", f"An anchor: everybody's true answer is {question.anchor}."))
    if "reading" in column and question.design.matrix is None:
        blocks.append(Block("p", f"Reading: {column['reading']}."))
    blocks += _matrix(question.design)
    lines = program_lines(question)
    if not lines:
        why = "Its estimate needs more than a line of code; use toolkit.survey.read_reports and estimate."
        return [*blocks, Block("p", why)]
    names = ", ".join(map(str, estimated_labels(question.design)))
    blocks.append(Block("p", f"Estimator: the mean of unbiased scores of the reports. It estimates: {names}."))
    return [*blocks, Block("code", "\n".join(f"{program}: {line}" for program, line in lines.items()))]


def _matrix(design: Randomizer) -> list[Block]:
    if design.matrix is None:
        return []
    if max(design.matrix.shape) > _WIDEST:
        return [Block("p", "The probabilities of its reports are in the .json codebook.")]
    head = ("truth \\ report", *map(str, design.report_options))
    rows = [
        (str(option), *(f"{chance:.6g}" for chance in row))
        for option, row in zip(design.options, design.matrix, strict=True)
    ]
    return [Block("table", rows=(head, *rows))]


def _ddi(survey: Survey, stem: str) -> str:
    """Return the DDI codebook in all languages, with the design of each column as JSON in its notes."""
    ET.register_namespace("", _NAMESPACE)
    root = ET.Element(f"{{{_NAMESPACE}}}codeBook", {"version": "2.5"})
    study = _element(root, "stdyDscr")
    title = _element(_element(study, "citation"), "titlStmt")
    _element(title, "titl", survey.name)
    _element(title, "IDNo", survey.hash, agency="SHA-256")
    collection = _element(_element(study, "method"), "dataColl")
    _element(collection, "collMode", "Answers to questions with a design were randomized before anybody received them.")
    _element(collection, "collSitu", _REPORTS)
    file = _element(_element(root, "fileDscr", ID="F1"), "fileTxt")
    _element(file, "fileName", f"{stem}.sav")
    data = _element(root, "dataDscr")
    for question in survey.questions:
        indices = range(1, len(question.options) + 1) if reports_are_sets(question) else [0]
        for index in indices:
            _variable(data, survey, question, index)
    ET.indent(root)
    return f"<?xml version='1.0' encoding='UTF-8'?>\n{ET.tostring(root, encoding='unicode')}\n"


def _variable(data: object, survey: Survey, question: Question, index: int) -> None:
    """Add one column; `index` counts the options of a set from 1 and is 0 for other questions."""
    name = f"{question.name}__{index}" if index else question.name
    column = column_name_in_file(name, ".sav")
    labels: list[Any] = [0, 1] if index else list(coded_labels(question))
    values = [0, 1] if index else answer_codes(question)
    kind = "contin" if question.kind == "number" else "discrete"
    var = _element(data, "var", ID=f"V_{column}", name=column, files="F1", intrvl=kind)
    option = f" ({question.options[index - 1]})" if index else ""
    for code in survey.languages:
        _element(var, "labl", f"{readable_text(question, code)}{option}", lang=code)
    wording = _element(var, "qstn")
    for code in survey.languages:
        _element(wording, "qstnLit", text_in(question.text, code), lang=code)
    design = question.design
    cost = f"epsilon {question.loss.epsilon:.6g}"
    _element(var, "txt", "Plain." if design is None else f"Randomized, {cost}. {design.describe()}")
    for value, label in zip(values, labels, strict=True):
        category = _element(var, "catgry")
        _element(category, "catValu", str(value))
        for code in survey.languages:
            tick_label = ("not ticked", "ticked")[label] if index else None
            text = tick_label or question.label(label, code, phrases(code, survey.words))
            _element(category, "labl", text, lang=code)
    if design is not None:
        _element(var, "notes", json.dumps(design.to_dict()), type="randomization")
        for program, line in program_lines(question).items():
            _element(var, "notes", line, type="estimator", subject=program)


def _element(parent: Any, tag: str, text: str | None = None, lang: str | None = None, **attributes: str) -> Any:
    child = ET.SubElement(parent, f"{{{_NAMESPACE}}}{tag}", attributes)
    child.text = text
    if lang is not None:
        child.set("{http://www.w3.org/XML/1998/namespace}lang", lang)
    return child
