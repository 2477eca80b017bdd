"""Shares by group that an anchor corrects, held against the formula for counts and against own linearization."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from toolkit import Question, Survey, crosswise, warner
from toolkit.analysis import Anchor, Replicates, Sample, estimates
from toolkit.analysis.anchored_shares import AnchorQuestion, anchor_question
from toolkit.local.anchor import corrected_counts

QUESTION, MOON = crosswise("0.1"), crosswise("0.15")
ANCHOR = Anchor("moon", MOON)


def survey(seed: int, n: int = 3000, share: float = 0.2, attentive: float = 0.8) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    carrier, follows = rng.random(n) < share, rng.random(n) < attentive
    same = np.where(follows, carrier == (rng.random(n) < 0.1), rng.random(n) < 0.5)
    moon = np.where(follows, rng.random(n) < 0.85, rng.random(n) < 0.5)
    weight = np.where(rng.random(n) < 0.5, 1.0, 3.0)
    y, anchor = (np.where(reports, "same", "different").astype(object) for reports in (same, moon))
    columns = {"y": y, "moon": anchor, "sex": rng.choice(["f", "m"], n), "w": weight, "c": np.arange(n) % 60}
    return pd.DataFrame(columns)


def table(frame: pd.DataFrame) -> np.ndarray:
    labels = QUESTION.report_options
    return np.array([[np.sum((frame.y == y) & (frame.moon == a)) for a in labels] for y in labels])


@pytest.mark.parametrize("convert", [lambda frame: frame, pl.from_pandas, lambda frame: pl.from_pandas(frame).lazy()])
def test_counts_give_the_corrected_share_of_each_group(convert: Any) -> None:
    frame = survey(1)
    frame.loc[:4, "y"] = None
    frame.loc[5:7, "moon"] = None
    found = estimates(convert(frame), {"y": QUESTION}, by="sex", anchor=ANCHOR)
    expected = {}
    for sex, group in frame.groupby("sex"):
        expected[sex] = corrected_counts(QUESTION, table(group), anchor_design=MOON)
        assert found["y"][sex].value == pytest.approx(expected[sex].value)
        assert found["y"][sex].se == pytest.approx(expected[sex].se)
    assert sum(row.missing for row in found.group_estimates) == 8
    difference = found.differences("f")
    assert difference.difference[0] == pytest.approx(expected["m"].value - expected["f"].value)
    assert difference.se[0] == pytest.approx(np.hypot(expected["m"].se, expected["f"].se))
    assert "random" in found.notes()[0]


def test_equal_weights_change_nothing() -> None:
    frame = survey(2)
    counted = estimates(frame, {"y": QUESTION}, anchor=ANCHOR)["y"]
    sampled = estimates(frame, {"y": QUESTION}, anchor=ANCHOR, sample=Sample(weights=np.full(3000, 7.0)))["y"]
    assert (sampled.value, sampled.se) == pytest.approx((counted.value, counted.se))
    assert str(sampled.covers) == "sampling (weights, 2999 df), randomization and the anchor"


def weighted(frame: pd.DataFrame, weight: np.ndarray) -> float:
    """The published formula: p' is 0.15 and p is 0.1, with weighted shares of "same" (Atsusaka and Stevenson 2023)."""
    same, moon = (np.average(frame[name] == "same", weights=weight) for name in ("y", "moon"))
    attentive = (moon - 0.5) / (0.5 - 0.15)
    naive = (same + 0.1 - 1) / (2 * 0.1 - 1)
    return naive - (same - 0.5) / (0.1 - 0.5) / 2 * (1 - 1 / attentive)


def test_weights_and_clusters_give_the_linearized_error() -> None:
    frame = survey(3)
    found = estimates(frame, {"y": QUESTION}, anchor=ANCHOR, sample=Sample(weights="w", clusters="c"))["y"]
    weight, step = frame.w.to_numpy(), 1e-4
    value = weighted(frame, weight)
    assert found.value == pytest.approx(value, abs=1e-12)
    # The derivative of the estimate with respect to the weights of a cluster is the cluster's influence.
    influence = np.array(
        [
            (
                weighted(frame, weight * (1 + step * (frame.c == c)))
                - weighted(frame, weight * (1 - step * (frame.c == c)))
            )
            / (2 * step)
            for c in range(60)
        ]
    )
    assert found.se == pytest.approx(np.sqrt(60 / 59 * np.sum((influence - influence.mean()) ** 2)), rel=1e-6)
    groups = estimates(frame, {"y": QUESTION}, by="sex", anchor=ANCHOR, sample=Sample(weights="w"))
    by_sex = {sex: weighted(group, group.w.to_numpy()) for sex, group in frame.groupby("sex")}
    assert groups.differences("f").difference[0] == pytest.approx(by_sex["m"] - by_sex["f"])


