"""What charges come to: safe conversion, exact sums, a ceiling that holds, and the words of a refusal."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.budget.spending import Opener
from toolkit.budget.charges import add_charge, round_for_record
from toolkit.budget.ledger import BudgetError, Ledger
from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.selection import Exponential, NoisyMax, PermuteAndFlip
from toolkit.central.tables import Composed
from toolkit.core.loss import Approx, Loss, Pure, Zcdp
from toolkit.local.questions import warner


def test_tenths_fit_exactly_and_nothing_more(opener: Opener) -> None:
    ledger = opener(Pure(0.3))
    ledger.charge(Pure(0.1))
    ledger.charge(Pure(0.2))
    assert ledger.spent == Pure(0.3)
    assert ledger.remaining == Pure(0)
    ledger.charge(Pure(0))
    with pytest.raises(BudgetError, match=r"got ε = 1e-30 where 0 of 0.3 remains: nothing was charged or released"):
        ledger.charge(Pure(1e-30))
    assert len(ledger.entries()) == 3


def test_refusal_says_what_was_asked_and_what_remains_with_enough_digits(opener: Opener) -> None:
    ledger = opener(Approx(1, 1e-6))
    ledger.charge(Approx(0.5, 9e-7))
    for asked, words in (
        (Pure(0.6), r"got ε = 0.6 where 0.5 of 1 remains"),
        (Pure("0.5000000000000001"), r"got ε = 0.5000000000000001 where 0.5 of 1"),
        (Pure("0.50000000000000000000001"), r"got ε = 0.5000000000000001 where 0.5 of 1|a little more than 0.5"),
        (Approx(0.1, 2e-7), r"got δ = 2e-07 where 1e-07 of 1e-06 remains"),
        (Approx(2, 1), r"got ε = 2 where 0.5 of 1 remains and δ = 1 where 1e-07 of 1e-06 remains"),
        (Pure(Fraction(10) ** 400), r"got ε = inf|∞"),
    ):
        with pytest.raises(BudgetError, match=words):
            ledger.charge(asked)
    assert ledger.spent == Approx(0.5, 9e-7)


@pytest.mark.parametrize(
    ("ceiling", "loss", "charged"),
    [
        (Pure(1), Pure(0.5), Pure(0.5)),
        (Pure(1), Approx(0.5, 0), Pure(0.5)),
        (Pure(1), Zcdp(0), Pure(0)),
        (Approx(1, 1e-6), Pure(0.5), Approx(0.5, 0)),
        (Approx(1, 1e-6), Approx(0.5, 1e-7), Approx(0.5, 1e-7)),
        (Approx(1, 0), Pure(0.5), Approx(0.5, 0)),
        (Zcdp(1), Zcdp(0.5), Zcdp(0.5)),
        (Zcdp(1), Pure(0.5), Zcdp(0.125)),
        (Zcdp(1), Approx(0.5, 0), Zcdp(0.125)),
    ],
)
def test_charges_are_converted_where_that_is_safe(ceiling: Loss, loss: Loss, charged: Loss, opener: Opener) -> None:
    ledger = opener(ceiling)
    entry = ledger.charge(loss, "question")
    assert (entry.loss, entry.charged, ledger.spent) == (loss, charged, charged)
    assert ledger.entries() == (entry,)


@pytest.mark.parametrize(
    ("ceiling", "loss", "remedy"),
    [
        (Pure(1), Approx(0.5, 1e-9), "Approx ceiling"),
        (Pure(1), Zcdp(1e-9), "Zcdp ceiling"),
        (Approx(1, 1e-6), Zcdp(1e-9), r"Zcdp.within\(Approx\(1.0, 1e-06\)\)"),
        (Zcdp(1), Approx(0.5, 1e-9), "Approx ceiling"),
        (Pure(1), Pure(float("inf")), "not private"),
    ],
)
def test_charges_that_cannot_be_converted_are_refused_with_the_remedy(
    ceiling: Loss, loss: Loss, remedy: str, opener: Opener
) -> None:
    ledger = opener(ceiling)
    with pytest.raises(BudgetError, match=remedy):
        ledger.charge(loss)
    assert ledger.entries() == ()


@pytest.mark.parametrize(
    ("mechanism", "charged"),
    [
        (Exponential.for_epsilon(0.5), Zcdp("1/32")),  # an eighth of the square, not a half
        (PermuteAndFlip.for_epsilon(0.5), Zcdp("1/8")),
        (NoisyMax.for_epsilon(0.5), Zcdp("1/8")),
        (Laplace.for_epsilon(0.5), Zcdp("1/8")),
        (Composed((Laplace.for_epsilon(0.25), Laplace.for_epsilon(0.25))), Zcdp("1/16")),
        (Gaussian.for_rho("1/10"), Zcdp("1/10")),
        (Gaussian.for_loss(1, 1e-6), Gaussian.for_loss(1, 1e-6).zcdp),
        (Gaussian(Zcdp(1), Fraction(5)), Zcdp(1)),  # what is claimed in the ledger's currency is what counts
        (warner(p="3/4"), warner(p="3/4").loss.to_zcdp()),
    ],
)
def test_a_ledger_in_rho_charges_a_mechanism_by_its_own_rho(mechanism: Any, charged: Zcdp, opener: Opener) -> None:
    entry = opener(Zcdp(2)).charge(mechanism, "a question")
    assert (entry.charged, entry.loss, entry.mechanism) == (charged, mechanism.loss, type(mechanism).__name__)
    assert entry.total == charged


def test_release_charges_the_same_as_charge() -> None:
    mechanism = Gaussian.for_loss(1, 1e-6)
    ledger = Ledger(Zcdp(1))
    ledger.release(mechanism, 5)
    assert ledger.spent == mechanism.zcdp


@pytest.mark.parametrize("ceiling", [Pure(1), Approx(1, 1e-6)])
def test_other_ledgers_charge_a_mechanism_by_its_loss(ceiling: Loss, opener: Opener) -> None:
    ledger = opener(ceiling)
    entry = ledger.charge(Exponential.for_epsilon(0.5), mechanism="a choice")
    assert (entry.loss, entry.mechanism) == (Pure(0.5), "a choice")
    assert Fraction(entry.charged.amount) == Fraction(1, 2)


@dataclass(frozen=True)
class Boaster:
    """Says what it is told to say."""

    loss: Any
    zcdp: Any


def test_the_lesser_of_two_true_prices_is_charged(opener: Opener) -> None:
    """A value that is not a price is ignored or rejected."""
    ledger = opener(Zcdp(10))
    assert ledger.charge(Boaster(Pure(1), Zcdp(3))).charged == Zcdp(0.5)
    assert ledger.charge(Boaster(Pure(1), Zcdp(0.25))).charged == Zcdp(0.25)
    assert ledger.charge(Boaster(Pure(1), 0.25)).charged == Zcdp(0.5)
    for loss in (0.5, None, "1"):
        with pytest.raises(TypeError, match="must be Pure, Approx or Zcdp"):
            ledger.charge(Boaster(loss, Zcdp(0.1)))
    for loss, own in ((Pure(float("inf")), Zcdp(1)), (Approx(1, 0.1), Zcdp(float("inf")))):
        with pytest.raises(BudgetError, match="must be finite"):
            ledger.charge(Boaster(loss, own))
    assert ledger.spent == Zcdp(1.25)


def test_the_remedy_for_zcdp_works(opener: Opener) -> None:
    ledger = opener(Zcdp.within(Approx(1, 1e-6)))
    for _ in range(3):
        ledger.charge(Zcdp(0.005))
        ledger.charge(Pure(0.05))
    assert ledger.spent <= Approx(1, 1e-6)


@pytest.mark.slow
@given(st.lists(st.fractions(min_value=0, max_value="1/5", max_denominator=10**4), max_size=30))
@settings(max_examples=50)
def test_totals_replay_exactly_and_never_pass_the_ceiling(amounts: list[Fraction]) -> None:
    ledger = Ledger(Pure(1))
    granted = Fraction(0)
    for amount in amounts:
        try:
            ledger.charge(Pure(amount))
        except BudgetError:
            assert granted + amount > 1
        else:
            granted += amount
    total = Fraction(0)
    for number, entry in enumerate(ledger.entries(), start=1):
        total += Fraction(entry.charged.amount)
        assert (entry.number, entry.total) == (number, Pure(total))
    assert total == granted <= 1
    assert ledger.remaining == Pure(1 - granted)


@pytest.mark.slow
def test_sums_of_ever_new_denominators_stay_short_and_are_rounded_up(opener: Opener) -> None:
    primes = [n for n in range(1000, 3000) if all(n % d for d in range(2, 60))][:100]
    ledger = opener(Pure(1))
    for prime in primes:
        ledger.charge(Pure(Fraction(1, prime)))
    truth = sum(Fraction(1, prime) for prime in primes)
    assert truth < Fraction(ledger.spent.amount) < truth + Fraction(1, 10**30)
    assert Fraction(ledger.spent.amount).denominator < 2**400
    ledger.charge(Pure(Fraction(1, 10**5000)))
    assert len(str(ledger.entries()[-1].loss.amount)) < 200


def test_long_fractions_are_rounded_up_each_for_itself() -> None:
    short, long = Fraction(1, 2**255), Fraction(1, 3**200)
    assert round_for_record(Approx(short, Fraction(1, 3))) == Approx(short, Fraction(1, 3))
    assert round_for_record(Approx(Fraction(1, 3), long)) == Approx(Fraction(1, 3), Fraction(1, 2**128))
    assert round_for_record(Pure(Fraction(1, 2**256))) == Pure(Fraction(1, 2**128))
    assert round_for_record(Zcdp(1 + long)) == Zcdp(1 + Fraction(1, 2**128))
    charged, total = add_charge(Approx(Fraction(1, 3), 0), Approx(long, Fraction(1, 7)), Approx(1, "1/2"))
    assert (charged, total) == (
        Approx(Fraction(1, 2**128), Fraction(1, 7)),
        Approx(Fraction(1, 3) + Fraction(1, 2**128), Fraction(1, 7)),
    )


def test_a_charge_is_rounded_up_only_if_the_total_would_be_too_long() -> None:
    """The longest factor of both is none of their sum's, and one of their difference's."""
    three, two, five = 3**100, 2**60, 5**25
    spent, charge = Fraction(1, three * two), Fraction(-five * pow(two, -1, three) % three, three * five)
    assert (spent + charge).denominator < 2**256 <= (spent - charge).denominator
    assert add_charge(Pure(spent), Pure(charge), Pure(1)) == (Pure(charge), Pure(spent + charge))
    for bits, expected_bits in ((255, 255), (256, 128)):
        assert add_charge(Pure(0), Pure(Fraction(1, 2**bits)), Pure(1))[0] == Pure(Fraction(1, 2**expected_bits))


def test_what_no_digits_show_to_be_too_much_is_said_in_words() -> None:
    ledger = Ledger(Pure(1))
    ledger.charge(Pure(Fraction(2, 3)))
    with pytest.raises(BudgetError, match=r"ε = a little more than (0\.33\S*) where \1 of 1 remains"):
        ledger.charge(Pure(Fraction(1, 3) + Fraction(1, 10**25)))


def test_sums_are_exact_as_long_as_denominators_are_short() -> None:
    ledger = Ledger(Pure(1))
    for _ in range(7):
        ledger.charge(Pure("1/7"))
    assert ledger.remaining == Pure(0)


@pytest.mark.parametrize(
    "ceiling", [Pure(float("inf")), Approx(1, 1), Pure(Fraction(2) ** 256), Pure(Fraction(1, 2**256))]
)
def test_ceilings_that_are_none_are_refused(ceiling: Loss) -> None:
    with pytest.raises(ValueError, match="`ceiling` must"):
        Ledger(ceiling)
    assert Ledger(Pure(Fraction(2**256 - 1))).ceiling == Pure(Fraction(2**256 - 1))


def test_ceiling_must_be_a_loss() -> None:
    with pytest.raises(TypeError, match="`ceiling` must be Pure"):
        Ledger(1.0)  # type: ignore[arg-type]
