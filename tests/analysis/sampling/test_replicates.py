import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.analysis.reference_survey import DIE, DIRECT, survey
from tests.analysis.sampling.test_known_totals import CELLS, COLUMNS, MARGINS, TOTALS
from toolkit.analysis import Replicates, Sample, estimates, logistic, multinomial, predictor
from toolkit.analysis.sampling.replicates import replicate_covariance
from toolkit.analysis.sampling.sample import variance_of_total

DATA = survey()
SCORES, FEMALE = DIE.scores(DATA.forced), DATA.female == 1
NESTED = Sample(weights=DATA.weight, strata=DATA.stratum, clusters=DATA.psu)


def test_a_jackknife_leaves_out_one_cluster_at_a_time() -> None:
    """By svy, and for women by hand; JK1 on sixty clusters."""
    found = NESTED.jackknife()
    assert found.mean(SCORES).se == pytest.approx(0.014816390, abs=5e-10)
    assert found.mean(SCORES, FEMALE).se == pytest.approx(0.020864494, abs=5e-10)
    assert found.difference(SCORES, FEMALE, ~FEMALE).se == pytest.approx(0.035639050, abs=5e-10)
    assert found.mean(SCORES).basis.df == 57
    one = Sample(weights=DATA.weight, clusters=DATA.c60).jackknife()
    assert one.mean(SCORES).se == pytest.approx(0.017134538, abs=5e-10)
    assert one.total(SCORES).value == pytest.approx(867.131825)


def test_every_replicate_is_fitted_to_known_totals_anew() -> None:
    assert NESTED.poststratified(CELLS, TOTALS).jackknife().mean(SCORES).se == pytest.approx(0.015454148, abs=5e-10)
    assert NESTED.raked(MARGINS, COLUMNS).jackknife().mean(SCORES).se == pytest.approx(0.015226117, abs=5e-10)


def test_given_replicates_have_the_scale_that_is_said() -> None:
    """The jackknife's own replicates, given as columns with JK1's scale and as JKn's factors."""
    own = Sample(weights=DATA.weight, clusters=DATA.c60).jackknife()
    columns = np.stack([own.replicate(b) for b in range(60)], axis=1)
    given = Replicates.given(DATA.weight, columns, scale="59/60")
    assert given.mean(SCORES).se == pytest.approx(0.017134538, abs=5e-10)
    assert given.mean(SCORES).basis.df == 59
    again = Replicates.given(DATA.weight, columns, scale=1, factors=np.full(60, 59 / 60), df=40)
    assert again.mean(SCORES).se == given.mean(SCORES).se
    assert repr(again) == "<Replicates of 2,400 rows: 60 replicates, 40 df>"
    with pytest.raises(ValueError, match="scores must have the index of the sample's columns, got another"):
        given.mean(pd.Series(SCORES)[::-1])
    some = Replicates.given([1, 1, 1], np.ones((3, 4)), kind="Fay", fay=0, factors=[0, 1, 2, 3])
    assert some.factors.tolist() == [0, 0.25, 0.5, 0.75]
    with pytest.raises(ValueError, match="the frame must have 2400 rows, as the sample has, got 9"):
        again.resolve(DATA[:9])


BAD = {
    "one replicate": (np.ones((3, 1)), {"scale": 1}, "at least two columns"),
    "other rows": (np.ones((2, 4)), {"scale": 1}, "a table of 3 rows"),
    "negative weights": (-np.ones((3, 4)), {"scale": 1}, "finite, at least 0"),
    "a replicate of nobody": (np.ones((3, 4)) * [1, 0, 1, 1], {"scale": 1}, "not all 0"),
    "a weight without end": (np.ones((3, 4)) * [1, np.inf, 1, 1], {"scale": 1}, "finite, at least 0"),
    "a scale of zero": (np.ones((3, 4)), {"scale": 0}, "`scale` must be"),
    "jackknife without factors": (np.ones((3, 4)), {"kind": "JKn"}, "for JKn they are"),
    "Fay's share missing": (np.ones((3, 4)), {"kind": "BRR", "fay": 0.5}, "`fay` must be a share below 1"),
    "Fay's share of all": (np.ones((3, 4)), {"kind": "Fay", "fay": 1}, "`fay` must be a share below 1"),
    "Fay's share below none": (np.ones((3, 4)), {"kind": "Fay", "fay": -0.1}, "`fay` must be a share below 1"),
    "Fay without a share": (np.ones((3, 4)), {"kind": "Fay"}, "`fay` must be a share below 1"),
    "an unknown kind": (np.ones((3, 4)), {"kind": "JK9"}, "`kind` must be one of"),
    "too few factors": (np.ones((3, 4)), {"scale": 1, "factors": [1, 1]}, "one factor per replicate"),
}


@pytest.mark.parametrize("name", BAD)
def test_replicates_that_weigh_nobody_are_refused(name: str) -> None:
    columns, asked, words = BAD[name]
    with pytest.raises(ValueError, match=words):
        Replicates.given([1, 1, 1], columns, **asked)


