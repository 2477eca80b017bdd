"""All estimates of a survey in one figure: shares in one panel, each mean in its own panel, groups side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from toolkit.core.checks import reject
from toolkit.frames.counts import Group
from toolkit.show.canvas import BLUE, GREY, INK, ORANGE, SKY, VERMILLION, new_figure, percent, percent_ticks, png_bundle
from toolkit.show.tables import dot_and_bar, interval_row, misfit_note
from toolkit.survey.questions.question import Question, estimates_shares
from toolkit.survey.results import Results, SurveyEstimate
from toolkit.survey.results.survey_results import group_label, option_label

_MAX_OPTIONS = 12
_MAX_ROWS = 120
_ROW_INCHES = 0.26
_PANEL_GAP = 0.5  # in units of rows
_MAX_NAME_LENGTH = 34
_STYLES = ((BLUE, "o"), (ORANGE, "s"), (INK, "^"), (SKY, "D"), (VERMILLION, "v"), (GREY, "P"))


@dataclass(frozen=True, repr=False)
class PanelFigure:
    """A figure of several panels with an alternative text, which a notebook displays."""

    figure: Figure
    alt: str

    def save(self, path: str | Path) -> None:
        """Write the figure to a .png, .pdf or .svg file."""
        self.figure.savefig(path)

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, Any]]:
        return png_bundle(self.figure, repr(self), self.alt)

    def __repr__(self) -> str:
        return f"<PanelFigure: {self.alt}>"


@dataclass(frozen=True)
class _EstimateRow:
    """An estimate to draw: its question, row name and group, its numbers, and a note."""

    question: Question
    name: str
    group_suffix: str
    group: int
    value: float
    low: float
    high: float
    note: str


def findings(results: Results, *, level: float = 0.95) -> PanelFigure:
    """Draw estimates as dots with intervals, one row per question, option and group, as `results.plot()` does."""
    if not results.group_estimates:
        reject("there must be something to draw", "no findings", "; ".join(results.notes()) or "wait for reports")
    panels = _panels(results, level)
    if not panels:
        reject("there must be shares or means to draw", "only distributions", "each of them is in results[name]")
    if (rows := sum(map(len, panels))) > _MAX_ROWS:
        reject(f"a figure must have at most {_MAX_ROWS} estimates", rows, "draw fewer groups, or use to_frame()")
    heights = [_panel_height(lines) for lines in panels]
    canvas = new_figure(width=8.2, height=_ROW_INCHES * sum(heights) + 0.75 * len(panels) + 0.6)
    axes = canvas.subplots(len(panels), 1, squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
    for ax, lines in zip(axes, panels, strict=True):
        _draw_panel(ax, lines)
    if results.by and _groups_share_rows(results):
        _draw_legend(axes[0], [group_label(results, group) for group in _groups(results)])
    title = f"{results.survey.name}: estimates with {100 * level:g} % intervals"
    canvas.suptitle(title, x=0.01, ha="left", fontsize=11, color=INK)
    return PanelFigure(canvas, _alt_text(results, panels, level))


def _groups(results: Results) -> list[Group]:
    return sorted({finding.group for finding in results.group_estimates})


def _groups_share_rows(results: Results) -> bool:
    """Return whether the groups share rows, distinguished by their markers; too many groups get separate rows."""
    return len(_groups(results)) <= len(_STYLES)


def _panels(results: Results, level: float) -> list[list[_EstimateRow]]:
    """Return the rows of each panel: all shares in one panel, then a panel for each mean, because units differ."""
    lines = [line for finding in results.group_estimates for line in _estimate_rows(results, finding, level)]
    panels: dict[str, list[_EstimateRow]] = {"": []}
    for line in lines:
        panels.setdefault("" if estimates_shares(line.question) else line.question.name, []).append(line)
    return [panel for panel in panels.values() if panel]


def _estimate_rows(results: Results, finding: SurveyEstimate, level: float) -> list[_EstimateRow]:
    """Return a row for each option of a question; no rows for a distribution of many points."""
    question, estimate = results.survey[finding.question], finding.estimate
    if len(estimate.labels) > _MAX_OPTIONS:
        return []
    interval = estimate.interval(level)
    numbers = [np.atleast_1d(part) for part in (estimate.value, interval.low, interval.high)]
    share_rows, group_suffix = (
        _groups_share_rows(results),
        f" ({group_label(results, finding.group)})" if results.by else "",
    )
    group_index, lines = _groups(results).index(finding.group) if share_rows else 0, []
    for i, label in enumerate(estimate.labels):
        option = "" if not estimates_shares(question) else f": {option_label(results.survey, question.name, label)}"
        value, low, high = (float(column[i]) for column in numbers)
        note = "nobody answered" if not estimate.n else misfit_note(estimate, interval, i)
        name = f"{question.name}{option}{'' if share_rows else group_suffix}"
        lines.append(_EstimateRow(question, name, group_suffix, group_index, value, low, high, note))
    return lines


def _row_positions(lines: Sequence[_EstimateRow]) -> dict[str, int]:
    """Map each row name to its position; groups can share a row."""
    return {name: index for index, name in enumerate(dict.fromkeys(line.name for line in lines))}


def _panel_height(lines: Sequence[_EstimateRow]) -> float:
    """Return the height of a panel, in rows."""
    n_groups = 1 + max(line.group for line in lines)
    return len(_row_positions(lines)) * max(1.0, 0.62 * n_groups) + _PANEL_GAP


def _draw_panel(ax: Axes, lines: Sequence[_EstimateRow]) -> None:
    """Draw the rows of a panel in the unit of its questions, with the groups of a row close together."""
    rows, n_groups, are_shares = (
        _row_positions(lines),
        1 + max(line.group for line in lines),
        estimates_shares(lines[0].question),
    )
    for line in lines:
        position = rows[line.name] + (line.group - (n_groups - 1) / 2) * 0.8 / n_groups
        if np.isfinite(line.value) and line.note:
            interval_row(ax, position, line.value, line.low, line.high, misses_truth=False, note=line.note)
        elif np.isfinite(line.value):
            dot_and_bar(ax, position, line.value, line.low, line.high, *_STYLES[line.group % len(_STYLES)])
        else:
            style: dict[str, Any] = {"va": "center", "fontsize": "small", "color": GREY}
            ax.annotate(line.note, (0.01, position), xycoords=("axes fraction", "data"), **style)
    names = [name if len(name) <= _MAX_NAME_LENGTH else f"{name[: _MAX_NAME_LENGTH - 1]}…" for name in rows]
    ax.set_yticks(range(len(rows)), names)
    ax.set_ylim(len(rows) - 0.45, -0.55)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.grid(axis="x", color="#E5E5E5", linewidth=0.8)
    ax.set_axisbelow(True)
    for boundary in range(1, len(rows)):
        ax.axhline(boundary - 0.5, color="#E5E5E5", linewidth=0.8)
    if are_shares:
        percent_ticks(ax, "x")
        outside = any(not 0 <= line.value <= 1 for line in lines if np.isfinite(line.value))
        explanation = "\n(an unbiased estimate can lie outside 0 to 100 %)" if outside else ""
        ax.set_xlabel(f"share of people{explanation}")
    else:
        ax.set_xlabel(f"mean of {lines[0].question.name}")
    ax.margins(x=0.04)


def _draw_legend(ax: Axes, names: Sequence[str]) -> None:
    for group, name in enumerate(names):
        colour, marker = _STYLES[group % len(_STYLES)]
        ax.plot([], [], marker, color=colour, label=name)
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1), fontsize=9)


def _alt_text(results: Results, panels: Sequence[Sequence[_EstimateRow]], level: float) -> str:
    """Return the alternative text, which lists every number in its unit."""
    lines = [line for panel in panels for line in panel]
    descriptions = [
        f"{line.name.removesuffix(line.group_suffix)}{line.group_suffix} {_estimate_text(line)}" for line in lines
    ]
    names = {line.question.name for line in lines}
    omitted = [question.name for question in results.estimated if question.name not in names]
    omitted_text = f"; not drawn, as they have many values: {', '.join(omitted)}" if omitted else ""
    return f"{100 * level:g} % intervals of {results.survey.name!r}: {'; '.join(descriptions)}{omitted_text}"


def _estimate_text(line: _EstimateRow) -> str:
    if not np.isfinite(line.value):
        return line.note
    unit = percent if estimates_shares(line.question) else "{:.3g}".format
    limits = line.note if not np.isfinite(line.low) else f"{unit(line.low)} to {unit(line.high)}"
    return f"{unit(line.value)} ({limits})" if limits else unit(line.value)
