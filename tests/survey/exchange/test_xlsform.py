"""Every written form is converted by pyxform, an independent program, and read back as the same questions."""

import openpyxl
import pytest

from tests.survey.samples import cheated, faculty, survey
from toolkit import Question, Survey, crosswise, forced, forced_options, warner
from toolkit.local import born
from toolkit.survey import from_xlsform, read_reports, write_xlsform
from toolkit.survey.consent.instructions import instructions
from toolkit.survey.exchange.xlsform import _settings_cells, choice_names
from toolkit.texts.phrases import phrases

convert = pytest.importorskip("pyxform.xls2xform").convert


def words(text: str) -> dict[str, str]:
    return {"en": text, "de": f"{text} (de)"}


def physical(name, design, **changes):
    return Question(
        name, words(f"{name}?"), design=design, mode="physical", instructions=words("Throw a die."), **changes
    )


FORM = Survey(
    words("Field ${work}"),
    [
        Question(
            "faculty",
            words("Where?"),
            options=["arts", "law school"],
            labels={"arts": words("Arts"), "law school": words("Law")},
            help=words("Help ${x}"),
        ),
        Question("year", words("Year?"), options=[1, 2, 3]),
        physical("cheated", forced(yes="1/6", no="1/6"), show_if={"faculty": ["law school"], "year": [2, 3]}),
        physical("warned", warner("2/3")),
        physical("paid", crosswise("1/4"), labels={"same": words("Both"), "different": words("One")}),
        physical(
            "often",
            forced_options(["never", "at times", "=1+1"], ["1/12", "1/12", "1/6"]),
            labels={"never": words("Never"), "at times": words("At times"), "=1+1": words("=1+1")},
        ),
        Question("age", words("Age?"), bounds=(18, 99), whole=True),
        Question("weight", words("Weight?"), bounds=("0.5", 200), required=False),
        Question(
            "tried", words("Tried?"), options=["a", "b"], labels={"a": words("A"), "b": words("B")}, multiple=True
        ),
        Question("note", words("Note?"), free_text=True, required=False, warning=words("Name nobody.")),
    ],
    languages=("en", "de"),
    consent=words("Why we ask."),
    ceiling=6,
)


@pytest.fixture
def form(tmp_path):
    return write_xlsform(FORM, tmp_path / "form.xlsx")


def test_pyxform_converts_it_without_a_warning(form):
    told: list[str] = []
    made = convert(str(form), warnings=told)
    assert told == []
    assert f'version="{FORM.hash[:16]}"' in made.xform
    for part in ("Throw a die. (de)", ". &gt;= 18 and . &lt;= 99", 'lang="Deutsch (de)"', "$ {x}", "Why we ask."):
        assert part in made.xform
    assert "/data/year  = '2' or  /data/year  = '3'" in made.xform


@pytest.mark.parametrize(
    ("title", "form_id"),
    [("Exams & tests, 2026!", "f_exams_tests_2026"), ("試験", "f_survey"), ("x" * 41, f"f_{'x' * 40}")],
)
def test_a_form_is_called_as_its_survey_in_letters_that_every_server_takes(title, form_id):
    made = Survey(title, [Question("a", "A?", options=["b", "c"])], consent="Why.")
    assert _settings_cells(made)["form_id"] == form_id


SAME = ("name", "text", "design", "options", "mode", "required", "show_if", "bounds", "multiple", "free_text", "whole")


def test_the_questions_come_back(form):
    back = from_xlsform(form, consent=words("Why we ask."), ceiling=6)
    assert (back.languages, back.title) == (("en", "de"), dict.fromkeys(("en", "de"), "Field $ {work}"))
    for one, other in zip(FORM.questions, back.questions, strict=True):
        assert [getattr(one, name) for name in SAME] == [getattr(other, name) for name in SAME]
        for option in dict.fromkeys((*one.options, *one.report_options)):
            for code in ("en", "de"):
                if option in one.report_options or not one.randomized:
                    assert one.label(option, code, phrases(code)) == other.label(option, code, phrases(code))
    assert back["paid"].instructions == words("Throw a die.")
    assert back["note"].warning == words("Name nobody.")


