"""The numbers in a report equal those of the results; they are read back from every format."""

import re

import numpy as np
import pandas as pd
import pytest

from tests.survey.documents import read
from tests.survey.samples import cheated, faculty, survey
from toolkit import Ledger, Pure, Question, warner
from toolkit.analysis import estimates
from toolkit.survey import Collector, estimate, read_reports
from toolkit.survey.client import code_hash
from toolkit.survey.dpia import assessment
from toolkit.survey.exchange.written_report import _differences, _response_table, _summary, methods, report_document
from toolkit.survey.storage import NewReport, State, open_store

pytest.importorskip("matplotlib")
ASKED = survey(
    faculty(labels={"arts": "Arts <b>", "law": "Law | more"}),
    cheated(design=warner("3/4")),
    Question("moon", "Been to the moon?", design=warner("3/5"), anchor="no"),
    minimum=30,
)


def results(by=None):
    frame = ASKED.simulate(400, np.random.default_rng(3))
    frame.loc[frame.index[40:], "faculty"] = "arts"
    return estimate(ASKED, frame, by)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".html", ".docx", ".md"])
def test_every_estimate_stands_in_the_report_as_in_the_table(tmp_path, suffix):
    made = results()
    rows, text = read(made.report(tmp_path / f"r{suffix}"))
    for row in made.summary().itertuples(index=False):
        assert [row.answer, row.estimate, row[3], row[4], f"{row.people:,}"] in rows
    assert ASKED.hash in text
    assert "By the anchor question moon" in text
    assert "passed the comprehension check" in text
    assert "at most epsilon 1.504" in text
    assert "Who must be trusted, with what" in text
    assert f"program {code_hash()}" in text


def test_readers_see_the_name_of_a_question_in_brackets_for_an_inserted_answer():
    """In the report with its section for an ethics board, in a notebook, and in the assessment alone."""
    why = Question("why", "Why {answer:faculty}?", options=["a", "b"])
    asked = survey(faculty(), why, check=False, minimum=10)
    found = estimate(asked, asked.simulate(60, np.random.default_rng(4)))
    report, notebook = report_document(found, 0.95, "Exams").html(), found._repr_html_()
    assert "{answer" not in report + notebook + assessment(asked)
    assert report.count("Why [faculty]?") == 4, "the summary, what was asked, the estimates, and the board's section"
    assert "<h4>Why [faculty]?</h4>" in notebook
    assert "| Why [faculty]? |" in assessment(asked)


@pytest.mark.parametrize(("n_yes", "interval"), [(90, "0.0 to 3.7 %"), (5, "no share fits")])
def test_the_summary_gives_a_share_outside_its_range_by_its_interval(n_yes, interval):
    """If all answers are no, 100 of 400 reports are expected to be yes. Wilson's upper limit of 90 / 400 is 0.2685."""
    frame = pd.DataFrame({"cheated": ["yes"] * n_yes + ["no"] * (400 - n_yes), "understood": True})
    found = estimate(survey(cheated(design=warner("3/4"))), frame)
    title, table, explained = _summary(found, 0.95)
    assert (title.kind, title.text, table.kind) == ("h2", "Summary", "table")
    assert float(found["cheated"].value) == pytest.approx((n_yes / 400 - 1 / 4) / (1 / 2))
    head, row = table.rows
    assert head == ("question", "estimates with 95\N{NO-BREAK SPACE}% intervals")
    question, text = (cell.replace("\N{NO-BREAK SPACE}", " ") for cell in row)
    assert question == "Have you ever cheated on an exam?"
    assert text == f"Yes: {interval} (the unbiased estimate lies outside 0 to 100 %)"
    assert "randomized before they were sent" in explained.text


