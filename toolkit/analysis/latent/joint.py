"""Likelihoods of all answers of a person: to one list, to two lists, or to harmless items asked one by one."""

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
_MOST_ANSWERS = 600


@dataclass(frozen=True, eq=False)
class JointLaw:
    """The probabilities of all answers to `parts`, which are short lists with their lengths, or single items.

    Items are independent, unless `shared` adds a common normal effect to their log odds. The linear predictors are, in
    this order, those of the trait, of each part (for non-carriers, and also for carriers unless constrained), and the
    logarithm of the standard deviation of the common effect.
    """

    parts: dict[str, int]
    single: bool
    treated: Mask
    constrained: bool
    shared: bool
    direct: ClassVar[bool] = False
    more: ClassVar[str] = ""

    @property
    def names(self) -> tuple[str, ...]:
        carriers = () if self.constrained else tuple(f"{name} of carriers" for name in self.parts)
        return ("", *self.parts, *carriers, *([_SPREAD] if self.shared else ()))

    @property
    def form(self) -> str:
        kind = "logit-normal" if self.shared else "binomial"
        return f"{'constrained' if self.constrained else 'unconstrained'} {kind}"

    def without(self, _: str) -> "JointLaw":
        """Return the law without a common effect."""
        return replace(self, shared=False)

    @cached_property
    def _cells(self) -> Array:
        """All combinations of harmless counts, with shape (cell, part)."""
        return np.array(list(itertools.product(*(range(most + 1) for most in self.parts.values()))), dtype=float)

    @cached_property
    def _told(self) -> list[list[Array]]:
        """Indicator matrices (cell, answer), first by class (non-carriers, carriers), then by list (short, long).

        The answer to two lists is a pair of counts. With single items, it is the pattern of items, or for the long list
        the count; codes of counts follow those of patterns.
        """
        most, cells = list(self.parts.values()), self._cells.astype(int)
        two, first = len(most) == 2 and not self.single, len(cells) * self.single
        many = (most[0] + 2) ** 2 if two else first + sum(most) + 2
        if many > _MOST_ANSWERS:
            reject(f"people must have at most {_MOST_ANSWERS} ways to answer", many, "leave out method='ml'")
        matrices = []
        for carrier, long in itertools.product((0, 1), (0, 1)):
            if two:
                codes = (cells[:, 0] + carrier * long) * (most[0] + 2) + cells[:, 1] + carrier * (1 - long)
            elif long or not self.single:
                codes = first + cells.sum(axis=1) + carrier * long
            else:
                codes = np.arange(len(cells))
            matrices.append(np.eye(many)[codes])
        return [matrices[:2], matrices[2:]]

    def codes(self, columns: list[Array]) -> npt.NDArray[np.intp]:
        """Return the code of each person's answer, from the counts of each part followed by those of the long list."""
        if not self.single:
            most = next(iter(self.parts.values()))
            return np.asarray(columns[0] * (most + 2) + columns[1] if len(columns) > 1 else columns[0], dtype=np.intp)
        pattern = np.array(columns[:-1]).T @ 2.0 ** np.arange(len(self.parts))[::-1]
        return np.where(self.treated, len(self._cells) + columns[-1], pattern).astype(np.intp)

    def probabilities(self, eta: Array) -> tuple[Array, Array]:
        """Return the probabilities of all answers, and their derivatives by predictor."""
        trait, on, tables = expit(eta[0])[:, None], self.treated[:, None], []
        others = self._harmless(eta, False)
        for carrier, (law, slopes) in enumerate((others, others if self.constrained else self._harmless(eta, True))):
            short, long = self._told[carrier]
            tables.append((np.where(on, law @ long, law @ short), np.where(on, slopes @ long, slopes @ short)))
        (lack, d_lack), (have, d_have) = tables
        by = trait * d_have + (1 - trait) * d_lack
        by[0] += trait * (1 - trait) * (have - lack)
        return trait * have + (1 - trait) * lack, by

    def _harmless(self, eta: Array, carrier: bool) -> tuple[Array, Array]:
        """Return the distribution of one class's harmless counts, and its derivatives by predictor."""
        most, cells = np.array([*self.parts.values()], dtype=float), self._cells
        choose = np.array(
            [math.prod(math.comb(int(m), int(c)) for m, c in zip(most, row, strict=True)) for row in cells]
        )
        first = 1 + carrier * len(most)
        places, rows = slice(first, first + len(most)), eta.shape[1]
        law, by = np.zeros((rows, len(cells))), np.zeros((len(eta), rows, len(cells)))
        points, weights = np.polynomial.hermite.hermgauss(_NODES) if self.shared else (np.zeros(1), np.ones(1))
        sd = np.exp(np.clip(eta[-1], -30, 3)) if self.shared else np.zeros(rows)
        for point, weight in zip(np.sqrt(2) * points, weights / weights.sum(), strict=True):
            at = eta[places] + sd * point
            log = -np.logaddexp(0, -at).T @ cells.T - np.logaddexp(0, at).T @ (most - cells).T
            part = weight * choose * np.exp(log)
            leans = cells.T[:, None, :] - (most[:, None] * expit(at))[:, :, None]
            law += part
            by[places] += part * leans
            if self.shared:
                by[-1] += part * leans.sum(axis=0) * (sd * point)[:, None]
        return law, by


