import json
import warnings

import pytest

from tests.commands.shell import said
from tests.survey.samples import cheated, survey
from toolkit.command import main
from toolkit.commands.surveys import _aligned_lines
from toolkit.survey.dpia import assessment, assessment_html


def test_check_prints_what_people_agree_to_or_what_is_wrong(folder, capsys):
    told = said(capsys, "check", "exams.toml")
    assert survey().hash in told
    assert survey().consent_text() in told
    (folder / "bad.toml").write_text('title = "x"\nconsent = "y"\nquotas = 3\n')
    assert main(["check", "bad.toml"]) == 2
    assert "bad.toml" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_check_prints_json(capsys):
    facts, asked = json.loads(said(capsys, "check", "exams.toml", "--json", "--n", "400")), survey()
    assert (facts["title"], facts["hash"], facts["consent"]) == ("Exams", asked.hash, asked.consent_text())
    assert facts["questions"] == [
        {"name": "faculty", "design": None, "epsilon": None},
        {"name": "cheated", "design": "warner", "epsilon": asked["cheated"].loss.epsilon},
    ]
    assert "contact" in facts["missing"]
    assert [(row["question"], row["n_people"]) for row in facts["plan"]] == [
        (planned.question, planned.n_people) for planned in asked.plan(400).questions
    ]
    assert json.loads(said(capsys, "check", "exams.toml", "--json"))["plan"] is None


def _serials(form: str) -> list[str]:
    return sorted({part.partition("\u2069")[0].replace(" ", "") for part in form.split("\u2066")[1:]})


@pytest.mark.usefixtures("folder")
def test_what_is_warned_of_while_paper_is_written_is_said(capsys, monkeypatch):
    def warned(*_, **__):
        for _ in range(2):
            warnings.warn("Mind the dice.", UserWarning, stacklevel=1)
        return ["kit/form.en.html"]

    monkeypatch.setattr("toolkit.survey.paper.kit.write_kit", warned)
    assert main(["paper", "exams.toml"]) == 0
    told = capsys.readouterr()
    assert told.out.endswith("wrote kit/form.en.html\n")
    assert told.err == "Mind the dice.\n" * 2


@pytest.mark.slow
def test_paper_writes_a_folder_and_what_is_typed_in_is_checked_and_stored(folder, capsys):
    told = said(capsys, "paper", "exams.toml", "kit", "--copies", "2").splitlines()
    names = ("consent.en.html", "form.en.html", "interviewer.en.html", "entry.csv", "entry.xlsx")
    assert told == [f"wrote kit/{name}" for name in names]
    form = (folder / "kit" / "form.en.html").read_text()
    assert "Have you ever cheated" in form
    one, two = _serials(form)
    said(capsys, "paper", "exams.toml", "single")
    assert len(_serials((folder / "single" / "form.en.html").read_text())) == 1
    table = folder / "kit" / "entry.csv"
    table.write_text(f"serial,faculty,cheated\n{one},1,2\n{two},1,9\n")
    assert main(["enter", "exams.toml", str(table), "--database", "sqlite:///paper.db"]) == 1
    told = capsys.readouterr().out
    assert f"entry.csv, row 3, sheet {two}, cheated: not a code or label of this question" in told
    assert "Problems to resolve: 1. Nothing was stored." in told
    assert not (folder / "paper.db").exists()
    table.write_text(f"serial,faculty,cheated\n{one},1,2\n{two},1,Yes\n")
    differing = folder / "kit" / "second.csv"
    differing.write_text(f"serial,faculty,cheated\n{one},1,1\n{two},1,Yes\n")
    assert main(["enter", "exams.toml", str(table), str(differing), "--database", "sqlite:///paper.db"]) == 1
    assert "Problems to resolve: 1. Nothing was stored." in capsys.readouterr().out
    stored = said(capsys, "enter", "exams.toml", str(table), str(table), "--database", "sqlite:///paper.db")
    assert stored == "2 sheets were stored; 0 had been stored before.\n"
    again = said(capsys, "enter", "exams.toml", str(table), "--database", "sqlite:///paper.db")
    assert again.splitlines()[0] == "0 sheets were stored; 2 had been stored before."
    assert "They were typed only once" in again


