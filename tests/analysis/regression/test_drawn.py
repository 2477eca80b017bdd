"""A `Sample` in a model: known totals, strata of one cluster, and people outside the model but inside the sample."""

import numpy as np
import pytest

from tests.analysis.reference_survey import DIE, LIKERT, survey
from toolkit.analysis import Sample, logistic, multinomial, predictor

DATA = survey()
CELLS = DATA.female * 2 + (DATA.age < 50)
TOTALS = {0: 1200, 1: 1000, 2: 1100, 3: 1200}
SAMPLE = Sample(DATA.weight, DATA.stratum, DATA.psu)


@pytest.mark.parametrize("strata", [True, False])
def test_an_intercept_alone_has_the_error_of_the_weighted_mean(strata: bool) -> None:
    """The prevalence of a model without covariates is the mean score, and so is its error: by svy 0.331616149
    and 0.014816085, poststratified 0.301841631 and 0.015419949.
    """
    plain = SAMPLE if strata else Sample(DATA.weight, clusters=DATA.c60)
    for sample in (plain, plain.poststratified(CELLS, TOTALS)):
        mean = sample.mean(DIE.scores(DATA.forced))
        fit = logistic("forced ~ 1", DATA, DIE, sample=sample)
        share = fit.predict(DATA[:1])
        assert (share.value[0], share.se[0]) == pytest.approx((mean.value, mean.se), rel=1e-8)
        assert fit.interval().method == "t"
    if strata:
        assert (mean.value, mean.se) == pytest.approx((0.301841631, 0.015419949), abs=5e-10)
        assert "known totals; 57 df" in fit.covers


def test_a_saturated_model_has_the_errors_of_domains_also_after_raking() -> None:
    margins = {"female": {0: 2200, 1: 2300}, "group": {1: 2250, 2: 2250}}
    sample = SAMPLE.raked(margins, DATA)
    fit = logistic("forced ~ female", DATA, DIE, sample=sample)
    share = fit.predict({"female": [0, 1]})
    for place in (0, 1):
        mean = sample.mean(DIE.scores(DATA.forced), where=DATA.female == place)
        assert (share.value[place], share.se[place]) == pytest.approx((mean.value, mean.se), rel=1e-8)


def test_who_is_left_out_of_the_model_stays_in_the_sample() -> None:
    """Old women live in 15 of 60 clusters; the others count as clusters without members: 0.109097661 with 57
    degrees of freedom, and not 0.110067437 with 14.
    """
    few = (DATA.age >= 79) & (DATA.female == 1)
    fit = logistic("forced ~ 1", DATA.assign(forced=DATA.forced.where(few)), DIE, sample=SAMPLE, missing="drop")
    share = fit.predict(DATA[:1])
    assert (share.value[0], share.se[0]) == pytest.approx((0.095132382, 0.109097661), abs=5e-9)
    assert fit.n == 30
    assert "57 df" in fit.covers


def test_a_finite_population_lessens_only_the_sampling_error() -> None:
    """The randomization error is never lessened. Of 2,400 people of 3,000 the saturated model has the errors of the
    weighted means, whose share of randomization is known: without weights they agree to the last digits. In a
    census what is left is the randomization alone.
    """
    for there in (3000, 2400):
        sample = Sample(population=there, clusters=np.arange(2400))
        fit = logistic("forced ~ female", DATA, DIE, sample=sample)
        share = fit.predict({"female": [0, 1]})
        for place in (0, 1):
            mean = sample.mean(DIE.scores(DATA.forced), where=DATA.female == place, noise="shares")
            assert (share.value[place], share.se[place]) == pytest.approx((mean.value, mean.se), rel=1e-8)
        other = multinomial("forced ~ female", DATA, DIE, sample=sample)
        assert np.allclose(other.se, fit.se, rtol=1e-7)
    weighted = Sample(DATA.weight, population=3000, clusters=np.arange(2400))
    errors = [model("forced ~ female", DATA, DIE, sample=weighted).se for model in (logistic, multinomial)]
    assert errors[1] == pytest.approx(errors[0], rel=1e-7)
    assert "finite population" in fit.covers
    noise = DIE.variance(share.value[1], int(DATA.female.sum()), respondents="fixed")
    assert share.se[1] == pytest.approx(np.sqrt(noise), rel=1e-8)


def test_of_several_options_too() -> None:
    sample = Sample(population=3000, clusters=np.arange(2400))
    scores = sample.mean(LIKERT.scores(DATA.likert), noise="shares")
    found = multinomial("likert ~ 1", DATA, LIKERT, sample=sample).margins()
    assert found.value == pytest.approx(scores.value, abs=1e-9)
    assert found.se == pytest.approx(scores.se, rel=1e-6)


@pytest.mark.slow
def test_a_finite_population_that_is_not_used_is_noted() -> None:
    """No finite population correction is applied if the model cannot separate randomization from sampling."""
    finite = Sample(DATA.weight, DATA.stratum, DATA.psu, population=dict.fromkeys(DATA.stratum.unique(), 100))
    fit, endless = (predictor("outcome ~ forced", DATA, {"forced": DIE}, sample=one) for one in (finite, SAMPLE))
    assert np.array_equal(fit.se, endless.se)
    assert "finite population correction is not used" in fit.notes[-1]
    one, other = (logistic("forced ~ female", DATA, DIE, sample=sample) for sample in (finite, SAMPLE))
    assert np.all(one.se < other.se)
    means = [fit.margins("female", respondents="sample").se for fit in (one, other)]
    assert means[0] == pytest.approx(means[1])  # rather too large than too small


def test_lonely_strata_are_the_samples_matter_and_a_sample_may_say_nothing() -> None:
    lonely = Sample(DATA.weight, np.arange(2400) // 2399, lonely="centre")
    assert np.isfinite(multinomial("forced ~ female", DATA, DIE, sample=lonely).se).all()
    assert logistic("forced ~ female", DATA, DIE, sample=Sample()).interval().method != "t"


def test_a_predictor_takes_known_totals_too() -> None:
    sample = SAMPLE.poststratified(CELLS, TOTALS)
    fit = predictor("outcome ~ forced", DATA, {"forced": DIE}, sample=sample)
    assert "known totals" in fit.covers
    assert np.all(fit.se > 0)
