"""Means and totals of complex samples: numbers by svy 0.35 and statsmodels 0.15 on rr_synthetic.csv."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from tests.analysis.reference_survey import DIE, LIKERT, UNRELATED, WARNER, survey
from tests.slowly import each
from toolkit import unrelated
from toolkit.analysis import Sample, estimates, logistic
from toolkit.local import numeric, oracles

DATA = survey()
SCORES = DIE.scores(DATA.forced)
FEMALE = DATA.female == 1
NESTED = Sample(weights=DATA.weight, strata=DATA.stratum, clusters=DATA.psu)
CROSSED = Sample(weights=DATA.weight, clusters=DATA.c60)


@pytest.mark.parametrize(
    ("sample", "value", "se", "df"),
    [
        (Sample(), 0.288750000, 0.014692534, 2399),
        (Sample(weights=DATA.weight), 0.331616149, 0.016735162, 2399),
        (CROSSED, 0.331616149, 0.017125767, 59),
        (Sample(weights=DATA.weight, strata=DATA.stratum), 0.331616149, 0.016647176, 2397),
        (NESTED, 0.331616149, 0.014816085, 57),
    ],
    ids=["alike", "weights", "clusters", "strata", "all"],
)
def test_means_have_the_errors_of_their_sample(sample: Sample, value: float, se: float, df: int) -> None:
    found = sample.mean(SCORES)
    assert (found.value, found.se) == pytest.approx((value, se), abs=5e-10)
    assert found.basis.df == df
    assert found.interval().method == "t"
    assert f"{df} df" in found.covers


def test_the_t_interval_is_not_cut() -> None:
    assert tuple(CROSSED.mean(SCORES).interval()) == pytest.approx((0.297348, 0.365885), abs=1e-6)
    assert tuple(NESTED.mean(SCORES).interval()) == pytest.approx((0.301947, 0.361285), abs=1e-6)
    assert NESTED.mean(SCORES, FEMALE & (DATA.age >= 79)).interval().low < 0


def test_totals_count_people() -> None:
    found = NESTED.total(SCORES)
    assert (found.value, found.se) == pytest.approx((867.131825, 38.801692), abs=1e-6)


@pytest.mark.parametrize(
    ("where", "value", "crossed", "nested"),
    [(FEMALE, 0.371984779, 0.022908696, 0.020855790), (~FEMALE, 0.289542863, 0.021163165, 0.025297296)],
    ids=["female", "male"],
)
def test_domains_keep_all_rows(where: pd.Series, value: float, crossed: float, nested: float) -> None:
    for sample, se in ((CROSSED, crossed), (NESTED, nested)):
        found = sample.mean(SCORES, where)
        assert (found.value, found.se) == pytest.approx((value, se), abs=5e-10)
        assert found.n == int(where.sum())


def test_a_domain_has_the_degrees_of_freedom_of_the_whole_design() -> None:
    """Thirty old women in 15 of 60 clusters. Taking their rows first gives .110067437 on 14 df: wrong."""
    old = NESTED.mean(SCORES, FEMALE & (DATA.age >= 79))
    assert (old.value, old.se, old.basis.df) == pytest.approx((0.095132382, 0.109097661, 57), abs=5e-10)


def test_differences_go_through_the_clusters() -> None:
    for sample, se in ((CROSSED, 0.028455633), (NESTED, 0.035581606)):
        gap = sample.difference(SCORES, FEMALE, ~FEMALE)
        assert (gap.value, gap.se) == pytest.approx((0.082441916, se), abs=5e-10)
    assert gap.n == 2400
    assert gap.test().p == pytest.approx(0.024, abs=0.001)
    assert (gap.test().p <= 0.05) == (not gap.interval().low <= 0 <= gap.interval().high)


def test_several_options_have_their_covariances() -> None:
    found = NESTED.mean(LIKERT.scores(DATA.likert), labels=LIKERT.options)
    assert found.value == pytest.approx([0.34124839, 0.25788753, 0.22286126, 0.10013509, 0.07786773], abs=5e-9)
    assert found.se == pytest.approx([0.0198529, 0.01705682, 0.01545053, 0.01150706, 0.01381205], abs=5e-8)
    assert found.cov[0, 1] == pytest.approx(-0.000208815866, abs=5e-13)
    assert found.contrast({0: 1, 1: -1}).interval().method == "t"


def test_warners_weighted_mean_is_the_one_of_r() -> None:
    """rr_reference: .022452485 without the factor n / (n - 1)."""
    found = Sample(weights=DATA.weight).mean(WARNER.scores(DATA.warner))
    assert (found.value, found.se) == pytest.approx((0.348591980, 0.022457164), abs=5e-10)
    assert found.se * np.sqrt(2399 / 2400) == pytest.approx(0.022452485, abs=5e-10)


def test_numbers_sent_as_one_bit_are_weighted_too() -> None:
    """Generated with seed 8, as the reference numbers were."""
    rng, c = np.random.default_rng(8), (np.e + 1) / (np.e - 1)
    x = rng.beta(2, 5, 1000) * 2 - 1
    sent = np.where(rng.random(1000) < 0.5 + x / (2 * c), 1, -1)
    weights = np.round(rng.uniform(0.5, 1.5, 1000), 3)
    assert sent.sum() == -210
    scores = numeric.one_bit((-1, 1), 1.0).scores((sent + 1) // 2)
    alike, clusters = Sample(weights=weights), Sample(weights=weights, clusters=np.arange(1000) % 40)
    assert alike.mean(scores).value == pytest.approx(-0.444093585, rel=1e-6)
    assert alike.mean(scores).se == pytest.approx(0.069654006, rel=1e-6)
    assert clusters.mean(scores).se == pytest.approx(0.069638399, rel=1e-6)
    assert clusters.mean(scores).basis.df == 39
    unweighted = Sample().mean(scores)
    assert (unweighted.value, unweighted.se) == pytest.approx((-0.454430217, 0.066937794), rel=1e-6)


def test_questions_to_the_same_people_are_compared_by_differences() -> None:
    """The difference is that of each person's scores."""
    gap = Sample().mean(SCORES - UNRELATED.scores(DATA.unrelated))
    assert (gap.value, gap.se) == pytest.approx((-0.002916667, 0.014915432), abs=5e-10)
    together = np.corrcoef(SCORES, UNRELATED.scores(DATA.unrelated))[0, 1]
    assert together == pytest.approx(0.43538, abs=5e-6)


