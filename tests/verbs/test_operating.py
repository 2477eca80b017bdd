import builtins

import pytest

from tests.survey.respondents import free_port
from tests.verbs.shell import said
from toolkit.command import main
from toolkit.verbs.collecting import UNWELL


def test_the_doctor_ends_with_a_code_for_scripts(capsys):
    assert main(["doctor", f"http://127.0.0.1:{free_port()}/"]) == UNWELL == 1
    assert capsys.readouterr().out.startswith("FAIL TLS: none")
    assert main(["doctor", "survey.example.org"]) == 2
    assert "must begin with https://" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_delete_asks_by_name_and_takes_no_other_answer(capsys, monkeypatch):
    said(capsys, "open", "exams.toml")
    assert main(["delete", "--yes"]) == 2
    assert "must be closed before it is deleted, got open" in capsys.readouterr().err
    said(capsys, "close")
    asked = []
    for typed, code in (("yes", 2), ("Exams", 0)):
        monkeypatch.setattr(builtins, "input", lambda words, typed=typed: asked.append(words) or typed)
        assert main(["delete"]) == code
    assert asked == ["Type its title to delete it for good: "] * 2
    assert "nothing was deleted" in capsys.readouterr().err
    assert main(["status"]) == 2
