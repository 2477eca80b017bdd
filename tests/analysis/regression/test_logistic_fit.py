"""Predictions, margins and posteriors: numbers computed from the coefficients by hand, and properties."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.analysis.reference_survey import COVARIATES, DIE, survey
from toolkit import crosswise, unrelated
from toolkit.analysis import logistic
from toolkit.analysis.regression.margins import Effect, margin_effects

DATA = survey().assign(sex=lambda frame: np.where(frame.female, "f", "m"))
FIT = logistic("forced" + COVARIATES, DATA, DIE)


def test_margins_are_those_of_the_reference() -> None:
    """Delta method on the fit M1, computed once for the reference notes."""
    mean = FIT.margins()
    assert abs(mean.value - 0.288537997) < 1e-9
    assert abs(mean.se - 0.014544642) < 1e-9
    assert abs(FIT.margins(respondents="sample").se - 0.014697959) < 1e-9
    for name, value, se in (
        ("age10", -0.050420362, 0.007741432),
        ("loginc", -0.002080622, 0.029355610),
        ("female", 0.072700761, 0.028930024),
    ):
        found = FIT.margins(name)
        assert abs(found.value - value) < 1e-9
        assert abs(found.se - se) < 1e-9
    both = FIT.margins("female", levels=[1, 0])
    assert np.allclose(both.value, [0.324084784, 0.251384024], atol=1e-9)
    assert np.allclose(both.se, [0.020516726, 0.020492872], atol=1e-9)
    assert both.labels == ("female = 1", "female = 0")


def test_a_prediction_matches_the_reference() -> None:
    """The limits of the prediction are mapped from the logit scale."""
    found = FIT.predict(pd.DataFrame({"female": [1], "age10": [0.0], "loginc": [0.0]}))
    assert abs(found.value[0] - 0.336818755) < 1e-9
    low, high = found.interval()
    assert np.allclose([low[0], high[0]], [0.295376832, 0.380931702], atol=1e-8)


def test_predictions_of_the_rows_average_to_the_margin() -> None:
    """Predictions of more than 1,000 rows keep no covariance matrix."""
    found = FIT.predict()
    assert abs(found.value.mean() - FIT.margins().value) < 1e-12
    assert found.cov is None
    assert FIT.predict(DATA[:1001]).cov is None
    assert np.allclose(np.sqrt(np.diag(FIT.predict(DATA[:1000]).cov)), found.se[:1000])


def test_predictions_of_other_frames_and_of_arrays_agree() -> None:
    new = DATA[:5]
    expected = FIT.predict(new).value
    for kind in (pl.from_pandas, pa.Table.from_pandas):
        assert np.allclose(FIT.predict(kind(new)).value, expected, rtol=1e-12)
    arrays = logistic(DATA.forced, DATA[["female", "age10", "loginc"]].to_numpy(), DIE)
    assert np.allclose(arrays.predict(new[["female", "age10", "loginc"]].to_numpy()).value, expected)
    assert np.allclose(arrays.margins("x1").value, FIT.margins("female").value)
    with pytest.raises(ValueError, match="new data must have 3 columns, got 2"):
        arrays.predict(np.ones((1, 2)))
    with pytest.raises(ValueError, match="a variable must be a covariate of the formula, got 'x9'"):
        arrays.margins("x9")


def test_what_a_prediction_cannot_use_is_refused() -> None:
    fit = logistic("forced ~ sex + age10", DATA, DIE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what others warn of is refused, whoever listens
        with pytest.raises(ValueError, match="categories must be those of the fit"):
            fit.predict({"sex": ["x"], "age10": [0.0]})
    with pytest.raises(ValueError, match="covariates must not be missing, got 1 rows"):
        fit.predict({"sex": ["f", "m"], "age10": [0.0, np.nan]})
    with pytest.raises(ValueError, match="computable from the data, got 'age10'"):
        fit.predict({"sex": ["f"]})


@pytest.mark.slow
def test_margins_of_categories_are_differences_from_the_first() -> None:
    """The differences are the same in every kind of frame."""
    for frame in (DATA, pl.from_pandas(DATA), pa.Table.from_pandas(DATA)):
        fit = logistic("forced ~ sex + age10 + loginc", frame, DIE)
        found = fit.margins("sex")
        assert found.labels == ("sex: m − f",)
        assert abs(found.value + FIT.margins("female").value) < 1e-9
        assert abs(found.se - FIT.margins("female").se) < 1e-9


def test_numbers_that_are_categories_go_in_steps() -> None:
    fit = logistic("forced ~ C(stratum)", DATA, DIE)
    shares, steps = fit.margins("stratum", levels=[1, 2, 3]).value, fit.margins("stratum")
    assert steps.labels == ("stratum: 2 − 1", "stratum: 3 − 1")
    assert np.allclose(steps.value, shares[1:] - shares[0])


@pytest.mark.slow
def test_age_bands_and_ordered_categories_keep_their_order() -> None:
    bands = pd.cut(DATA.age, [17, 39, 59, 99])
    found = logistic("forced ~ band", DATA.assign(band=bands), DIE).margins("band")
    assert found.labels == ("band: (39, 59] − (17, 39]", "band: (59, 99] − (17, 39]")
    words = pd.Categorical(bands.cat.codes.map({0: "young", 1: "middle", 2: "old"}), ["young", "middle", "old"])
    named = logistic("forced ~ band", DATA.assign(band=words), DIE)
    assert named.labels[1:] == ("band[T.middle]", "band[T.old]")
    assert named.margins("band").labels[0] == "band: middle − young"
    assert np.allclose(named.margins("band").value, found.value)
    polars = pl.from_pandas(DATA.assign(band=words.astype(str))).with_columns(
        pl.col("band").cast(pl.Enum(["young", "middle", "old"]))
    )
    assert np.allclose(logistic("forced ~ band", polars, DIE).margins("band").value, found.value)


def test_the_derivative_goes_through_transforms_and_interactions() -> None:
    fit = logistic("forced ~ female * np.log(income) + I(age10 ** 2)", DATA, DIE)
    step, value = 1e-3, fit.margins("income")
    up, down = (fit.predict(DATA.assign(income=DATA.income + side * step)).value.mean() for side in (1, -1))
    assert abs(value.value - (up - down) / (2 * step)) < 1e-8


def test_weights_enter_the_mean_and_the_sample_enters_its_error() -> None:
    fit = logistic("forced" + COVARIATES, DATA, DIE, weights="weight", strata="stratum", clusters="psu")
    share = fit.predict().value
    found = fit.margins(respondents="sample")
    assert abs(found.value - np.average(share, weights=DATA.weight)) < 1e-12
    assert abs(found.se - 0.0148) < 0.0004  # the design-based error of the same share is 0.01482
    assert found.interval().method == "t"


def test_a_model_without_covariates_has_the_design_based_estimate() -> None:
    """The Hájek mean of the scores with Taylor's variance, as svy has it: 0.331616149, 0.014816085, 57 df."""
    options = {"weights": "weight", "strata": "stratum", "clusters": "psu"}
    found = logistic("forced ~ 1", DATA, DIE, **options).margins()
    assert abs(found.value - 0.331616149) < 1e-9
    assert abs(found.se - 0.014816085) < 1e-9
    assert np.allclose(found.interval().low, 0.301947, atol=1e-6)