def test_an_outcome_is_compared_between_carriers_and_others() -> None:
    """No model is fitted. Means of the outcome among those who have it and those who have not: ratios of means of
    scores, their error by what each person moves the difference by. The correlation divides by the truth's own
    variance.
    """
    y, mean = DATA.outcome.to_numpy(), Sample().mean
    value, se = 0.734463248, 0.078002130
    carriers, others = ((s * y).sum() / s.sum() for s in (SCORES, 1 - SCORES))
    assert carriers - others == pytest.approx(value, abs=5e-10)
    share = SCORES.mean()
    moved = SCORES * (y - carriers) / share - (1 - SCORES) * (y - others) / (1 - share)
    assert mean(moved).se == pytest.approx(se, abs=5e-10)
    together = float(mean(SCORES * y).value - share * y.mean())
    assert together * 2400 / 2399 == pytest.approx(0.150902118, abs=5e-10)
    both = together * 2400 / 2399 / np.sqrt(share * (1 - share) * y.var(ddof=1))
    assert both == pytest.approx(0.304028405, abs=5e-10)


def test_kishs_number_of_people() -> None:
    assert NESTED.effective_n == pytest.approx(1952.4667, abs=1e-4)
    assert Sample(weights=np.ones(10)).effective_n == 10


def test_a_finite_population_lessens_the_sampling_error_only() -> None:
    """With 100 clusters a stratum svy has .013251909, which takes the randomization for sampling."""
    finite = Sample(DATA.weight, DATA.stratum, DATA.psu, population=dict.fromkeys(DATA.stratum.unique(), 100))
    plain, hidden = (finite.mean(SCORES, noise=noise).se for noise in (0, "shares"))
    assert plain == pytest.approx(0.013251909, abs=5e-10)
    assert plain < hidden < NESTED.mean(SCORES).se
    everybody = np.ones(len(DATA), dtype=bool)
    assert finite.difference(SCORES, everybody, everybody, noise="shares").se == pytest.approx(0, abs=1e-9)


