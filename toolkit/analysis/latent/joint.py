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

from toolkit.analysis.regression.rows import Codes
from toolkit.analysis.regression.stan import StanBlocks, StanVariable, stan_name
from toolkit.core.arrays import Array, Mask
from toolkit.core.checks import reject
from toolkit.core.inference.special import expit

TOP_CODING = "top-coding"
UNIFORM_SHORT = "uniform error of the short list"
UNIFORM_LONG = "uniform error of the long list"
ERRORS = {"topcode": (TOP_CODING,), "uniform": (UNIFORM_SHORT, UNIFORM_LONG)}
CONFESSION = "confession"
OUTCOME = "outcome"
OUTCOME_OF_CARRIERS = "outcome of carriers"
# A count below 0, or above the number of control items, is impossible.
_STAN_BINOMIAL = (
    "real control_probability(int count, int items, real eta) {",
    "  return count < 0 || count > items ? 0 : exp(binomial_logit_lpmf(count | items, eta));",
    "}",
)
_STAN_BETA_BINOMIAL = (
    "real control_probability(int count, int items, real eta, real log_theta) {",
    "  real a = inv_logit(eta) / exp(log_theta);",
    "  real b = inv_logit(-eta) / exp(log_theta);",
    "  return count < 0 || count > items ? 0 : exp(beta_binomial_lpmf(count | items, a, b));",
    "}",
)
_STAN_ANSWERS: dict[tuple[str, ...], tuple[str, ...]] = {
    (CONFESSION,): (
        "  real confession = inv_logit(eta_confession[n]);",
        "  carriers *= answer[n] == 1 ? confession : 1 - confession;",
        "  others *= 1 - answer[n];",
    ),
    (OUTCOME, OUTCOME_OF_CARRIERS): (
        "  real yes_of_carriers = inv_logit(eta_outcome[n] + eta_outcome_of_carriers[n]);",
        "  real yes_of_others = inv_logit(eta_outcome[n]);",
        "  carriers *= answer[n] == 1 ? yes_of_carriers : 1 - yes_of_carriers;",
        "  others *= answer[n] == 1 ? yes_of_others : 1 - yes_of_others;",
    ),
}
_STAN_DENIAL = (
    "real denial(int count, int items, real at_floor, real at_ceiling) {",
    "  return (count == 0) * at_floor + (count == items) * at_ceiling;",
    "}",
)
_SPREAD = "spread of people"
_NODES = 25
_MAX_RESPONSES = 600


