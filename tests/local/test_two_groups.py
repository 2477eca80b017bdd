"""Designs with two groups: who reports yes, and what the groups' shares of yes imply about the classes."""

import numpy as np
import pytest

from toolkit.local.two_groups import TWO_GROUP_DESIGNS, TwoGroupDesign

P = np.array([0.2, 0.7])
FORMULAS = {  # as in the papers, for the share of carriers and the share of the second class
    "unknown_question": lambda p, a, b: p * a + (1 - p) * b,
    "cheater_detection": lambda p, a, b: a + (1 - a - b) * p,
    "lie_detector": lambda p, a, b: a * b + (1 - a) * (1 - p),
    "extended_crosswise": lambda p, a, b: (1 - b) * (p * a + (1 - p) * (1 - a)),
}
designs = pytest.mark.parametrize(("name", "design"), TWO_GROUP_DESIGNS.items())


@designs
def test_yes_is_as_frequent_as_in_the_papers(name: str, design: TwoGroupDesign) -> None:
    for trait, other in ((0.3, 0.1), (0.0, 0.4), (0.6, 0.0)):
        assert design.yes_shares(P, trait, other)[0] == pytest.approx(FORMULAS[name](P, trait, other), abs=1e-15)


@pytest.mark.parametrize("design", TWO_GROUP_DESIGNS.values())
def test_derivatives_are_those_of_the_chance_of_yes(design: TwoGroupDesign) -> None:
    def yes(trait: float, other: float) -> np.ndarray:
        return design.yes_shares(P, trait, other)[0]

    _, by_trait, by_other = design.yes_shares(P, 0.3, 0.2)
    assert by_trait == pytest.approx((yes(0.301, 0.2) - yes(0.299, 0.2)) / 0.002)
    assert by_other == pytest.approx((yes(0.3, 0.201) - yes(0.3, 0.199)) / 0.002)


@designs
def test_shares_of_yes_give_the_share_of_carriers_back(name: str, design: TwoGroupDesign) -> None:
    trait, other = 0.3, 0.2
    start, weights = design.carrier_coefficients(P)
    # in this design, carriers are the people who follow the instructions
    kept = 1 - other if name == "extended_crosswise" else 1
    assert start + weights @ design.yes_shares(P, trait, other)[0] == pytest.approx(kept * trait)


@designs
def test_each_corner_has_a_share_of_one_where_all_people_are_there(name: str, design: TwoGroupDesign) -> None:
    start, matrix = design.corner_solution(P)
    for k, corner in enumerate(design.corner_cells):
        assert start + matrix @ design.yes_probability(corner, P) == pytest.approx(np.eye(2)[k])
    assert design.is_triangular == (name != "unknown_question")