HORVITZ = {  # the innocent question's prevalence, yes of 710, the estimate and its variance as RRTCS prints them
    "copied": ("1/12", 328, 0.8406103, 0.001389716),
    "fought": ("1/10", 180, 0.4070423, 0.001045196),
    "bullied": ("20/30", 280, 0.1220657, 0.001337415),
    "bullying": ("1/10", 81, 0.128169, 0.0005597858),
    "drug": ("10/30", 164, 0.1286385, 0.000991658),
    "sex": ("1/12", 53, 0.06596244, 0.000383954),
}


def test_the_real_survey_of_rrtcs_has_its_twelve_published_numbers() -> None:
    """R's RRTCS 0.0.4, data HorvitzDataRealSurvey and their vignette: 710 of 10,777 students were asked the sensitive
    or an innocent question by a coin. RRTCS prints seven digits.
    """
    frame = pd.DataFrame({name: np.arange(710) < yes for name, (_, yes, *_) in HORVITZ.items()}).astype(int)
    designs = {name: unrelated(p="1/2", prevalence=share) for name, (share, *_) in HORVITZ.items()}
    found = estimates(frame, designs, sample=Sample(population=10_777))
    for name, (_, _, value, variance) in HORVITZ.items():
        assert (found[name].value, found[name].se ** 2) == pytest.approx((value, variance), rel=5e-7)


def test_a_census_has_the_error_of_the_randomization() -> None:
    census = Sample(weights=np.ones(len(SCORES)), population=len(SCORES))
    noise = np.sqrt((SCORES * (SCORES - 1)).sum()) / len(SCORES)
    assert census.mean(SCORES, noise="shares").se == pytest.approx(noise)
    assert census.mean(SCORES, noise=0).se == 0
    assert census.mean(SCORES, noise=np.full(len(SCORES), 0.3125)).se == pytest.approx(np.sqrt(0.3125 / 2400))


@pytest.mark.slow
def test_the_variance_of_half_a_population_is_estimated_without_bias() -> None:
    """1000 of 2000 people, 400 of whom have it, asked with a die: theory 3.925e-4. Each estimate spreads by
    4 %, so the mean of 150 by 0.35 %: 2 % off is a false alarm of 1e-8.
    """
    rng, truth = np.random.default_rng(21), np.repeat([True, False], [400, 1600])
    half = Sample(weights=np.ones(1000), population=2000)
    found = [
        half.mean(DIE.scores(DIE.randomize(rng.permutation(truth)[:1000], rng)), noise="shares").se ** 2
        for _ in range(150)
    ]
    sampling, noise = 0.5 * 400 * 1600 / (2000 * 1999 * 1000), 0.3125 / 1000
    assert np.mean(found) == pytest.approx(sampling + noise, rel=0.02)
    assert sampling + noise == pytest.approx(3.925e-4, rel=1e-3)


TWO_STAGES = DATA.assign(i=np.arange(2400), N=100, M=5 * DATA.groupby("psu").forced.transform("size"))


def test_people_who_were_drawn_inside_of_clusters_add_their_own_error() -> None:
    """100 clusters a stratum, of whose people every fifth was drawn. R 4.2.2, survey 4.1.1:
    svydesign(id=~psu+i, strata=~stratum, fpc=~N+M, weights=~weight); one stage has .013251909.
    """
    for clusters in (("psu", "i"), "psu"):  # without a column the second stage draws persons
        two = Sample("weight", "stratum", clusters, ("N", "M")).resolve(TWO_STAGES)
        assert (two.mean(SCORES, noise=0).se, two.df) == pytest.approx((0.0148402084616, 57), abs=5e-13)
        for where, se in ((FEMALE, 0.0209104686065), (~FEMALE, 0.0245031618871)):
            assert two.mean(SCORES, where, noise=0).se == pytest.approx(se, abs=5e-13)
    one = Sample("weight", "stratum", "psu", "N").resolve(TWO_STAGES)
    assert one.mean(SCORES, noise=0).se == pytest.approx(0.0132519091, abs=5e-11)
    clusters = (DATA.psu, TWO_STAGES.i)
    with_noise = Sample(DATA.weight, DATA.stratum, clusters, (dict.fromkeys((1, 2, 3), 100), TWO_STAGES.M))
    hidden = with_noise.mean(SCORES, noise="shares").se ** 2 - 0.0148402084616**2
    factors = 0.2 * 0.2 * (DATA.weight / DATA.weight.sum()) ** 2  # both stages spare a fifth of the people
    assert hidden == pytest.approx(float(factors @ (SCORES * (SCORES - 1))), rel=1e-9)