HONEST = {  # of people who are known not to have cheated: the design, and how many gave each report
    "crosswise": [(crosswise("0.1595"), (117, 417)), (crosswise("0.1971"), (155, 384))],
    "unrelated": [
        (unrelated("0.778", "0.490"), (156, 27)),
        (unrelated("0.778", "0.493"), (164, 20)),
        (unrelated("0.778", "0.495"), (154, 33)),
        (unrelated("0.778", "0.521"), (167, 18)),
    ],
}


@pytest.mark.parametrize(("method", "value", "se"), [("crosswise", 0.114, 0.021), ("unrelated", 0.028, None)])
def test_the_published_false_positives_of_the_dice_game(method: str, value: float, se: float | None) -> None:
    """Höglinger and Jann, PLOS ONE 13 (2018), e0201770; counts of GLMMRR's data `MTURK`. One share for all versions of
    the device, by maximum likelihood.
    """
    designs = {version: design for version, (design, _) in enumerate(HONEST[method])}
    counts = [numbers for _, numbers in HONEST[method]]
    frame = pd.DataFrame(
        {
            "report": np.concatenate([np.repeat([0, 1], numbers) for numbers in counts]),
            "version": np.repeat(list(designs), [sum(numbers) for numbers in counts]),
        }
    )
    found = logistic("report ~ 1", frame, designs, design_by="version").margins()
    assert round(float(found), 3) == value
    assert se is None or round(found.se, 3) == se


def test_a_posterior_warns_and_averages_to_the_prevalence() -> None:
    with pytest.warns(UserWarning, match="never publish it"):
        found = FIT.posterior()
    assert np.allclose(found[:3], [0.0462834, 0.03741535, 0.04368534], atol=1e-8)
    assert abs(found.mean() - 0.288537997) < 1e-9


def test_a_posterior_moves_the_odds_by_at_most_epsilon() -> None:
    with pytest.warns(UserWarning, match="e\\*\\*epsilon"):
        found = FIT.posterior()
    before = FIT.predict().value
    moved = np.log(found / (1 - found)) - np.log(before / (1 - before))
    assert np.abs(moved).max() <= DIE.epsilon + 1e-12


def test_the_sample_of_a_penalized_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="respondents='sample' needs a fit without penalty"):
        logistic("forced ~ 1", DATA, DIE, penalty="jeffreys").margins(respondents="sample")


def test_an_effect_knows_its_derivatives() -> None:
    covariates, link = FIT.data.covariates, FIT.link

    def effect(value: np.ndarray, variable: str | None) -> Effect:
        def shares(matrix: np.ndarray) -> list[Effect]:
            return [Effect("", link.probability(matrix @ value), link.slope(matrix @ value)[:, None] * matrix)]

        return margin_effects(covariates, shares, variable, None)[0]

    step = 1e-6 * np.eye(4)[1]
    for variable in (None, "age10", "female"):
        up, down = effect(FIT.value + step, variable), effect(FIT.value - step, variable)
        assert np.allclose(effect(FIT.value, variable).gradient[:, 1], (up.value - down.value) / 2e-6, atol=1e-5)
