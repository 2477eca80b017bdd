"""Commands that read a survey file: checks, consent texts, codebooks, forms, and paper sheets."""

import warnings
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit.commands import Options, Subparsers, add_command, add_json_option, echo, echo_json, print_error
from toolkit.core.checks import reject
from toolkit.survey.plan import plan_table
from toolkit.survey.questions.survey_fields import statements

if TYPE_CHECKING:
    from toolkit.survey.spec import Survey


def add(commands: Subparsers) -> None:
    about = "read a survey, say what is wrong with it, or what people would agree to"
    check_parser = add_command(commands, "check", _check, about, with_database=False)
    check = check_parser.add_argument
    check("survey", help="a .toml or .json file")
    check("--language", help="of the text; the first if left out")
    check("--n", type=int, help="people who answer: then also how precise each question would be")
    check("--subgroup", help="with --n, the share of the people in the smallest subgroup, such as 0.1")
    check("--dpia", help="also write a data protection assessment to this file, .md or .html", metavar="PATH")
    add_json_option(check_parser)
    about = "write what was asked, hidden and how it is estimated: .json, .md, .html, .docx, .pdf or .xml (DDI 2.5)"
    book = add_command(commands, "codebook", _codebook, about, with_database=False).add_argument
    book("survey", help="a .toml or .json file")
    book("path", help="the file, whose ending says its format")
    book("--language", help="the first of the survey if left out")
    about = "write a form for ODK and Kobo, where people throw their own dice"
    form = add_command(commands, "xlsform", _xlsform, about, with_database=False).add_argument
    form("survey", help="a .toml or .json file")
    form("path", help="an .xlsx file")
    about = "register a survey and its analysis before anybody is asked"
    register = add_command(
        commands, "register", _register, about, with_database=False, examples=_PLAN_EXAMPLE
    ).add_argument
    register("survey", help="a .toml or .json file")
    register("plan", help="a .toml file with what is planned")
    register("-o", "--output", default="prereg.md", help="the .md file that is written (default prereg.md)")
    about = "write sheets for paper into a folder, where people throw their own dice, and tables to type them in"
    paper = add_command(commands, "paper", _paper, about, with_database=False).add_argument
    paper("survey", help="a .toml or .json file")
    paper("folder", nargs="?", help="where the files go; named like the survey if left out")
    paper("--copies", type=int, default=1, help="sheets in each language, each with a number of its own (default 1)")
    paper("--language", help="one of the survey's; all of them if left out")
    about = "read sheets of paper that were typed in, once or twice, say what must be settled, or store them all"
    enter = add_command(commands, "enter", _enter, about).add_argument
    enter("survey", help="a .toml or .json file")
    enter("first", help="entry.csv or entry.xlsx as it was filled in")
    enter("second", nargs="?", help="the same sheets, typed in again by somebody else")


_PLAN_EXAMPLE = """\
A plan says, in TOML:
  n = 2000
  stopping = "At 2,000 reports, or on 1 June."
  exclusions = "None."
  missing = "Reports that are missing are left out, question by question."
  groups = ["faculty"]
  contrasts = [{question = "cheated", by = "faculty", reference = "arts"}]
  prevalence = {cheated = 0.2}
  power = {cheated = {prevalence = 0.1, detect = 0.2}}
  hypotheses = ["More students of law cheat than of arts."]
"""


def _check(options: Options) -> None:
    from toolkit.survey.client import code_hash
    from toolkit.survey.spec import Survey

    survey = Survey.load(options.survey)
    if options.n is None and options.subgroup is not None:
        reject("`--subgroup` must come with `--n`", "none", "a margin needs a number of people")
    if options.json:
        echo_json(_survey_facts(survey, options.language, options.n, options.subgroup))
        return
    echo(repr(survey), f"hash {survey.hash}", f"program {code_hash()}", "", survey.consent_text(options.language))
    echo(*_reminder_lines(survey, options.language))
    if options.dpia is not None:
        _write_assessment(survey, Path(options.dpia), options.language)
    if options.n is not None:
        plan = survey.plan(options.n, subgroup=options.subgroup)
        echo("", *_aligned_lines(plan_table(plan)), *plan.notes)


