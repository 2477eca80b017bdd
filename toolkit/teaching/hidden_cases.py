"""Hidden cases: arguments drawn from a seed, with which `toolkit grade` calls the functions that students write.

For each function, a case consists of the arguments and the toolkit's own result. Only the arguments are given to the
student's function.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

CASES = 3
"""The number of hidden cases of each function; each case that is right gives a point."""


@dataclass(frozen=True)
class Seed:
    """The seed of a random generator that a function takes as an argument.

    Parameters
    ----------
    value : int
        The seed; each process makes its own generator from it.
    """

    value: int


@dataclass(frozen=True)
class HiddenCase:
    """Arguments of a student's function, and the toolkit's result for them.

    Parameters
    ----------
    arguments : tuple
        The arguments; a `Seed` stands for a random generator.
    expected : Any
        The toolkit's result: a number or an array.
    repeat : int, default 1
        The number of calls, whose results are stacked.
    """

    arguments: tuple[Any, ...]
    expected: Any
    repeat: int = 1


def draw_cases(name: str, seed: int, student: str = "") -> list[HiddenCase]:
    """Draw the hidden cases of a function from a seed; students with different names get different cases."""
    keys = [seed, *f"{name}/{student}".encode()]
    return [_DRAW[name](np.random.default_rng([*keys, index])) for index in range(CASES)]


def functions_of(prefix: str) -> list[str]:
    """Return the names of the functions that students write in the notebook with this prefix, such as "03."."""
    return [name for name, notebook in NOTEBOOKS.items() if notebook == prefix]


def _seed(rng: np.random.Generator) -> Seed:
    return Seed(int(rng.integers(2**31)))


def _fraction(rng: np.random.Generator, low: int, high: int, denominator: int) -> Fraction:
    return Fraction(int(rng.integers(low, high)), denominator)


def _attack(rng: np.random.Generator) -> HiddenCase:
    from toolkit.teaching.attacks import reconstruction

    crowd = rng.integers(0, 2, 60)
    groups = reconstruction.queries(60, int(rng.integers(300, 400)), rng)
    answers = reconstruction.answers(crowd, groups, reconstruction.rounding_mechanism(int(rng.integers(3, 6))))
    return HiddenCase((groups, answers), reconstruction.reconstruct(groups, answers).bits == 1)


def _epsilon(rng: np.random.Generator) -> HiddenCase:
    from toolkit import audit

    outputs = ("yes", "no", "silent", "later")[: int(rng.integers(2, 5))]
    tables = []
    for _ in range(2):
        weights = [int(weight) for weight in rng.integers(1, 30, len(outputs))]
        tables.append({output: Fraction(w, sum(weights)) for output, w in zip(outputs, weights, strict=True)})
    return HiddenCase((tables[0], tables[1]), audit.exact_epsilon(tables[0], tables[1]))


def _warner(rng: np.random.Generator) -> HiddenCase:
    from toolkit import warner

    answers, p = rng.random(100_000) < rng.uniform(0.2, 0.8), _fraction(rng, 70, 96, 100)
    return HiddenCase((answers, float(p), _seed(rng)), np.asarray(warner(p=p).randomize(answers, rng=rng)))


def _estimate(rng: np.random.Generator) -> HiddenCase:
    from toolkit import forced, warner

    coins = warner(p=_fraction(rng, 65, 96, 100))
    uneven = forced(_fraction(rng, 1, 8, 20), _fraction(rng, 8, 12, 20))
    design = (coins, uneven, coins.joint(uneven))[int(rng.integers(3))]
    counts = rng.integers(100, 900, len(design.report_options))
    shares = np.atleast_1d(design.estimate_counts(counts).value)
    expected = shares if len(shares) > 1 else np.array([1 - shares[0], shares[0]])
    return HiddenCase((design.matrix, counts / counts.sum()), expected)


def _times(rng: np.random.Generator) -> HiddenCase:
    from toolkit import forced

    design, share = forced(_fraction(rng, 1, 9, 20), _fraction(rng, 1, 9, 20)), float(rng.uniform(0.03, 0.6))
    s, f = float(design.matrix[1, 1]), float(design.matrix[0, 1])
    return HiddenCase((s, f, share), design.variance(share, n=1) / (share * (1 - share)))


def _limit(rng: np.random.Generator) -> HiddenCase:
    before = float(rng.uniform(0.02, 0.5))
    after = float(rng.uniform(before + 0.05, 0.95))
    return HiddenCase((before, after), math.log(after) - math.log1p(-after) - math.log(before) + math.log1p(-before))


def _belief(rng: np.random.Generator) -> HiddenCase:
    before, epsilons = float(rng.uniform(0.05, 0.4)), [float(e) for e in rng.uniform(0.1, 1.2, rng.integers(2, 6))]
    weight = before * math.exp(math.fsum(epsilons))
    return HiddenCase((before, epsilons), weight / (weight + 1 - before))


def _people(rng: np.random.Generator) -> HiddenCase:
    from toolkit import plan, warner

    share, margin = int(rng.integers(5, 60)) / 100, int(rng.integers(20, 61)) / 1000
    epsilon = int(rng.integers(5, 26)) / 10
    return HiddenCase((share, margin, epsilon), plan(warner, prevalence=share, margin=margin, epsilon=epsilon).n)


def _laplace(rng: np.random.Generator) -> HiddenCase:
    value, sensitivity = np.full(100_000, float(rng.integers(20, 60))), float(rng.uniform(0.05, 0.3))
    epsilon = float(rng.uniform(0.2, 0.8))
    expected = value + rng.laplace(0, sensitivity / epsilon, len(value))
    return HiddenCase((value, sensitivity, epsilon, _seed(rng)), expected)


def _choice(rng: np.random.Generator) -> HiddenCase:
    from toolkit import Exponential

    scores, sensitivity = -rng.integers(100, 160, rng.integers(4, 9)), int(rng.integers(2, 6))
    epsilon = int(rng.integers(3, 15)) / 10
    mechanism = Exponential.for_epsilon(epsilon, sensitivity=sensitivity)
    return HiddenCase((scores, sensitivity, epsilon), mechanism.probabilities(scores))


def _vector(rng: np.random.Generator) -> HiddenCase:
    epsilon = float(rng.uniform(0.3, 0.7))
    normal = rng.normal(size=(20_000, 3))
    lengths = rng.gamma(3, size=(20_000, 1)) / epsilon
    expected = lengths * normal / np.linalg.norm(normal, axis=1, keepdims=True)
    return HiddenCase((3, epsilon, _seed(rng)), expected, repeat=len(expected))


def _log_likelihood(rng: np.random.Generator) -> HiddenCase:
    from toolkit import forced
    from toolkit.analysis import logistic
    from toolkit.core.extras import extra

    design = forced(_fraction(rng, 2, 7, 20), _fraction(rng, 2, 7, 20))
    covariates = rng.normal(size=(500, 2))
    share = 1 / (1 + np.exp(0.5 - covariates @ rng.uniform(-1, 1, 2)))
    reports = (rng.random(500) < design.matrix[0, 1] * (1 - share) + design.matrix[1, 1] * share).astype(int)
    table = extra("pandas").DataFrame({"report": reports, "first": covariates[:, 0], "second": covariates[:, 1]})
    fit = logistic("report ~ first + second", table, design)
    x = np.column_stack([np.ones(500), covariates])
    return HiddenCase((np.asarray(fit.value), x, reports, design.matrix), fit.llf)


def _log_ratio(rng: np.random.Generator) -> HiddenCase:
    from toolkit.central.robust.admissible import PowerLaw

    law = PowerLaw.for_epsilon(_fraction(rng, 4, 21, 10))
    t = float(law.smoothness)
    z = np.concatenate([-np.logspace(6, -3, 50), np.sort(rng.uniform(-20, 20, 200)), np.logspace(-3, 6, 50)])
    expected = np.log(law.density(z)) - np.log(law.density((z - 1) / math.exp(t))) + t
    return HiddenCase((z, t, law.m + 1, float(law.relative_scale)), expected)


def _totals(rng: np.random.Generator) -> HiddenCase:
    weeks = int(rng.integers(20, 60))
    counts, noise = rng.integers(0, 50, weeks), rng.integers(-9, 10, weeks)
    # The blocks of a total end at the partial sums of the powers of two in the week's number, largest first.
    ends = [[week >> bit << bit for bit in range(6) if week >> bit & 1] for week in range(1, weeks + 1)]
    sums = [counts[:week].sum() + sum(noise[end - 1] for end in ends[week - 1]) for week in range(1, weeks + 1)]
    return HiddenCase(([int(n) for n in counts], [int(n) for n in noise]), np.array(sums, dtype=float))


def _corrected(rng: np.random.Generator) -> HiddenCase:
    from toolkit import forced
    from toolkit.local import anchor

    people = int(rng.integers(3_000, 9_000))
    reports = rng.random(people) < rng.uniform(0.28, 0.45)
    moon = rng.random(people) < rng.uniform(0.27, 0.38)
    return HiddenCase((reports, moon), anchor.corrected(forced("1/4", "1/4"), reports, moon).value)


def _audit(rng: np.random.Generator) -> HiddenCase:
    neighbors, scale = np.array([[0.0], [1.0]]), float(rng.uniform(0.4, 1.2))
    search, fresh = (neighbors + rng.laplace(0, scale, (2, 2000)) for _ in range(2))
    cuts = np.linspace(-0.5, 1.5, int(rng.integers(21, 61)))
    bounds = []
    for rows in (search, fresh):
        a, b = (np.searchsorted(np.sort(row), cuts) for row in rows)
        bounds.append(np.log(a / b) - 4 * np.sqrt(1 / a + 1 / b - 1 / 1000))
    return HiddenCase((search, fresh, cuts), float(bounds[1][np.argmax(bounds[0])]))


def _step(rng: np.random.Generator) -> HiddenCase:
    from toolkit import Gaussian

    people, columns = int(rng.integers(20, 60)), int(rng.integers(2, 6))
    directions = rng.normal(size=(people, columns))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    lengths, limit = rng.gamma(2, size=(people, 1)), int(rng.integers(5, 30)) / 10
    rho, normal = int(rng.integers(2, 40)) / 100, rng.normal(size=columns)
    scale = Gaussian.for_rho(rho, sensitivity=2 * limit).scale
    total = (directions * np.minimum(lengths, limit)).sum(axis=0)
    return HiddenCase((directions * lengths, limit, rho, normal), total + scale * normal)


def _table(rng: np.random.Generator) -> HiddenCase:
    from toolkit import Laplace

    sizes = np.unique([4, *rng.integers(5, 600, 60)])
    epsilon, share = int(rng.integers(5, 26)) / 10, int(rng.integers(5, 31)) / 100
    margin = math.log(20) * Laplace.for_epsilon(epsilon, sensitivity=2).scale
    n = int(margin * (int(rng.integers(50, 400)) + 0.5) / share)
    return HiddenCase((n, sizes, epsilon, share), float(sizes[margin * sizes <= share * n].max()))


def _prediction(rng: np.random.Generator) -> HiddenCase:
    from toolkit import warner

    design, share, n = warner("3/4"), int(rng.integers(5, 90)) / 100, int(rng.integers(10, 400))
    mean = n * float(design.matrix[0, 1] * (1 - share) + design.matrix[1, 1] * share)
    margin = 1.96 * math.sqrt(design.variance(share, n=n)) * n / 2
    return HiddenCase((share, n), np.array([mean - margin, mean + margin]))


_DRAW: dict[str, Callable[[np.random.Generator], HiddenCase]] = {
    "my_attack": _attack,
    "my_epsilon": _epsilon,
    "my_warner": _warner,
    "my_estimate": _estimate,
    "my_times": _times,
    "my_limit": _limit,
    "my_belief": _belief,
    "my_people": _people,
    "my_laplace": _laplace,
    "my_choice": _choice,
    "my_vector": _vector,
    "my_log_likelihood": _log_likelihood,
    "my_log_ratio": _log_ratio,
    "my_totals": _totals,
    "my_step": _step,
    "my_audit": _audit,
    "my_table": _table,
    "my_prediction": _prediction,
    "my_corrected": _corrected,
}

NOTEBOOKS = {
    "my_attack": "01.",
    "my_epsilon": "02.",
    "my_warner": "03.",
    "my_estimate": "03.",
    "my_times": "04.",
    "my_limit": "05.",
    "my_belief": "05.",
    "my_people": "06.",
    "my_laplace": "07.",
    "my_choice": "07.",
    "my_vector": "07.",
    "my_log_likelihood": "09.",
    "my_log_ratio": "10.",
    "my_step": "11.",
    "my_totals": "12.",
    "my_audit": "13.",
    "my_table": "14.",
    "my_prediction": "15.",
    "my_corrected": "16.",
}
"""The functions that students write, each with the prefix of the exercises in its notebook."""
