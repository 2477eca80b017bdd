import math
from fractions import Fraction

import numpy as np
import pytest

from tests.slowly import each
from toolkit import Design, crosswise, forced, forced_options, k_ary, kuk, mangat, triangular, unrelated, warner


def test_crosswise_at_epsilon_has_the_matrix_of_warner_reversed() -> None:
    """At the same epsilon both designs have the same integers, with the rows in reverse order."""
    for epsilon in (0.1, 0.7, 1.0, math.log(5), 8.0):
        made, like = crosswise(epsilon=epsilon), warner(epsilon=epsilon)
        assert made.weights.tolist() == like.weights[::-1].tolist()
        assert made.epsilon == like.epsilon <= epsilon
        assert made.report_options == ("different", "same")
        assert made == crosswise(Fraction(int(made.weights[1, 1]), made.denominator))


@pytest.mark.slow
def test_warner_at_epsilon_is_on_the_private_side_and_within_a_millionth() -> None:
    for epsilon in np.random.default_rng(4).uniform(0.001, 20, size=1000):
        realized = warner(epsilon=float(epsilon)).epsilon
        assert realized <= epsilon
        assert epsilon - realized < 1e-6


@each(epsilon=[0.1, 1, math.log(3), 4.0], k=[2, 3, 16, 1000])
def test_k_ary_at_epsilon_is_on_the_private_side(k: int, epsilon: float) -> None:
    design = k_ary(k, epsilon=epsilon)
    assert epsilon - 1e-6 < design.epsilon <= epsilon
    keep = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    assert math.isclose(design.matrix[0, 0], keep, rel_tol=1e-5)


def test_epsilon_of_ln_3_is_two_coins_exactly() -> None:
    assert warner(epsilon=math.log(3)).weights.tolist() == [[3, 1], [1, 3]]


def test_matrices_are_those_of_the_literature() -> None:
    """Pr(yes | no) and Pr(yes | yes) for each design."""
    expected = {
        warner("2/3"): ("1/3", "2/3"),
        forced(yes="1/6", no="1/12"): ("1/6", "11/12"),
        unrelated("7/10", "3/10"): ("9/100", "79/100"),
        mangat("7/10"): ("3/10", "1"),
        crosswise("1/5"): ("4/5", "1/5"),
        triangular("1/4"): ("1/4", "1"),
    }
    from fractions import Fraction

    for design, (yes_if_no, yes_if_yes) in expected.items():
        found = [Fraction(int(w), design.denominator) for w in design.weights[:, 1]]
        assert found == [Fraction(yes_if_no), Fraction(yes_if_yes)], design.name


@pytest.mark.parametrize("design", [mangat(0.7), triangular(0.2), forced(yes=0.2, no=0), kuk(1, 0.5)])
def test_a_zero_in_the_matrix_makes_epsilon_infinite(design: Design) -> None:
    assert design.epsilon == math.inf
    assert design.loss.epsilon == math.inf


def test_kuk_drops_reports_that_nobody_can_give() -> None:
    assert kuk(1, 0, draws=2).report_options == (0, 2)
    assert kuk("4/5", "1/5").weights.tolist() == [[4, 1], [1, 4]]  # one card