def _survey_facts(survey: "Survey", language: str | None, n: int | None, subgroup: str | None) -> dict[str, Any]:
    """Return what `check` prints, for other programs."""
    from toolkit.survey.client import code_hash
    from toolkit.survey.consent.statement import missing

    questions = [
        {
            "name": question.name,
            "design": None if question.design is None else question.design.name,
            "epsilon": None if question.design is None else question.loss.epsilon,  # a plain answer is not protected
        }
        for question in survey.questions
    ]
    plan = None if n is None else survey.plan(n, subgroup=subgroup)
    return {
        "title": survey.name,
        "hash": survey.hash,
        "program": code_hash(),
        "epsilon": survey.loss.epsilon,
        "questions": questions,
        "consent": survey.consent_text(language),
        "missing": list(missing(statements(survey))),
        "plan": None if plan is None else [asdict(question) for question in plan.questions],
        "notes": [] if plan is None else list(plan.notes),
    }


def _reminder_lines(survey: "Survey", language: str | None) -> list[str]:
    """Return reminders about missing statements, and about instructions that must agree with the design's promise."""
    from toolkit.survey.consent.statement import missing, odds

    absent, code = missing(statements(survey)), language or survey.languages[0]
    lines = ["", f"missing before it is served beyond this machine: {', '.join(absent)}"] if absent else []
    for question in survey.questions:
        if question.design is not None and question.instructions is not None:
            instructions = question.instructions
            instructions = instructions if isinstance(instructions, str) else instructions[code]
            lines += ["", f"{question.name}, read: do these say the same?", f"  people do: {instructions}"]
            lines += [f"  we promise: {' '.join(odds(question, code, survey.words))}"]
    return lines


def _write_assessment(survey: "Survey", path: Path, language: str | None) -> None:
    from toolkit.survey.dpia import assessment, assessment_html

    if path.suffix not in (".md", ".html"):
        reject("`--dpia` must name a .md or .html file", path.name, "the sheet is written as one of them")
    render = assessment if path.suffix == ".md" else assessment_html
    path.write_text(render(survey, language), encoding="utf-8")
    echo(f"wrote {path}")


def _aligned_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _xlsform(options: Options) -> None:
    from toolkit.survey.exchange.xlsform import write_xlsform
    from toolkit.survey.spec import Survey

    echo(f"wrote {write_xlsform(Survey.load(options.survey), options.path)}")


def _register(options: Options) -> None:
    from toolkit.survey.results.registration import register
    from toolkit.survey.spec import Survey

    registration = register(Survey.load(options.survey), options.plan, options.output)
    echo(f"wrote {options.output}: {registration.date}, SHA-256 {registration.seal}")


def _codebook(options: Options) -> None:
    from toolkit.survey.exchange.books import write_codebook
    from toolkit.survey.spec import Survey

    echo(f"wrote {write_codebook(Survey.load(options.survey), options.path, options.language)}")


def _paper(options: Options) -> None:
    from toolkit.survey.paper.kit import write_kit
    from toolkit.survey.paper.sheets import printable_survey
    from toolkit.survey.spec import Survey

    survey = Survey.load(options.survey)
    folder = options.folder or f"{Path(options.survey).stem}-paper"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        files = write_kit(survey, folder, copies=options.copies, language=options.language)
    if left_out := printable_survey(survey)[1]:
        echo(f"left out, as no coin, die or slips draw the report: {', '.join(left_out)}")
    echo(*(f"wrote {path}" for path in files))
    for warning in caught:
        print_error(str(warning.message))


def _enter(options: Options) -> int:
    from toolkit.survey.paper.entering import read_entries, store_entries
    from toolkit.survey.spec import Survey

    survey = Survey.load(options.survey)
    entered = read_entries(survey, options.first, options.second)
    if entered.problems:
        echo(*entered.problems, "", f"{len(entered.problems)} to settle; nothing was stored.")
        return 1
    stored = store_entries(survey, entered, options.database)
    echo(f"{stored['stored']} sheets stored, {stored['repeated']} were there already.")
    if options.second is None:
        echo("They were typed in once: a wrong code that is one of the question's cannot be seen.")
    return 0