@dataclass(frozen=True, eq=False)
class JointDistribution:
    """The joint distribution of all responses of a person: to one or two lists, or to single items and a long list.

    Items are independent; if `correlated`, a normal random effect shifts the log odds of all items of a person.

    Parameters
    ----------
    lists : dict
        The number of items of each short list, by name; 1 for a single item.
    item_by_item : bool
        Whether people who do not see the long list are asked about each item separately.
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
            reject(f"there must be at most {_MAX_RESPONSES} possible responses", n_responses, "leave out method='ml'")
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

    def __call__(self, eta: Array) -> tuple[Array, Array]:
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
        item_slice, rows = slice(first, first + len(items)), eta.shape[1]
        law, derivatives = np.zeros((rows, len(cells))), np.zeros((len(eta), rows, len(cells)))
        # Gauss–Hermite quadrature over the random effect; for independent items, there is a single node at 0.
        nodes, weights = np.polynomial.hermite.hermgauss(_NODES) if self.correlated else (np.zeros(1), np.ones(1))
        sd = np.exp(np.clip(eta[-1], -30, 3)) if self.correlated else np.zeros(rows)
        for node, weight in zip(np.sqrt(2) * nodes, weights / weights.sum(), strict=True):
            item_eta = eta[item_slice] + sd * node
            log = -np.logaddexp(0, -item_eta).T @ cells.T - np.logaddexp(0, item_eta).T @ (items - cells).T
            term = weight * choose * np.exp(log)
            scores = cells.T[:, None, :] - (items[:, None] * expit(item_eta))[:, :, None]
            law += term
            derivatives[item_slice] += term * scores
            if self.correlated:
                derivatives[-1] += term * scores.sum(axis=0) * (sd * node)[:, None]
        return law, derivatives


@dataclass(frozen=True, eq=False)
class ListDistribution:
    """The distribution of one list's count, and of the direct answer if there is one.

    The linear predictors are, in this order: the trait; the control count of others and, unless constrained, of
    carriers; the overdispersion of each control count; the shares of carriers who deny at the floor and at the ceiling;
    the share of carriers who confess, or the outcome and its difference for carriers; and the shares of `errors`.
    `all_deny` names the limits, "floor" or "ceiling", at which every carrier denies. `errors` names the shares of
    people who answer by mistake: with the largest possible count, or with any count at random.
    """

    items: int
    treated: Mask
    overdispersed: bool
    constrained: bool
    floor: bool
    ceiling: bool
    direct: bool
    all_deny: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    outcome: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        control = ("control",) if self.constrained else ("control", "control of carriers")
        spread = ("overdispersion",) if self.constrained else ("overdispersion", "overdispersion of carriers")
        shares = {"floor": self.floor, "ceiling": self.ceiling}
        return (
            "",
            *control,
            *(spread if self.overdispersed else ()),
            *(name for name, used in shares.items() if used),
            *self._answer_predictors,
            *self.errors,
        )

    @property
    def form(self) -> str:
        kind = "beta-binomial" if self.overdispersed else "binomial"
        return f"{'constrained' if self.constrained else 'unconstrained'} {kind}"

    @property
    def further_shares(self) -> str:
        shares = {"floor": self.floor, "ceiling": self.ceiling, "direct question": self.direct}
        used = [name for name, used in shares.items() if used or name in self.all_deny]
        return "".join(f", {name}" for name in (*used, *self.errors, *([OUTCOME] if self.outcome else [])))

    def without(self, name: str, limit: int = 0) -> "ListDistribution":
        """Return the distribution without a parameter; a share is replaced by its `limit` of 0 or 1."""
        if name.startswith("overdispersion"):
            return replace(self, overdispersed=False)
        all_deny = (*self.all_deny, name) if limit == 1 else self.all_deny
        floor, ceiling = self.floor and name != "floor", self.ceiling and name != "ceiling"
        errors = tuple(error for error in self.errors if error != name)
        return replace(self, floor=floor, ceiling=ceiling, all_deny=all_deny, errors=errors)

    def __call__(self, eta: Array) -> tuple[Array, Array]:
        """Return the probability of each response, and its derivatives with respect to the linear predictors.

        Responses are counts, or 2 * count + answer with a direct question or an outcome.
        """
        predictors, is_long = dict(zip(self.names, eta, strict=True)), self.treated[:, None]
        others = self._control(predictors, "")
        short = others if self.constrained else self._control(predictors, " of carriers")
        long = self._long_list(*short, predictors)
        carriers = np.where(is_long, long[0], short[0]), np.where(is_long, long[1], short[1])
        if self._answer_predictors:
            carriers = self._with_answer(*carriers, predictors, carrier=True)
            others = self._with_answer(*others, predictors, carrier=False)
        return self._with_errors(*_mixture(expit(eta[0])[:, None], carriers, others), predictors)

    def _with_errors(self, law: Array, derivatives: Array, predictors: dict[str, Array]) -> tuple[Array, Array]:
        """Return the distribution of all responses, some of which are mistakes, and its derivatives."""
        for name in self.errors:
            people, mistaken = self._mistakes[name]
            share = expit(predictors[name])[:, None]
            difference = people * (mistaken - law)
            derivatives *= 1 - people * share
            derivatives[self.names.index(name)] += share * (1 - share) * difference
            law = law + share * difference
        return law, derivatives

    @cached_property
    def _mistakes(self) -> dict[str, tuple[Array, Array]]:
        """The people who can make each error, as 0 and 1, and the distribution of their mistaken counts."""
        counts, is_long = np.arange(self.items + 2), self.treated[:, None].astype(float)
        largest = self.items + is_long
        uniform = (counts <= largest) / (1 + largest)
        return {
            TOP_CODING: (np.ones_like(is_long), (counts == largest).astype(float)),
            UNIFORM_SHORT: (1 - is_long, uniform),
            UNIFORM_LONG: (is_long, uniform),
        }

    def stan_blocks(self, responses: Codes) -> StanBlocks:
        """Return the likelihood of the counts in Stan, with that of the answers beside them if there are any."""
        n_answers = 2 if self._answer_predictors else 1
        data = [
            StanVariable("int<lower=1> J", self.items, "control items"),
            StanVariable("array[N] int<lower=0> count", responses // n_answers, "count of each row"),
            StanVariable(
                "array[N] int<lower=0, upper=1> is_long", self.treated.astype(int), "whether the list is long"
            ),
        ]
        if self._answer_predictors:
            data.append(StanVariable("array[N] int<lower=0, upper=1> answer", responses % 2, "answer beside the count"))
        carriers = "" if self.constrained else "_of_carriers"
        shares = [
            f"inv_logit(eta_{name}[n])" if name in self.names else str(int(name in self.all_deny))
            for name in ("floor", "ceiling")
        ]
        of_carriers, denial = self._stan_arguments(carriers), f"J, {', '.join(shares)}"
        top, short, long = (
            f"inv_logit(eta_{stan_name(name)}[n])" if name in self.errors else "0"
            for name in (TOP_CODING, UNIFORM_SHORT, UNIFORM_LONG)
        )
        model = (
            "for (n in 1:N) {",
            "  real trait = inv_logit(eta_trait[n]);",
            f"  real others = control_probability(count[n], {self._stan_arguments('')});",
            f"  real short_list = control_probability(count[n], {of_carriers});",
            f"  real one_less = control_probability(count[n] - 1, {of_carriers});",
            f"  real denied = short_list * denial(count[n], {denial});",
            f"  real admitted = one_less * (1 - denial(count[n] - 1, {denial}));",
            "  real carriers = is_long[n] == 1 ? denied + admitted : short_list;",
            *_STAN_ANSWERS.get(self._answer_predictors, ()),
            "  real law = trait * carriers + (1 - trait) * others;",
            *([f"  law += {top} * ((count[n] == J + is_long[n]) - law);"] if TOP_CODING in self.errors else []),
            f"  real uniform = is_long[n] == 1 ? {long} : {short};",
            "  law += uniform * (1.0 / (J + 1 + is_long[n]) - law);",
            "  target += people[n] * log(law);",
            "}",
        )
        functions = _STAN_BETA_BINOMIAL if self.overdispersed else _STAN_BINOMIAL
        return StanBlocks({}, (), model, tuple(data), functions=(*functions, *_STAN_DENIAL))

    def _stan_arguments(self, suffix: str) -> str:
        spread = f", eta_overdispersion{suffix}[n]" if self.overdispersed else ""
        return f"J, eta_control{suffix}[n]{spread}"

    def _control(self, predictors: dict[str, Array], suffix: str) -> tuple[Array, Array]:
        """Return the distribution of the control count, and its derivatives with respect to all predictors.

        The largest count is that of the long list, which cannot be reached with control items alone.
        """
        name, spread = f"control{suffix}", f"overdispersion{suffix}"
        mean = expit(predictors[name])[:, None]
        # Beyond exp(8), practically every count of the beta-binomial distribution is 0 or the number of items.
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
        """Return the distribution of carriers' counts on the long list: the control count + 1, except for denials."""
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

    def _with_answer(
        self, law: Array, derivatives: Array, predictors: dict[str, Array], carrier: bool
    ) -> tuple[Array, Array]:
        """Return the joint distribution of count and second answer in one class.

        Only carriers confess to the direct question. An outcome has log odds of its own for carriers.
        """
        names = [name for name in self._answer_predictors if name != OUTCOME_OF_CARRIERS or carrier]
        if self.direct and not carrier:
            names, yes = [], np.zeros(len(law))
        else:
            yes = expit(np.sum([predictors[name] for name in names], axis=0))
        shares = np.column_stack([1 - yes, yes])[:, None, :]
        table, slopes = law[:, :, None] * shares, derivatives[:, :, :, None] * shares
        for name in names:
            slopes[self.names.index(name)] += law[:, :, None] * shares[:, :, :1] * shares[:, :, 1:] * [-1, 1]
        return table.reshape(len(law), -1), slopes.reshape(*slopes.shape[:2], -1)

    @property
    def _answer_predictors(self) -> tuple[str, ...]:
        """The linear predictors of the answer besides the count, if there is one."""
        return (CONFESSION,) if self.direct else (OUTCOME, OUTCOME_OF_CARRIERS) if self.outcome else ()


def _mixture(trait: Array, carriers: tuple[Array, Array], others: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return the distribution over both classes, and its derivatives, including that with respect to the trait."""
    law, derivatives = (
        trait * share_of_carriers + (1 - trait) * share_of_others
        for share_of_carriers, share_of_others in zip(carriers, others, strict=True)
    )
    derivatives[0] += trait * (1 - trait) * (carriers[0] - others[0])
    return law, derivatives
