"""Familiar forms of fits: the names of other packages, a summary, models side by side."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from tests.analysis.reference_survey import COVARIATES, DIE, survey
from toolkit.analysis import compare_models, list_experiment, logistic, mixed_logistic, multinomial, predictor

DATA = survey()
FIT = logistic("forced" + COVARIATES, DATA, DIE)
SMALL = logistic("forced ~ female", DATA, DIE)
HEAVY = logistic("forced" + COVARIATES, DATA, DIE, weights="weight", clusters="c60")


def test_the_names_of_other_packages_say_what_they_say_there() -> None:
    """AIC 2 k - 2 l and BIC k log n - 2 l, by hand."""
    assert FIT.params.index.tolist() == ["Intercept", "female", "age10", "loginc"]
    assert FIT.params["female"] == FIT.value[1]
    assert FIT.bse["female"] == FIT.se[1]
    assert FIT.pvalues.tolist() == FIT.to_frame().p.tolist()
    assert FIT.nobs == 2400
    assert FIT.aic == pytest.approx(2 * 4 + 2 * 1544.5868968471718)
    assert FIT.bic == pytest.approx(4 * np.log(2400) + 2 * 1544.5868968471718)
    for shown in (FIT.conf_int, FIT.to_frame, FIT.summary, FIT.to_latex, FIT.interval):
        assert str(shown()) == str(shown(level=0.95))
    narrow = FIT.conf_int(alpha=0.1)
    assert narrow.equals(FIT.conf_int(level=0.9))
    assert (narrow.high - narrow.low).tolist() == pytest.approx((2 * 1.6448536269514722 * FIT.se).tolist())


def test_small_coefficients_are_shown_with_the_digits_of_their_errors() -> None:
    """In a unit in which a coefficient is about 0.0001, it is not shown as 0."""
    fit = logistic("forced ~ wide", DATA.assign(wide=1000 * DATA.age10), DIE)
    (_, value, se, *_), row = fit.summary().rows[1], compare_models([fit]).to_frame().loc["wide"]
    assert 1e-5 < fit.se[1] < 1e-3
    assert float(value) == pytest.approx(fit.value[1], abs=fit.se[1] / 10)
    assert float(se) == pytest.approx(fit.se[1], rel=0.05)
    assert value in str(row.tolist())


def test_all_parameters_of_a_likelihood_count() -> None:
    frame = DATA.assign(g=np.arange(len(DATA)) % 40)
    assert mixed_logistic("forced ~ female", frame, DIE, group="g")._n_parameters == 3
    assert predictor("age ~ forced", DATA, {"forced": DIE})._n_parameters == 2 + 1 + 1
    likert = multinomial("forced ~ female", DATA, DIE)
    assert likert.aic == pytest.approx(SMALL.aic, abs=1e-6)


def test_where_there_is_no_likelihood_there_is_no_criterion() -> None:
    rng = np.random.default_rng(3)
    on = np.arange(400) % 2 == 0
    counts = {"y": rng.binomial(3, 0.4, 400) + (on & (rng.random(400) < 0.4)), "t": on}
    squares = list_experiment("y ~ 1", counts, treatment="t", items=3)
    penalized = logistic("forced ~ female", DATA, DIE, penalty="jeffreys")
    assert squares._fit_measures()[-1] == ("privacy loss", "no privacy claim")
    assert FIT._fit_measures()[-1] == ("privacy loss", str(DIE.loss))
    for fit in (HEAVY, penalized, squares):
        assert np.isnan(fit.aic)
        assert np.isnan(fit.bic)
        assert "AIC" not in str(fit.summary())


def test_a_summary_prints_shows_and_writes_the_same_numbers() -> None:
    text, page, tex = str(FIT.summary()), FIT.summary()._repr_html_(), FIT.to_latex()
    assert text.splitlines()[3].split() == ["female", "0.37", "0.15", "2.48", "0.013", "0.08", "to", "0.67"]
    for shown in (text, page, tex):
        for number in ("2,400", "3097.17", "3120.31", "0.013", "0.67"):
            assert number in shown
    assert "$-$1544.59" in tex
    assert text.splitlines()[1].split()[:4] == ["estimate", "se", "z", "p"]
    assert str(HEAVY.summary(0.9)).splitlines()[1].split()[2:] == ["t", "p", "90", "%", "interval"]
    assert ("degrees of freedom", "59") in HEAVY._fit_measures()
    assert "weighted log-likelihood" in str(HEAVY.summary())


def test_models_stand_side_by_side_in_text_latex_and_html(tmp_path) -> None:
    table = compare_models({"plain": SMALL, "more": FIT, "weighted": HEAVY})
    frame = table.to_frame()
    assert list(frame.columns) == ["plain", "more", "weighted"]
    assert frame.loc["age10", "plain"] == ""
    assert frame.loc["female"].tolist() == ["0.33*", "0.37*", "0.41**"]
    assert frame.loc["AIC", "weighted"] == ""
    assert "* p < 0.05" in str(table)
    table.to_latex(tmp_path / "models.tex")
    assert (tmp_path / "models.tex").read_text(encoding="utf-8") == table.to_latex()
    assert table.to_latex().count(r"\\") == 1 + 8 + len(table.measures)
    assert table.to_html().count("<tr>") == 1 + 8 + len(table.measures) + 1
    ratios = compare_models([FIT], exp=True, stars=False).to_frame()
    assert ratios.loc["female", "(1)"] == "1.45"
    assert ratios.iloc[3, 0] == "(1.08 to 1.94)"
    assert compare_models([FIT], below="p").rows[3][1] == "(0.013)"


def test_stars_are_of_chances_below_their_limits() -> None:
    chances = np.array([0.05, 0.0499, 0.01, 0.0099, 0.001, 0.0009])
    rows = [(place, "1.0", "0.1", "0.8 to 1.2") for place in range(6)]
    fit = SimpleNamespace(
        coefficients=SimpleNamespace(text_rows=lambda: rows, test=lambda: SimpleNamespace(p=chances)),
        _fit_measures=list,
    )
    cells = [row[1] for row in compare_models([fit], below="p").rows]
    assert cells[::2] == ["1.0", "1.0*", "1.0*", "1.0**", "1.0**", "1.0***"]
    assert cells[1::2] == ["(0.050)", "(0.050)", "(0.010)", "(0.010)", "(0.001)", "(< 0.001)"]


def test_names_are_text_in_every_form() -> None:
    fit = logistic("forced ~ Q('a<b_c')", DATA.rename(columns={"age10": "a<b_c"}), DIE)
    table = compare_models({"<i>&_": fit})
    assert "<i>" not in table.to_html()
    assert "<b" not in table.to_html().replace("<br>", "")
    assert r"\_" in table.to_latex()


def test_what_is_no_fit_is_a_sentence() -> None:
    with pytest.raises(TypeError, match="`fits` must be several fits, got LogisticFit"):
        compare_models(FIT)
    with pytest.raises(TypeError, match="`fits` must be fitted models, got DataFrame"):
        compare_models([FIT, pd.DataFrame()])
    with pytest.raises(ValueError, match="at least one fit, got none"):
        compare_models([])
    with pytest.raises(ValueError, match="logarithms of ratios"):
        compare_models([logistic("forced ~ female", DATA, DIE, link="probit")], exp=True)
