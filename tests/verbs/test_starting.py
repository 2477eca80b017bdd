"""Beginning: a survey that can be served as it is, and notebooks that find their data."""

import json

import pytest

from tests.verbs.shell import said
from toolkit.command import main
from toolkit.survey.spec import Survey
from toolkit.verbs import starting


@pytest.fixture
def empty(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_new_survey_passes_the_check_and_says_what_it_spends(empty, capsys):
    assert said(capsys, "new", "survey.toml") == "wrote survey.toml\nChange it, then try: toolkit check survey.toml\n"
    made = Survey.load(empty / "survey.toml")
    assert made.consent_text() in said(capsys, "check", "survey.toml")
    text = (empty / "survey.toml").read_text(encoding="utf-8")
    assert f"This survey spends {sum(one.loss.epsilon for one in made.questions):.2g}" in text
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


def test_nothing_is_overwritten(empty, capsys):
    (empty / "survey.toml").write_text("mine")
    assert main(["new", "survey.toml"]) == 2
    assert (empty / "survey.toml").read_text() == "mine"
    (empty / "notebooks").mkdir()
    assert main(["notebooks", "."]) == 2
    assert [path.name for path in empty.iterdir() if path.name != "survey.toml"] == ["notebooks"]
    assert list((empty / "notebooks").iterdir()) == []
    assert capsys.readouterr().err.count("nothing is overwritten") == 2


def test_notebooks_and_data_stand_side_by_side_and_nothing_that_nobody_reads_comes_along(empty, capsys):
    assert "jupyter lab course/notebooks/00_start_here.ipynb" in said(capsys, "notebooks", "course")
    source, made = starting.course(), empty / "course"
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
        for part in sources.split("../data/")[1:]:
            name = part.split('"')[0].split(")")[0]
            if "{" not in name:
                assert (empty / "course" / "data" / name).is_file(), f"{path.name} reads {name}"


def test_a_package_without_notebooks_says_so(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(starting, "_STARTER", tmp_path / "starter")
    monkeypatch.setattr(starting, "_CHECKOUT", tmp_path / "checkout")
    assert main(["notebooks", str(tmp_path / "course")]) == 2
    assert "the notebooks must come with the package, got none" in capsys.readouterr().err