def test_the_summary_of_groups_has_an_estimate_for_each():
    both = estimate(ASKED, ASKED.simulate(400, np.random.default_rng(3)), "faculty")
    line = next(cells[1] for cells in _summary(both, 0.95)[1].rows if "cheated" in cells[0])
    rows = both.summary().set_index("question").loc["cheated"]
    for row in rows.to_dict("records"):
        assert f"{row['faculty']}: {row['estimate']} ({row['95 % interval']})" in line.replace(
            "\N{NO-BREAK SPACE}", " "
        )


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".html", ".docx"])
def test_groups_of_too_few_are_withheld_and_the_others_compared(tmp_path, suffix):
    made = results("faculty")
    assert set(made["cheated"]) == {"arts"}
    rows, text = read(made.report(tmp_path / f"r{suffix}"))
    assert [row for row in rows if row[0] == "Law | more"] == []
    assert "are not shown, as fewer than 30 people answered" in text
    assert "Differences from" not in text
    both = ASKED.simulate(400, np.random.default_rng(3))
    compared = estimate(ASKED, both, "faculty")
    rows, text = read(compared.report(tmp_path / f"two{suffix}"))
    frame = compared.differences("arts", adjust="holm")
    (found,) = [row for row in rows if row[:2] == ["cheated", "faculty Law | more"]]
    expected = frame.set_index("question").loc["cheated"]
    assert float(found[3].split()[0]) == pytest.approx(100 * expected["difference"], abs=0.051)
    assert found[5] == f"{expected['p']:.4f}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("by", "group"), [("faculty", "faculty law"), (["faculty", "channel"], "faculty law, channel a")]
)
def test_differences_are_in_points_or_in_the_unit_of_the_answers(by, group):
    asked = survey(faculty(), cheated(design=warner("3/4")), Question("age", "Age?", bounds=(18, 98)), minimum=10)
    frame = asked.simulate(300, np.random.default_rng(3)).assign(channel="a")
    frame["age"] = np.where(frame["faculty"] == "law", 60, 20) + np.arange(300) % 5
    found = estimate(asked, frame, by)
    title, table = _differences(found, 0.9)
    numbers = found.differences("arts" if by == "faculty" else ("arts", "a"), adjust="holm", level=0.9)
    assert title.text == f"Differences from {group.replace('law', 'arts')}"
    head, *rows = table.rows
    assert head == ("question", "group", "answer", "difference", "90 % interval", "p (Holm)")
    assert [row[:3] for row in rows] == [("cheated", group, "Yes"), ("age", group, "mean")]
    for row, scale, unit in zip(rows, (100, 1), (" points", ""), strict=True):
        given = numbers.set_index("question").loc[row[0]]
        words = re.fullmatch(rf"(\S+){unit}, (\S+) to (\S+){unit}", ", ".join(row[3:5])).groups()
        expected = [scale * given[name] for name in ("difference", "low", "high")]
        assert [float(word) for word in words] == pytest.approx(expected, abs=0.006)
    assert [row[5] for row in rows] == [f"{numbers['p'][0]:.4f}", "below 0.0001"]
    assert _response_table(found)[0].rows[1:] == (("cheated", "300", "0", "0", "0"), ("age", "300", "0", "0", "0"))
    said = methods(found, 0.9)
    assert said.startswith(
        f"{frame['faculty'].value_counts().max()} reports of the largest group were analyzed. The answers to "
    )
    assert _differences(estimate(asked, frame), 0.9) == []


def test_without_enough_people_it_is_said_that_there_is_nothing_to_show():
    frame = pd.DataFrame({"faculty": ["arts", "law"], "cheated": ["yes", "no"], "moon": "no", "understood": True})
    found = estimate(ASKED, frame, "faculty")
    assert [block.text for block in _response_table(found)] == ["There is nothing to show."]
    assert methods(found, 0.9).startswith("0 reports of the largest group were analyzed.")
    assert _differences(found, 0.9) == []


@pytest.mark.slow
def test_a_picture_per_question_says_what_it_shows():
    blocks = report_document(results(), 0.95, "Exams").blocks
    pictures = [block for block in blocks if block.kind == "picture"]
    assert len(pictures) == 3
    assert all(one.png.startswith(b"\x89PNG") for one in pictures)
    assert "cheated: Yes" in pictures[1].text
    assert "faculty" not in pictures[1].text


@pytest.mark.slow
def test_no_share_that_fits_is_flagged(tmp_path):
    frame = pd.DataFrame({"faculty": ["arts"] * 400, "cheated": ["yes"] * 400, "moon": ["no"] * 400})
    frame["understood"] = True
    made = estimate(ASKED, frame)
    assert made["cheated"].contradicted
    _, text = read(made.report(tmp_path / "r.html"))
    assert all(note in text for note in made["cheated"].notes)


@pytest.mark.slow
def test_the_methods_name_design_interval_software_and_hash():
    text = methods(results(), 0.9)
    for part in (
        "cheated (warner (auto), epsilon 1.099)",
        "90 % intervals",
        "400 reports",
        "fewer than 30",
        ASKED.hash,
    ):
        assert part in text


@pytest.mark.slow
def test_only_a_closed_collection_is_reported(tmp_path):
    url = f"sqlite:///{tmp_path}/c.db"
    store = open_store(url)
    store.create(ASKED)
    store.set_state(State.OPEN)
    body = '{"answers":{"faculty":0,"cheated":%d,"moon":%d},"understood":true}'
    store.add([NewReport(bytes([i]) * 16, body % (i % 2, i % 5 < 2)) for i in range(40)])
    collector = Collector.attach(url)
    with pytest.raises(ValueError, match="a report needs a closed collection"):
        collector.report(tmp_path / "r.html")
    store.set_state(State.CLOSED)
    store.close()
    rows, _ = read(collector.report(tmp_path / "r.html"))
    assert ["Yes", "50 %"] in [row[:2] for row in rows] or ["Yes", "50.0 %"] in [row[:2] for row in rows]
    for suffix in (".sav", ".csv"):
        back = read_reports(collector.export(tmp_path / f"e{suffix}"))
        one, other = (some.to_frame() for some in (estimate(ASKED, back), collector.results()))
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    collector._disconnect()


@pytest.mark.slow
def test_findings_and_a_ledger_are_pages_too(tmp_path):
    frame = ASKED.simulate(200, np.random.default_rng(3))
    made = estimates(frame, {"cheated": warner("3/4")}, "faculty")
    rows, text = read(made.report(tmp_path / "f.html", title="Mine"))
    for row in made.summary().astype(str).to_numpy():
        assert list(row) in rows
    assert "Mine" in text
    ledger = Ledger(Pure(1))
    ledger.charge(Pure(0.25), "a | survey")
    rows, _ = read(ledger.report().save(tmp_path / "l.html"))
    assert rows[1][:2] == ["1", "a | survey"]
