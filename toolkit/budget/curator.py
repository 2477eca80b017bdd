"""`Curator`: a frame and a ledger. Every statistic is charged before anything of the frame is read."""

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from toolkit.budget.frames.asked import listed_once
from toolkit.budget.publishing.finding import FindingVerbs
from toolkit.budget.robust import RobustVerbs
from toolkit.budget.tables.pairs import PairVerbs
from toolkit.budget.tables.preview import Previews
from toolkit.budget.tables.spending import Spending
from toolkit.central.selection import Exponential
from toolkit.core.checks import Number, explains, refuse
from toolkit.core.frames import cells
from toolkit.core.randomness import Rng

_WHY = {
    "neighbors": 'neighbors="replace" promises for when one person\'s record changes, and the number of rows '
    'is public; neighbors="add_remove" for when one person comes or goes',
    "bounds": "values are clamped to `bounds` and the noise is made for them; read from the data they would "
    "tell its extremes, so say what is possible, bounds=(0, 100), or pay for `curator.bounds`",
    "estimator": "Huber(k) of toolkit.central.robust cuts values k away from the location",
    "trim": "trim=0.1 leaves out a tenth of the rows at each end",
    "epsilon": "epsilon=0.5 is the price",
    "options": "what can be chosen is public, so it is given: options=[…]",
    "sensitivity": "by how much one person moves the score decides the noise",
    "missing": "missing values are left out here",
    "bins": "where bins begin and end is public, and is not read from the data: edges=[0, 10, 20]",
    "histogram.by": 'of several columns it is a count: count(by={"city": […], "age": bands(18, 30, 65)})',
    "q": "q=0.5 is the median",
    "k": "it says how many are wanted",
    "second": "two columns vary together",
    "score": "score(frame, candidate) says how good a candidate is",
    "seed": "rng=… is for a ledger with simulated=True",
    "count": 'conditions are a mapping: count({"city": "north"}, epsilon=0.5)',
    "delta": "it belongs to unknown keys; noise is bought with epsilon or with rho",
}
_ELSEWHERE = {
    "groupby": 'a table by groups is one call: count(by={"city": ["north", "south"]}), and so is a mean',
    "value_counts": 'write count(by={"city": ["north", "south"]}), or keys(…) where they are not known',
    "describe": "each statistic is paid for by itself: mean, std, quantiles",
    **dict.fromkeys(("head", "loc", "iloc", "columns", "shape"), "rows are never shown"),
    **dict.fromkeys(("min", "max"), "extremes are single people; quantile(…, 0.01), or `bounds`"),
}


@explains('Curator(frame, Ledger(Pure(1.0)), neighbors="replace")', **_WHY)
class Curator(PairVerbs, RobustVerbs, FindingVerbs):
    """Releases statistics of a confidential frame under the budget of a ledger.

    Bounds, options, edges and conditions are given by the analyst and never read from the data. A call is
    refused for what it says, for the columns' labels and types, or for the budget; then the ledger is
    charged; then the frame is read, and nothing that is found there decides whether an error, a warning or
    another shape appears.

    Parameters
    ----------
    frame : a pandas or polars DataFrame or a pyarrow Table, one row a person unless `person` is given.
    ledger : what pays.
    neighbors : "replace" (one record changes; the number of rows is public) or "add_remove" (one comes or
    goes).
    person : the column that says whose a row is, where somebody may have several; all that is promised is
        then promised to people. Rows that name nobody are not used. Join tables before, not after.
    rows : the most rows that are used of one person; drawn by a secret key from that person's rows alone, so
        that means and counts are those of at most so many rows a person.
    groups, rows_in_group : the most groups of a table that one person's rows are used in, and rows in one.

    Every verb takes `rng`, a Generator, only with a ledger of a simulation: what it draws is no release. A
    frame is read once; a number that is published every week is its ledger's: `curator.ledger.every(…)`.

    Examples
    --------
    >>> import pandas as pd
    >>> from toolkit import Ledger, Pure, bands, between
    >>> curator = Curator(pd.DataFrame({"age": [21, 34, 45, 28] * 500}), Ledger(Pure(1.0)), neighbors="replace")
    >>> curator.mean("age", bounds=(18, 100), missing="drop", epsilon=0.5).loss
    Pure(0.5)
    >>> curator.count({"age": between(30, 39)}, epsilon=0.25).labels
    ('count where age between 30 and 39',)
    >>> ages = curator.count(by={"age": bands(18, 30, 65)}, epsilon=0.125)
    >>> ages.axes, ages.labels
    (('age',), ('18 to under 30', '30 to 65'))
    >>> curator.ledger.remaining
    Pure(0.125)
    """

    if not TYPE_CHECKING:  # so that a type checker goes on to tell which names there are

        def __getattr__(self, name: str) -> NoReturn:
            """Refuse a name that is not there, with the verb that does it."""
            verbs = ", ".join(verb for verb in dir(type(self)) if not verb.startswith("_"))
            told = _ELSEWHERE.get(name, "it has no other name")
            refuse(f"a curator has {verbs}", f"`{name}`", told, AttributeError)

    @property
    def preview(self) -> Previews:
        """The same verbs, which then say what a statistic would cost and how noisy it would be, before
        anything is paid or read.

        >>> import pandas as pd
        >>> from toolkit import Ledger, Pure
        >>> curator = Curator(pd.DataFrame({"pay": [2000.0, 3000.0]}), Ledger(Pure(1.0)), "add_remove")
        >>> round(curator.preview.mean("pay", bounds=(0, 9000), missing="drop", epsilon=0.5).se(n=1000), 3)
        18.0
        """
        return Previews(self)

    def choose(
        self,
        candidates: Iterable[Any],
        score: Callable[[Any, Any], float],
        *,
        sensitivity: Number,
        epsilon: Number | None = None,
        rho: Number | None = None,
        rng: Rng = None,
    ) -> Any:
        """One of the candidates, better ones likelier: score(frame, candidate), which one person moves by
        `sensitivity`. `rho` buys the epsilon whose choice costs so much, rho = epsilon**2 / 8.

        The score is trusted code of the curator's own, given a copy of the frame; how far one person moves it
        is the curator's word. A score that fails, or is not finite, counts as 0 without a word: saying so
        would tell about the data.
        """
        bought = Spending.of(epsilon, rho).of_choice
        mechanism, source = Exponential.for_epsilon(bought, sensitivity=sensitivity), self.ledger.source(rng)
        listed = listed_once(candidates, "candidates")
        if not listed or not callable(score):
            received = "no candidate" if not listed else type(score).__name__
            refuse(
                "`choose` needs candidates and a score, a function of frame and candidate",
                received,
                "the best is sought",
            )

        def scored() -> list[float]:
            table = self._frame.copy()
            return [_score(score, table, candidate) for candidate in listed]

        scores = self._paid(mechanism, "choice", scored)
        return listed[mechanism.choose(range(len(listed)), scores, rng=source)]


def _score(score: Callable[[Any, Any], Any], table: Any, candidate: Any) -> float:
    try:
        value = score(table, candidate)
        found = cells.key(value)
        number = found if isinstance(found, int | float) else float(value)
        return number if math.isfinite(number) else 0
    except Exception:
        return 0
