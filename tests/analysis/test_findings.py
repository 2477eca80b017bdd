import numpy as np
import pandas as pd
import pytest
from scipy.stats import multinomial

from tests.analysis.reference_survey import CROSSWISE, DIE, LIKERT, UNRELATED, WARNER, survey
from toolkit.analysis import Sample, estimates, plain
from toolkit.analysis.paper_table import paper_rows
from toolkit.analysis.reports import GroupEstimate, entry
from toolkit.local import numeric

DATA = survey()
DATA["sex"] = np.where(DATA.female == 1, "f", "m")
DATA["crosswise"] = np.where(DATA.crosswise == 1, "same", "different")
FOUR = {"forced": DIE, "warner": WARNER, "unrelated": UNRELATED, "crosswise": CROSSWISE}
BY_SEX = estimates(DATA, FOUR, by="sex")


def test_differences_are_those_of_two_estimates() -> None:
    table = BY_SEX.differences("m").set_index("question")
    gap = BY_SEX["forced"]["f"] - BY_SEX["forced"]["m"]
    row = table.loc["forced"]
    assert (row.difference, row.se, row.p) == (gap.value, gap.se, gap.test().p)
    assert (row.low, row.high) == tuple(gap.interval())
    assert row["interval"] == "mover"
    assert set(table.sex) == {"f"}


def test_many_tests_are_adjusted_together() -> None:
    """Pooled score tests have .020480 .040015 .147162 .004682, which agree with MOVER's to four digits."""
    raw, holm, bonferroni = (BY_SEX.differences("m", adjust=how) for how in (None, "holm", "bonferroni"))
    assert raw.p.to_numpy() == pytest.approx([0.020480, 0.040015, 0.147162, 0.004682], abs=1e-4)
    assert holm.p.to_numpy() == pytest.approx([0.061440, 0.080031, 0.147162, 0.018726], abs=3e-4)
    assert bonferroni.p.to_numpy() == pytest.approx([0.081920, 0.160061, 0.588649, 0.018726], abs=4e-4)
    told = [one.adjustment.unique().tolist() for one in (raw, holm, bonferroni)]
    assert told == [["none"], ["holm"], ["bonferroni"]]
    assert np.all(bonferroni.low < raw.low)
    assert bonferroni.level.unique().tolist() == pytest.approx([1 - 0.05 / 4])
    out = (bonferroni.low > 0) | (bonferroni.high < 0)
    assert out.tolist() == (bonferroni.p <= 0.05).tolist()


def test_options_by_group_are_compared_all_together() -> None:
    """Pearson's chi-squared of the reports, and Wald's F of the sample, computed by hand."""
    plain = estimates(DATA, {"likert": LIKERT}, by="sex").homogeneity("likert")
    assert (plain.statistic, plain.df, plain.p) == pytest.approx((4.064947717, 4, 0.397287), abs=1e-6)
    sample = Sample(weights=DATA.weight, strata=DATA.stratum, clusters=DATA.psu)
    drawn = estimates(DATA, {"likert": LIKERT}, by="sex", sample=sample).homogeneity("likert", "wald")
    assert (drawn.statistic, drawn.p) == pytest.approx((0.940700, 0.447564), abs=1e-6)
    assert drawn.df == (4, 54)
    assert "W = 3.97185" in drawn.method
    strata = estimates(DATA, {"forced": DIE}, by="stratum").homogeneity("forced")
    assert (strata.statistic, strata.df) == pytest.approx((36.495238, 2), abs=1e-6)


