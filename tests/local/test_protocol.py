from tests.slowly import each
from toolkit import Pure
from toolkit.local.catalogue import CATALOGUE, make_example
from toolkit.local.protocol import Randomizer


@each(name=CATALOGUE)
def test_everything_that_hides_an_answer_has_the_same_verbs(name: str) -> None:
    randomizer = make_example(name)
    assert isinstance(randomizer, Randomizer)
    assert randomizer.loss.epsilon == randomizer.epsilon
    assert randomizer.epsilon <= 1.0 or "epsilon" not in CATALOGUE[name].example


def test_what_lacks_a_verb_is_no_randomizer() -> None:
    assert not isinstance(Pure(1), Randomizer)
