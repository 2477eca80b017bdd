from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.tables import Composed
from toolkit.core.loss import Pure, Zcdp


def test_losses_of_parts_add_up() -> None:
    both = Composed((Laplace.for_epsilon(0.1), Laplace.for_epsilon(0.2)))
    assert both.loss == Pure(0.3)
    assert [estimate.loss for estimate in both.release((1, 2))] == [Pure(0.1), Pure(0.2)]


def test_concentrated_costs_of_parts_add_up() -> None:
    """Two halves of epsilon 1 cost 1/8 each, not the 1/2 of their sum."""
    assert Composed((Laplace.for_epsilon("1/2"),) * 2).zcdp == Zcdp("1/4")
    rounded = Composed((Gaussian.for_rho("1/8"),) * 2)
    assert (rounded.loss, rounded.zcdp) == (Zcdp("1/4"), Zcdp("1/4"))