def test_a_sample_is_tested_as_rao_and_scott_do() -> None:
    """Age in three bands; weights and 60 clusters. With seen shares in its weights R's svychisq (survey 4.1.1)
    has F 17.634125 on 1.866351 and 1.102008 on 6.659417, of Pearson's 33.193693 and 8.883419; with the expected ones
    the statistics below, whose eigenvalues were found by a second route, too. On yes and no the test of reports is that
    of corrected shares.
    """
    bands = DATA.assign(band=pd.cut(DATA.age, [0, 39, 59, 200], labels=["young", "middle", "old"]))
    sample = Sample(weights="weight", clusters="c60")
    found = estimates(bands, {"forced": DIE, "likert": LIKERT}, by="band", sample=sample)
    test, more = found.homogeneity("forced"), found.homogeneity("likert")
    assert (test.statistic, *test.df) == pytest.approx((17.264328, 1.860258, 1.860258 * 59), abs=2e-5)
    assert "X² = 33.194" in test.method
    assert "X² = 8.8834" in more.method
    assert (more.statistic, more.df[0], more.p) == pytest.approx((1.102008, 6.659417, 0.360846), rel=0.01)
    with pytest.raises(ValueError, match="must be left out without a sample"):
        estimates(bands, {"forced": DIE}, by="band").homogeneity("forced", "wald")
    with pytest.raises(ValueError, match="`method` must be one of rao-scott, wald"):
        found.homogeneity("forced", "pearson")
    ages = {"age": plain(bounds=(0, 120))}
    with pytest.raises(TypeError, match="the design must have a matrix to test"):
        estimates(bands, ages, by="band").homogeneity("age")
    with pytest.raises(ValueError, match="method='rao-scott' needs a design with few distinct reports"):
        estimates(bands, ages, by="band", sample=sample).homogeneity("age", "rao-scott")


def test_every_table_of_a_sample_states_its_weights_df_and_deff() -> None:
    """The abbreviations stand for the degrees of freedom and the design effect. R 4.2.2, survey 4.1.1: svyby(~score,
    ~female, …, svymean, deff="replace") has 1.443640 and 0.978866.
    """
    sample = Sample(weights="weight", strata="stratum", clusters="psu")
    found = estimates(DATA, {"forced": DIE}, by="female", sample=sample)
    assert found.to_frame().deff.to_numpy() == pytest.approx([1.443639567641, 0.978866250794], abs=1e-10)
    assert found.to_frame().df.tolist() == [57, 57]
    assert found.to_frame().reports.tolist() == DATA.groupby("female").forced.mean().tolist()  # as they are
    assert estimates(DATA, {"likert": LIKERT}, sample=sample).to_frame().reports.isna().all()
    assert found.summary()[["weighted", "df", "deff"]].to_numpy().tolist() == [
        ["yes", "57", "1.44"],
        ["yes", "57", "0.98"],
    ]
    assert "weighted & df & deff" in found.to_latex()
    gaps = found.differences(0)
    alike = sum(found.to_frame().se ** 2 / found.to_frame().deff)
    assert (gaps.df.item(), gaps.deff.item()) == pytest.approx((57, gaps.se.item() ** 2 / alike))
    unweighted = estimates(DATA, {"forced": DIE}, sample=Sample(clusters="c60")).summary()
    assert unweighted[["weighted", "df"]].to_numpy().tolist() == [["no", "59"]]
    assert "df" not in estimates(DATA, {"forced": DIE}).summary()


def test_two_questions_together_are_a_joint_table() -> None:
    """One truth asked twice: the shares off the diagonal are zero within their errors."""
    found = estimates(DATA, {"forced": DIE, "warner": WARNER})
    table = found.joint("forced", "warner")
    assert table.value == pytest.approx([0.69895833, 0.01229167, -0.01729167, 0.30604167], abs=5e-9)
    assert np.all(np.abs(table.value[1:3]) < 2 * table.se[1:3])
    groups = BY_SEX.joint("forced", "warner")
    assert groups["f"].n + groups["m"].n == 2400
    drawn = estimates(DATA, {"forced": DIE, "warner": WARNER}, sample=Sample(weights=np.ones(2400)))
    assert drawn.joint("forced", "warner").value == pytest.approx(table.value)
    assert drawn.joint("forced", "warner").se == pytest.approx(table.se, rel=1e-9)


