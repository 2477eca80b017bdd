"""The report for readers, with questions, turnout, estimates, plots, methods, and the protection of respondents."""

import io
from dataclasses import replace
from typing import Any

from toolkit import __version__
from toolkit.core.inference.digits import format_short
from toolkit.survey.dpia import assessment
from toolkit.survey.questions.question import Question, estimates_shares, readable_text
from toolkit.survey.results.survey_results import ResultRow, Results, footnotes, group_label, option_label, table_rows
from toolkit.survey.spec import REHEARSAL_REMARK
from toolkit.texts.document import Block, Document

_READERS = (
    "True answers to protected questions were not collected. The collection received reports, each drawn at random "
    "with known probabilities that depend on the answer. A report with a finite epsilon is possible for every answer: "
    "nobody can be certain from it what its sender answered, and epsilon bounds how much surer a guess becomes. Only "
    "shares of many people can be known, each with its error. Plain questions are not protected."
)
_SERVER = (
    "This describes a collection by the toolkit's own server. Another program stores what it collects in its own way."
)
_MAX_HEADLINES = 6
_CERTAIN = "Reports of {names} can prove an answer: their epsilon is infinite. "


def report_document(results: Results, level: float, title: str) -> Document:
    """Return the report on the results that may be shown; groups with too few people are left out."""
    survey = results.survey
    rehearsal = [Block("p", remark) for remark in results.remarks if remark == REHEARSAL_REMARK]
    remarks = [Block("p", remark) for remark in results.remarks if remark != REHEARSAL_REMARK]
    blocks = [Block("h1", title), *rehearsal, *_summary(results, level), *remarks]
    blocks.append(Block("h2", "What was asked"))
    wordings = [
        (question.name, readable_text(question, survey.languages[0]), _protection_label(question))
        for question in survey.questions
    ]
    head = ("question", "wording", "how it was protected")
    blocks += [Block("table", "The questions, and how their answers were protected", (head, *wordings))]
    blocks += [Block("h2", "Who answered"), *_response_table(results)]
    blocks += [Block("li", note) for note in results.notes() if note not in results.remarks]
    blocks.append(Block("h2", "Estimates" if not results.by else f"Estimates by {', '.join(results.by)}"))
    for question in results.estimated:
        blocks += _question_blocks(results, question, level)
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
    """Return a table with the estimates of each question in one cell, for people who read only the first page."""
    rows = [("question", f"estimates with {100 * level:g}\N{NO-BREAK SPACE}% intervals")]
    for question in results.estimated:
        table = table_rows(results, question.name, level)
        has_options = not results.by or len({row.option for row in table}) > 1
        headlines = [_headline(row, has_option=has_options) for row in table[:_MAX_HEADLINES]]
        headlines += ["the other rows are in the table below"] * (len(table) > _MAX_HEADLINES)
        rows.append((readable_text(question, results.survey.languages[0]), ";\n".join(headlines)))
    if len(rows) == 1:
        return []
    explained = "Answers to protected questions were randomized before they were sent; the intervals account for this."
    return [Block("h2", "Summary"), Block("table", rows=tuple(rows)), Block("p", explained)]


def _headline(row: ResultRow, *, has_option: bool) -> str:
    """Return an estimate with its interval; a share outside 0 to 100 % is given by its interval alone."""
    name = ", ".join((*row.group, row.option) if has_option else row.group)
    value = f"{row.estimate} ({row.interval})"
    if row.estimate.endswith("*"):
        value = f"{row.interval} (the unbiased estimate lies outside 0 to 100 %)"
    return f"{name}: {value}".replace(" %", "\N{NO-BREAK SPACE}%")


def _protection_label(question: Question) -> str:
    if question.design is None:
        return "not protected (plain)"
    return f"{question.design.name} ({question.mode}), epsilon {question.loss.epsilon:.4g}"


def _response_table(results: Results) -> list[Block]:
    """Return a table of the people who answered or skipped each question, over all groups that are shown."""
    rows = []
    for question in results.estimated:
        counts = [finding.counts for finding in results.group_estimates if finding.question == question.name]
        rows.append((question.name, *(f"{sum(count[name] for count in counts):,}" for name in counts[0])))
    head = ("question", "answered", "refused", "missing", "not asked")
    caption = "The number of people by question"
    return [Block("table", caption, (head, *rows))] if rows else [Block("p", "There is nothing to show.")]


def _question_blocks(results: Results, question: Question, level: float) -> list[Block]:
    """Return the title of a question, its plot if there is one, its table, and the notes below the table."""
    estimates = tuple(estimate for estimate in results.group_estimates if estimate.question == question.name)
    rows = [
        (*row.group, row.option, row.estimate, row.se, row.interval, f"{row.n:,}")
        for row in table_rows(results, question.name, level)
    ]
    head = (*results.by, "answer", "estimate", "standard error", f"{100 * level:g} % interval", "people")
    table = Block("table", f"Estimates for {question.name}", (head, *rows))
    title = Block("h3", readable_text(question, results.survey.languages[0]))
    below = [Block("p", line) for line in footnotes(results, question)]
    return [title, *_plot_blocks(replace(results, group_estimates=estimates), level), table, *below]


def _plot_blocks(results: Results, level: float) -> list[Block]:
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
            *_difference_in_unit(results.survey[row["question"]], row),
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


def _difference_in_unit(question: Question, difference: Any) -> tuple[str, str]:
    scale, unit = (100, " points") if estimates_shares(question) else (1, "")
    value, low, high = (format_short(scale * difference[name]) for name in ("difference", "low", "high"))
    return f"{value}{unit}", f"{low} to {high}{unit}"


def methods(results: Results, level: float) -> str:
    """Return a methods paragraph on designs, estimators, intervals, the sample, the software and the hash."""
    survey = results.survey
    people = max((sum(item.counts.values()) for item in results.group_estimates), default=0)
    hidden = [f"{item.name} ({_protection_label(item)})" for item in survey.questions if item.randomized]
    numbers = [item.estimate for item in results.group_estimates if item.estimate.n]
    estimators = sorted({f"{item.method}; {item.interval(level).method} intervals" for item in numbers})
    covers = sorted({str(item.covers) for item in numbers})
    waves = "" if survey.waves == 1 else f" in wave {survey.wave} of {survey.waves}"
    whose = " of the largest group" if results.by else ""
    return (
        f"{people:,} reports{whose} were analyzed{waves}. The answers to {', '.join(hidden) or 'no question'} were "
        "randomized before they were sent; the privacy loss of one respondent is at most epsilon "
        f"{survey.loss.epsilon:.4g}. Estimates follow from the known probabilities of the reports "
        f"({'; '.join(estimators)}), with {100 * level:g} % intervals that cover {'; '.join(covers)}. Estimates of "
        f"fewer than {results.minimum:,} people are withheld. Access was {survey.access}. Computed with the "
        f"privacy-survey-toolkit {__version__}; SHA-256 of the survey {survey.hash}."
    )
