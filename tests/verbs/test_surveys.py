from tests.survey.samples import survey
from tests.verbs.shell import said
from toolkit.command import main


def test_check_prints_what_people_agree_to_or_what_is_wrong(folder, capsys):
    told = said(capsys, "check", "exams.toml")
    assert survey().hash in told
    assert survey().consent_text() in told
    (folder / "bad.toml").write_text('title = "x"\nconsent = "y"\nquotas = 3\n')
    assert main(["check", "bad.toml"]) == 2
    assert "bad.toml" in capsys.readouterr().err


def test_paper_writes_a_form(folder, capsys):
    assert said(capsys, "paper", "exams.toml", "form.html") == "wrote form.html\n"
    assert "Have you ever cheated" in (folder / "form.html").read_text()
