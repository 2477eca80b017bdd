"""`Findings`: estimates of every question, overall or by group, and differences between groups."""

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
from toolkit.analysis.paper_table import paper_rows
from toolkit.analysis.reports import GroupEstimate, QuestionModel, entry, has_matrix, model_estimates_shares
from toolkit.core.checks import check_choice, check_level, explain_call, reject
from toolkit.core.estimate import Estimate, loss_of_both
from toolkit.core.extras import extra
from toolkit.core.fit_table import escape, latex
from toolkit.core.inference.significance import ADJUSTMENTS, adjusted
from toolkit.core.tables import escape_formulas
from toolkit.frames.counts import Group, sort_key
from toolkit.local.design import Design
from toolkit.texts.document import Block, Document

if TYPE_CHECKING:
    import pandas as pd


class EstimateSource(Protocol):
    """The data from which findings are computed: counts of reports, or the rows of a sample."""

    def groups(self) -> dict[Group, int]: ...
    def ungrouped(self) -> int: ...
    def difference(self, name: str, group: Group, other: Group) -> Estimate: ...
    def change(self, first: str, second: str) -> dict[Group, Estimate]: ...
    def pairs(self, first: str, second: str, design: Design) -> dict[Group, Estimate]: ...
    def homogeneity(self, name: str, method: str | None = None) -> TableTest: ...