def test_no_cell_is_a_formula(form):
    book = openpyxl.load_workbook(form)
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
    assert "=1+1" in [cell.value for cell in cells]
    assert "f" not in {cell.data_type for cell in cells}


def test_what_such_a_form_collects_is_read(form, tmp_path):
    names = [cell.value for cell in openpyxl.load_workbook(form)["choices"]["B"]]
    assert "option2" in names
    text = "faculty,year,cheated,warned,paid,often,age,weight,tried,note\noption2,2,yes,no,same,option3,30,,a b,hi\n"
    (tmp_path / "kobo.csv").write_text(text)
    frame = read_reports(tmp_path / "kobo.csv", FORM)
    assert frame["often"][0] == "=1+1"
    assert frame["faculty"][0] == "law school"
    assert frame["tried"][0] == "[0,1]"


def test_a_choice_keeps_its_name_where_another_cannot_be_one(tmp_path):
    """A 2 is stored as 2 in the data of the form; names that are numbers, as in earlier forms, can still be read."""
    year = Question("year", "Year?", options=[1, 2, "I do not know"])
    asked = survey(year, Question("why", "Why?", options=["a", "b"], show_if={"year": [2]}), check=False)
    path = write_xlsform(asked, tmp_path / "form.xlsx")
    choices = openpyxl.load_workbook(path)["choices"]
    assert [cell.value for cell in choices["B"]][1:4] == ["1", "2", "option3"]
    for names in (["1", "2", "option3"], ["option1", "option2", "option3"]):
        (tmp_path / "kobo.csv").write_text("year,why\n" + "".join(f"{name},a\n" for name in names))
        assert list(read_reports(tmp_path / "kobo.csv", asked)["year"]) == ["1", "2", "I do not know"]
    book = openpyxl.load_workbook(path)
    relevant = [cell for row in book["survey"].iter_rows() for cell in row if "= '2'" in str(cell.value)]
    for cell in relevant:
        cell.value = "${year} = 'option2'"
    book.save(path)
    assert from_xlsform(path, consent="Why.")["why"].show_if == {"year": (2,)}
    assert choice_names(Question("x", "X?", options=["option2", "b c"])) == ["option1", "option2"]


def test_a_code_with_a_zero_before_it_stays_as_the_form_has_it(tmp_path):
    """The data contain 01, which is not a name of option 1."""
    book = openpyxl.Workbook()
    rows = {
        "survey": [["type", "name", "label"], ["select_one area", "area", "Area?"]],
        "choices": [["list_name", "name", "label"], *(["area", name, f"Area {name}"] for name in ("01", "-2", "3"))],
    }
    for name, cells in rows.items():
        sheet = book.create_sheet(name)
        for row in cells:
            sheet.append(row)
    book.remove(book.active)
    book.save(tmp_path / "form.xlsx")
    asked = from_xlsform(tmp_path / "form.xlsx", consent="Why.", check=False)
    assert asked["area"].options == ("01", -2, 3)
    (tmp_path / "kobo.csv").write_text("area\n01\n-2\n3\n")
    assert list(read_reports(tmp_path / "kobo.csv", asked)["area"]) == ["01", "-2", "3"]


def test_people_are_told_what_to_draw_and_what_to_answer(tmp_path):
    """Texts of the page and the paper in every language; without instructions, people would tell the truth."""
    asked = [
        Question("die", words("Cheated?"), design=forced("1/6", "1/6"), mode="physical", help=words("Think.")),
        Question("born", words("Stolen?"), design=crosswise(born("may")), mode="physical", innocent={"born": "may"}),
    ]
    made = Survey(words("Exams"), asked, languages=("en", "de"), consent=words("We study exams."), ceiling=4)
    back = from_xlsform(write_xlsform(made, tmp_path / "form.xlsx"), consent=words("We study exams."), ceiling=4)
    for question in asked:
        for code in ("en", "de"):
            lines = [line for line, _ in instructions(question, code)]
            assert len(lines) > 1
            told = [words("Think.")[code]] * (question.name == "die") + lines
            assert back[question.name].instructions[code] == "\n\n".join(told)