@pytest.mark.usefixtures("folder")
def test_the_example_survey_has_a_form_on_paper(folder, capsys):
    """The form leaves out the questions that only phones can ask."""
    said(capsys, "new", "x.toml")
    told = said(capsys, "paper", "x.toml").splitlines()
    assert told[0] == "left out, because no coin, die or slips of paper can produce the report: pressure, hours"
    form = (folder / "x-paper" / "form.en.html").read_text()
    assert "cheated on an exam" in form
    assert "good grades" not in form


def test_columns_are_as_wide_as_their_longest_cell():
    assert _aligned_lines([["a", "bb"], ["ccc", "d"]]) == ["a    bb", "ccc  d"]


def test_check_with_a_number_of_people_prints_every_margin(folder, capsys):
    told = said(capsys, "check", "exams.toml", "--n", "600")
    assert [line.split()[0] for line in told.splitlines() if "±" in line] == ["faculty", "cheated"]
    assert "± 13 points" in told
    assert "± 30 points" in said(capsys, "check", "exams.toml", "--n", "600", "--subgroup", "1/6")
    assert "±" not in said(capsys, "check", "exams.toml")
    assert main(["check", "exams.toml", "--subgroup", "0.1"]) == 2
    assert "must be used with `--n`" in capsys.readouterr().err
    assert (folder / "exams.toml").exists()


@pytest.mark.usefixtures("folder")
def test_check_lists_what_is_missing_before_others_are_asked(capsys):
    told = said(capsys, "check", "exams.toml")
    assert "required before other machines can open it: controller, contact, purpose" in told


@pytest.mark.usefixtures("folder")
def test_check_prints_free_instructions_beside_what_is_promised(capsys):
    survey(cheated(mode="physical", instructions="Throw a die. On 1 to 6 tell the truth.")).save("die.toml")
    told = said(capsys, "check", "die.toml")
    assert "cheated: check that these two texts agree.\n  Instructions: Throw a die. On 1 to 6 tell the truth." in told
    assert "  Promise: If your answer is “Yes”, we receive “Yes” 2 times in 3" in told


def test_check_writes_a_data_protection_sheet(folder, capsys):
    assert "wrote sheet.md" in said(capsys, "check", "exams.toml", "--dpia", "sheet.md")
    assert (folder / "sheet.md").read_text() == assessment(survey())
    said(capsys, "check", "exams.toml", "--dpia", "sheet.html")
    assert (folder / "sheet.html").read_text() == assessment_html(survey())
    assert main(["check", "exams.toml", "--dpia", "sheet.doc"]) == 2
    assert "must name a .md or .html file" in capsys.readouterr().err


def test_a_codebook_a_form_and_a_registration_are_written(folder, capsys):
    assert said(capsys, "codebook", "exams.toml", "book.xml") == "wrote book.xml\n"
    assert survey().hash in (folder / "book.xml").read_text()
    assert main(["xlsform", "exams.toml", "form.xlsx"]) == 2
    assert "the form would also store the true answer" in capsys.readouterr().err
    own = cheated(mode="physical", instructions="Throw a die.")
    survey(own).save(folder / "own.toml")
    assert said(capsys, "xlsform", "own.toml", "form.xlsx") == "wrote form.xlsx\n"
    (folder / "plan.toml").write_text(
        'n = 500\nstopping = "x"\nexclusions = "x"\nmissing = "x"\ngroups = ["faculty"]\n'
    )
    assert said(capsys, "register", "exams.toml", "plan.toml").startswith("wrote prereg.md: 20")
    assert survey().hash in (folder / "prereg.md").read_text()


def test_the_module_is_written_with_or_without_designs(folder, capsys):
    assert said(capsys, "web", "alone") == "wrote alone/hide.js\nwrote alone/hide.d.ts\nwrote alone/README.md\n"
    assert said(capsys, "web", "site", "exams.toml").endswith("wrote site/designs.js\nwrote site/designs.d.ts\n")
    assert (folder / "site" / "hide.js").read_bytes() == (folder / "alone" / "hide.js").read_bytes()


def test_a_form_is_written_for_another_program(folder, capsys):
    assert said(capsys, "form", "exams.toml", "--for", "surveyjs", "site").endswith("wrote site/index.html\n")
    assert survey().hash in (folder / "site" / "survey.js").read_text()
    assert main(["form", "exams.toml", "other", "--for", "paper"]) == 2
    assert "jspsych, surveyjs" in capsys.readouterr().err