@explain_call(reference="the group that the others are compared with", second="it takes two questions")
@dataclass(frozen=True, eq=False, repr=False)
class Findings:
    """Estimates of all questions, overall or by group, as returned by `estimates`.

    `findings["question"]` is an estimate or, with groups, a dictionary of estimates by group.

    Parameters
    ----------
    designs : mapping
        The randomizer of each question.
    by : tuple of str
        Columns whose values are the groups.
    group_estimates : tuple of GroupEstimate
        One estimate for each question and group.
    source : EstimateSource
        Counts of reports, or the rows of a sample.
    remarks : tuple of str
        Caveats about all estimates; `notes` adds the caveats about single estimates.
    minimum : int
        Smallest number of people for which an estimate is shown.

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
        """Leave out estimates from few people, including those in differences and pairs.

        Parameters
        ----------
        minimum : int
            Smallest number of people.

        Returns
        -------
        Findings
            The findings, without estimates from fewer than `minimum` people.
        """
        enough = tuple(estimate for estimate in self.group_estimates if estimate.used >= minimum)
        return replace(self, group_estimates=enough, minimum=max(minimum, self.minimum))

    def __getitem__(self, name: str) -> Any:
        """Return the estimate of a question or, with groups, a dictionary of estimates by group."""
        self._check(name)
        estimates = {row.group: row.estimate for row in self.group_estimates if row.question == name}
        if not estimates:
            self._reject_without_estimate(name)
        return {self._key(group): estimate for group, estimate in estimates.items()} if self.by else estimates[()]

    def _reject_without_estimate(self, name: str) -> NoReturn:
        consequence = "it is free text, or there are no reports, or too few to show: see notes()"
        reject("the question must have something to estimate", f"{name!r}", consequence, KeyError)

    def _check(self, *names: str) -> None:
        for name in names:
            if name not in self.designs:
                rule = "the question must be one of the designs' columns"
                reject(rule, repr(name)[:40], f"they are {', '.join(self.designs)}", KeyError)

    def _key(self, group: Group) -> Any:
        """Return a group as users write it: a value for one column, a tuple for several columns."""
        return group[0] if len(self.by) == 1 else group

    def _group(self, key: object) -> Group:
        group = key if isinstance(key, tuple) and len(self.by) > 1 else (key,)
        groups = {row.group for row in self.group_estimates}
        if not self.by or group not in groups:
            first_keys = ", ".join(repr(self._key(member)) for member in sorted(groups, key=sort_key)[:8])
            remedy = f"they are {first_keys}" if self.by else "there are none: estimate with by=… first"
            reject("`reference` must be one of the groups", repr(key)[:60], remedy)
        return group

    def differences(self, reference: object, *, adjust: str | None = None, level: float = 0.95) -> "pd.DataFrame":
        """Compare every group with a reference, for each question and option.

        With a sample, errors take its clusters into account. Without a sample, groups are independent and the intervals
        use MOVER.

        Parameters
        ----------
        reference : object
            A value of the column of `by`, or a tuple of values for several columns.
        adjust : {"holm", "bonferroni"}, optional
            Adjust the p-values for all tests of the table. With "bonferroni", the intervals are simultaneous as well;
            with "holm" they are not adjusted.
        level : float
            Confidence level of the intervals.

        Returns
        -------
        pandas.DataFrame
            Differences with errors, intervals and p-values of the test of no difference.
        """
        pd, base_group = extra("pandas", "analysis"), self._group(reference)
        adjust = None if adjust is None else check_choice(adjust, "adjust", ADJUSTMENTS)
        rows, differences, sample_columns = [], [], []
        base = {row.question: row for row in self.group_estimates if row.group == base_group}
        others = [row for row in self.group_estimates if row.group != base_group and row.question in base]
        if not others:
            reject("there must be a group other than the reference", "none", "there is nothing to compare")
        for other in others:
            difference = self.source.difference(other.question, other.group, base_group)
            scalar = np.ndim(difference.value) == 0
            differences += [difference] if scalar else [entry(difference, i) for i in range(len(difference.labels))]
            sample_columns += _df_and_deff(difference, other, base[other.question])
            p_values = np.atleast_1d(difference.test().p)
            rows += [
                {
                    "question": other.question,
                    **dict(zip(self.by, other.group, strict=True)),
                    "reference": reference,
                    "option": label,
                    "p": p,
                }
                for label, p in zip(difference.labels, p_values, strict=True)
            ]
        # Bonferroni's level of each interval makes all of them cover their differences simultaneously at `level`.
        each_level = 1 - (1 - check_level(level)) / (len(rows) if adjust == "bonferroni" else 1)
        for row, difference, further in zip(rows, differences, sample_columns, strict=True):
            limits = difference.interval(each_level)
            row |= {
                "difference": difference.value,
                "se": difference.se,
                "low": limits.low,
                "high": limits.high,
                "level": each_level,
                "interval": limits.method,
                **further,
            }
        frame = pd.DataFrame(rows)
        p_adjusted = frame.p if adjust is None else adjusted(frame.p.to_numpy(), adjust)
        return frame.drop(columns="p").assign(p=p_adjusted, adjustment=adjust or "none")

    def difference(self, first: str, second: str) -> Any:
        """Compare two yes/no questions that were asked of the same people.

        Their reports are paired person by person; people with only one report are left out.

        Parameters
        ----------
        first, second : str
            The questions.

        Returns
        -------
        Estimate or dict
            The estimated difference (first minus second) or, with groups, a dictionary of differences by group.
        """
        self._check(first, second)
        designs = self.designs[first], self.designs[second]
        binary = all(len(design.options) == len(design.report_options) == 2 for design in designs)
        if first == second or not binary:
            reject(
                "`difference` takes two yes/no questions", f"{first!r} and {second!r}", "see .differences(…) for groups"
            )
        loss = loss_of_both(designs[0].loss, designs[1].loss, sampled=False)
        changes = self.source.change(first, second)
        return self._large_enough({group: replace(estimate, loss=loss) for group, estimate in changes.items()})

    def _large_enough(self, estimates: Mapping[Group, Estimate]) -> Any:
        """Return the estimates by group, or the single estimate, that come from enough people."""
        enough = {group: estimate for group, estimate in estimates.items() if (estimate.n or 0) >= self.minimum}
        if not enough:
            reject(f"at least {self.minimum:,} people must have answered", "fewer", "wait for more reports")
        return {self._key(group): estimate for group, estimate in enough.items()} if self.by else enough[()]

    def joint(self, first: str, second: str) -> Any:
        """Estimate two questions together: a share for each pair of answers.

        Parameters
        ----------
        first, second : str
            Two questions whose designs have a matrix.

        Returns
        -------
        Estimate or dict
            The shares of all pairs or, with groups, a dictionary of estimates by group.
        """
        self._check(first, second)
        design, other = self.designs[first], self.designs[second]
        if first == second or not (has_matrix(design) and has_matrix(other)):
            rule = "`joint` takes two questions with a matrix each"
            reject(rule, f"{first!r} and {second!r}", "without a matrix there is no joint distribution of reports")
        return self._large_enough(self.source.pairs(first, second, design.joint(other)))

    def homogeneity(self, name: str, method: str | None = None) -> TableTest:
        """Test whether all groups have the same shares, over all options together.

        Parameters
        ----------
        name : str
            The question.
        method : {"rao-scott", "wald"}, optional
            The test for a sample: Rao and Scott's F of the reports (the default if there are few kinds of reports), or
            Wald's F of the corrected shares.

        Returns
        -------
        TableTest
            Chi-squared or likelihood ratio test of the counts; for a sample an F test.
        """
        self._check(name)
        if not self.by:
            reject("there must be groups to compare", "none", "estimate with by=…")
        if sum(row.question == name for row in self.group_estimates) < len(self.source.groups()):
            rule = f"at least {self.minimum:,} people must have answered in each group"
            reject(rule, "fewer in one", "wait for more reports")
        return self.source.homogeneity(name, method)

    @cached_property
    def missing(self) -> "pd.DataFrame":
        """Numbers of rows with and without a report, by question and group.

        A separate row counts the rows in no group.
        """
        rows = [
            {"question": row.question, **dict(zip(self.by, row.group, strict=True)), "rows": row.rows, **row.turnout}
            for row in self.group_estimates
        ]
        if count := self.ungrouped:
            rows += [
                {"question": name, **dict.fromkeys(self.by), "rows": count}
                | {**dict.fromkeys(row.turnout, 0), "missing group": count}
                for name, row in {row.question: row for row in self.group_estimates}.items()
            ]
        return extra("pandas", "analysis").DataFrame(rows)

    @property
    def ungrouped(self) -> int:
        """Number of rows in no group, because a value of `by` is missing."""
        return self.source.ungrouped()

    @property
    def _ungrouped(self) -> dict[str, int]:
        """The table column with the number of rows in no group; empty if there are none."""
        count = self.ungrouped if self.group_estimates else 0
        return {"missing group": count} if count else {}

    def to_frame(self, level: float = 0.95) -> "pd.DataFrame":
        """Return one row for each question, group and option, with the details that a methods section needs.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        pandas.DataFrame
            A table of estimates as numbers; shares are on the scale from 0 to 1.
        """
        pd, level = extra("pandas", "analysis"), check_level(level)
        return pd.DataFrame([row for group in self.group_estimates for row in self._rows(group, level)])

    def _rows(self, group: GroupEstimate, level: float) -> list[dict[str, Any]]:
        design, rows = self.designs[group.question], []
        for index, (option, estimate) in enumerate(group._entries()):
            interval = estimate.interval(level)
            rows.append(
                {
                    "question": group.question,
                    **dict(zip(self.by, group.group, strict=True)),
                    "option": option,
                    "n": group.used,
                    "missing": group.missing,
                    **self._ungrouped,
                    "reports": np.nan if group.yes is None else group.yes,
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
                    "df": np.nan if group.df is None else group.df,
                    "deff": group._deff_of(index),
                    "method": estimate.method,
                }
            )
        return rows

    def summary(self, level: float = 0.95) -> "pd.DataFrame":
        """Return a table for a paper: percentages as text, with the digits that the errors justify.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.

        Returns
        -------
        pandas.DataFrame
            One row for each question, group and option.
        """
        rows = paper_rows(self.designs, self.by, self.group_estimates, check_level(level), self._ungrouped)
        return extra("pandas", "analysis").DataFrame(rows)

    def to_csv(self, path: str | Path | IO[str] | None = None, level: float = 0.95) -> str | None:
        """Write the summary as CSV; labels that a spreadsheet would read as formulas are escaped.

        Parameters
        ----------
        path : path or file, optional
            File to write; without it, the text is returned.
        level : float
            Confidence level of the intervals.

        Returns
        -------
        str or None
            The text, if there is no path.
        """
        table = self.summary(level)
        # Only labels are escaped; the signs of numbers must not change.
        labels = [name for name in ("question", *self.by, "answer") if name in table]
        table[labels] = table[labels].map(escape_formulas)
        text: str | None = table.rename(columns=escape_formulas).to_csv(path, index=False)
        return text

    def to_latex(self, path: str | Path | None = None, level: float = 0.95) -> str | None:
        """Write the summary as a LaTeX tabular (with booktabs), with the designs as comments below it.

        Parameters
        ----------
        path : path, optional
            File to write; without it, the text is returned.
        level : float
            Confidence level of the intervals.

        Returns
        -------
        str or None
            The text, if there is no path.
        """
        table = self.summary(level)
        rows = [[escape(str(cell)) for cell in row] for row in (table.columns, *table.itertuples(index=False))]
        designs = [f"{name}: {design.describe()}" for name, design in self.designs.items()]
        return latex([rows[:1], rows[1:]], "l" * len(table.columns), designs, path)

    def report(self, path: str | Path, *, title: str | None = None, level: float = 0.95) -> Path:
        """Write a report: estimates with a figure, the designs in words, methods and notes.

        Parameters
        ----------
        path : str or Path
            A .html, .docx, .pdf or .md file.
        title : str, optional
            Title of the report.
        level : float
            Confidence level of the intervals.

        Returns
        -------
        Path
            The file.
        """
        table = self.summary(level).astype(str)
        blocks = [Block("h1", title or "Findings"), Block("h2", "Estimates")]
        if any(model_estimates_shares(self.designs[group.question]) and group.used for group in self.group_estimates):
            blocks.append(Block("picture", "the shares of the table, with their intervals", png=self._png(level)))
        rows = (tuple(map(str, table.columns)), *(tuple(row) for row in table.to_numpy()))
        blocks += [Block("table", rows=rows), Block("h2", "Methods")]
        blocks += [Block("li", f"{name}: {design.describe()}") for name, design in self.designs.items()]
        methods = "; ".join(sorted({group.estimate.method for group in self.group_estimates}))
        suppressed = f"No result from fewer than {self.minimum:,} people is shown. " if self.minimum else ""
        computed = f"{methods}. {suppressed}Computed with the privacy-survey-toolkit {__version__}."
        blocks += [Block("p", computed), *(Block("li", note) for note in self.notes())]
        return Document(tuple(blocks)).save(path)

    def _png(self, level: float) -> bytes:
        out = io.BytesIO()
        picture = self.plot(level)
        getattr(picture, "ax", picture).figure.savefig(out, format="png", dpi=150)
        return out.getvalue()

    def plot(self, level: float = 0.95, ax: Any = None) -> Any:
        """Draw all shares with their intervals, one row for each question, group and option.

        Parameters
        ----------
        level : float
            Confidence level of the intervals.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on.

        Returns
        -------
        matplotlib.axes.Axes
            The picture.
        """
        shares = {
            self._row_label(group, option): estimate
            for group in self.group_estimates
            if model_estimates_shares(self.designs[group.question])
            for option, estimate in group._entries()
            if group.used
        }
        if not shares:
            reject("there must be shares to draw", "none", "means differ in their units: see to_frame()")
        from toolkit.show.plots import estimate_intervals

        return estimate_intervals(shares, level=level, ax=ax)

    def _row_label(self, group: GroupEstimate, option: str | int) -> str:
        values = ", ".join(map(str, group.group))
        several = len(group.estimate.labels) > 1
        return f"{group.question}{f': {option}' if several else ''}{f' ({values})' if values else ''}"

    def __repr__(self) -> str:
        groups = f" by {', '.join(self.by)}" if self.by else ""
        note = f"; {'; '.join(self.remarks)}" if self.remarks else ""
        people = max((group.used for group in self.group_estimates), default=0)
        count = len(self.group_estimates)
        size = f"{count} estimate{'s' if count != 1 else ''}, up to {people:,} people"
        return f"<Findings of {', '.join(self.designs)}{groups}: {size}{note}>"

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes())
        return f"{self.summary().to_html(index=False)}{notes}"

    def notes(self) -> list[str]:
        """Return caveats: the remarks on all estimates, then the notes of each estimate.

        Returns
        -------
        list of str
            One or several sentences for each caveat.
        """
        notes = [
            f"{self._row_label(group, '')}: {note}" for group in self.group_estimates for note in group.estimate.notes
        ]
        return [*self.remarks, *notes]


def _df_and_deff(difference: Estimate, *groups: GroupEstimate) -> list[dict[str, float]]:
    """Return degrees of freedom and design effect of a difference for each option; empty without a sample."""
    options, se = range(len(difference.labels)), np.atleast_1d(difference.se)
    if groups[0].weighted is None:
        return [{} for _ in options]
    # The design effect is relative to two independent simple random samples of the same sizes.
    simple = [sum(np.atleast_1d(group.estimate.se)[i] ** 2 / group._deff_of(i) for group in groups) for i in options]
    return [{"df": getattr(difference.basis, "df", np.nan), "deff": float(se[i] ** 2 / simple[i])} for i in options]