def test_small_bounds_are_written_without_an_exponent(tmp_path):
    asked = survey(Question("dose", "Dose?", bounds=("-0.00001", "0.00002")))
    back = from_xlsform(write_xlsform(asked, tmp_path / "form.xlsx"), consent="Why.")
    assert [float(bound) for bound in back["dose"].bounds] == [-1e-5, 2e-5]


@pytest.mark.parametrize("mode", ["auto", "guided"])
def test_what_a_device_would_draw_is_refused_with_the_reason(tmp_path, mode):
    asked = survey(faculty(), cheated(design=warner("3/4"), mode=mode))
    with pytest.raises(ValueError, match="the form would also store the true answer"):
        write_xlsform(asked, tmp_path / "form.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_people_are_not_asked_to_choose_what_chance_must(tmp_path):
    asked = [Question(name, f"{name}?", options=[1, 2], show_if={"arm": [name]}) for name in "ab"]
    with pytest.raises(ValueError, match="a form for ODK and Kobo must not have arms, got arms: people would choose"):
        write_xlsform(survey(*asked, arms={"a": 0.5, "b": 0.5}), tmp_path / "form.xlsx")


def test_an_inserted_answer_is_refused_with_a_remedy(tmp_path):
    asked = survey(faculty(), Question("why", "Why {answer:faculty}?", options=[1, 2]), check=False)
    with pytest.raises(
        ValueError, match=r"the same for everybody, got {answer:faculty} in 'why': leave it out, or ask"
    ):
        write_xlsform(asked, tmp_path / "form.xlsx")
    (tmp_path / "card.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    shown = faculty(image={"file": tmp_path / "card.png", "alt": "A card"})
    with pytest.raises(ValueError, match="a form for another program must have no image, got 'faculty': leave it out"):
        write_xlsform(survey(shown, check=False), tmp_path / "form.xlsx")


def book_of(tmp_path, *rows, choices=()):
    book = openpyxl.Workbook()
    book.active.title = "survey"
    for row in (("type", "name", "label", "required", "relevant", "constraint"), *rows):
        book.active.append(row)
    sheet = book.create_sheet("choices")
    for row in (("list_name", "name", "label"), *choices):
        sheet.append(row)
    book.save(tmp_path / "other.xlsx")
    return tmp_path / "other.xlsx"


YES_NO = (("yn", "y", "Yes"), ("yn", "n", "No"))


def test_a_form_of_others_becomes_a_survey(tmp_path):
    rows = [("start", "start"), ("begin group", "g", "Group"), ("select_one yn", "Smokes", "Do you smoke?", "yes")]
    rows += [("integer", "cigs", "How many?", "", "${Smokes} = 'y'", ". >= 0 and . <= 80"), ("end group",)]
    with pytest.warns(UserWarning, match="Left out of the form: start"):
        made = from_xlsform(book_of(tmp_path, *rows, choices=YES_NO), consent="Why.")
    assert (made.name, [one.name for one in made.questions]) == ("other", ["smokes", "cigs"])
    assert made["cigs"].show_if == {"smokes": ("y",)}
    assert made["cigs"].bounds == (0, 80)
    assert made["smokes"].labels["y"] == {"en": "Yes"}


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (("geopoint", "where", "Where?"), "a type must be select_one"),
        (("integer", "age", "Age?"), "a number must have a constraint"),
        (("decimal", "dose", "Dose?", "", "", ". >= -1e-05 and . <= 2e-05"), "a number must have a constraint"),
        (("text", "t", "T?", "", "${s} > 3"), "a condition must compare earlier plain choices"),
        (("calculate", "c", "C"), "a type must be"),
        (("begin group", "g", "G", "", "${s} = 'y'"), "a group must have no condition, got g"),
        (("end_group", "g", "G", "", "${s} = 'y'"), "a group must have no condition, got g"),
    ],
)
def test_what_a_survey_does_not_know_is_refused(tmp_path, row, sentence):
    with pytest.raises(ValueError, match=sentence):
        from_xlsform(book_of(tmp_path, row, choices=YES_NO), consent="Why.")