BAD = [
    (lambda: warner(0.5), "`p` must differ from 1/2, got 1/2"),
    (lambda: warner("1/2"), "says nothing about the answer"),
    (lambda: warner(1.2), "`p` must lie between 0 and 1"),
    (lambda: warner(-0.1), "`p` must lie between 0 and 1"),
    (lambda: warner(float("nan")), "`p` must be a finite number"),
    (lambda: warner("two thirds"), "fraction such as '2/3'"),
    (lambda: warner(), "exactly one of `p` and `epsilon`"),
    (lambda: crosswise(), "exactly one of `p` and `epsilon`"),
    (lambda: crosswise(0.2, epsilon=1), "exactly one of `p` and `epsilon`"),
    (lambda: crosswise(epsilon=0), "`epsilon` must be above 0"),
    (lambda: crosswise(0.5), "`p` must differ from 1/2"),
    (lambda: warner(0.7, epsilon=1), "exactly one of `p` and `epsilon`"),
    (lambda: warner(epsilon=0), "`epsilon` must be above 0"),
    (lambda: warner(epsilon=-1), "`epsilon` must be above 0"),
    (lambda: warner(epsilon=float("inf")), "`epsilon` must be a finite number"),
    (lambda: warner(epsilon=float("nan")), "`epsilon` must be a finite number"),
    (lambda: warner(epsilon=1e-300), "large enough for 32-bit odds"),
    (lambda: warner(epsilon=22.5), "`epsilon` must be at most 22"),
    (lambda: forced(0.5, 0.5), "`yes` \\+ `no` must be below 1"),
    (lambda: unrelated(0, 0.3), "`p` must be above 0"),
    (lambda: mangat(0), "`p` must be above 0"),
    (lambda: kuk(0.5, 0.5), "`p_yes` must differ from `p_no`"),
    (lambda: kuk(0.8, 0.2, draws=0), "`draws` must be at least 1"),
    (lambda: kuk(0.8, 0.2, draws=101), "`draws` must be at most 100"),
    (lambda: triangular(1), "`p` must be below 1"),
    (lambda: k_ary(1, epsilon=1), "`options` must be at least 2"),
    (lambda: k_ary(["a", "a"], epsilon=1), "`options` must be distinct"),
    (lambda: forced_options(["a", "b"], [0.5, 0.5]), "`probabilities` must sum to less than 1"),
    (lambda: forced_options(["a", "b"], ["1/2", Fraction(2**39 - 1, 2**40)]), "more than 2\\*\\*-32"),
    (lambda: forced_options(["a", "b"], [0.5]), "`probabilities` must hold 2 numbers"),
    (lambda: forced_options(["a", "b"], {"a": 0.1, "c": 0.1}), "must name every option"),
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=[message for _, message in BAD])
def test_impossible_parameters_are_refused_with_a_reason(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    "make",
    [lambda: warner(True), lambda: warner([0.3]), lambda: k_ary("abc", epsilon=1), lambda: kuk(0.8, 0.2, draws=1.5)],
)
def test_wrong_types_are_refused(make: object) -> None:
    with pytest.raises(TypeError, match="must be"):
        make()


@pytest.mark.slow
def test_k_ary_beyond_its_limit_names_what_to_use_instead() -> None:
    """A table of 2,048 options takes half a second; a table of 10,000 took minutes."""
    assert k_ary(2048, epsilon=1.0).weights.shape == (2048, 2048)
    for options in (2049, 10**6, [f"option {number}" for number in range(2049)]):
        with pytest.raises(ValueError, match=r"at most 2048 .*oracles\.best\(options, 1\.0\)"):
            k_ary(options, epsilon=1.0)
    with pytest.raises(ValueError, match=r"at most 2048 .*oracles\.best"):
        forced_options(3000, ["1/6000"] * 3000)


def test_forced_shares_beyond_32_bits_are_rounded_up_to_the_private_side():
    shares = [Fraction(1, 2**40), Fraction(1, 7), Fraction(2, 2**35 + 1)]
    design = forced_options(["a", "b", "c"], shares)
    forced = [Fraction(int(design.weights[(j + 1) % 3, j]), design.denominator) for j in range(3)]
    assert all(share <= found < share + Fraction(1, 2**31) for share, found in zip(shares, forced, strict=True))
    assert design.epsilon < math.inf
    last = forced_options(["a", "b"], ["1/2", Fraction(2**31 - 1, 2**32)])  # one word in 2**32 is left for the truth
    assert last.weights.tolist() == [[2**31 + 1, 2**31 - 1], [2**31, 2**31]]


def test_forced_shares_may_be_given_by_name_in_any_order():
    assert forced_options(["a", "b"], {"b": "1/3", "a": "1/6"}).weights.tolist() == [[4, 2], [1, 5]]
