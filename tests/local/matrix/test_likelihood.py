import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import xlogy

from toolkit.local.matrix.likelihood import (
    forced_mle,
    interior_point,
    likelihood_ratios,
    maximum_likelihood,
    maximum_likelihoods,
    project_onto_simplex,
)
from toolkit.local.numeric import square_wave
from toolkit.local.numeric.square_wave import SEED, resampled

vectors = hnp.arrays(np.float64, st.integers(1, 30), elements=st.floats(-3, 3))


@pytest.mark.slow
@given(vectors, st.integers(0, 2**32 - 1))
def test_projection_is_on_the_simplex_and_nearer_than_any_other_point(shares: np.ndarray, seed: int) -> None:
    near = project_onto_simplex(shares)
    assert near.min() >= 0
    assert np.isclose(near.sum(), 1)
    others = np.random.default_rng(seed).dirichlet(np.ones(len(shares)), size=20)
    assert np.all(np.linalg.norm(shares - near) <= np.linalg.norm(shares - others, axis=1) + 1e-12)


@pytest.mark.slow
@given(st.integers(2, 20), st.floats(0.02, 0.9), st.integers(0, 2**32 - 1), st.sampled_from([1, 3, 50, 10_000]))
def test_the_closed_form_of_forced_designs_is_the_maximum(k: int, truth: float, seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    forced = rng.dirichlet(np.ones(k)) * (1 - truth)
    matrix = np.eye(k) * truth + forced
    counts = rng.multinomial(n, rng.dirichlet(np.full(k, 0.3)) @ matrix).astype(float)
    shares = forced_mle(counts, truth, forced)
    seen = counts > 0
    assert likelihood_ratios(matrix[:, seen], counts[seen] / n, shares).max() <= 1 + 1e-9
    assert shares.min() >= 0
    height = lambda x: counts[seen] @ np.log((x @ matrix)[seen])  # noqa: E731
    assert abs(height(shares) - height(maximum_likelihood(matrix, counts))) < 1e-6 * max(n, 1)


def test_many_surveys_have_the_maxima_that_each_has_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where reports that one survey has are lacking in another, and in several parts."""
    monkeypatch.setattr("toolkit.local.matrix.likelihood._CELLS", 60)
    rng = np.random.default_rng(4)
    for k in (2, 4):
        matrix = rng.dirichlet(np.ones(5), size=k)
        tallies = rng.multinomial(12, rng.dirichlet(np.ones(5)), size=9).astype(float)
        together = maximum_likelihoods(matrix, tallies)
        alone = [maximum_likelihood(matrix, counts) for counts in tallies]
        assert np.allclose(together, alone, atol=1e-7)
        assert np.any(tallies == 0)


def test_two_truths_have_their_maximum_where_the_slope_is_zero_or_at_an_end() -> None:
    """Against the interior point, which is for any number of truths: in height, as a maximum may be flat."""
    rng = np.random.default_rng(5)
    for impossible in (False, True):
        matrix = rng.dirichlet(np.ones(4), size=2)
        matrix[0, 0] *= not impossible
        matrix[0] /= matrix[0].sum()
        for n in (3, 40, 10_000):
            counts = rng.multinomial(n, rng.dirichlet(np.ones(4)), size=20).astype(float)
            ends = (matrix[:1] @ np.diag([n] * 4), matrix[1:] @ np.diag([n] * 4))  # all are of one kind
            weights = np.concatenate([counts, *ends]) / n
            shares, other = maximum_likelihoods(matrix, weights), interior_point(matrix, weights)
            logs = [xlogy(weights, one @ matrix).sum(axis=1) for one in (shares, other)]
            assert np.all(logs[0] >= logs[1] - 1e-12)
            assert shares[-1, 1] == shares[-2, 0] == 1


def test_shares_that_go_to_zero_slowly_are_found() -> None:
    """The third share is exactly at the border with zero gradient: EM needs 374,227 rounds to the same
    certificate.
    """
    matrix = np.full((3, 3), 0.4) - 0.2 * np.eye(3)
    shares = maximum_likelihood(matrix, np.array([14.0, 10.0, 16.0]))
    assert np.allclose(shares, [0.25, 0.75, 0], atol=1e-6)


def test_an_unsettled_likelihood_is_an_error_not_an_answer() -> None:
    matrix = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]])
    with pytest.raises(ArithmeticError, match="did not settle"):
        maximum_likelihood(matrix, np.array([3.0, 4.0, 5.0]), tolerance=-1.0)


@pytest.mark.slow
def test_the_maximum_is_found_where_it_is_flat():
    """Three hundred people with one answer near the end of 81 points: plain Newton equations become singular
    there.
    """
    wave, rng = square_wave((0, 80), 1.0), np.random.default_rng(5)
    reports = [wave.report(1, lambda bound: int(rng.integers(bound))) for _ in range(300)]
    matrix, tallies = (
        wave.window.matrix(),
        resampled(wave.tally(reports).astype(float), 200, np.random.default_rng(SEED)),
    )
    shares = maximum_likelihoods(matrix, tallies, tolerance=1e-6)  # the bootstrap of an estimate: seen there
    assert likelihood_ratios(matrix, tallies / 300, shares).max() < 1 + 1e-9
