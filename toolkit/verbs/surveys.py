"""Verbs that read a survey file: what is wrong with it, what people would agree to, and its form on paper."""

from pathlib import Path

from toolkit.verbs.common import Options, Verbs, add_verb, say


def add(verbs: Verbs) -> None:
    check = add_verb(
        verbs, "check", _check, "read a survey, say what is wrong with it, or what people would agree to", database=False
    )
    check.add_argument("survey", help="a .toml or .json file")
    check.add_argument("--language", help="of the text; the first if left out")
    paper = add_verb(verbs, "paper", _paper, "write a form for paper, where people throw their own dice", database=False)
    paper.add_argument("survey", help="a .toml or .json file")
    paper.add_argument("path", help="an .html file, to print")
    paper.add_argument("--language", help="the first of the survey if left out")


def _check(options: Options) -> None:
    from toolkit.survey.spec import Survey

    survey = Survey.load(options.survey)
    say(repr(survey), f"hash {survey.hash}", "", survey.consent_text(options.language))


def _paper(options: Options) -> None:
    from toolkit.survey.field import paper
    from toolkit.survey.spec import Survey

    Path(options.path).write_text(paper(Survey.load(options.survey), options.language), encoding="utf-8")
    say(f"wrote {options.path}")
