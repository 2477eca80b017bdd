import numpy as np
import pytest

from tests.analysis.reference_survey import COVARIATES, DIE, LIKERT, runaway, survey
from toolkit import k_ary
from toolkit.analysis import logistic, multinomial

DATA = survey()


@pytest.mark.slow
def test_two_options_have_the_penalized_fit_of_the_logistic_model() -> None:
    """The logistic model has the slope of its penalty in closed form; here it is by differences."""
    for rows in (DATA, DATA[:150]):
        one = logistic("forced" + COVARIATES, rows, DIE, penalty="jeffreys")
        other = multinomial("forced" + COVARIATES, rows, DIE, penalty="jeffreys")
        assert np.allclose(one.value, other.value, atol=2e-7)
        assert np.allclose(one.se, other.se, rtol=1e-6)
    assert "Jeffreys" in repr(other)


@pytest.mark.slow
def test_where_the_maximum_is_at_infinity_the_penalized_one_is_finite() -> None:
    """Slope -0.76059012 and its error 0.92306091, as found by another program."""
    reports, x = runaway()
    with pytest.raises(ValueError, match="use penalty='jeffreys'"):
        multinomial(reports, x, DIE)
    fit = multinomial(reports, x, DIE, penalty="jeffreys")
    assert fit.value[1] == pytest.approx(-0.76059012, abs=2e-6)
    assert fit.se[1] == pytest.approx(0.92306091, rel=1e-5)


@pytest.mark.slow
def test_an_option_that_nobody_has_keeps_finite_odds() -> None:
    """Few people and five options: some option has a maximum-likelihood share of 0, but finite penalized log odds."""
    rng, design = np.random.default_rng(3), k_ary(4, epsilon=1.5)
    reports, old = design.randomize(rng.integers(0, 3, 150), rng=rng), rng.random(150) < 0.5
    with pytest.raises(ValueError, match="finite coefficients"):
        multinomial(reports, old, design)
    fit = multinomial(reports, old, design, penalty="jeffreys")
    assert np.abs(fit.value).max() < 5
    assert np.isfinite(fit.se).all()


@pytest.mark.slow
def test_of_many_people_the_penalty_is_of_no_account() -> None:
    """M11 of the reference: its slopes move by less than a tenth of their errors."""
    plain = multinomial("likert ~ female", DATA, LIKERT)
    fit = multinomial("likert ~ female", DATA, LIKERT, penalty="jeffreys")
    assert np.all(np.abs(fit.value - plain.value) < 0.1 * plain.se)
    assert not np.array_equal(fit.value, plain.value)
    with pytest.raises(ValueError, match="`penalty` must be one of jeffreys"):
        multinomial("likert ~ female", DATA, LIKERT, penalty="firth")
