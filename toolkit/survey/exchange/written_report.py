"""The report for readers, with questions, turnout, estimates, plots, methods, and the protection of respondents."""

import io
from dataclasses import replace
from typing import Any

from toolkit import __version__
from toolkit.core.inference.digits import short
from toolkit.survey.dpia import assessment
from toolkit.survey.questions.question import Question, estimates_shares
from toolkit.survey.results.survey_results import ResultRow, Results, footnotes, group_label, option_label, table_rows
from toolkit.texts.document import Block, Document
from toolkit.texts.multilingual import text_in

_READERS = (
    "Answers to protected questions were not collected. What was received are reports, each drawn by chance from an "
    "answer, with known probabilities. A report whose epsilon is finite fits every answer: nobody can be certain from "
    "it what its sender answered, and how much surer a guess becomes is bounded by epsilon. What can be known are "
    "shares of many people, each with its error. Plain questions are not protected."
)
_SERVER = (
    "This describes a collection by the toolkit's own server. Another program stores what it collects in its own way."
)
_MAX_HEADLINES = 6
_CERTAIN = "Reports of {names} can prove an answer: their epsilon is infinite. "


def report_document(results: Results, level: float, title: str) -> Document:
    """Return the report on the results that may be shown; groups with too few people are left out."""
    survey = results.survey
    blocks = [Block("h1", title), *(Block("p", note) for note in results.remarks), *_summary(results, level)]
    blocks.append(Block("h2", "What was asked"))
    wordings = [
        (question.name, text_in(question.text, survey.languages[0]), _hidden(question)) for question in survey.questions
    ]
    head = ("question", "wording", "how it was protected")
    blocks += [Block("table", "The questions, and how their answers were protected", (head, *wordings))]
    blocks += [Block("h2", "Who answered"), *_people(results)]
    blocks += [Block("li", note) for note in results.notes() if note not in results.remarks]
    blocks.append(Block("h2", "Estimates" if not results.by else f"Estimates by {', '.join(results.by)}"))
    for question in results.estimated:
        blocks += _estimated(results, question, level)
    blocks += [*_differences(results, level), Block("h2", "Methods"), Block("p", methods(results, level))]
    certain = [
        question.name for question in survey.questions if question.randomized and question.loss.epsilon == float("inf")
    ]
    readers = (_CERTAIN.format(names=", ".join(certain)) if certain else "") + _READERS
    blocks += [Block("h2", "What protects the people who answered"), Block("p", readers)]
    board = Document.from_markdown(assessment(survey)).blocks[1:]
    blocks += [
        Block("h2", "For an ethics board"),
        Block("p", _SERVER),
        *(replace(question, kind="h3") if question.kind == "h2" else question for question in board),
    ]
    return Document(tuple(blocks), "en")


def _summary(results: Results, level: float) -> list[Block]:
    """Return one line per question with its estimates and intervals, for readers of the first page only."""
    lines = []
    for question in results.estimated:
        rows = table_rows(results, question.name, level)
        has_options = not results.by or len({row.option for row in rows}) > 1
        headlines = [_headline(row, has_option=has_options) for row in rows[:_MAX_HEADLINES]]
        headlines += ["the other rows are in the table below"] * (len(rows) > _MAX_HEADLINES)
        lines.append(Block("li", f"{text_in(question.text, results.survey.languages[0])} {'; '.join(headlines)}."))
    if not lines:
        return []
    explained = (
        f"The {100 * level:g}\N{NO-BREAK SPACE}% intervals are in brackets. Chance changed the answers to protected "
        "questions before they were sent; estimates and intervals account for that."
    )
    return [Block("h2", "Summary"), *lines, Block("p", explained)]


def _headline(row: ResultRow, *, has_option: bool) -> str:
    """Return an estimate with its interval; a share outside 0 to 100 % is given by its interval alone."""
    name = ", ".join((*row.group, row.option) if has_option else row.group)
    value = f"{row.estimate} ({row.interval})"
    if row.estimate.endswith("*"):
        value = f"{row.interval} (the unbiased estimate lies outside 0 to 100 %)"
    return f"{name}: {value}".replace(" %", "\N{NO-BREAK SPACE}%")


def _hidden(question: Question) -> str:
    if question.design is None:
        return "not: a plain answer"
    return f"{question.design.name} ({question.mode}), epsilon {question.loss.epsilon:.4g}"