def test_two_questions_to_the_same_people_are_compared_person_by_person() -> None:
    """As if they were independent the error would be .019811676: their scores correlate by .435."""
    found = estimates(DATA, {"forced": DIE, "unrelated": UNRELATED})
    gap = found.difference("forced", "unrelated")
    assert (gap.value, gap.se) == pytest.approx((-0.002916667, 0.014915432), abs=5e-10)
    assert gap.cov.item() == pytest.approx(gap.se**2)
    assert (found["forced"] - found["unrelated"]).se == pytest.approx(0.019811676, abs=5e-10)
    assert gap.loss == DIE.loss + UNRELATED.loss
    groups = BY_SEX.difference("forced", "unrelated")
    assert groups["f"].n + groups["m"].n == 2400
    with pytest.raises(ValueError, match="takes two yes/no questions"):
        estimates(DATA, {"forced": DIE, "likert": LIKERT}).difference("forced", "likert")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("design", "truths", "least"),
    [
        (plain([0, 1]), [0.95, 0.03, 0.0, 0.02], 0.98),  # t intervals cover this one in 37 %
        (plain([0, 1]), [0.65, 0.05, 0.15, 0.15], 0.93),
        (plain([0, 1]), [0.45, 0.05, 0.05, 0.45], 0.96),
        (DIE, [0.96, 0.02, 0.02, 0.0], 0.97),
        (DIE, [0.65, 0.05, 0.15, 0.15], 0.925),
    ],
)
def test_intervals_of_paired_differences_cover_with_a_plain_question(design, truths, least) -> None:
    """All tables of 15 people, each with its probability; the second question is plain."""
    n = 15
    tables = [
        (first, second, third, n - first - second - third)
        for first in range(n + 1)
        for second in range(n + 1 - first)
        for third in range(n + 1 - first - second)
    ]
    counts = np.ravel(tables)
    frame = pd.DataFrame({"table": np.repeat(np.repeat(np.arange(len(tables)), 4), counts)})
    frame["a"] = np.repeat(np.tile([0, 0, 1, 1], len(tables)), counts)
    frame["b"] = np.repeat(np.tile([0, 1, 0, 1], len(tables)), counts)
    gaps = estimates(frame, {"a": design, "b": plain([0, 1])}, by="table").difference("a", "b")
    law = np.array(truths) @ np.kron(np.eye(2) if design is not DIE else DIE.matrix, np.eye(2))
    low, high = np.array([tuple(gaps[number].interval()) for number in range(len(tables))]).T
    gap = truths[2] - truths[1]
    covered = (low - 1e-12 <= gap) & (gap <= high + 1e-12)
    assert multinomial.pmf(tables, n, law) @ covered >= least


def test_paired_plain_answers_always_have_an_interval_and_a_test() -> None:
    """Also where all people agree, so that the standard error is 0; it holds the estimate, and shrinks with n."""
    both, widths = {"a": plain([0, 1]), "b": plain([0, 1])}, []
    for n in (5, 50, 500):
        gap = estimates(pd.DataFrame({"a": [0] * n, "b": [0] * n}), both).difference("a", "b")
        interval = gap.interval()
        assert interval.method == "mover"
        assert interval.low < 0 == gap.value < interval.high
        assert gap.test().p == pytest.approx(1)
        widths.append(interval.width)
    assert widths == sorted(widths, reverse=True)
    frame = pd.DataFrame({"a": [1] * 30 + [0] * 70, "b": [1] * 20 + [0] * 80})
    gap = estimates(frame, both).difference("a", "b")
    assert (gap.interval(level=1 - gap.test().p + 1e-9).low, gap.value) == pytest.approx((0, 0.1), abs=1e-4)


