import numpy as np
import pytest

from tests.analysis.reference_survey import DIE, survey
from tests.analysis.sampling.test_known_totals import CELLS, COLUMNS, MARGINS, TOTALS
from toolkit.analysis import Replicates, Sample

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


BAD = {
    "one replicate": (np.ones((3, 1)), {"scale": 1}, "at least two columns"),
    "other rows": (np.ones((2, 4)), {"scale": 1}, "a table of 3 rows"),
    "negative weights": (-np.ones((3, 4)), {"scale": 1}, "finite, at least 0"),
    "a scale of zero": (np.ones((3, 4)), {"scale": 0}, "`scale` must be above 0"),
    "too few factors": (np.ones((3, 4)), {"scale": 1, "factors": [1, 1]}, "one factor per replicate"),
}


@pytest.mark.parametrize("name", BAD)
def test_replicates_that_weigh_nobody_are_refused(name: str) -> None:
    columns, asked, words = BAD[name]
    with pytest.raises(ValueError, match=words):
        Replicates.given([1, 1, 1], columns, **asked)


def test_a_scale_is_never_guessed() -> None:
    with pytest.raises(TypeError):
        Replicates.given([1, 1, 1], np.ones((3, 4)))


def test_nobody_stands_in_for_a_lonely_cluster() -> None:
    alone = Sample(strata=["a", "a", "b"], lonely="centre")
    with pytest.raises(ValueError, match="nobody stands in"):
        alone.jackknife()
