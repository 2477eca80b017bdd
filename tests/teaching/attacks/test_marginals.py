import numpy as np
import pytest

from data import make_attack_data as made
from toolkit.teaching.attacks.marginals import from_marginals, marginals_of

VALUES = (made.AGES, made.SEXES, made.ORIGINS, made.TENURES)
SHAPE = tuple(len(values) for values in VALUES)
PUBLISHED = [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)]


def share(found, truth):
    """Return the share of people whom the guess places in their true cell."""
    return np.minimum(found.guess, truth).sum() / truth.sum()


def block():
    table = np.zeros(SHAPE, dtype=int)
    for row in made.block():
        table[tuple(values.index(cell) for values, cell in zip(VALUES, row, strict=True))] += 1
    return table


@pytest.mark.slow
def test_four_three_way_tables_give_most_of_a_census_block_away():
    found = from_marginals(marginals_of(block(), PUBLISHED), SHAPE)
    assert share(found, block()) >= 0.9
    assert np.all((found.low <= block()) & (block() <= found.high))
    assert found.is_certain.mean() > 0.5
    assert np.array_equal(found.guess[found.is_certain], block()[found.is_certain])


@pytest.mark.slow
def test_the_guess_fits_every_published_table():
    published = marginals_of(block(), PUBLISHED)
    guess = from_marginals(published, SHAPE).guess
    for axes, counts in marginals_of(guess, PUBLISHED).items():
        assert np.array_equal(counts, published[axes])


@pytest.mark.slow
def test_coarse_tables_leave_the_cells_open():
    found = from_marginals(marginals_of(block(), [(0,), (1,), (2,), (3,)]), SHAPE)
    assert not found.is_certain.any()


def test_noise_leaves_nothing_certain_and_fewer_people_in_their_place():
    """Noise of scale 4 (a budget of 1 over four tables) with a fixed seed."""
    rng = np.random.default_rng(1)
    exact = marginals_of(block(), PUBLISHED)
    noisy = {axes: counts + np.round(rng.laplace(scale=4, size=counts.shape)) for axes, counts in exact.items()}
    found = from_marginals(noisy, SHAPE)
    assert not found.is_certain.any()
    assert share(found, block()) < 0.75


def test_a_table_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="the shape of its axes"):
        from_marginals({(0,): [1, 2, 3]}, (2, 2))


def test_contradictory_tables_leave_every_guess_within_its_limits():
    """The tables are marginals that disagree about the total."""
    block = from_marginals({(0,): [3, 0], (1,): [0, 1]}, (2, 2))
    assert np.all((block.low <= block.guess) & (block.guess <= block.high))
    assert block.high.max() >= 3  # as many as any of the tables implies


@pytest.mark.parametrize("tolerance", [0.0, 1.0])
def test_the_ends_of_a_cell_are_those_of_all_tables_that_fit(tolerance):
    """All 1,296 tables of two by two with up to five people in a cell."""
    truth = np.array([[1, 0], [2, 1]])
    published = marginals_of(truth, [(0,), (1,)])
    cells = np.array(list(np.ndindex((6,) * 4))).reshape(-1, 2, 2)
    off = np.hstack([cells.sum(axis=2) - published[0,], cells.sum(axis=1) - published[1,]])
    fitting = cells[(np.abs(off) <= tolerance).all(axis=1)]
    found = from_marginals(published, (2, 2), tolerance=tolerance)
    assert np.array_equal(found.low, fitting.min(axis=0))
    assert np.array_equal(found.high, fitting.max(axis=0))
    assert found.is_certain.tolist() == (fitting.min(axis=0) == fitting.max(axis=0)).tolist()