def test_the_table_for_a_paper_has_what_a_reader_must_know() -> None:
    frame, table = BY_SEX.to_frame(), BY_SEX.summary(0.9)
    for column in ("n", "missing", "estimate", "se", "low", "high", "level", "interval", "empty", "epsilon"):
        assert column in frame
    assert frame.design[0] == DIE.describe()
    assert frame.reports[0] == pytest.approx(469 / 1230)
    assert table["estimate"][0] == "32.2 %"
    assert table["SE"][0] == "2.1 points"
    assert "90 % interval" in table
    for shown in (BY_SEX.to_csv, BY_SEX.to_latex):
        assert shown() == shown(level=0.95) != shown(level=0.9)
    text = BY_SEX.to_csv()
    assert text.splitlines()[0] == "question,sex,answer,n,missing,estimate,SE,95 % interval,method,design,ε"
    assert "forced,f,yes,1230,0,32.2 %,2.1 points,28.2 to 36.3 %,wilson,forced,1.61" in text


def test_files_are_written(tmp_path) -> None:
    assert BY_SEX.to_csv(tmp_path / "table.csv") is None
    assert BY_SEX.to_latex(tmp_path / "table.tex") is None
    head, body = (tmp_path / "table.tex").read_text().split("\\midrule")
    assert (head.count("\\\\"), body.count("\\\\")) == (1, len(BY_SEX.summary()))
    again = pd.read_csv(tmp_path / "table.csv")
    assert len(again) == 8
    assert (tmp_path / "table.tex").read_text(encoding="utf-8").startswith(r"\begin{tabular}")


def test_an_entry_has_the_interval_that_it_has_among_the_others() -> None:
    likert = estimates(DATA, {"likert": LIKERT})
    (one,) = likert.group_estimates
    low, high = one.estimate.interval()
    for place, (label, estimate) in enumerate(one._entries()):
        assert label == place
        assert tuple(estimate.interval()) == (low[place], high[place])
    assert entry(one.estimate, 2).value == one.estimate.value[2]
    assert entry(one.estimate, 2).cov.item() == pytest.approx(one.estimate.cov[2, 2])
    boxes = estimates(pd.DataFrame({"q": ["[0]", "[0, 1]"]}), {"q": plain(["a", "b"], multiple=True)})
    assert [boxes._row_label(group, option) for group in boxes.group_estimates for option in "ab"] == ["q: a", "q: b"]


def test_a_picture_has_a_row_for_each_share() -> None:
    picture = BY_SEX.plot()
    names = [label.get_text() for label in picture.get_yticklabels()]
    assert names[:2] == ["forced (f)", "forced (m)"]
    assert len(names) == 8
    bit = numeric.one_bit((0, 80), 1.0)
    hours = estimates(pd.DataFrame({"hours": [0, 1, 1]}), {"hours": bit})
    with pytest.raises(ValueError, match="there must be shares to draw"):
        hours.plot()


@pytest.mark.slow
def test_a_report_has_a_picture_where_there_are_shares_of_somebody(tmp_path) -> None:
    hours = numeric.one_bit((0, 80), 1.0)
    frame = pd.DataFrame({"hours": [0, 1, 1], "nobody": [None] * 3, "forced": [1, 0, 1]})
    for asked, pictures in (({"hours": hours}, 0), ({"nobody": DIE}, 0), ({"hours": hours, "forced": DIE}, 1)):
        text = estimates(frame, asked).report(tmp_path / "report.md").read_text(encoding="utf-8")
        assert text.count("the shares of the table") == pictures
        assert all(f"{name}: " in text for name in asked)
    assert estimates(frame, {"forced": DIE})._png(0.95).startswith(b"\x89PNG")


def test_what_enough_people_answered_is_kept_and_a_minimum_never_falls() -> None:
    least = min(one.used for one in BY_SEX.group_estimates)
    assert len(BY_SEX.suppress_below(least).group_estimates) == len(BY_SEX.group_estimates)
    assert len(BY_SEX.suppress_below(least + 1).group_estimates) < len(BY_SEX.group_estimates)
    assert BY_SEX.suppress_below(5).suppress_below(3).minimum == 5


