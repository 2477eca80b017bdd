"""Widgets that answer a reader's question while a slider moves; drawn in the browser, computed by the toolkit."""

from pathlib import Path
from typing import Any

import anywidget
import traitlets

from toolkit.core.checks import exact, refuse, whole
from toolkit.local.design import Design
from toolkit.local.questions import warner
from toolkit.show.canvas import png_bundle
from toolkit.show.preview import explorer_figure
from toolkit.show.table import EPSILONS, PREVALENCES, explorer_table, reading, table_row

_STATIC = Path(__file__).parent / "static"
_LEAST, _MOST = EPSILONS[0], EPSILONS[-1]  # the ends of the slider, which bound the number box too


class DesignExplorer(anywidget.AnyWidget):
    """How private is each person, and how precise is the survey? Warner's design, with a slider for epsilon.

    Python computes a table from real designs and sends it once; moving a slider needs no kernel. What is set in the
    browser is found again in `epsilon`, `n`, `prevalence` and `design` when the slider is let go.

    Parameters
    ----------
    epsilon : the privacy loss of one report, from 0.1 to 5; small is private.
    n : number of respondents.
    prevalence : a guess of the share of yes, strictly between 0 and 1.
    """

    _esm = _STATIC / "design_explorer.js"
    _css = _STATIC / "design_explorer.css"

    epsilon = traitlets.Float().tag(sync=True)
    n = traitlets.Int().tag(sync=True)
    prevalence = traitlets.Float().tag(sync=True)
    limits = traitlets.Dict(default_value={"least": _LEAST, "most": _MOST}, read_only=True).tag(sync=True)
    table = traitlets.Dict().tag(sync=True)
    row = traitlets.Dict().tag(sync=True)

    def __init__(self, epsilon: float = 1.0, n: int = 1000, prevalence: float = 0.1) -> None:
        super().__init__(epsilon=epsilon, n=n, prevalence=prevalence)

    @property
    def design(self) -> Design:
        """The design that is shown now."""
        return warner(epsilon=self.epsilon)

    def describe(self) -> dict[str, str]:
        """The sentences that are shown now."""
        return reading(self.table, self.row, self.prevalence, self.n)

    @traitlets.validate("epsilon")
    def _check_epsilon(self, proposal: dict[str, Any]) -> float:
        if not _LEAST <= exact(proposal["value"], "epsilon") <= _MOST:
            refuse(
                f"`epsilon` must lie between {_LEAST} and {_MOST}", proposal["value"], "below it a survey is blind, above it bare"
            )
        return float(proposal["value"])

    @traitlets.validate("n")
    def _check_n(self, proposal: dict[str, Any]) -> int:
        return whole(proposal["value"], "n")

    @traitlets.validate("prevalence")
    def _check_prevalence(self, proposal: dict[str, Any]) -> float:
        if not 0 < exact(proposal["value"], "prevalence") < 1:
            refuse("`prevalence` must lie strictly between 0 and 1", proposal["value"], "at the ends nothing is left to ask")
        return float(proposal["value"])

    @traitlets.observe("epsilon", "prevalence")
    def _compute(self, _change: object) -> None:
        """Send the table where the prevalence is new to it, and the row of the very epsilon that was asked for."""
        if self.prevalence not in self.table.get("prevalences", ()):
            self.table = explorer_table(sorted({*PREVALENCES, self.prevalence}))
        self.row = table_row(self.epsilon, tuple(self.table["prevalences"]))

    def __repr__(self) -> str:
        return f"<DesignExplorer: epsilon {self.epsilon:.4g}, {self.n:,} respondents, prevalence {self.prevalence:.4g}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The live widget, and for every other reader a picture of how it starts."""
        live = super()._repr_mimebundle_(**kwargs)
        if live is None:
            return None
        picture, metadata = png_bundle(explorer_figure(self.table, self.row, self.prevalence, self.n), repr(self))
        return {**live[0], **picture}, {**live[1], **metadata}


def explore_design(epsilon: float = 1.0, *, n: int = 1000, prevalence: float = 0.1) -> DesignExplorer:
    """The design explorer in one call.

    >>> explore_design(epsilon=0.7)
    <DesignExplorer: epsilon 0.7, 1,000 respondents, prevalence 0.1>
    """
    return DesignExplorer(epsilon, n, prevalence)
