"""`Findings`: what was found of each question, in all or by group, and how groups differ."""

import html
import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn, Protocol, Self

import numpy as np

from toolkit import __version__
from toolkit.analysis.homogeneity import TableTest
from toolkit.analysis.paper_table import escape, latex, paper_rows
from toolkit.analysis.reports import GroupEstimate, QuestionModel, entry, of_shares, with_matrix
from toolkit.core.checks import choice, explain_call, reject
from toolkit.core.checks import level as checked_level
from toolkit.core.estimate import Estimate, loss_of_both
from toolkit.core.extras import extra
from toolkit.core.inference.significance import ADJUSTMENTS, adjusted
from toolkit.core.tables import harmless
from toolkit.frames.counts import Group, in_order
from toolkit.local.design import Design
from toolkit.texts.document import Block, Document

if TYPE_CHECKING:
    import pandas as pd


class EstimateSource(Protocol):
    """What findings are made from: counts, or the rows of a sample."""

    def groups(self) -> dict[Group, int]: ...
    def ungrouped(self) -> int: ...
    def difference(self, name: str, group: Group, other: Group) -> Estimate: ...
    def change(self, first: str, second: str) -> dict[Group, Estimate]: ...
    def pairs(self, first: str, second: str, design: Design) -> dict[Group, Estimate]: ...
    def homogeneity(self, name: str, method: str | None = None) -> TableTest: ...