@pytest.mark.slow
def test_the_variance_of_two_stages_is_estimated_without_bias() -> None:
    """4 of 8 clusters, then 5 of 10 people of each, asked with a die: the mean of the estimates against the variance
    of 20,000 surveys, whose ratio has a standard error below 1.5 %: 7 % off is a false alarm of 3e-6.
    """
    rng, shares = np.random.default_rng(12), np.linspace(0.05, 0.7, 8)[:, None]
    truth = np.random.default_rng(3).random((8, 10)) < shares
    clusters = rng.permuted(np.tile(np.arange(8), (20_000, 1)), axis=1)[:, :4]
    people = rng.permuted(truth[clusters], axis=2)[:, :, :5].reshape(-1, 20)
    reports = np.where(rng.random(people.shape) < 2 / 3, people, rng.random(people.shape) < 0.5).astype(int)
    scores = DIE.scores([0, 1])[reports]
    sample = Sample(weights=np.ones(20), clusters=np.repeat(np.arange(4), 5), population=(8, np.full(20, 10)))
    values, variances = scores.mean(axis=1), [sample.mean(one, noise="shares").cov[0, 0] for one in scores[:1500]]
    assert np.mean(variances) == pytest.approx(np.var(values), rel=0.07)


@pytest.mark.slow
def test_names_are_looked_up_in_the_frame_that_is_analyzed() -> None:
    """A sorted frame has other people in its rows: by position, the weighted share would be wrong."""
    moved = DATA.sort_values(["forced", "weight"])
    by_name = Sample(weights="weight", strata="stratum", clusters="psu")
    wrong = Sample(weights=DATA.weight.to_numpy(), strata=DATA.stratum.to_numpy(), clusters=DATA.psu.to_numpy())
    for frame in (DATA, moved, pl.from_pandas(moved), pl.from_pandas(moved).to_arrow()):
        one = estimates(frame, {"forced": DIE}, sample=by_name)["forced"]
        assert (one.value, one.se) == pytest.approx((0.331616149, 0.014816085), abs=5e-10)
        fit = logistic("forced ~ female", frame, DIE, sample=by_name)
        assert fit.value == pytest.approx([-0.89760527, 0.37389381], abs=1e-6)
    assert abs(estimates(moved, {"forced": DIE}, sample=wrong)["forced"].value - 0.331616149) > 0.02
    assert repr(by_name) == '<Sample by name: weights "weight", strata "stratum", clusters "psu">'
    mixed = Sample(weights="weight", clusters=DATA.psu)
    assert estimates(DATA, {"forced": DIE}, sample=mixed)["forced"].value == pytest.approx(0.331616149)
    with pytest.raises(ValueError, match="must have one index, got several"):
        estimates(moved, {"forced": DIE}, sample=mixed)


def test_known_totals_by_name_are_those_of_the_frame() -> None:
    margins = {"female": {0: 2200, 1: 2300}, "group": {1: 2250, 2: 2250}}
    by_name, by_column = Sample("weight").raked(margins), Sample(DATA.weight).raked(margins, DATA)
    right = estimates(DATA, {"forced": DIE}, sample=by_column)["forced"]
    for sample in (by_name, Sample(DATA.weight).raked(margins)):
        one = estimates(DATA, {"forced": DIE}, sample=sample)["forced"]
        assert (one.value, one.se) == pytest.approx((right.value, right.se), rel=1e-12)
    moved = DATA[::-1]
    assert estimates(moved, {"forced": DIE}, sample=by_name)["forced"].se == pytest.approx(right.se, rel=1e-12)
    cells = Sample("weight").poststratified("female", {0: 2200, 1: 2300})
    assert repr(cells) == '<Sample by name: weights "weight", known totals>'
    assert estimates(moved, {"forced": DIE}, sample=cells)["forced"].value == pytest.approx(
        Sample(DATA.weight).poststratified(DATA.female, {0: 2200, 1: 2300}).mean(SCORES).value
    )


