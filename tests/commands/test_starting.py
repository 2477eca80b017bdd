"""Beginning: a survey that can be served as it is, and notebooks that find their data."""

import json
import re
import webbrowser

import pytest

from tests.commands.shell import said
from toolkit.command import main
from toolkit.studio import server
from toolkit.survey.spec import Survey
from toolkit.teaching import copies


@pytest.fixture
def empty(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_new_survey_passes_the_check_and_says_what_it_spends(empty, capsys):
    assert said(capsys, "new", "survey.toml") == "wrote survey.toml\nChange it, then try: toolkit check survey.toml\n"
    made = Survey.load(empty / "survey.toml")
    assert made.consent_text() in said(capsys, "check", "survey.toml")
    text = (empty / "survey.toml").read_text(encoding="utf-8")
    assert f"This survey uses {sum(one.loss.epsilon for one in made.questions):.2g}" in text
    assert {one.kind for one in made.questions} == {"choice", "ticks", "number", "text"}
    assert {one.mode for one in made.questions} == {"auto", "plain"}


def test_each_epsilon_that_the_new_survey_names_is_that_of_its_question(empty, capsys):
    said(capsys, "new", "survey.toml")
    made = Survey.load(empty / "survey.toml")
    for part in (empty / "survey.toml").read_text(encoding="utf-8").split("# --- ")[1:]:
        name = part.partition('name = "')[2].partition('"')[0]
        told = part.partition("(epsilon ")[2].partition(")")[0]
        assert told == (f"{made[name].loss.epsilon:.2g}" if made[name].randomized else "")


def test_a_new_survey_speaks_of_its_own_file(empty, capsys):
    said(capsys, "new", "my exams.toml")
    text = (empty / "my exams.toml").read_text(encoding="utf-8")
    assert "toolkit check 'my exams.toml' " in text
    assert "survey.toml" not in text


@pytest.mark.parametrize("name", ["survey.json", "survey", "a\nb.toml"])
def test_a_new_survey_is_a_toml_file_whose_name_can_be_printed(empty, capsys, name):
    assert main(["new", name]) == 2
    assert "must be the name of a .toml file" in capsys.readouterr().err
    assert list(empty.iterdir()) == []


def test_nothing_is_overwritten(empty, capsys):
    (empty / "survey.toml").write_text("mine")
    assert main(["new", "survey.toml"]) == 2
    assert (empty / "survey.toml").read_text() == "mine"
    (empty / "notebooks").mkdir()
    assert main(["notebooks", "."]) == 2
    assert [path.name for path in empty.iterdir() if path.name != "survey.toml"] == ["notebooks"]
    assert list((empty / "notebooks").iterdir()) == []
    assert capsys.readouterr().err.count("nothing was overwritten") == 2


def test_the_course_has_notebooks_beside_data_and_no_other_files(empty, capsys):
    """Only files that readers of the course need are copied."""
    assert "jupyter lab course/notebooks/00_start_here.ipynb" in said(capsys, "notebooks", "course")
    source, made = copies.course(), empty / "course"
    names = {path.name for path in (source / "notebooks").glob("*.ipynb")}
    assert len(names) >= 10
    assert {path.name for path in (made / "notebooks").iterdir()} == names | {
        "README.md",
        "GLOSSARY.md",
        "images",
        "teaching",
    }
    assert (made / "data" / "exam_survey.csv").read_bytes() == (source / "data" / "exam_survey.csv").read_bytes()
    assert not list(made.rglob("__pycache__"))


def test_every_file_that_a_notebook_reads_is_copied(empty, capsys):
    said(capsys, "notebooks", "course")
    for path in (empty / "course" / "notebooks").glob("*.ipynb"):
        sources = "".join("".join(cell["source"]) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"])
        for name in re.findall(r'dataset\("([^"{]+)"\)|\]\(\.\./data/([^)]+)\)', sources):
            if name := "".join(name):
                assert (empty / "course" / "data" / name).is_file(), f"{path.name} reads {name}"


@pytest.mark.slow
def test_copies_for_students_have_no_solutions(empty, capsys):
    """Those for teachers contain the solutions and the answer key."""
    said(capsys, "notebooks", "class", "--student")
    said(capsys, "notebooks", "desk", "--teacher")
    assert (empty / "desk" / "notebooks" / "teaching" / "answers.toml").is_file()
    texts = ["".join(path.read_text() for path in (empty / name).rglob("*.ipynb")) for name in ("class", "desk")]
    assert ["<details>" in text for text in texts] == [False, True]
    assert main(["notebooks", "class", "--student"]) == 2
    assert "nothing was overwritten" in capsys.readouterr().err


def test_notebooks_are_copied_in_a_language_where_they_are_translated(empty, capsys):
    """The command names these notebooks; the others are in English."""
    printed = said(capsys, "notebooks", "curso", "--language", "es")
    assert "Translated are 00, 03, 05; the other notebooks, pages and data are in English." in printed
    assert "Translated" not in said(capsys, "notebooks", "course")
    spanish, english = ((empty / name / "notebooks") for name in ("curso", "course"))
    assert {path.name for path in spanish.rglob("*")} == {path.name for path in english.rglob("*")}
    differing = {
        path.name[:2]
        for path in spanish.glob("*")
        if path.is_file() and path.read_bytes() != (english / path.name).read_bytes()
    }
    assert differing == {"00", "03", "05"}


def test_the_studio_opens_in_a_browser_at_any_free_port_by_default(monkeypatch):
    """Options choose the port, the public address, and no browser."""
    runs = []
    monkeypatch.setattr(server, "run", lambda *options: runs.append(options))
    address = "https://survey.example/"
    for more in ([], ["--no-browser", "--port", "8123", "--public-url", address]):
        assert main(["studio", "here", *more]) == 0
    assert runs == [("here", 0, None, webbrowser.open), ("here", 8123, address, None)]


def test_a_package_without_notebooks_says_so(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(copies, "_STARTER", tmp_path / "starter")
    monkeypatch.setattr(copies, "_CHECKOUT", tmp_path / "checkout")
    assert main(["notebooks", str(tmp_path / "course")]) == 2
    assert "the notebooks must come with the package, got none" in capsys.readouterr().err