def test_another_file_is_refused(tmp_path):
    (tmp_path / "bad.xlsx").write_bytes(b"no")
    with pytest.raises(ValueError, match="must be a complete"):
        from_xlsform(tmp_path / "bad.xlsx", consent="Why.")
    alone = book_of(tmp_path, ("text", "t", "T?"))
    book = openpyxl.load_workbook(alone)
    book["choices"].delete_rows(1)
    book.save(alone)
    assert [one.kind for one in from_xlsform(alone, consent="Why.").questions] == ["text"]
    book = openpyxl.Workbook()
    book.active.append(["a"])
    book.save(tmp_path / "empty.xlsx")
    with pytest.raises(ValueError, match="must have the sheet survey"):
        from_xlsform(tmp_path / "empty.xlsx", consent="Why.")
    with pytest.raises(ValueError, match=r"must end in \.xlsx"):
        write_xlsform(FORM, tmp_path / "form.xls")


def test_boxes_of_our_own_form_are_read_from_kobo_s_separate_columns(tmp_path):
    """Choices whose option is not a valid name are called option2, and may stand next to valid names."""
    options = ["beer", "Wine, red", "none"]
    asked = survey(Question("tried", "Tried?", options=options, multiple=True, required=False), check=False)
    sheet = openpyxl.load_workbook(write_xlsform(asked, tmp_path / "form.xlsx"))["choices"]
    column = [cell.value for cell in sheet[1]].index("name") + 1
    names = [sheet.cell(row, column).value for row in range(2, 5)]
    assert names == ["beer", "option2", "none"]
    for head in (names, [f"option{number}" for number in (1, 2, 3)]):
        columns = ";".join(f"page/tried/{name}" for name in head)
        (tmp_path / "kobo.csv").write_text(f"_id;{columns}\n1;1;1;0\n2;0;0;0\n3;;;\n")
        read = read_reports(tmp_path / "kobo.csv", asked)["tried"]
        assert read.fillna("missing").tolist() == ["[0,1]", "[]", "missing"]


def test_choices_in_random_order_are_drawn_by_the_program_and_have_no_seed(tmp_path):
    """The order is purely random: if the seed depended on an answer, the order would store this answer."""
    asked = [
        Question("sex", "Sex?", options=["f", "m"], random_order=True),
        Question("tried", "Tried?", options=["a", "b"], multiple=True, random_order=True),
        Question("cheated", "Cheated?", design=warner("2/3"), mode="physical", random_order=True),
        Question("year", "Year?", options=[1, 2]),
    ]
    path = write_xlsform(survey(*asked), tmp_path / "form.xlsx")
    told: list[str] = []
    form = convert(str(path), warnings=told).xform
    assert told == []
    drawn = [name for name in ("sex", "tried", "cheated", "year") if f"randomize(instance('{name}')" in form]
    assert drawn == ["sex", "tried", "cheated"]
    back = from_xlsform(path, consent="Why.")
    assert [question.random_order for question in back.questions] == [True, True, True, False]
    book = openpyxl.load_workbook(path)
    column = [cell.value for cell in book["survey"][1]].index("parameters") + 1
    book["survey"].cell(3, column).value = "randomize=true, seed=${year}"
    book.save(path)
    with pytest.raises(ValueError, match="question 'sex': choices in random order must have no seed"):
        from_xlsform(path, consent="Why.")
    mixed = survey(*asked, random_order=True)
    with pytest.raises(ValueError, match="in one order, got random_order: a form would have to store"):
        write_xlsform(mixed, path)