def test_rows_that_stay_where_they_are_are_weighted_by_name() -> None:
    table, sample = duckdb.connect().from_df(DATA), Sample("weight", "stratum", "psu")
    fit = logistic("forced ~ female", table, DIE, sample=sample)
    assert fit.se == pytest.approx(logistic("forced ~ female", DATA, DIE, sample=sample).se, rel=1e-9)
    with pytest.raises(TypeError, match="must hold its rows in order"):
        estimates(table, {"forced": DIE}, sample=sample)


@pytest.mark.slow
def test_clusters_cover_as_often_as_they_say() -> None:
    """50 clusters of 20 people, correlated by .05, a share of .2, asked with a die. Of 200 intervals 190
    cover on average: fewer than 177 have a chance of 6e-5, all of them one of 4e-5.
    """
    rng, clusters = np.random.default_rng(9), np.repeat(np.arange(50), 20)
    sample, held = Sample(clusters=clusters), 0
    for _ in range(200):
        own = rng.beta(0.2 * 19, 0.8 * 19, 50)
        truth = rng.random(1000) < own[clusters]
        low, high = sample.mean(DIE.scores(DIE.randomize(truth, rng))).interval()
        held += low <= 0.2 <= high
    assert 177 <= held <= 199


def test_who_was_not_asked_about_a_box_is_outside_its_domain() -> None:
    boxes = oracles.tick_boxes(["a", "b"], 1.0, how="random")
    reports = np.array([[0, 1], [1, 1], [0, 0], [1, 0], [0, 1], [1, 1]])
    found = Sample().mean(boxes.scores(reports), labels=boxes.options)
    assert found.value == pytest.approx(boxes.estimate(reports).value)
    one = Sample().mean(boxes.scores(reports, option="a"))
    assert one.n == 3
    assert one.value == pytest.approx(found.value[0])


def test_columns_may_come_from_anywhere() -> None:
    frame = pl.from_pandas(DATA)
    for source in (frame, frame.to_arrow()):
        sample = Sample(weights=source["weight"], strata=source["stratum"], clusters=source["psu"])
        assert sample.mean(SCORES).se == pytest.approx(0.014816085, abs=5e-10)
        assert sample.mean(SCORES, frame["female"] == 1).value == pytest.approx(0.371984779, abs=5e-10)
    texts = Sample(strata=list("aabb"), clusters=["x", "y", "x", "y"])
    assert texts.df == 2
    assert Sample(weights=(1, 2)).weights.tolist() == [1, 2]  # two numbers are no stages either
    tuples = Sample(weights=(1, 2, 1, 2), strata=tuple("aabb"))  # of more than two a column, and no stages
    assert (tuples.df, tuples.rows, tuples.weights.tolist()) == (2, 4, [1, 2, 1, 2])


def test_a_cluster_may_be_there_as_a_whole() -> None:
    """Then its second stage adds nothing, also where it has one person; one stratum needs no name for its number."""
    scores, place = [1.0, 3.0, 2.0, 7.0, 5.0], [1, 1, 2, 2, 3]
    whole = Sample(clusters=place, population=(9, np.array([2, 2, 2, 2, 1])))
    assert whole.mean(scores, noise=0).se == pytest.approx(
        Sample(clusters=place, population=9).mean(scores, noise=0).se
    )
    assert Sample(strata=["all"] * 5, population=9).mean(scores, noise=0).se == pytest.approx(
        Sample(population=9).mean(scores, noise=0).se
    )


def test_a_sample_says_what_it_is() -> None:
    assert repr(NESTED) == "<Sample of 2,400 rows, 57 df: weights, strata, clusters>"
    assert repr(Sample()) == "<Sample of any number of rows: equal probabilities>"