def test_replicate_weights_give_the_error_of_their_spread() -> None:
    """The jackknife's spread of the estimate itself and of its linear form differ by less than 3 %."""
    frame = survey(4)
    replicates = Sample(weights=frame.w.to_numpy(), clusters=frame.c.to_numpy()).jackknife()
    assert isinstance(replicates, Replicates)
    found = estimates(frame, {"y": QUESTION}, anchor=ANCHOR, sample=replicates)["y"]
    values = np.array([weighted(frame, np.where(frame.c == c, 0, frame.w)) for c in range(60)])
    assert found.se == pytest.approx(np.sqrt(59 / 60 * np.sum((values - found.value) ** 2)), rel=0.03)


def test_a_survey_states_the_design_and_the_truth_of_its_anchor() -> None:
    frame = survey(5).assign(plain="no")
    questions = [
        Question("y", "Cheated?", design=QUESTION),
        Question("moon", "Been to the moon?", design=MOON, anchor="no"),
        Question("plain", "Car?", options=("no", "yes")),
    ]
    form = Survey("Exams", questions, consent="Why.", check=False, ceiling=4)
    found = estimates(frame, form, anchor="moon")
    assert found["y"].value == pytest.approx(corrected_counts(QUESTION, table(frame), anchor_design=MOON).value)
    assert found["moon"].value == pytest.approx(MOON.estimate(frame.moon).value)
    assert found["plain"].value == 0
    assert "the anchor does not correct plain: only shares under a design" in found.notes()


def test_several_options_are_corrected_together() -> None:
    rng, n = np.random.default_rng(6), 4000
    design = warner("3/4").joint(warner("3/4"))
    moon = np.where(rng.random(n) < 0.7, "same", "different")
    frame = pd.DataFrame({"y": [design.report_options[code] for code in rng.integers(0, 4, n)], "moon": moon})
    counted = estimates(frame, {"y": design}, anchor=ANCHOR)["y"]
    sampled = estimates(frame, {"y": design}, anchor=ANCHOR, sample=Sample(weights=np.ones(n)))["y"]
    assert sampled.value == pytest.approx(counted.value)
    assert sampled.cov == pytest.approx(counted.cov)


def test_a_group_without_attentive_people_has_no_estimate_but_a_note() -> None:
    frame = survey(7)
    frame.loc[frame.sex == "m", "moon"] = "different"
    for sample in (None, Sample(weights="w")):
        found = estimates(frame, {"y": QUESTION}, by="sex", anchor=ANCHOR, sample=sample)
        assert np.isnan(found["y"]["m"].value)
        assert np.isfinite(found["y"]["f"].value)
        assert any("the anchor shows nobody who followed the instructions" in note for note in found.notes())


def test_arguments_of_an_anchor_are_checked() -> None:
    frame = survey(8)
    with pytest.raises(ValueError, match="must be a column, without covariates"):
        estimates(frame, {"y": QUESTION}, anchor=Anchor("moon", MOON, attention="~ sex"))
    with pytest.raises(ValueError, match="must have a design with a matrix"):
        estimates(frame, {"y": QUESTION, "x": MOON}, anchor="moon")
    with pytest.raises(ValueError, match="method must be 'moment'"):
        estimates(frame, {"y": QUESTION}, anchor=ANCHOR, method="mle")
    found = estimates(frame.assign(z=frame.y), {"y": QUESTION, "z": QUESTION}, by="sex", anchor=ANCHOR)
    for analysis in (lambda: found.difference("y", "z"), lambda: found.joint("y", "z"), lambda: found.homogeneity("y")):
        with pytest.raises(ValueError, match="without an anchor"):
            analysis()
    assert anchor_question("moon", None, {"y": MOON}) == AnchorQuestion("moon", MOON, None)


@pytest.mark.slow
def test_weighted_intervals_cover_in_simulated_surveys() -> None:
    """In 1,000 surveys of 500 people; if the coverage is 95 %, it falls below 93 % with probability 0.3 %."""
    covered = 0
    for seed in range(1000):
        found = estimates(survey(100 + seed, 500), {"y": QUESTION}, anchor=ANCHOR, sample=Sample(weights="w"))["y"]
        low, high = found.interval()
        covered += low <= 0.2 <= high
    assert covered >= 930, covered