def _people(results: Results) -> list[Block]:
    """Return a table of the people who answered or skipped each question, over all groups that are shown."""
    rows = []
    for question in results.estimated:
        counts = [finding.counts for finding in results.group_estimates if finding.question == question.name]
        rows.append((question.name, *(f"{sum(count[name] for count in counts):,}" for name in counts[0])))
    head = ("question", "answered", "refused", "missing", "not asked")
    caption = "The number of people by question"
    return [Block("table", caption, (head, *rows))] if rows else [Block("p", "There is nothing to show.")]


def _estimated(results: Results, question: Question, level: float) -> list[Block]:
    """Return the title of a question, its plot if there is one, its table, and the notes below the table."""
    estimates = tuple(estimate for estimate in results.group_estimates if estimate.question == question.name)
    rows = [
        (*row.group, row.option, row.estimate, row.se, row.interval, f"{row.n:,}")
        for row in table_rows(results, question.name, level)
    ]
    head = (*results.by, "answer", "estimate", "standard error", f"{100 * level:g} % interval", "people")
    table = Block("table", f"Estimates for {question.name}", (head, *rows))
    title = Block("h3", text_in(question.text, results.survey.languages[0]))
    below = [Block("p", line) for line in footnotes(results, question)]
    return [title, *_picture(replace(results, group_estimates=estimates), level), table, *below]


def _picture(results: Results, level: float) -> list[Block]:
    try:
        plot = results.plot(level)
    except ValueError:  # no plot: a distribution of many points, or too many groups
        return []
    out = io.BytesIO()
    plot.figure.savefig(out, format="png", dpi=150)
    return [Block("picture", plot.alt, png=out.getvalue())]


def _differences(results: Results, level: float) -> list[Block]:
    """Return the differences of all groups from the first, with p-values adjusted for their number."""
    groups = sorted({finding.group for finding in results.group_estimates}, key=str)
    if not results.by or len(groups) < 2:
        return []
    reference = groups[0][0] if len(results.by) == 1 else groups[0]
    frame = results.differences(reference, adjust="holm", level=level)
    rows = [
        (
            row["question"],
            group_label(results, tuple(row[name] for name in results.by)),
            option_label(results.survey, row["question"], row["option"]),
            *_in_unit(results.survey[row["question"]], row),
            "below 0.0001" if row["p"] < 1e-4 else f"{row['p']:.4f}",
            *([row["status"]] if results.registration else []),
        )
        for row in frame.to_dict("records")
    ]
    head = ("question", "group", "answer", "difference", f"{100 * level:g} % interval", "p (Holm)")
    reference_label = group_label(results, groups[0])
    columns = (*head, *(["status"] if results.registration else []))
    title = f"Differences from {reference_label}"
    return [Block("h2", title), Block("table", title, (columns, *rows))]


def _in_unit(question: Question, row: Any) -> tuple[str, str]:
    scale, unit = (100, " points") if estimates_shares(question) else (1, "")
    value, low, high = (short(scale * row[name]) for name in ("difference", "low", "high"))
    return f"{value}{unit}", f"{low} to {high}{unit}"


def methods(results: Results, level: float) -> str:
    """Return a methods paragraph on designs, estimators, intervals, the sample, the software and the hash."""
    survey = results.survey
    people = max((sum(item.counts.values()) for item in results.group_estimates), default=0)
    hidden = [f"{item.name} ({_hidden(item)})" for item in survey.questions if item.randomized]
    numbers = [item.estimate for item in results.group_estimates if item.estimate.n]
    estimators = sorted({f"{item.method}; {item.interval(level).method} intervals" for item in numbers})
    covers = sorted({str(item.covers) for item in numbers})
    waves = "" if survey.waves == 1 else f" in wave {survey.wave} of {survey.waves}"
    whose = " of the largest group" if results.by else ""
    return (
        f"{people:,} reports{whose} were analysed{waves}. Randomized before they were sent were the answers to "
        f"{', '.join(hidden) or 'no question'}; the privacy loss of one respondent is at most epsilon "
        f"{survey.loss.epsilon:.4g}. Estimates follow from the known probabilities of the reports "
        f"({'; '.join(estimators)}), with {100 * level:g} % intervals that cover {'; '.join(covers)}. Estimates of "
        f"fewer than {results.minimum:,} people are withheld. Access was {survey.access}. Computed with the "
        f"privacy-survey-toolkit {__version__}; SHA-256 of the survey {survey.hash}."
    )
