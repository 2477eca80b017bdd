"""The coverage of an estimate is a value: code uses its sources, people read its text."""

import pickle

import pytest

from toolkit.core.covers import NOISE, SAMPLED, Covers, ErrorSource
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Pure


def estimate(covers: object) -> Estimate:
    return Estimate(1.0, 0.1, ("x",), None, 100, Pure(1), covers)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("covers", "text"),
    [
        (SAMPLED, "sampling and randomization"),
        (NOISE, "noise"),
        (Covers([ErrorSource.NOISE], unit="ranks"), "noise, in ranks"),
        (
            Covers([ErrorSource.SAMPLING, ErrorSource.SCORES], "(9 df)"),
            "sampling (9 df) and the randomness of the scores",
        ),
        (
            Covers([ErrorSource.SAMPLING, ErrorSource.RANDOMIZATION, ErrorSource.ANCHOR]),
            "sampling, randomization and the anchor",
        ),
        (SAMPLED.replaced(ErrorSource.RANDOMIZATION), "sampling"),
        (SAMPLED.adding(", of these people"), "sampling and randomization, of these people"),
        (SAMPLED.both(Covers(SAMPLED.sources)), "sampling and randomization"),
        (SAMPLED.both(NOISE), "sampling and randomization; noise"),
    ],
)
def test_the_text_is_made_of_the_sources_and_both_travel(covers: Covers, text: str) -> None:
    assert covers == text
    again = pickle.loads(pickle.dumps(covers))  # noqa: S301
    assert (again, again.sources, again.unit) == (covers, covers.sources, covers.unit)


def test_a_difference_covers_what_both_cover() -> None:
    other = Covers([ErrorSource.ANCHOR, ErrorSource.SAMPLING], unit="ranks")
    assert SAMPLED.both(other).sources == (ErrorSource.SAMPLING,)
    assert other.both(Covers([ErrorSource.ANCHOR, ErrorSource.SAMPLING], unit="ranks")).unit == "ranks"
    assert (SAMPLED.both(other).unit, SAMPLED.both(NOISE).sources) == ("", ())


def test_words_decide_nothing_about_a_price() -> None:
    """Two groups of different people cost the larger loss; two releases of one table cost both."""
    people = estimate(SAMPLED) - estimate(SAMPLED)
    assert people.loss == Pure(1)
    for other in (NOISE, NOISE.adding(", not sampling"), "noise, not sampling", "sampling"):
        difference = estimate(other) - estimate(other)
        assert difference.loss == Pure(2), other
        assert (estimate(SAMPLED) - estimate(other)).loss == Pure(2), other
