"""What models with random effects have in common: codes of groups, averages over groups, estimates by group."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from tests.analysis.reference_survey import DIE
from toolkit.analysis import mixed_logistic
from toolkit.analysis.poststratification import MultilevelFit, codes_of_groups, direct_estimates, normal_rule
from toolkit.analysis.regression.rows import read_model_rows

DATA = pd.DataFrame(
    {
        "y": DIE.randomize(np.arange(400) % 3 == 0, rng=np.random.default_rng(1)),
        "g": np.repeat(np.arange(10), 40),
        "h": np.arange(400) % 4,
    }
)


def test_the_rule_integrates_against_the_normal_distribution() -> None:
    points, weights = normal_rule()
    expected = quad(lambda u: norm.pdf(u) / (1 + np.exp(1 - 2 * u)), -12, 12)[0]
    assert weights @ (1 / (1 + np.exp(1 - 2 * points))) == pytest.approx(expected, abs=1e-6)


def test_new_groups_have_codes_below_zero() -> None:
    assert codes_of_groups(["c", "a", "d", "c", "b"], {"a": 0, "b": 1}).tolist() == [-1, 0, -2, -1, 1]


def test_estimates_of_groups_are_those_of_their_reports() -> None:
    rows = read_model_rows("y ~ 1", DATA, DIE, None, {}, "refuse")
    n, estimate, se = zip(*direct_estimates(rows, DATA.g.to_numpy(), 10), strict=True)
    shares = (DATA.groupby("g").y.mean() - 1 / 6) * 1.5
    assert n == (40,) * 10
    assert estimate == pytest.approx(shares)
    assert se == pytest.approx(1.5 * DATA.groupby("g").y.std() / np.sqrt(40))


@pytest.mark.slow
def test_both_kinds_of_fits_have_areas() -> None:
    census = DATA.groupby(["g", "h"]).size().rename("n").reset_index()
    one, several = (mixed_logistic(f"y ~ {terms}", DATA, DIE) for terms in ("(1 | g)", "(1 | g) + (1 | h)"))
    for fit in (one, several):
        assert isinstance(fit, MultilevelFit)
        table = fit.areas(census, count="n", by="g")
        assert table.index.name == "g"
        assert table.n.tolist() == [40] * 10
    assert one.areas(census, count="n").equals(one.areas(census, count="n", by="g"))
    assert several.areas(census, count="n", by="h").direct.notna().all()
    for by in ("h", "village"):
        with pytest.raises(ValueError, match="`by` must be"):
            one.areas(census, count="n", by=by)
