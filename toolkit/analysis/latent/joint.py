"""Distributions of the responses in list experiments: to one list, two lists, or items that are asked one by one.

A distribution maps the linear predictors to the probability of each response and to its derivatives. Responses are
coded as integers. `names` are the names of the linear predictors; the name of the trait's predictor is empty.
"""

import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, Mask
from toolkit.core.checks import reject
from toolkit.core.inference.special import expit

_SPREAD = "spread of people"
_NODES = 25
_MAX_RESPONSES = 600


@dataclass(frozen=True, eq=False)
class JointDistribution:
    """The joint distribution of all responses of a person: to one or two lists, or to single items and a long list.

    Items are independent; if `correlated`, a normal random effect moves the log odds of all items of a person.

    Parameters
    ----------
    lists : dict
        The number of items of each short list, by name; 1 for a single item.
    item_by_item : bool
        Whether people without the long list are asked each item on its own.
    treated : array
        Whether each person saw the long form of the first list; with two lists, the others saw the long form of the
        second.
    constrained : bool
        Whether the items apply to carriers and to others with equal probability.
    correlated : bool
        Whether the items of a person are correlated; the last linear predictor is then the log of the standard
        deviation of the random effect.
    """

    lists: dict[str, int]
    item_by_item: bool
    treated: Mask
    constrained: bool
    correlated: bool
    direct: ClassVar[bool] = False
    all_deny: ClassVar[tuple[str, ...]] = ()
    further_shares: ClassVar[str] = ""

    @property
    def names(self) -> tuple[str, ...]:
        carriers = () if self.constrained else tuple(f"{name} of carriers" for name in self.lists)
        return ("", *self.lists, *carriers, *([_SPREAD] if self.correlated else ()))

    @property
    def form(self) -> str:
        kind = "logit-normal" if self.correlated else "binomial"
        return f"{'constrained' if self.constrained else 'unconstrained'} {kind}"

    def without(self, name: str, limit: int = 0) -> "JointDistribution":  # noqa: ARG002
        """Return the distribution with independent items: the spread is the only parameter that can vanish."""
        return replace(self, correlated=False)

    @cached_property
    def _cells(self) -> Array:
        """All combinations of counts of the control items: (cell, list)."""
        return np.array(list(itertools.product(*(range(items + 1) for items in self.lists.values()))), dtype=float)

    @cached_property
    def _response_matrices(self) -> list[list[Array]]:
        """Indicator matrices (cell, response) of the response that each cell leads to, by class and form of the list.

        The first index is 0 for others and 1 for carriers, the second is 0 for the short list and 1 for the long list.
        """
        items, cells = list(self.lists.values()), self._cells.astype(int)
        two_lists = len(items) == 2 and not self.item_by_item
        # Item-by-item responses come first; the counts of the long list follow.
        offset = len(cells) * self.item_by_item
        n_responses = (items[0] + 2) ** 2 if two_lists else offset + sum(items) + 2
        if n_responses > _MAX_RESPONSES:
            reject(f"people must have at most {_MAX_RESPONSES} ways to answer", n_responses, "leave out method='ml'")
        matrices = []
        for carrier, long in itertools.product((0, 1), (0, 1)):
            if two_lists:
                codes = (cells[:, 0] + carrier * long) * (items[0] + 2) + cells[:, 1] + carrier * (1 - long)
            elif long or not self.item_by_item:
                codes = offset + cells.sum(axis=1) + carrier * long
            else:
                codes = np.arange(len(cells))
            matrices.append(np.eye(n_responses)[codes])
        return [matrices[:2], matrices[2:]]

    def codes(self, columns: list[Array]) -> npt.NDArray[np.intp]:
        """Encode each person's response from the columns of counts; the last column is that of the long list."""
        if not self.item_by_item:
            items = next(iter(self.lists.values()))
            return np.asarray(columns[0] * (items + 2) + columns[1] if len(columns) > 1 else columns[0], dtype=np.intp)
        pattern = np.array(columns[:-1]).T @ 2.0 ** np.arange(len(self.lists))[::-1]
        return np.where(self.treated, len(self._cells) + columns[-1], pattern).astype(np.intp)

    def probabilities(self, eta: Array) -> tuple[Array, Array]:
        """Return the probability of each response, and its derivatives with respect to the linear predictors."""
        trait, is_long, tables = expit(eta[0])[:, None], self.treated[:, None], []
        others = self._control(eta, False)
        for carrier, (law, slopes) in enumerate((others, others if self.constrained else self._control(eta, True))):
            short, long = self._response_matrices[carrier]
            derivatives = np.where(is_long, slopes @ long, slopes @ short)
            tables.append((np.where(is_long, law @ long, law @ short), derivatives))
        return _mixture(trait, tables[1], tables[0])

    def _control(self, eta: Array, carrier: bool) -> tuple[Array, Array]:
        """Return the distribution over `_cells` in one class, and its derivatives with respect to all predictors."""
        items, cells = np.array([*self.lists.values()], dtype=float), self._cells
        choose = np.array(
            [math.prod(math.comb(int(n), int(k)) for n, k in zip(items, cell, strict=True)) for cell in cells]
        )
        first = 1 + carrier * len(items)
        own, rows = slice(first, first + len(items)), eta.shape[1]
        law, derivatives = np.zeros((rows, len(cells))), np.zeros((len(eta), rows, len(cells)))
        # Gauss–Hermite quadrature over the random effect; for independent items, there is a single node at 0.
        nodes, weights = np.polynomial.hermite.hermgauss(_NODES) if self.correlated else (np.zeros(1), np.ones(1))
        sd = np.exp(np.clip(eta[-1], -30, 3)) if self.correlated else np.zeros(rows)
        for node, weight in zip(np.sqrt(2) * nodes, weights / weights.sum(), strict=True):
            item_eta = eta[own] + sd * node
            log = -np.logaddexp(0, -item_eta).T @ cells.T - np.logaddexp(0, item_eta).T @ (items - cells).T
            term = weight * choose * np.exp(log)
            scores = cells.T[:, None, :] - (items[:, None] * expit(item_eta))[:, :, None]
            law += term
            derivatives[own] += term * scores
            if self.correlated:
                derivatives[-1] += term * scores.sum(axis=0) * (sd * node)[:, None]
        return law, derivatives


