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
    about = "check a survey, and print its consent text or what is wrong with it"
    check_parser = add_command(commands, "check", _check, about, with_database=False)
    check = check_parser.add_argument
    check("survey", help="a .toml or .json file")
    check("--language", help="the language of the text (default: the survey's first)")
    check("--n", type=int, help="the number of people who answer; the precision of each question is then printed")
    check("--subgroup", help="the smallest subgroup's share of these people, such as 0.1; requires --n")
    check("--dpia", help="also write a data protection impact assessment to this .md or .html file", metavar="PATH")
    add_json_option(check_parser)
    about = "write a codebook: questions, designs and estimators, as .json, .md, .html, .docx, .pdf or .xml (DDI 2.5)"
    book = add_command(commands, "codebook", _codebook, about, with_database=False).add_argument
    book("survey", help="a .toml or .json file")
    book("path", help="the file to write; its extension determines the format")
    book("--language", help="the language of the codebook (default: the survey's first)")
    about = "write an XLSForm for ODK and Kobo, in which respondents use their own dice"
    form = add_command(commands, "xlsform", _xlsform, about, with_database=False).add_argument
    form("survey", help="a .toml or .json file")
    form("path", help="the .xlsx file to write")
    about = "write the randomizer as an ES module for any web page, with its types and documentation"
    web = add_command(commands, "web", _web, about, with_database=False).add_argument
    web("folder", help="the folder for the files; it is created if necessary")
    web("survey", nargs="?", help="a .toml or .json file whose designs are written as well")
    about = "write a form for another survey program, which gets the reports on hidden questions but not their answers"
    tool = add_command(commands, "form", _form, about, with_database=False).add_argument
    tool("survey", help="a .toml or .json file")
    tool("folder", help="the folder for the files; it is created if necessary")
    tool("--for", dest="tool", required=True, help="surveyjs, jspsych, qualtrics or limesurvey")
    tool("--language", help="the language of the form (default: the survey's first)")
    about = "preregister a survey and its planned analysis"
    register = add_command(
        commands, "register", _register, about, with_database=False, examples=_PLAN_EXAMPLE
    ).add_argument
    register("survey", help="a .toml or .json file")
    register("plan", help="a .toml file with the planned analysis")
    register("-o", "--output", default="prereg.md", help="the .md file to write (default: prereg.md)")
    _add_paper(commands)


def _add_paper(commands: Subparsers) -> None:
    about = "write a paper questionnaire, in which respondents use their own dice, and forms for data entry"
    paper = add_command(commands, "paper", _paper, about, with_database=False).add_argument
    paper("survey", help="a .toml or .json file")
    paper("folder", nargs="?", help="the folder for the files (default: named after the survey)")
    paper(
        "--copies",
        type=int,
        default=1,
        help="the number of copies in each language; each has its own number (default: 1)",
    )
    paper("--language", help="one of the survey's languages (default: all)")
    about = "check sheets that were typed in once or twice, and store them if nothing is unclear"
    enter = add_command(commands, "enter", _enter, about).add_argument
    enter("survey", help="a .toml or .json file")
    enter("first", help="entry.csv or entry.xlsx with the typed sheets")
    enter("second", nargs="?", help="the same sheets, typed again by another person")


_PLAN_EXAMPLE = """\
A plan in TOML:
  n = 2000
  stopping = "At 2,000 reports, or on 1 June."
  exclusions = "None."
  missing = "Missing reports are left out, question by question."
  groups = ["faculty"]
  contrasts = [{question = "cheated", by = "faculty", reference = "arts"}]
  prevalence = {cheated = 0.2}
  power = {cheated = {prevalence = 0.1, detect = 0.2}}
  hypotheses = ["A larger share of law students than of arts students cheat."]
"""


def _check(options: Options) -> None:
    from toolkit.survey.client import code_hash
    from toolkit.survey.spec import Survey

    survey = Survey.load(options.survey)
    if options.n is None and options.subgroup is not None:
        reject("`--subgroup` must be used with `--n`", "no `--n`", "add the number of people with --n")
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
    """Return the facts that `check` prints as plain data, for other programs."""
    from toolkit.survey.client import code_hash
    from toolkit.survey.consent.statement import missing_statements

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
        "missing": list(missing_statements(statements(survey))),
        "plan": None if plan is None else [asdict(question) for question in plan.questions],
        "notes": [] if plan is None else list(plan.notes),
    }


def _reminder_lines(survey: "Survey", language: str | None) -> list[str]:
    """Return reminders about missing statements, and about custom instructions, which must agree with the design."""
    from toolkit.survey.consent.statement import missing_statements, odds

    absent, code = missing_statements(statements(survey)), language or survey.languages[0]
    lines = ["", f"required before other machines can open it: {', '.join(absent)}"] if absent else []
    for question in survey.questions:
        if question.design is not None and question.instructions is not None:
            instructions = question.instructions
            instructions = instructions if isinstance(instructions, str) else instructions[code]
            lines += ["", f"{question.name}: check that these two texts agree.", f"  Instructions: {instructions}"]
            lines += [f"  Promise: {' '.join(odds(question, code, survey.words))}"]
    return lines


def _write_assessment(survey: "Survey", path: Path, language: str | None) -> None:
    from toolkit.survey.dpia import assessment, assessment_html

    if path.suffix not in (".md", ".html"):
        reject("`--dpia` must name a .md or .html file", path.name, "choose one of these extensions")
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


def _form(options: Options) -> None:
    from toolkit.survey.exchange.web_forms import write_web_form
    from toolkit.survey.spec import Survey

    survey = Survey.load(options.survey)
    echo(*(f"wrote {path}" for path in write_web_form(survey, options.folder, options.tool, language=options.language)))


def _web(options: Options) -> None:
    from toolkit.survey.exchange.web import write_web_module
    from toolkit.survey.spec import Survey

    survey = None if options.survey is None else Survey.load(options.survey)
    echo(*(f"wrote {path}" for path in write_web_module(options.folder, survey)))


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
        echo(f"left out, because no coin, die or slips of paper can produce the report: {', '.join(left_out)}")
    echo(*(f"wrote {path}" for path in files))
    for warning in caught:
        print_error(str(warning.message))


def _enter(options: Options) -> int:
    from toolkit.survey.paper.entering import read_entries, store_entries
    from toolkit.survey.spec import Survey

    survey = Survey.load(options.survey)
    entered = read_entries(survey, options.first, options.second)
    if entered.problems:
        echo(*entered.problems, "", f"Problems to resolve: {len(entered.problems)}. Nothing was stored.")
        return 1
    stored = store_entries(survey, entered, options.database)
    echo(f"{stored['stored']} sheets were stored; {stored['repeated']} had been stored before.")
    if options.second is None:
        echo("They were typed only once, so a typing error that gives another valid code cannot be noticed.")
    return 0
