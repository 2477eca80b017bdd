"""The contract suite, applied to every design of the catalogue."""

import numpy as np
import pytest

from tests.local import contract
from tests.local.contract import CHECKS, Check
from tests.slowly import case, each
from toolkit import Design, forced, forced_options, k_ary, kuk, warner
from toolkit.local.catalogue import CATALOGUE, make_example

RANDOM = np.random.default_rng(3).integers(1, 50, size=(3, 4))

DESIGNS = {
    f"{name} of the catalogue": make_example(name) for name in CATALOGUE if make_example(name).matrix is not None
} | {
    "warner below a half": warner(0.3),
    "warner at epsilon 1": warner(epsilon=1.0),
    "forced unevenly": forced(yes=0.05, no=0.3),
    "forced yes only": forced(yes=0.25, no=0),
    "kuk, two cards": kuk(0.7, 0.4, draws=2),
    "kuk, five cards": kuk("3/4", "1/3", draws=5),
    "kuk, ten cards beyond 32 bits": kuk(0.31, 0.77, draws=10),
    "k-ary, 5": k_ary(5, epsilon=0.5),
    "forced Likert": forced_options(["a", "b", "c", "d", "e"], [0.08] * 5),
    "forced unevenly, 3": forced_options(3, ["1/12", "1/6", "1/4"]),
    "joint of two": warner(0.8).joint(forced("1/6", "1/6")),
    "any matrix": Design.from_matrix(
        (RANDOM / RANDOM.sum(axis=1, keepdims=True)).tolist(), ["x", "y", "z"], [1, 2, 3, 4]
    ),
    "square, no forced form": Design([[7, 2, 1], [2, 5, 3], [1, 1, 8]], 10, ["low", "mid", "high"]),
    "opposite answers, 3": Design([[1, 2, 2], [2, 1, 2], [2, 2, 1]], 5, ["a", "b", "c"]),
}


SLOW = (
    contract.check_intervals_hold_their_level_by_enumeration,
    contract.check_intervals_stay_inside_and_report_the_empty_case,
    contract.check_randomizer_follows_the_matrix,
    contract.check_system_randomness_follows_the_matrix,
    contract.check_variance_by_enumeration,
)


@pytest.mark.slow
@pytest.mark.parametrize("check", SLOW, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("name", DESIGNS)
def test_every_design_keeps_what_takes_longer_to_be_seen(name: str, check: Check) -> None:
    check(DESIGNS[name])


@pytest.mark.slow
@each(name=DESIGNS)
def test_every_design_keeps_the_contract(name: str) -> None:
    for check in (one for one in CHECKS if one not in SLOW):
        with case(check.__name__):
            check(DESIGNS[name])
