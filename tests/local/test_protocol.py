from toolkit import k_ary, warner
from toolkit.local import numeric, oracles
from toolkit.local.protocol import Randomizer


def test_everything_that_hides_an_answer_has_the_same_verbs() -> None:
    for randomizer in (
        warner(0.7),
        k_ary(5, epsilon=1.0),
        oracles.subset(20, 1.0),
        oracles.optimized_unary(20, 1.0),
        oracles.local_hash(20, 1.0),
        numeric.one_bit((0, 10), 1.0),
        numeric.piecewise((0, 10), 1.0),
        numeric.local_laplace((0, 10), 1.0),
        numeric.square_wave((0, 10), 1.0),
    ):
        assert isinstance(randomizer, Randomizer)
        assert randomizer.loss.epsilon == randomizer.epsilon <= 1.0 or randomizer.name == "warner"


def test_what_lacks_a_verb_is_no_randomizer() -> None:
    assert not isinstance(object(), Randomizer)