@dataclass(frozen=True, eq=False)
class ListLaw:
    """The probabilities of all counts of one list.

    The linear predictors are, in this order, those of the trait, the control count (for non-carriers, and also for
    carriers unless constrained), the overdispersion (likewise), the floor, the ceiling, and the confession.
    """

    items: int
    treated: Mask
    overdispersed: bool
    constrained: bool
    floor: bool
    ceiling: bool
    direct: bool

    @property
    def names(self) -> tuple[str, ...]:
        control = ("control",) if self.constrained else ("control", "control of carriers")
        spread = ("overdispersion",) if self.constrained else ("overdispersion", "overdispersion of carriers")
        more = [("floor", self.floor), ("ceiling", self.ceiling), ("confession", self.direct)]
        return ("", *control, *(spread if self.overdispersed else ()), *(name for name, there in more if there))

    @property
    def form(self) -> str:
        kind = "beta-binomial" if self.overdispersed else "binomial"
        return f"{'constrained' if self.constrained else 'unconstrained'} {kind}"

    @property
    def more(self) -> str:
        parts = [("floor", self.floor), ("ceiling", self.ceiling), ("direct question", self.direct)]
        return "".join(f", {name}" for name, there in parts if there)

    def without(self, name: str) -> "ListLaw":
        """Return the law without a share that went to 0."""
        if name.startswith("overdispersion"):
            return replace(self, overdispersed=False)
        return replace(self, floor=self.floor and name != "floor", ceiling=self.ceiling and name != "ceiling")

    def probabilities(self, eta: Array) -> tuple[Array, Array]:
        """Return the probabilities of all counts and, if asked, direct answers, and their derivatives by predictor."""
        by = dict(zip(self.names, eta, strict=True))
        slots = {name: place for place, name in enumerate(self.names)}
        trait = expit(eta[0])[:, None]
        others, d_others = self._control(by, slots, "")
        carriers, d_carriers = (others, d_others) if self.constrained else self._control(by, slots, " of carriers")
        long, d_long = self._long(carriers, d_carriers, by, slots)
        short = np.pad(carriers, ((0, 0), (0, 1)))
        d_short = np.pad(d_carriers, ((0, 0), (0, 0), (0, 1)))
        on = self.treated[:, None]
        have, d_have = np.where(on, long, short), np.where(on, d_long, d_short)
        lack, d_lack = np.pad(others, ((0, 0), (0, 1))), np.pad(d_others, ((0, 0), (0, 0), (0, 1)))
        if self.direct:
            return self._with_direct(trait, (have, d_have), (lack, d_lack), expit(by["confession"])[:, None], slots)
        slopes = trait * d_have + (1 - trait) * d_lack
        slopes[0] += trait * (1 - trait) * (have - lack)
        return trait * have + (1 - trait) * lack, slopes

    def _control(self, by: dict[str, Array], slots: dict[str, int], whose: str) -> tuple[Array, Array]:
        """Return the distribution of the control count, and its derivatives by predictor."""
        name, spread = f"control{whose}", f"overdispersion{whose}"
        mean = expit(by[name])[:, None]
        theta = np.exp(np.clip(by[spread], -30, 8))[:, None] if self.overdispersed else np.zeros_like(mean)
        y, j = np.arange(self.items + 1), np.arange(self.items)
        up, down = np.maximum(mean + theta * j, 1e-300), np.maximum(1 - mean + theta * j, 1e-300)
        first, second = j[:, None] < y, j[:, None] < self.items - y
        choose = np.array([math.comb(self.items, int(one)) for one in y], dtype=float)
        log = np.log(up) @ first + np.log(down) @ second - np.log(1 + theta * j).sum(axis=1, keepdims=True)
        law = choose * np.exp(log)
        slopes = np.zeros((len(self.names), *law.shape))
        slopes[slots[name]] = law * ((1 / up) @ first - (1 / down) @ second) * mean * (1 - mean)
        if self.overdispersed:
            lean = (j / up) @ first + (j / down) @ second - (j / (1 + theta * j)).sum(axis=1, keepdims=True)
            slopes[slots[spread]] = law * lean * theta
        return law, slopes

    def _long(self, law: Array, slopes: Array, by: dict[str, Array], slots: dict[str, int]) -> tuple[Array, Array]:
        """Return the distribution of carriers' long-list counts: one more, except for floor and ceiling effects."""
        long, d_long = np.pad(law, ((0, 0), (1, 0))), np.pad(slopes, ((0, 0), (0, 0), (1, 0)))
        for name, place in (("floor", 0), ("ceiling", self.items)):
            if name in slots:
                share = expit(by[name])
                moved, d_moved = share * law[:, place], share * slopes[:, :, place]
                d_moved[slots[name]] += share * (1 - share) * law[:, place]
                long[:, place] += moved
                long[:, place + 1] -= moved
                d_long[:, :, place] += d_moved
                d_long[:, :, place + 1] -= d_moved
        return long, d_long

    def _with_direct(
        self,
        trait: Array,
        carriers: tuple[Array, Array],
        others: tuple[Array, Array],
        confess: Array,
        slots: dict[str, int],
    ) -> tuple[Array, Array]:
        """Return the probabilities of the answers 2 * count + direct; non-carriers never confess."""
        (have, d_have), (lack, d_lack), bend = carriers, others, trait * (1 - trait)
        yes, d_yes = trait * confess * have, trait * confess * d_have
        no = trait * (1 - confess) * have + (1 - trait) * lack
        d_no = trait * (1 - confess) * d_have + (1 - trait) * d_lack
        d_yes[0] += bend * confess * have
        d_no[0] += bend * ((1 - confess) * have - lack)
        moved = trait * confess * (1 - confess) * have
        d_yes[slots["confession"]] += moved
        d_no[slots["confession"]] -= moved
        rows, width = have.shape
        table = np.stack([no, yes], axis=2).reshape(rows, 2 * width)
        return table, np.stack([d_no, d_yes], axis=3).reshape(len(d_no), rows, 2 * width)