BAD = {
    "weights of zero": (lambda: Sample(weights=[1, 0, 2]), "finite numbers above 0, got 1 of 3"),
    "missing weights": (lambda: Sample(weights=[1, None, 2]), "finite numbers above 0, got 1 of 3"),
    "words as weights": (lambda: Sample(weights=["a", "b"]), "`weights` must be numbers"),
    "unequal columns": (lambda: Sample(weights=[1, 2], strata=[1, 1, 2]), "weights 2, strata 3"),
    "missing strata": (lambda: Sample(strata=["a", None, "a"]), "`strata` must not be missing, got 1 missing of 3"),
    "one cluster": (lambda: Sample(clusters=[1, 1, 1]), "at least two clusters, got 1"),
    "a lonely cluster": (lambda: Sample(strata=["n", "n", "s"]), "got one in s: use lonely='collapse'"),
    "an unknown way": (lambda: Sample(lonely="ignore", weights=[1, 2]), "`lonely` must be one of"),
    "no column": (lambda: Sample(weights=np.ones((2, 2))), "`weights` must be a column"),
    "too few in all": (lambda: Sample(weights=[1, 1, 1], population=2), "got fewer"),
    "one number for strata": (lambda: Sample(strata=[1, 1, 2, 2], population=9), "for each stratum, by name"),
    "names without strata": (lambda: Sample([1, 1], population={"all": 9}), "must name every stratum"),
    "an unnamed stratum": (lambda: Sample(strata=[1, 1, 2, 2], population={1: 9}), "1 not named"),
    "other rows": (lambda: Sample(weights=[1, 2]).mean([0.5, 0.5, 0.5]), "must have 2 rows"),
    "words as scores": (lambda: Sample().mean(["yes", "no"]), "scores must be numbers"),
    "infinite scores": (lambda: Sample().mean([1.0, np.inf]), "scores must be finite"),
    "an empty domain": (lambda: Sample().mean([1.0, 2.0], [False, False]), "an empty domain has no mean"),
    "a short domain": (lambda: Sample().mean([1.0, 2.0], [True]), "for each of 2 rows"),
    "a domain of numbers": (lambda: Sample().mean([1.0, 2.0], np.array([0, 1])), "must hold truth values"),
    "a table of another shape": (lambda: Sample().mean(np.ones((2, 2)), np.ones((2, 3)) > 0), r"of shape \(2, 2\)"),
    "a table of numbers": (lambda: Sample().mean(np.ones((2, 2)), np.ones((2, 2))), r"of shape \(2, 2\)"),
    "unsaid noise": (lambda: Sample(population=9).mean([1.0, 2.0]), "`noise` must give"),
    "strange noise": (lambda: Sample(population=9).mean([1.0, 2.0], noise="much"), "`noise` must be 'shares'"),
    "negative noise": (lambda: Sample(population=9).mean([1.0, 2.0], noise=-1), "`noise` must be at least 0"),
    "too many labels": (lambda: Sample().mean([1.0, 2.0], labels=("a", "b")), "must name 1 columns"),
    "a frame of others": (
        lambda: Sample([1, 1]).raked({"female": {0: 1, 1: 1}}).resolve(DATA),
        "frame must have 2 rows",
    ),
    "an unknown name": (lambda: Sample("w").resolve(DATA), "`weights` must be a column of the data, got 'w'"),
    "names without a frame": (lambda: Sample("weight").mean(SCORES), r"got weight: write \.resolve\(frame\)"),
    "stages without clusters": (lambda: Sample([1, 1], population=(9, 9)), "needs `clusters`"),
    "fewer people than drawn": (lambda: Sample(clusters=[1, 1, 2, 2], population=(9, 1)), "second `population`"),
    "one of several": (lambda: Sample(clusters=[1, 1, 2], population=(9, 4)), "1 clusters with one unit of several"),
    "unsteady numbers": (lambda: Sample(population=np.array([8, 9])), "one number for all rows of a stratum"),
    "a shorter population": (lambda: Sample([1, 1], population=np.array([8, 8, 8])), "weights 2, population 3"),
    "nothing drawn": (lambda: Sample().df, "a column, or the number of rows"),
}


@each(name=BAD)
def test_what_cannot_be_a_sample_is_refused_in_words(name: str) -> None:
    made, words = BAD[name]
    with pytest.raises((ValueError, TypeError), match=words):
        made()