@explain_call(reference="the group that the others are compared with", second="it takes two questions")
@dataclass(frozen=True, eq=False, repr=False)
class Findings:
    """Estimates of all questions, in all or by group, as `estimates` returns them.

    `findings["question"]` is an estimate; with groups, one for each of them.

    Parameters
    ----------
    designs : mapping
        The randomizer of each question.
    by : tuple of str
        The columns that make the groups.
    group_estimates : tuple of GroupEstimate
        One for each question and group.
    source : Source
        The counts, or the rows of a sample, that they are made from.
    remarks : tuple of str
        What a reader must not miss of the whole; `notes` has those of each estimate besides.
    minimum : int
        Of fewer people nothing is shown.

    Examples
    --------
    >>> import pandas as pd
    >>> from toolkit import warner
    >>> from toolkit.analysis import estimates
    >>> frame = pd.DataFrame({"a": ["yes"] * 40 + ["no"] * 60})
    >>> estimates(frame, {"a": warner("3/4")})
    <Findings of a: 1 estimate, up to 100 people>
    """

    designs: Mapping[str, QuestionModel]
    by: tuple[str, ...]
    group_estimates: tuple[GroupEstimate, ...]
    source: EstimateSource
    remarks: tuple[str, ...] = ()
    minimum: int = 0

    def suppress_below(self, minimum: int) -> Self:
        """Keep what enough people answered, also in differences and pairs.

        Parameters
        ----------
        minimum : int
            How many people that is.

        Returns
        -------
        Findings
            Without estimates of fewer people.
        """
        enough = tuple(one for one in self.group_estimates if one.used >= minimum)
        return replace(self, group_estimates=enough, minimum=max(minimum, self.minimum))

    def __getitem__(self, name: str) -> Any:
        """The estimate of a question; if there are groups, one for each of them."""
        self._check(name)
        estimates = {one.group: one.estimate for one in self.group_estimates if one.question == name}
        if not estimates:
            self._refuse_nothing(name)
        return {self._key(group): estimate for group, estimate in estimates.items()} if self.by else estimates[()]

    def _refuse_nothing(self, name: str) -> NoReturn:
        why = "it is free text, or there are no reports, or too few to show: see notes()"
        reject("the question must have something to estimate", f"{name!r}", why, KeyError)

    def _check(self, *names: str) -> None:
        for name in names:
            if name not in self.designs:
                rule = "the question must be one of the designs' columns"
                reject(rule, repr(name)[:40], f"they are {', '.join(self.designs)}", KeyError)

    def _key(self, group: Group) -> Any:
        return group[0] if len(self.by) == 1 else group

    def _group(self, key: object) -> Group:
        group = key if isinstance(key, tuple) and len(self.by) > 1 else (key,)
        known = {one.group for one in self.group_estimates}
        if not self.by or group not in known:
            listed = ", ".join(repr(self._key(one)) for one in sorted(known, key=in_order)[:8])
            there = f"they are {listed}" if self.by else "there are none: estimate with by=… first"
            reject("`reference` must be one of the groups", repr(key)[:60], there)
        return group

    def differences(self, reference: object, *, adjust: str | None = None, level: float = 0.95) -> "pd.DataFrame":
        """Compare every group with a reference, for each question and option.

        Of a sample differences go through its clusters; else groups are independent, and intervals are by MOVER.

        Parameters
        ----------
        reference : object
            A group, as `by` has it; of several columns a tuple.
        adjust : {"holm", "bonferroni"}, optional
            P-values for all tests of the table together. With "bonferroni" the intervals hold together, too; with
            "holm" each is for itself.
        level : float
            Confidence level of the intervals.

        Returns
        -------
        pandas.DataFrame
            Differences with errors, intervals and tests of no difference.
        """
        pd, other = extra("pandas", "analysis"), self._group(reference)
        adjust = None if adjust is None else choice(adjust, "adjust", ADJUSTMENTS)
        rows, gaps, more = [], [], []
        base = {one.question: one for one in self.group_estimates if one.group == other}
        others = [one for one in self.group_estimates if one.group != other and one.question in base]
        if not others:
            reject("there must be another group than the reference", "none", "there is nothing to compare")
        for one in others:
            gap = self.source.difference(one.question, one.group, other)
            gaps += [entry(gap, i) if np.ndim(gap.value) else gap for i in range(len(gap.labels))]
            more += _of_design(gap, one, base[one.question])
            tests = np.atleast_1d(gap.test().p)
            rows += [
                {
                    "question": one.question,
                    **dict(zip(self.by, one.group, strict=True)),
                    "reference": reference,
                    "option": label,
                    "p": p,
                }
                for label, p in zip(gap.labels, tests, strict=True)
            ]
        share = 1 - (1 - checked_level(level)) / (len(rows) if adjust == "bonferroni" else 1)
        for row, gap, drawn in zip(rows, gaps, more, strict=True):
            limits = gap.interval(share)
            row |= {
                "difference": gap.value,
                "se": gap.se,
                "low": limits.low,
                "high": limits.high,
                "level": share,
                "interval": limits.method,
                **drawn,
            }
        frame = pd.DataFrame(rows)
        raised = frame.p if adjust is None else adjusted(frame.p.to_numpy(), adjust)
        return frame.drop(columns="p").assign(p=raised, adjustment=adjust or "none")

    def difference(self, first: str, second: str) -> Any:
        """Compare two yes/no questions that were asked of the same people.

        Their reports are paired person by person; people who miss one of them are left out.

        Parameters
        ----------
        first, second : str
            The questions.

        Returns
        -------
        Estimate or dict
            The first less the second; with groups, one estimate for each of them.
        """
        self._check(first, second)
        one, other = self.designs[first], self.designs[second]
        binary = all(len(design.options) == len(design.report_options) == 2 for design in (one, other))
        if first == second or not binary:
            reject(
                "`difference` takes two yes/no questions", f"{first!r} and {second!r}", "see .differences(…) for groups"
            )
        changes = {
            group: replace(estimate, loss=loss_of_both(one.loss, other.loss, sampled=False))
            for group, estimate in self.source.change(first, second).items()
        }
        return self._shown(changes)

    def _shown(self, estimates: Mapping[Group, Estimate]) -> Any:
        """By group, or the single one; without those of too few people."""
        enough = {group: estimate for group, estimate in estimates.items() if (estimate.n or 0) >= self.minimum}
        if not enough:
            reject(f"at least {self.minimum:,} people must have answered", "fewer", "wait for more reports")
        return {self._key(group): estimate for group, estimate in enough.items()} if self.by else enough[()]

    def joint(self, first: str, second: str) -> Any:
        """Estimate two questions together: a share for each pair of answers.

        Parameters
        ----------
        first, second : str
            The questions; each has a matrix.

        Returns
        -------
        Estimate or dict
            With groups, one estimate for each of them.
        """
        self._check(first, second)
        one, other = self.designs[first], self.designs[second]
        if first == second or not (with_matrix(one) and with_matrix(other)):
            reject(
                "`joint` takes two questions with a matrix each", f"{first!r} and {second!r}", "others have no pairs"
            )
        return self._shown(self.source.pairs(first, second, one.joint(other)))

    def homogeneity(self, name: str, method: str | None = None) -> TableTest:
        """Test whether all groups have the same shares, over all options together.

        Parameters
        ----------
        name : str
            The question.
        method : {"rao-scott", "wald"}, optional
            Of a sample: Rao and Scott's F of the reports (the default, where these are of few kinds), or Wald's F of
            the corrected shares.

        Returns
        -------
        TableTest
            Chi-squared or likelihood ratio of the counts; of a sample an F test.
        """
        self._check(name)
        if not self.by:
            reject("groups must be there to be compared", "none", "estimate with by=…")
        if sum(one.question == name for one in self.group_estimates) < len(self.source.groups()):
            rule = f"at least {self.minimum:,} people must have answered in each group"
            reject(rule, "fewer in one", "wait for more reports")
        return self.source.homogeneity(name, method)

    @cached_property
    def missing(self) -> "pd.DataFrame":
        """What became of every row, per question and group; rows without a group are a row of their own."""
        rows = [
            {"question": one.question, **dict(zip(self.by, one.group, strict=True)), "rows": one.rows, **one.turnout}
            for one in self.group_estimates
        ]
        if lost := self.ungrouped:
            rows += [
                {"question": name, **dict.fromkeys(self.by), "rows": lost}
                | {**dict.fromkeys(one.turnout, 0), "missing group": lost}
                for name, one in {one.question: one for one in self.group_estimates}.items()
            ]
        return extra("pandas", "analysis").DataFrame(rows)

    @property
    def ungrouped(self) -> int:
        """How many rows are in no group, as a value of `by` is missing."""
        return self.source.ungrouped()

    @property
    def _ungrouped(self) -> dict[str, int]:
        """A column of the tables where rows are in no group."""
        lost = self.ungrouped if self.group_estimates else 0
        return {"missing group": lost} if lost else {}

    def to_frame(self, level: float = 0.95) -> "pd.DataFrame":
        """Return one row for each question, group and option, with what a methods section needs.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        pandas.DataFrame
            Shares as 0.25.
        """
        pd = extra("pandas", "analysis")
        return pd.DataFrame([row for one in self.group_estimates for row in self._rows(one, checked_level(level))])

    def _rows(self, one: GroupEstimate, level: float) -> list[dict[str, Any]]:
        design, rows = self.designs[one.question], []
        for place, (option, estimate) in enumerate(one._entries()):
            interval = estimate.interval(level)
            rows.append(
                {
                    "question": one.question,
                    **dict(zip(self.by, one.group, strict=True)),
                    "option": option,
                    "n": one.used,
                    "missing": one.missing,
                    **self._ungrouped,
                    "reports": np.nan if one.yes is None else one.yes,
                    "estimate": estimate.value,
                    "se": estimate.se,
                    "low": interval.low,
                    "high": interval.high,
                    "level": level,
                    "interval": interval.method,
                    "empty": bool(interval.empty),
                    "design": design.describe(),
                    "epsilon": design.epsilon,
                    "covers": estimate.covers,
                    "df": np.nan if one.df is None else one.df,
                    "deff": one._deff_of(place),
                    "method": estimate.method,
                }
            )
        return rows

    def summary(self, level: float = 0.95) -> "pd.DataFrame":
        """Return the same for a paper, as text: percent, with the digits that the errors allow.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        pandas.DataFrame
            One row for each question, group and option.
        """
        rows = paper_rows(self.designs, self.by, self.group_estimates, checked_level(level), self._ungrouped)
        return extra("pandas", "analysis").DataFrame(rows)

    def to_csv(self, path: str | Path | IO[str] | None = None, level: float = 0.95) -> str | None:
        """Write the table for a paper as CSV, without an index; no label in it is a formula for a spreadsheet.

        Parameters
        ----------
        path : path or file, optional
            Where to; the text is returned without it.
        level : float
            Confidence level of the intervals.

        Returns
        -------
        str or None
            The text, where there is no path.
        """
        table = self.summary(level)
        labels = [name for name in ("question", *self.by, "answer") if name in table]  # numbers keep their signs
        table[labels] = table[labels].map(harmless)
        text: str | None = table.rename(columns=harmless).to_csv(path, index=False)
        return text

    def to_latex(self, path: str | Path | None = None, level: float = 0.95) -> str | None:
        """Write the table for a paper as a LaTeX tabular (with booktabs), and the designs below it, as comments.

        Parameters
        ----------
        path : path, optional
            Where to; the text is returned without it.
        level : float
            Confidence level of the intervals.

        Returns
        -------
        str or None
            The text, where there is no path.
        """
        table = self.summary(level)
        rows = [[escape(str(cell)) for cell in row] for row in (table.columns, *table.itertuples(index=False))]
        designs = [f"{name}: {design.describe()}" for name, design in self.designs.items()]
        return latex([rows[:1], rows[1:]], "l" * len(table.columns), designs, path)

    def report(self, path: str | Path, *, title: str | None = None, level: float = 0.95) -> Path:
        """Write a report for readers: estimates with a picture, what hid the answers, methods and notes.

        Parameters
        ----------
        path : str or Path
            A .html, .docx, .pdf or .md file.
        title : str, optional
            What it is about.
        level : float
            Confidence level of the intervals.

        Returns
        -------
        Path
            The file.
        """
        table = self.summary(level).astype(str)
        blocks = [Block("h1", title or "Findings"), Block("h2", "Estimates")]
        if any(of_shares(self.designs[one.question]) and one.used for one in self.group_estimates):
            blocks.append(Block("picture", "the shares of the table, with their intervals", png=self._png(level)))
        rows = (tuple(map(str, table.columns)), *(tuple(row) for row in table.to_numpy()))
        blocks += [Block("table", rows=rows), Block("h2", "Methods")]
        blocks += [Block("li", f"{name}: {one.describe()}") for name, one in self.designs.items()]
        ways = sorted({one.estimate.method for one in self.group_estimates})
        least = f"Nothing of fewer than {self.minimum:,} people is shown. "
        computed = (
            f"{'; '.join(ways)}. {least if self.minimum else ''}Computed with the privacy-survey-toolkit {__version__}."
        )
        blocks += [Block("p", computed), *(Block("li", note) for note in self.notes())]
        return Document(tuple(blocks)).save(path)

    def _png(self, level: float) -> bytes:
        out = io.BytesIO()
        drawn = self.plot(level)
        getattr(drawn, "ax", drawn).figure.savefig(out, format="png", dpi=150)
        return out.getvalue()

    def plot(self, level: float = 0.95, ax: Any = None) -> Any:
        """Draw all shares with their intervals: a row for each question, group and option.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.
        ax : matplotlib.axes.Axes, optional
            Where to draw.

        Returns
        -------
        matplotlib.axes.Axes
            The picture.
        """
        drawn = {
            self._words(one, option): estimate
            for one in self.group_estimates
            if of_shares(self.designs[one.question])
            for option, estimate in one._entries()
            if one.used
        }
        if not drawn:
            reject("there must be shares to draw", "none", "numbers have units of their own, see to_frame()")
        from toolkit.show.plots import estimate_intervals

        return estimate_intervals(drawn, level=level, ax=ax)

    def _words(self, one: GroupEstimate, option: str | int) -> str:
        groups = ", ".join(map(str, one.group))
        several = len(one.estimate.labels) > 1
        return f"{one.question}{f': {option}' if several else ''}{f' ({groups})' if groups else ''}"

    def __repr__(self) -> str:
        groups = f" by {', '.join(self.by)}" if self.by else ""
        note = f"; {'; '.join(self.remarks)}" if self.remarks else ""
        people = max((one.used for one in self.group_estimates), default=0)
        count = len(self.group_estimates)
        size = f"{count} estimate{'s' if count != 1 else ''}, up to {people:,} people"
        return f"<Findings of {', '.join(self.designs)}{groups}: {size}{note}>"

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes())
        return f"{self.summary().to_html(index=False)}{notes}"

    def notes(self) -> list[str]:
        """Return how far to trust it: the remarks on the whole, then the notes of each estimate.

        Returns
        -------
        list of str
            Sentences.
        """
        own = [f"{self._words(one, '')}: {note}" for one in self.group_estimates for note in one.estimate.notes]
        return [*self.remarks, *own]


def _of_design(gap: Estimate, *groups: GroupEstimate) -> list[dict[str, float]]:
    """For each option degrees of freedom and design effect of the difference of two groups of a sample."""
    places, se = range(len(gap.labels)), np.atleast_1d(gap.se)
    if groups[0].weighted is None:
        return [{} for _ in places]
    alike = [sum(np.atleast_1d(one.estimate.se)[i] ** 2 / one._deff_of(i) for one in groups) for i in places]
    return [{"df": getattr(gap.basis, "df", np.nan), "deff": float(se[i] ** 2 / alike[i])} for i in places]