@dataclass(frozen=True, eq=False)
class ListDistribution:
    """The distribution of one list's count, and of the direct answer if there is one.

    The linear predictors are, in this order: the trait; the control count of others and, unless constrained, of
    carriers; the overdispersion of each control count; the shares of carriers who deny at the floor and at the ceiling;
    and the share of carriers who confess. `all_deny` names the limits, "floor" or "ceiling", at which every carrier
    denies.
    """

    items: int
    treated: Mask
    overdispersed: bool
    constrained: bool
    floor: bool
    ceiling: bool
    direct: bool
    all_deny: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        control = ("control",) if self.constrained else ("control", "control of carriers")
        spread = ("overdispersion",) if self.constrained else ("overdispersion", "overdispersion of carriers")
        shares = {"floor": self.floor, "ceiling": self.ceiling, "confession": self.direct}
        return ("", *control, *(spread if self.overdispersed else ()), *(name for name, used in shares.items() if used))

    @property
    def form(self) -> str:
        kind = "beta-binomial" if self.overdispersed else "binomial"
        return f"{'constrained' if self.constrained else 'unconstrained'} {kind}"

    @property
    def further_shares(self) -> str:
        shares = {"floor": self.floor, "ceiling": self.ceiling, "direct question": self.direct}
        return "".join(f", {name}" for name, used in shares.items() if used or name in self.all_deny)

    def without(self, name: str, limit: int = 0) -> "ListDistribution":
        """Return the distribution without a parameter; a share is replaced by its `limit` of 0 or 1."""
        if name.startswith("overdispersion"):
            return replace(self, overdispersed=False)
        all_deny = (*self.all_deny, name) if limit == 1 else self.all_deny
        floor, ceiling = self.floor and name != "floor", self.ceiling and name != "ceiling"
        return replace(self, floor=floor, ceiling=ceiling, all_deny=all_deny)

    def probabilities(self, eta: Array) -> tuple[Array, Array]:
        """Return the probability of each response, and its derivatives with respect to the linear predictors.

        Responses are counts, or 2 * count + direct with a direct question.
        """
        predictors, is_long = dict(zip(self.names, eta, strict=True)), self.treated[:, None]
        others = self._control(predictors, "")
        short = others if self.constrained else self._control(predictors, " of carriers")
        long = self._long_list(*short, predictors)
        carriers = np.where(is_long, long[0], short[0]), np.where(is_long, long[1], short[1])
        if self.direct:
            carriers, others = self._with_direct(*carriers, predictors), self._with_direct(*others)
        return _mixture(expit(eta[0])[:, None], carriers, others)

    def _control(self, predictors: dict[str, Array], suffix: str) -> tuple[Array, Array]:
        """Return the distribution of the control count, and its derivatives with respect to all predictors.

        The largest count is that of the long list, which nobody reaches by control items alone.
        """
        name, spread = f"control{suffix}", f"overdispersion{suffix}"
        mean = expit(predictors[name])[:, None]
        # Beyond exp(8) the beta-binomial distribution has all its mass on none and on all of the items.
        theta = np.exp(np.clip(predictors[spread], -30, 8))[:, None] if self.overdispersed else np.zeros_like(mean)
        y, j = np.arange(self.items + 2), np.arange(self.items)
        up, down = np.maximum(mean + theta * j, 1e-300), np.maximum(1 - mean + theta * j, 1e-300)
        # Indicators of the factors in the beta-binomial probability of a count y.
        successes, failures = j[:, None] < y, j[:, None] < self.items - y
        choose = np.array([math.comb(self.items, int(count)) for count in y], dtype=float)
        log = np.log(up) @ successes + np.log(down) @ failures - np.log(1 + theta * j).sum(axis=1, keepdims=True)
        law = choose * np.exp(log)
        derivatives = np.zeros((len(self.names), *law.shape))
        by_mean = (1 / up) @ successes - (1 / down) @ failures
        derivatives[self.names.index(name)] = law * by_mean * mean * (1 - mean)
        if self.overdispersed:
            by_theta = (j / up) @ successes + (j / down) @ failures
            by_theta -= (j / (1 + theta * j)).sum(axis=1, keepdims=True)
            derivatives[self.names.index(spread)] = law * by_theta * theta
        return law, derivatives

    def _long_list(self, law: Array, derivatives: Array, predictors: dict[str, Array]) -> tuple[Array, Array]:
        """Return the distribution of carriers' counts of the long list: the control count + 1, except for denials."""
        long, d_long = np.zeros_like(law), np.zeros_like(derivatives)
        long[:, 1:], d_long[:, :, 1:] = law[:, :-1], derivatives[:, :, :-1]
        for name, count in (("floor", 0), ("ceiling", self.items)):
            if name not in self.names and name not in self.all_deny:
                continue
            share = expit(predictors[name]) if name in self.names else np.ones(len(law))
            denied, d_denied = share * law[:, count], share * derivatives[:, :, count]
            if name in self.names:
                d_denied[self.names.index(name)] += share * (1 - share) * law[:, count]
            long[:, count] += denied
            long[:, count + 1] -= denied
            d_long[:, :, count] += d_denied
            d_long[:, :, count + 1] -= d_denied
        return long, d_long

    def _with_direct(
        self, law: Array, derivatives: Array, predictors: dict[str, Array] | None = None
    ) -> tuple[Array, Array]:
        """Return the joint distribution of count and direct answer in one class; only carriers confess."""
        confession = np.zeros((len(law), 1)) if predictors is None else expit(predictors["confession"])[:, None]
        shares = np.stack([1 - confession, confession], axis=2)
        table, slopes = law[:, :, None] * shares, derivatives[:, :, :, None] * shares
        slopes[self.names.index("confession")] += law[:, :, None] * confession[:, :, None] * shares[:, :, :1] * [-1, 1]
        return table.reshape(len(law), -1), slopes.reshape(*slopes.shape[:2], -1)


def _mixture(trait: Array, carriers: tuple[Array, Array], others: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return the distribution over both classes, and its derivatives, including that with respect to the trait."""
    law, derivatives = (trait * own + (1 - trait) * other for own, other in zip(carriers, others, strict=True))
    derivatives[0] += trait * (1 - trait) * (carriers[0] - others[0])
    return law, derivatives
