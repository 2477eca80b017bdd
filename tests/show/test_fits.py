"""Pictures of fits: their words are their numbers."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.analysis.reference_survey import COVARIATES, DIE, survey
from toolkit import k_ary, show
from toolkit.analysis import compliance_sensitivity, logistic, multinomial, predictor

DATA = survey()
FIT = logistic("forced" + COVARIATES, DATA, DIE)


def test_coefficients_are_drawn_without_the_intercept() -> None:
    picture = FIT.plot()
    assert [label.get_text() for label in picture.get_yticklabels()] == ["female", "age10", "loginc"]
    low, high = (limit[1] for limit in FIT.interval())
    assert f"female {FIT.value[1]:.2f} ({low:.2f} to {high:.2f})" in picture.alt
    alone = logistic("forced ~ 1", DATA, DIE).plot(level=0.9)
    assert alone.alt.startswith("90 % intervals of coefficients: Intercept")


@pytest.mark.slow
def test_a_prediction_along_a_quantity_is_that_of_the_margins() -> None:
    picture = FIT.plot("age10")
    line = picture.get_lines()[0]
    ages = np.asarray(line.get_xdata(), dtype=float)
    assert (ages[0], ages[-1], len(ages)) == (DATA.age10.min(), DATA.age10.max(), 41)
    margins = FIT.margins("age10", levels=[ages[0], ages[-1]])
    assert np.asarray(line.get_ydata())[[0, -1]] == pytest.approx(margins.value)
    assert f"{100 * margins.value[0]:.0f} % at" in picture.alt


@pytest.mark.slow
def test_categories_and_several_options_have_marks_of_their_own() -> None:
    data = {"yes": [0, 1, 2, 1, 0, 0] * 60, "town": ["b", "a", "a", "b", "b", "a", "a"] * 51 + ["a"] * 3}
    fit = multinomial("yes ~ town", data, k_ary(("no", "once", "often"), epsilon=3.0))
    picture = fit.plot("town")
    assert [label.get_text() for label in picture.get_xticklabels()] == ["a", "b"]
    assert [text.get_text() for text in picture.get_legend().get_texts()] == ["no", "once", "often"]
    assert show.fits.along(FIT, "female").get_legend() is None


def test_observed_reports_are_drawn_against_expected_ones_by_group() -> None:
    test = FIT.goodness_of_fit(groups=5)
    picture = test.plot()
    (line, _) = picture.get_lines()
    assert line.get_xdata() == pytest.approx(test.expected[:, 1] / test.people)
    assert line.get_ydata() == pytest.approx(test.observed[:, 1] / test.people)
    assert picture.alt.startswith(f"goodness of fit p = {test.p:.2f}: observed and expected share of yes: ")
    data = {"yes": [0, 1, 2, 1, 0, 0] * 60, "x": [2, 1, 1, 2, 1, 3, 1] * 51 + [1] * 3}
    several = multinomial("yes ~ x", data, k_ary(("no", "once", "often"), epsilon=3.0)).goodness_of_fit().plot()
    assert [text.get_text() for text in several.get_legend().get_texts()] == ["no", "once", "often"]


def test_sorted_residuals_are_drawn_against_normal_quantiles() -> None:
    picture = show.fits.residuals(FIT, rng=np.random.default_rng(1))
    (_, points) = picture.get_lines()
    values = np.sort(FIT.residuals(rng=np.random.default_rng(1)))
    assert len(points.get_ydata()) == 400
    assert np.asarray(points.get_ydata())[[0, -1]] == pytest.approx(values[[0, -1]])
    assert f"of 2,400 reports: mean {values.mean():.2f}, standard deviation {values.std():.2f}" in picture.alt


def test_few_values_are_points_two_are_categories_and_many_are_a_line() -> None:
    """More than twelve values of a covariate are drawn as a line over an even grid."""

    def drawn(values, declared=None, labels=("x",)):
        covariates = SimpleNamespace(
            values=lambda _: np.array(values), declared_categories=lambda _: declared, labels=labels
        )
        return show.fits._values_to_draw(covariates, "x")

    assert drawn([1.0, 0.0, 1.0]) == ([0, 1], False)
    assert drawn([*range(12), 3]) == ([*range(12)], True)
    assert drawn([*range(12), 3], labels=("C(x)[1]",)) == ([*range(12)], False)
    grid, quantity = drawn(range(13))
    assert (grid[0], grid[-1], len(grid), quantity) == (0, 12, 41, True)
    assert drawn(["b", "a", "b"]) == (["a", "b"], False)
    assert drawn([2.0, 1.0, 3.0], declared=(3, 2, 1)) == ([3, 2, 1], False)


def test_a_fit_without_margins_draws_its_coefficients_only() -> None:
    fit = predictor("age ~ forced", DATA, {"forced": DIE})
    with pytest.raises(ValueError, match="must have margins to draw"):
        fit.plot("forced")
    assert "forced" in fit.plot().alt


@pytest.mark.slow
def test_conduct_is_drawn_with_its_tipping_points_in_words() -> None:
    women, men = (DIE.estimate_counts(counts) for counts in ([761, 469], [777, 393]))
    picture = compliance_sensitivity({"women": women, "men": men}).plot()
    assert picture.alt.startswith("0.068 if all follow; 0 if of women no share, of men 11.9 %")
    assert (picture.get_xlabel(), picture.get_ylabel()) == ("self protective, women", "self protective, men")
    alone = compliance_sensitivity(FIT, "female")
    line = alone.plot(max_share=0.1).get_lines()[0]
    assert np.asarray(line.get_ydata())[-1] == pytest.approx(float(alone.at(0.1)))
