"""From the printed sheet to the estimate, exactly as printed; all typing errors are listed, and nothing is stored
before.
"""

import csv
import json
import re
from contextlib import closing
from functools import cache
from html import unescape

import numpy as np
import openpyxl
import pytest

from tests.survey.samples import cheated, faculty, panel, survey
from toolkit import Question, Survey, crosswise, forced, forced_options, kuk, unrelated, warner
from toolkit.local import born, numeric
from toolkit.survey.collector import Collector
from toolkit.survey.paper.coding import legacy_report_key, report_key, serial_numbers
from toolkit.survey.paper.entering import EnteredSheets, read_entries, store_entries
from toolkit.survey.paper.kit import read_rows, write_kit
from toolkit.survey.paper.sheets import printed_pages
from toolkit.survey.results import estimate
from toolkit.survey.storage import absolute_url, open_store
from toolkit.survey.storage.collection import PAPER_SETTING
from toolkit.survey.storage.protocol import NewReport, State
from toolkit.texts.phrases import phrases

N = 4000
YES_NO = {"no": "No", "yes": "Yes"}
FIELD = Survey(
    "Field",
    [
        Question("job", "Do you work?", options=["no", "yes"]),
        Question("age", "Age?", bounds=(16, 99), whole=True, required=False),
        Question("die", "By a die?", design=forced("1/6", "1/6")),
        Question("coins", "By two coins?", design=warner("3/4")),
        Question("twelve", "By twelve slips?", design=unrelated("2/3", "1/4")),
        Question("deck", "By ten slips and two decks?", design=kuk("7/10", "2/10")),
        Question("mood", "By ten slips?", design=forced_options(["a", "b", "c"], ["1/10", "1/10", "1/10"])),
        Question(
            "born", "By a birthday?", design=crosswise(born("jan-apr")), mode="physical", innocent={"born": "jan-apr"}
        ),
        Question("late", "If you work?", design=warner("2/3"), show_if={"job": ["yes"]}),
        Question("ate", "Ate?", options=["x", "y"], multiple=True),
    ],
    consent="Why.",
    ceiling=99,
)
TRUTH = {"die": 0.3, "coins": 0.1, "twelve": 0.2, "deck": 0.25, "born": 0.15, "late": 0.4}
DAYS = [31, 28.25, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
MONTHS = phrases("en", None, "paper")["months"].split("|")


def printed_lines(form: str) -> dict[str, tuple[tuple[str, ...], dict[str, str]]]:
    """Return the text that a person reads on the sheet, by question: the lines to follow, and the code of each box."""
    found = {}
    for section in re.findall(r"<section>(.*?)</section>", form, re.DOTALL):
        text = unescape(re.search(r"<b>(.*?)</b>", section)[1]).removesuffix(" (may be left empty)")
        lines = [
            unescape(re.sub(r"<br>", "\n", re.sub(r"(?s)<svg.*?</svg>", "", one))).strip()
            for one in re.findall(r"<p class='do'>(.*?)</p>", section, re.DOTALL)
        ]
        boxes = {unescape(label): code for code, label in re.findall(r"<small>(\d+)</small><bdi>(.*?)</bdi>", section)}
        found[text] = (tuple("\n".join(lines).split("\n")), boxes)
    return found


def draw(lines: tuple[str, ...], rng: np.random.Generator) -> str:
    """Use the device that the first line names."""
    if "one of" in lines[0]:
        return str(rng.integers(1, int(re.search(r"one of (\d+) slips", lines[0])[1]) + 1))
    if "a die" in lines[0]:
        return str(rng.integers(1, 7))
    return "–".join(rng.choice(["heads", "tails"], 2 if "two coins" in lines[0] else 1).tolist())


def says(words: str, outcome: str) -> bool:
    """Return whether an outcome belongs to a range such as "1 or 2", "3 to 6" or "heads–tails"."""
    if span := re.fullmatch(r"(\d+) to (\d+)", words):
        return int(span[1]) <= int(outcome) <= int(span[2])
    return outcome in re.split(", | or ", words)


@cache
def label_by(rules: tuple[str, ...], outcome: str, label: str) -> str:
    """Follow the printed rules as a person with this outcome and this real answer would."""
    for line in rules[1:]:
        if case := re.fullmatch(r"If your answer is “(.*)”, then on (.*) choose “(.*)”\.", line):
            if case[1] == label and says(case[2], outcome):
                return case[3]
        elif says(line.partition(":")[0], outcome):
            return label if "your real answer" in line else re.search(r"choose “(.*)”,", line)[1]
    raise AssertionError((rules, outcome))


def follow(lines: tuple[str, ...], label: str, rng: np.random.Generator) -> str:
    """Return the label that a person with this true answer ticks according to the sheet."""
    if "whose birthday you know" in lines[0]:
        first, last = re.search(r"months: (\w+) to (\w+)\?", lines[2]).groups()
        month = MONTHS[rng.choice(12, p=np.array(DAYS) / sum(DAYS))]
        other = "Yes" if MONTHS.index(first) <= MONTHS.index(month) <= MONTHS.index(last) else "No"
        same, different = re.search(r"Choose “(\w+)” if both answers .* Choose “(\w+)” if one", lines[3]).groups()
        return same if other == label else different
    return label_by(lines, draw(lines, rng), label)


def people(n: int, seed: int) -> list[dict[str, str]]:
    """Return sheets as filled in by people who follow the instructions, and as typed in by somebody."""
    rng = np.random.default_rng(seed)
    page = printed_lines(printed_pages(FIELD, "en", ["183103819"])["form.en.html"])
    rows = []
    for serial in serial_numbers(FIELD, n):
        works = "Yes" if rng.random() < 0.6 else "No"
        row = {"serial": serial, "job": page["Do you work?"][1][works], "age": str(rng.integers(16, 100)), "ate": "1 2"}
        for question in FIELD.questions[2:-1]:
            lines, boxes = page[question.text["en"]]
            options = list(question.options)
            share = TRUTH.get(question.name)
            truth = options[rng.random() < share] if share is not None else rng.choice(options, p=[0.5, 0.3, 0.2])
            skipped = question.name == "late" and works == "No"
            row[question.name] = "" if skipped else boxes[follow(lines, YES_NO.get(str(truth), str(truth)), rng)]
        rows.append(row)
    return rows


def write(path, rows) -> str:
    names = ["serial", *(question.name for question in FIELD.questions)]
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


@pytest.fixture(scope="module")
def typed_in() -> list[dict[str, str]]:
    return people(N, seed=32)


@pytest.fixture(scope="module")
def few() -> list[dict[str, str]]:
    return people(3, seed=32)


@pytest.mark.slow
def test_each_printed_device_goes_from_the_sheet_to_an_unbiased_estimate(typed_in, tmp_path) -> None:
    """Eight estimates are within 4 standard errors of the truth: a false alarm in at most 8 × 0.0063 % of seeds."""
    entered = read_entries(FIELD, write(tmp_path / "a.csv", typed_in), write(tmp_path / "b.csv", typed_in))
    assert entered.problems == ()
    database = f"sqlite:///{tmp_path}/field.db"
    assert store_entries(FIELD, entered, database) == {"stored": N, "repeated": 0}
    collector = Collector(database)
    collector.close()
    results = collector.results()
    for name, share in TRUTH.items():
        assert abs(results[name].value - share) < 4 * results[name].se
    mood = results["mood"]
    assert (abs(mood.value - np.array([0.5, 0.3, 0.2])) < 4 * mood.se).all()
    assert results["late"].n < 0.7 * N
    assert set(collector.reports()["channel"]) == {"paper"}
    assert any("born: birthdays in jan-apr are taken as 120.25 of 365.25 days" in note for note in results.notes())


def _plant(rows, rng):
    """Make two hundred typing errors, each in a different sheet, 50 of each kind; also return where they must be
    listed.
    """
    rows, expected = [dict(row) for row in rows], []
    places = rng.permutation(len(rows))[:200]
    protected = ["die", "coins", "twelve"]
    for count, place in enumerate(places):
        row, kind = rows[place], count // 50
        name = protected[count % 3]
        if kind == 0:  # another code of the question, which only the second entry reveals
            row[name] = "1" if row[name] == "2" else "2"
            expected.append((row["serial"], name))
        elif kind == 1:  # a code that the question does not have, or an age out of range
            name = "age" if count % 2 else name
            row[name] = "7" if count % 2 else "3"
            expected.append((row["serial"], name))
        elif kind == 2:  # left out
            row[name] = ""
            expected.append((row["serial"], name))
        else:  # a digit of the sheet's number
            serial = row["serial"]
            at = int(rng.integers(len(serial)))
            row["serial"] = serial[:at] + str((int(serial[at]) + int(rng.integers(1, 10))) % 10) + serial[at + 1 :]
            expected.append((serial, None))
    return rows, expected


@pytest.mark.slow
def test_two_hundred_planted_typing_errors_are_all_listed_and_nothing_else(typed_in, tmp_path) -> None:
    rows, expected = _plant(typed_in[:1000], np.random.default_rng(7))
    first, second = write(tmp_path / "a.csv", typed_in[:1000]), write(tmp_path / "b.csv", rows)
    entered = read_entries(FIELD, first, second)
    for serial, name in expected:
        if name is None:
            assert f"sheet {serial}: only in a.csv" in " ".join(entered.problems)
        else:
            assert any(
                f"sheet {serial} " in line and f", {name}: the two entries differ" in line for line in entered.problems
            )
    # 150 differences, of which 100 are also invalid values; 50 numbers that no sheet has, and 50 sheets that lack them
    assert len(entered.problems) == 150 + 100 + 50 + 50
    alone = read_entries(FIELD, second)
    assert len(alone.problems) == 150  # one file alone cannot reveal a wrong code that is valid
    with pytest.raises(ValueError, match="all problems must be solved before sheets are stored, got 350"):
        store_entries(FIELD, entered, f"sqlite:///{tmp_path}/x.db")
    assert not (tmp_path / "x.db").exists()


def test_nothing_that_was_typed_is_quoted(few, tmp_path) -> None:
    rows = [dict(few[0], die="secret-8731"), dict(few[1], job="secret-8731")]
    problems = " ".join(read_entries(FIELD, write(tmp_path / "a.csv", rows)).problems)
    assert "secret" not in problems
    assert "not a code or label of this question" in problems


@pytest.mark.slow
def test_a_sheet_entered_twice_is_found_in_one_file_and_over_files(few, tmp_path) -> None:
    database = f"sqlite:///{tmp_path}/field.db"
    one, two, three = few[:3]
    twice = read_entries(FIELD, write(tmp_path / "a.csv", [one, two, one]))
    assert twice.problems == (
        f"a.csv, row 4: sheet {one['serial']} is in row 2 already: it was entered twice, or copied",
    )
    assert store_entries(FIELD, read_entries(FIELD, write(tmp_path / "b.csv", [one, two])), database) == {
        "stored": 2,
        "repeated": 0,
    }
    later = read_entries(FIELD, write(tmp_path / "c.csv", [two, three]))
    assert store_entries(FIELD, later, database) == {"stored": 1, "repeated": 1}
    other = dict(one, job="1" if one["job"] == "2" else "2", late="1" if one["job"] == "1" else "")
    changed = read_entries(FIELD, write(tmp_path / "d.csv", [other]))
    with pytest.raises(
        ValueError, match="must have the same answers, got 1 with other answers: a sheet was copied, or mistyped"
    ):
        store_entries(FIELD, changed, database)
    with closing(open_store(absolute_url(database))) as store:
        assert store.count_reports() == 3


def test_what_is_left_out_must_be_said_and_is_then_missing(few, tmp_path) -> None:
    row = dict(few[0], job="2", late="1")
    cases = {
        "a protected answer is missing; type - ": dict(row, die=""),
        "an answer is missing; type - ": dict(row, job=""),
        "the question does not apply after the earlier answers": dict(row, job="1"),
        "a.csv, row 2: the number of the sheet is missing": dict(row, serial=""),
        "a.csv, row 2: no sheet of these questions has this number": dict(row, serial=row["serial"][:-1]),
    }
    for message, wrong in cases.items():
        (problem,) = read_entries(FIELD, write(tmp_path / "a.csv", [wrong])).problems
        assert message in problem
    good = read_entries(FIELD, write(tmp_path / "a.csv", [dict(row, die="-", age="", ate="0")]))
    assert good.problems == ()
    answers = good.sheets[row["serial"]]
    assert (answers["die"], answers["age"], answers["ate"], answers["late"]) == (None, None, [], 0)
    ((line),) = read_entries(
        FIELD, write(tmp_path / "a.csv", [dict(row, age="-")]), write(tmp_path / "b.csv", [dict(row, age="")])
    ).problems
    assert "age: the two entries differ" in line  # a missing answer and a missing sheet are different things
    first, second = (write(tmp_path / f"{code}.csv", [dict(row, die=code)]) for code in "12")
    assert read_entries(FIELD, first, second).problems == (
        f"sheet {row['serial']} (rows 2 and 2), die: the two entries differ",
    )


def test_entries_are_read_by_label_in_any_language_or_by_code(few, tmp_path) -> None:
    """Entries from spreadsheets are read too, and a code equals its label when two entries are compared."""
    row = few[0]
    worded = dict(row, die="Yes" if row["die"] == "2" else "No")
    book = openpyxl.Workbook()
    names = ["serial", *(question.name for question in FIELD.questions)]
    book.active.append(names)
    book.active.append([int(worded[name]) if name == "serial" else worded[name] for name in names])
    book.save(tmp_path / "b.xlsx")
    assert read_entries(FIELD, write(tmp_path / "a.csv", [row]), tmp_path / "b.xlsx").problems == ()


def test_rows_with_too_many_cells_are_problems(tmp_path) -> None:
    """A row with fewer cells than the header lacks its last answers."""
    questions = [Question("hours", "H?", bounds=(0, 200)), Question("say", "S?", free_text=True, required=False)]
    made = survey(faculty(), *questions)
    serial = serial_numbers(made, 1)[0]
    for head, row in (("", "2,7,5,ok"), ("", "2,7,5,"), (",", "2,7,5,ok"), (",,", "2,7,,5")):
        (tmp_path / "a.csv").write_text(f"serial,faculty,hours,say{head}\n{serial},{row}\n")
        (problem,) = read_entries(made, tmp_path / "a.csv").problems
        assert problem.startswith("a.csv, row 2: more cells than columns; put cells with a comma in quot")
    for row in ('2,"7,5",', '2,"7,5"'):
        (tmp_path / "a.csv").write_text(f"serial,faculty,hours,say\n{serial},{row}\n")
        entered = read_entries(made, tmp_path / "a.csv")
        assert (entered.problems, entered.sheets[serial]) == ((), {"faculty": 1, "hours": 7.5, "say": None})


def test_sheets_of_an_edited_survey_are_refused_before_one_is_stored(tmp_path) -> None:
    """A collection with an answer that its question cannot have could never be read again."""

    def made(text="H?", check=True, **change) -> Survey:
        hours = Question("hours", text, **{"bounds": (0, 200), "required": False, **change})
        return survey(faculty(), cheated(), hours, check=check)

    database = f"sqlite:///{tmp_path}/x.db"
    with closing(open_store(absolute_url(database))) as store:
        store.create(made())
    for change in (
        {"bounds": (0, 900)},
        {"whole": True},
        {"required": True},
        {"show_if": {"faculty": ["law"]}},
        {"check": False},
    ):
        with pytest.raises(ValueError, match="must contain a collection of these questions, got a different"):
            store_entries(made(**change), EnteredSheets({}, ()), database)
    assert store_entries(made("Corrected?"), EnteredSheets({}, ()), database) == {"stored": 0, "repeated": 0}


def test_what_is_asked_in_several_waves_is_not_asked_on_paper(tmp_path) -> None:
    """Its reports would lack the number that joins them, and the collection could never be read again."""
    with pytest.raises(ValueError, match="a survey on paper must have one wave, got 2"):
        write_kit(panel(), tmp_path)


def test_other_columns_and_other_surveys_are_refused(few, tmp_path) -> None:
    (tmp_path / "x.csv").write_text("serial,job\n1,2\n")
    with pytest.raises(ValueError, match=r"x\.csv must have the columns serial, job, age, die"):
        read_entries(FIELD, tmp_path / "x.csv")
    other = survey(faculty(), cheated(design=forced("1/6", "1/6")))
    database = f"sqlite:///{tmp_path}/other.db"
    with closing(open_store(absolute_url(database))) as store:
        store.create(other)
    with pytest.raises(ValueError, match="must contain a collection of these questions, got a different"):
        store_entries(FIELD, read_entries(FIELD, write(tmp_path / "a.csv", few[:2])), database)


@pytest.mark.slow
@pytest.mark.parametrize("access", ["open", "token", "blind"])
def test_sheets_and_phones_are_estimated_together_whatever_the_access(access: str, tmp_path) -> None:
    made = survey(faculty(), cheated(design=forced("1/6", "1/6")), access=access, minimum=1, step=1)
    assert made.check
    database = f"sqlite:///{tmp_path}/both.db"
    rows = "".join(f"{serial},{1 + i % 2},{1 + (i % 3 == 0)}\n" for i, serial in enumerate(serial_numbers(made, 60)))
    (tmp_path / "a.csv").write_text("serial,faculty,cheated\n" + rows)
    entered = read_entries(made, tmp_path / "a.csv")
    with closing(open_store(absolute_url(database))) as store:
        store.create(made)
    if access == "open":
        with closing(open_store(absolute_url(database))) as store:
            store.set_state(State.OPEN)
            body = json.dumps({"answers": {"faculty": 0, "cheated": 1}, "understood": True})
            store.add([NewReport(bytes([i] * 16), body) for i in range(40)])
    store_entries(made, entered, database)
    collector = Collector(database)
    collector.close()
    results = collector.results()
    phones = 40 if access == "open" else 0
    assert results["cheated"].n == 60 + phones
    assert results.understood == ((phones, phones) if phones else (0, 0))
    assert {str(group): one.n for group, one in collector.results("channel")["cheated"].items()} == {
        "paper": 60,
        **({"phone": phones} if phones else {}),
    }
    collector.export(tmp_path / "out.csv")
    assert (
        "The column channel tells whether a report comes from a phone" in (tmp_path / "out.codebook.json").read_text()
    )
    frame = collector.reports().drop(columns="understood")  # as in tables that were typed elsewhere
    assert estimate(made, frame)["cheated"].n == 60 + phones


DEVICES = {
    "die": {"design": forced("1/6", "1/6")},
    "coins": {"design": warner("3/4")},
    "slips": {"design": forced_options(["a", "b", "c"], ["1/10", "1/10", "1/10"])},
    "cards": {"design": kuk("7/10", "2/10")},
}


def check_printed(made: Survey) -> list[tuple[str, str, dict[str, str]]]:
    """Return what a sheet asks about its device: the outcome, the real answer, and the code of each box; for the first
    of the two sheets, also the instruction for each outcome.
    """
    page = printed_pages(made, "en", serial_numbers(made, 1))["form.en.html"]
    page = re.sub(r">\s+<", "><", page)
    asked = r"<b>Suppose you use .*?, ([\w–]+) comes out, and your real answer is “(\w+)”\. What do .*?</p>"
    found = re.findall(asked + r"<p>This is about the method, not about you\.(.*?)</p>(.*?)</section>", page)
    boxes = [dict(re.findall(r"<small>(\d+)</small><bdi>(\w+)</bdi>", one[3])) for one in found]
    assert found[1][2] == ""
    rules = tuple(unescape(found[0][2]).split("<br>"))
    return [
        (label_by(rules, came, truth), truth, {label: code for code, label in codes.items()})
        for (came, truth, *_), codes in zip(found, boxes, strict=True)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", DEVICES)
def test_the_check_on_paper_is_entered_as_the_try_that_was_right(name: str, tmp_path) -> None:
    """It is stored as the number of the attempt."""
    made = survey(Question("x", "X?", **DEVICES[name]), check="device", minimum=1, step=1, ceiling=9)
    (first, _, one), (second, _, two) = check_printed(made)
    assert first != second  # no box is right both times
    wrong = [next(code for label, code in boxes.items() if label not in (first, second)) for boxes in (one, two)]
    ticked = {1: (one[first], wrong[1]), 2: (wrong[0], two[second]), 0: wrong, None: ("-", "-")}
    serials = serial_numbers(made, 8)
    rows = [(serials[2 * i + again], *ticked[value]) for again in (0, 1) for i, value in enumerate(ticked)]
    write_kit(made, tmp_path / "kit")
    assert read_rows(tmp_path / "kit" / "entry.csv") == read_rows(tmp_path / "kit" / "entry.xlsx")
    (header,) = read_rows(tmp_path / "kit" / "entry.csv")
    assert header == ["serial", "understood_1", "understood_2", "x"]
    (tmp_path / "a.csv").write_text("\n".join([",".join(header), *(",".join([*row, "-"]) for row in rows)]))
    entered = read_entries(made, tmp_path / "a.csv")
    assert entered.problems == ()
    assert {sheet["understood"] for sheet in entered.sheets.values()} == {0, 1, 2, None}
    for place, value in enumerate(ticked):
        assert entered.sheets[serials[2 * place]] == {"x": None, "understood": value}
    database = f"sqlite:///{tmp_path}/check.db"
    store_entries(made, entered, database)
    collector = Collector(database)
    collector.close()
    assert collector.reports()["understood"].value_counts().to_dict() == {0: 2, 1: 2, 2: 2}
    assert "whether you got the first question about the method right. If you did not," in made.consent_text(paper=True)


def test_a_missing_answer_to_the_check_is_a_problem(tmp_path) -> None:
    """The boxes of the check are in random order."""
    made = survey(cheated(design=forced("1/6", "1/6")), check="device")
    serial = serial_numbers(made, 1)[0]
    (tmp_path / "a.csv").write_text(f"serial,understood_1,understood_2,cheated\n{serial},,7,1\n")
    problems = read_entries(made, tmp_path / "a.csv").problems
    assert ["understood_1: an answer is missing" in problems[0], "understood_2: not a code" in problems[1]] == [
        True,
        True,
    ]
    page = printed_pages(made, "en", serial_numbers(made, 60))["form.en.html"]
    orders = {tuple(re.findall(r"<bdi>(\w+)</bdi>", part)[:3]) for part in page.split("<header>")[1:]}
    assert len(orders) == 3  # by chance fewer in 3 × (2/3)**60 < 1e-10
    assert {order[0] for order in orders} == {"No", "Yes", "Nothing"}
    direct = survey(cheated(design=forced("1/6", "1/6")))
    form = printed_pages(direct, "en", ["1"])["form.en.html"]
    assert "about the method" not in form + direct.consent_text(paper=True)


@pytest.mark.slow
def test_a_cap_or_a_closed_collection_stores_none_of_them(tmp_path) -> None:
    made = survey(cheated(design=forced("1/6", "1/6")), cap=3)
    (tmp_path / "a.csv").write_text("serial,cheated\n" + "".join(f"{one},1\n" for one in serial_numbers(made, 4)))
    database = f"sqlite:///{tmp_path}/cap.db"
    with pytest.raises(ValueError, match="all reports must fit below the cap of 3, got too many: nothing was stored"):
        store_entries(made, read_entries(made, tmp_path / "a.csv"), database)
    collector = Collector(database)
    assert collector.status().n_stored == 0
    collector.close()
    with pytest.raises(ValueError, match="takes reports on paper must not be closed, got a closed one"):
        store_entries(made, read_entries(made, tmp_path / "a.csv"), database)


def entered_sheets(tmp_path, made: Survey, serials: list[str]) -> EnteredSheets:
    (tmp_path / "a.csv").write_text("serial,cheated\n" + "".join(f"{serial},1\n" for serial in serials))
    return read_entries(made, tmp_path / "a.csv")


@pytest.mark.slow
def test_no_number_of_a_sheet_comes_back_from_a_closed_collection(tmp_path) -> None:
    """Nine digits can be tried in seconds; without a secret, all numbers of sheets could be."""
    made = survey(cheated(design=forced("1/6", "1/6")), check=False)
    serials = serial_numbers(made, 12)
    database = f"sqlite:///{tmp_path}/field.db"
    entered = entered_sheets(tmp_path, made, serials)
    assert store_entries(made, entered, database) == {"stored": 12, "repeated": 0}
    assert store_entries(made, entered, database) == {"stored": 0, "repeated": 12}
    with closing(open_store(absolute_url(database))) as store:
        secret = store.get_setting(PAPER_SETTING)
        keys = {key for key, _ in store.rows()}
        assert len(bytes.fromhex(secret)) == 32
        assert keys == {report_key(made, serial, secret) for serial in serials}
        assert keys.isdisjoint(legacy_report_key(made, serial) for serial in serials)
        store.set_state(State.CLOSED)
        assert store.get_setting(PAPER_SETTING) is None
        assert {key for key, _ in store.rows()} == keys  # a report can be counted once, and nobody can trace it back
    assert secret.encode() not in b"".join(one.read_bytes() for one in tmp_path.glob("field.db*"))
    with pytest.raises(ValueError, match="takes reports on paper must not be closed"):
        store_entries(made, entered, database)
    with closing(open_store(absolute_url(database))) as store:
        assert store.get_setting(PAPER_SETTING) is None


@pytest.mark.slow
def test_a_sheet_that_an_earlier_version_stored_counts_once(tmp_path) -> None:
    made = survey(cheated(design=forced("1/6", "1/6")), check=False)
    serials = serial_numbers(made, 3)
    database = f"sqlite:///{tmp_path}/field.db"
    body = json.dumps({"answers": {"cheated": 0}, "understood": None, "channel": "paper"}, separators=(",", ":"))
    with closing(open_store(absolute_url(database))) as store:
        store.create(made)
        store.add_paper_reports([NewReport(legacy_report_key(made, serials[0]), body)])
    entered = entered_sheets(tmp_path, made, serials)
    assert store_entries(made, entered, database) == {"stored": 2, "repeated": 1}
    assert store_entries(made, entered, database) == {"stored": 0, "repeated": 3}


def test_questions_that_only_phones_ask_are_missing_on_paper(tmp_path) -> None:
    made = survey(cheated(design=forced("1/6", "1/6")), Question("hours", "H?", design=numeric.one_bit((0, 80), 1.0)))
    (tmp_path / "a.csv").write_text(f"serial,cheated\n{serial_numbers(made, 1)[0]},1\n")
    entered = read_entries(made, tmp_path / "a.csv")
    assert [*entered.sheets.values()] == [{"cheated": 0, "hours": None}]