def test_replicates_without_an_estimate_are_stood_for_by_the_others() -> None:
    """Three of four: the sum of squares is raised by 4 / 3. Of none there is no variance."""
    own = Replicates.given([1, 1, 1], np.ones((3, 4)), scale=0.5)
    values = iter(np.array([[1.0, 2.0], [np.nan, 0.0], [3.0, 1.0], [2.0, 2.0]]))
    cov, lost = replicate_covariance(own, lambda _: next(values), np.array([2.0, 1.0]))
    apart = np.array([[-1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    assert cov == pytest.approx(0.5 * apart.T @ apart * 4 / 3)
    assert lost == 1
    cov, lost = replicate_covariance(own, lambda _: np.full(2, np.nan), np.zeros(2))
    assert (cov.shape, bool(np.isnan(cov).all()), lost) == ((2, 2), True, 4)


def test_a_model_that_a_replicate_does_not_determine_is_refused() -> None:
    """In the second replicate everybody says yes."""
    y = np.arange(12) % 2
    sample = Replicates.given(np.ones(12), np.stack([np.ones(12), y, np.ones(12)], axis=1), scale=1)
    with pytest.raises(ValueError, match="at finite coefficients with every replicate, got 1 without"):
        logistic("y ~ 1", {"y": y}, DIRECT, sample=sample)


def test_a_sum_has_the_same_variance_by_its_jackknife_as_by_the_formula() -> None:
    sums = np.random.default_rng(1).normal(size=(len(DATA), 2))
    assert variance_of_total(NESTED.jackknife(), sums, finite=False) == pytest.approx(
        variance_of_total(NESTED, sums, finite=False)
    )


def test_a_scale_is_never_guessed() -> None:
    for both in ({}, {"scale": 1, "kind": "BRR"}):
        with pytest.raises(TypeError, match="exactly one of `kind` and `scale`"):
            Replicates.given([1, 1, 1], np.ones((3, 4)), **both)


def _hadamard() -> np.ndarray:
    square = np.ones((1, 1))
    for _ in range(5):
        square = np.block([[square, square], [square, -square]])
    return square


def _kinds() -> dict[str, tuple[np.ndarray, dict[str, Any]]]:
    """Sixty clusters; of balanced repeated replication two in each of thirty strata; and any other numbers."""
    w, c = DATA.weight.to_numpy(), DATA.c60.to_numpy()
    half = _hadamard()[:, c // 2 + 1].T * np.where(c % 2 == 0, 1, -1)[:, None]
    left_out = [np.where(DATA.psu == one, 0, np.where(DATA.stratum == one // 100, w * 20 / 19, w)) for one in PSUS]
    return {
        "JK1": (np.stack([np.where(c == one, 0, w * 60 / 59) for one in range(60)], axis=1), {}),
        "JKn": (np.stack(left_out, axis=1), {"factors": np.full(60, 0.95)}),
        "BRR": (w[:, None] * (1 + half), {}),
        "Fay": (w[:, None] * (1 + 0.7 * half), {"fay": 0.3}),
        "bootstrap": (np.stack([w * ((7 * c + 3 * b + c * b) % 5) / 2 for b in range(40)], axis=1), {}),
    }


PSUS = np.unique(DATA.psu)
KINDS = _kinds()
# R 4.2.2, survey 4.1.1: svrepdesign(mse=TRUE), svymean, degf, svyby by sex, svycontrast, and svyglm of the reports on
# sex and age in decades with a link of the family "binomial" whose inverse is 1/6 + 2/3 plogis(eta).
BY_R = {
    "JK1": (0.0171345382, 59, (0.0211678059, 0.0229410512), 0.0284766824, (0.1084938850, 0.1380969255, 0.0446183120)),
    "JKn": (0.0148163904, 57, (0.0253617073, 0.0208644944), 0.0356390498, (0.1333252202, 0.1758535729, 0.0461316980)),
    "BRR": (0.0173290549, 30, (0.0231819088, 0.0203586316), 0.0273269960, (0.1094759199, 0.1319169961, 0.0440307981)),
    "Fay": (0.0173246460, 30, (0.0231220801, 0.0204030644), 0.0273126538, (0.1085666350, 0.1311884565, 0.0437360674)),
    "bootstrap": (
        0.0105688701,
        3,
        (0.0143719441, 0.0081215545),
        0.0115896919,
        (0.0779056588, 0.0603822223, 0.0065990168),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", BY_R)
def test_replicates_are_those_of_r_in_estimates_and_in_a_model(kind: str) -> None:
    columns, more = KINDS[kind]
    se, df, by_sex, gap, of_model = BY_R[kind]
    sample = Replicates.given(DATA.weight, columns, kind=kind, **more)
    assert sample.df == df
    one = estimates(DATA, {"forced": DIE}, sample=sample)["forced"]
    assert (one.value, one.se) == pytest.approx((0.3316161485, se), abs=5e-10)
    found = estimates(DATA, {"forced": DIE}, by="female", sample=sample)
    assert [each.se for each in found["forced"].values()] == pytest.approx(by_sex, abs=5e-10)
    assert found.differences(0).se.item() == pytest.approx(gap, abs=5e-10)
    fit = logistic("forced ~ female + age10", DATA, DIE, sample=sample)
    assert fit.value == pytest.approx([-1.0441146066, 0.4042113950, -0.2513283044], abs=1e-7)
    assert fit.se == pytest.approx(of_model, rel=1e-6)
    assert f"replicates; {df} df" in fit.covers


@pytest.mark.slow
def test_replicates_by_name_go_with_their_people() -> None:
    """Shuffled rows; a second process may hold them, too."""
    columns = pd.DataFrame(KINDS["JK1"][0], columns=[f"r{place}" for place in range(60)])
    moved = pd.concat([DATA, columns], axis=1).sample(frac=1, random_state=3)
    sample = Replicates.given("weight", list(columns), kind="JK1")
    assert repr(sample) == '<Replicates by name: weights "weight", 60 replicates>'
    assert estimates(moved, {"forced": DIE}, sample=sample)["forced"].se == pytest.approx(0.0171345382, abs=5e-10)
    again = pickle.loads(pickle.dumps(sample.resolve(moved)))  # noqa: S301  it was made here
    assert again.mean(DIE.scores(moved.forced)).se == pytest.approx(0.0171345382, abs=5e-10)
    with pytest.raises(ValueError, match=r"got 61 names: write \.resolve\(frame\)"):
        sample.mean(SCORES)
    with pytest.raises(ValueError, match="index"):
        estimates(DATA, {"forced": DIE}, sample=sample.resolve(moved))
    with pytest.raises(TypeError, match="must be a list of names if `weights` is a name, got str"):
        Replicates.given("weight", "rep", kind="JK1")
    with pytest.raises(ValueError, match="must be a column of the data, got 'r0'"):
        estimates(DATA, {"forced": DIE}, sample=sample)


@pytest.mark.slow
def test_every_model_is_fitted_again_with_every_replicate() -> None:
    """Against fits with each replicate's weights by hand; zero weights stand for people who were left out."""
    columns, more = KINDS["BRR"][0][:, :4], {"scale": 0.25, "df": 3}
    sample = Replicates.given(DATA.weight, columns, **more)
    calls = (
        lambda frame, **drawn: predictor("outcome ~ forced", frame, {"forced": DIE}, **drawn),
        lambda frame, **drawn: multinomial("forced ~ age10", frame, DIE, **drawn),
    )
    for call in calls:
        fit = call(DATA, sample=sample)
        again = [call(DATA[column > 0], weights=column[column > 0]).value for column in columns.T]
        assert fit.se == pytest.approx(np.sqrt(0.25 * ((np.array(again) - fit.value) ** 2).sum(axis=0)), rel=1e-5)
    with pytest.raises(ValueError, match="must be left out with replicate weights"):
        logistic("forced ~ age10", DATA, DIE, sample=sample, penalty="jeffreys")


def test_models_of_replicates_are_compared_by_wald_on_f() -> None:
    """One coefficient: F is t squared, with the same p. They were refused, as if they had no degree of freedom; of a
    second cluster alone there is one, and two coefficients have none.
    """
    few = DATA[:300]
    sample = Sample(few.weight, clusters=few.c60 % 6).jackknife()
    larger, smaller = (logistic(f"forced ~ {right}", few, DIE, sample=sample) for right in ("female + age10", "age10"))
    found = larger.compare(smaller)
    assert (found.method, found.df) == ("Wald, F", 1)
    assert (found.statistic, found.p) == pytest.approx(
        (larger["female"].test().statistic ** 2, larger["female"].test().p)
    )
    two = Sample(few.weight, clusters=few.c60 % 2).jackknife()
    alone, one, whole = (
        logistic(f"forced ~ {right}", few, DIE, sample=two) for right in ("1", "age10", "female + age10")
    )
    assert one.compare(alone).p == pytest.approx(one["age10"].test().p)
    with pytest.raises(ValueError, match="more sampling units than coefficients to test, got 1"):
        whole.compare(alone)


def test_a_replicate_without_anybody_of_a_group_is_left_out_and_counted() -> None:
    """The group lives in one cluster: the replicate without that cluster contains no information about the group."""
    frame = pd.DataFrame({"a": [1, 0, 1, 1, 0, 1, 0, 0], "g": list("xxyyyyyy"), "c": [1, 1, 2, 2, 3, 3, 4, 4]})
    sample = Sample(weights=np.ones(8), clusters=frame.c).jackknife()
    found = estimates(frame, {"a": DIE}, by="g", sample=sample)["a"]
    assert "1 of 4 replicates have nobody in the domain" in found["x"].notes[0]
    assert found["y"].notes == ()


def test_nobody_stands_in_for_a_lonely_cluster() -> None:
    alone = Sample(strata=["a", "a", "b"], lonely="centre")
    with pytest.raises(ValueError, match="no other could replace it"):
        alone.jackknife()