def test_a_group_without_pairs_has_no_number_and_is_left_out_by_a_minimum() -> None:
    frame = pd.DataFrame({"a": [1, 0, 1, 0], "b": [1, 1, None, None], "g": list("xxyy")})
    found = estimates(frame, {"a": DIE, "b": WARNER}, by="g")
    for pair in (found.difference("a", "b"), found.joint("a", "b")):
        assert (pair["x"].n, pair["y"].n, np.isnan(pair["y"].value).all()) == (2, 0, True)
    assert list(found.suppress_below(1).difference("a", "b")) == ["x"]


def test_html_escapes_what_a_column_is_called() -> None:
    frame = pd.DataFrame({"<b>": [0] * 30 + [1] * 2, "g": ["<i>"] * 32})
    page = estimates(frame, {"<b>": DIE}, by="g")._repr_html_()
    assert "<b>" not in page
    assert "<i>" not in page


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (lambda: BY_SEX["paid"], "must be one of the designs' columns"),
        (lambda: BY_SEX.differences("x"), "`reference` must be one of the groups"),
        (lambda: estimates(DATA, FOUR).differences("m"), "estimate with by=…"),
        (lambda: BY_SEX.differences("m", adjust="sidak"), "`adjust` must be one of"),
        (lambda: BY_SEX.joint("forced", "forced"), "two questions with a matrix each"),
        (lambda: estimates(DATA, FOUR).homogeneity("forced"), "there must be groups to compare"),
    ],
)
def test_what_was_not_found_is_refused(asked, words: str) -> None:
    with pytest.raises((ValueError, KeyError), match=words):
        asked()


@pytest.mark.parametrize("sample", [None, Sample(weights=np.ones(6))])
def test_rows_without_a_group_are_counted_wherever_findings_are_read(sample: Sample | None) -> None:
    frame = pd.DataFrame({"a": [1, 0, 1, 0, 1, 0], "g": ["x", "x", "y", "y", None, None], "h": list("111110")})
    told = "2 rows are in no group, and in no estimate: g is missing"
    found = estimates(frame, {"a": DIE}, by="g", sample=sample)
    assert found.remarks == (told,)
    assert told in repr(found)
    assert told in found._repr_html_()
    assert found.to_frame()["missing group"].tolist() == [2, 2]
    assert found.summary()["missing group"].tolist() == [2, 2]
    assert "missing group" in (found.to_csv() or "")
    assert found.missing["missing group"].sum() == 2
    both = estimates(frame.head(5), {"a": DIE}, by=["g", "h"], sample=None)
    assert both.remarks == ("1 row is in no group, and in no estimate: g or h is missing",)
    whole = estimates(frame.head(4), {"a": DIE}, by="g")
    assert whole.remarks == ()
    assert "missing group" not in whole.to_frame()


def test_a_line_has_the_digits_that_its_error_allows() -> None:
    one = GroupEstimate("q", (), DIE.estimate_counts([1538, 862]), 2400, 0)
    (row,) = paper_rows({"q": DIE}, (), [one], 0.95, {})
    assert (row["estimate"], row["SE"], row["95 % interval"]) == ("28.9 %", "1.5 points", "26.0 to 31.8 %")
    assert (row["n"], row["missing"], row["ε"]) == (2400, 0, "1.61")


def test_no_label_of_a_table_is_a_formula_for_a_spreadsheet() -> None:
    frame = pd.DataFrame({"a": ["yes", "no"] * 50, "region": ["=cmd", "x;+1"] * 50})
    text = estimates(frame, {"a": WARNER}, by="region").to_csv()
    assert text is not None
    assert "'=cmd" in text
    assert "x;'+1" in text
