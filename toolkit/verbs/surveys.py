"""Verbs that read a survey file: what is wrong with it, what people would agree to, and its form on paper."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.core.checks import refuse
from toolkit.verbs.common import Options, Verbs, add_verb, say

if TYPE_CHECKING:
    from toolkit.survey.spec import Survey


def add(verbs: Verbs) -> None:
    about = "read a survey, say what is wrong with it, or what people would agree to"
    check = add_verb(verbs, "check", _check, about, database=False).add_argument
    check("survey", help="a .toml or .json file")
    check("--language", help="of the text; the first if left out")
    check("--n", type=int, help="people who answer: then also how precise each question would be")
    check("--subgroup", help="with --n, the share of the people in the smallest subgroup, such as 0.1")
    check("--dpia", help="also write a data protection sheet to this file, .md or .html", metavar="PATH")
    about = "write what was asked, hidden and how it is estimated: .json, .md, .html, .docx, .pdf or .xml (DDI 2.5)"
    book = add_verb(verbs, "codebook", _codebook, about, database=False).add_argument
    book("survey", help="a .toml or .json file")
    book("path")
    book("--language", help="the first of the survey if left out")
    about = "write a form for ODK and Kobo, where people throw their own dice"
    form = add_verb(verbs, "xlsform", _xlsform, about, database=False).add_argument
    form("survey", help="a .toml or .json file")
    form("path", help="an .xlsx file")
    about = "register a survey and its analysis before anybody is asked"
    register = add_verb(verbs, "register", _register, about, database=False, examples=_PLAN).add_argument
    register("survey", help="a .toml or .json file")
    register("plan", help="a .toml file with what is planned")
    register("-o", "--output", default="prereg.md", help="the .md file that is written (default prereg.md)")
    about = "write a form for paper, where people throw their own dice"
    paper = add_verb(verbs, "paper", _paper, about, database=False).add_argument
    paper("survey", help="a .toml or .json file")
    paper("path", nargs="?", help="an .html file, to print; named like the survey if left out")
    paper("--language", help="the first of the survey if left out")


_PLAN = """\
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
        refuse("`--subgroup` must come with `--n`", "none", "a margin needs a number of people")
    say(repr(survey), f"hash {survey.hash}", f"program {code_hash()}", "", survey.consent_text(options.language))
    say(*_reminders(survey, options.language))
    if options.dpia is not None:
        _write_sheet(survey, Path(options.dpia))
    if options.n is not None:
        plan = survey.plan(options.n, subgroup=options.subgroup)
        say("", *_columns(plan.rows()), *plan.notes)


def _reminders(survey: "Survey", language: str | None) -> list[str]:
    """What is missing before others may be asked; and free instructions beside what the design promises."""
    from toolkit.survey.consent.statement import missing, odds

    absent, code = missing(survey.stated), language or survey.languages[0]
    lines = ["", f"missing before it is served beyond this machine: {', '.join(absent)}"] if absent else []
    for question in survey.questions:
        if question.design is not None and question.instructions is not None:
            own = question.instructions
            own = own if isinstance(own, str) else own[code]
            lines += ["", f"{question.name}, read: do these say the same?", f"  people do: {own}"]
            lines += [f"  we promise: {' '.join(odds(question, code, survey.words))}"]
    return lines


def _write_sheet(survey: "Survey", path: Path) -> None:
    from toolkit.survey.dpia import sheet, sheet_html

    if path.suffix not in (".md", ".html"):
        refuse("`--dpia` must name a .md or .html file", path.name, "the sheet is written as one of them")
    path.write_text(sheet(survey) if path.suffix == ".md" else sheet_html(survey), encoding="utf-8")
    say(f"wrote {path}")


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of text in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _xlsform(options: Options) -> None:
    from toolkit.survey.exchange.xlsform import write_xlsform
    from toolkit.survey.spec import Survey

    say(f"wrote {write_xlsform(Survey.load(options.survey), options.path)}")


def _register(options: Options) -> None:
    from toolkit.survey.exchange.registration import register
    from toolkit.survey.spec import Survey

    registration = register(Survey.load(options.survey), options.plan, options.output)
    say(f"wrote {options.output}: {registration.date}, SHA-256 {registration.seal}")


def _codebook(options: Options) -> None:
    from toolkit.survey.exchange.books import write_codebook
    from toolkit.survey.spec import Survey

    say(f"wrote {write_codebook(Survey.load(options.survey), options.path, options.language)}")


def _paper(options: Options) -> None:
    from toolkit.survey.paper import on_paper, paper
    from toolkit.survey.spec import Survey

    survey, left_out = on_paper(Survey.load(options.survey))
    path = Path(options.path or Path(options.survey).with_suffix(".html").name)
    path.write_text(paper(survey, options.language), encoding="utf-8")
    if left_out:
        say(f"left out, as no coin, die, slips or cards draw the report: {', '.join(left_out)}")
    say(f"wrote {path}")
