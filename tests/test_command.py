import argparse
import os
import re
import shlex
import subprocess
import sys
from importlib.metadata import version

import pytest

from toolkit.command import _build_parser, main
from toolkit.survey.serving.background import CollectError


def test_a_missing_file_or_database_is_an_error_and_no_traceback(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["check", "none.toml"]) == 2
    assert main(["status", "--database", "sqlite:///none.db"]) == 2
    assert main(["results", "--database", "mysql://x"]) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 3
    assert "Traceback" not in shown


(COMMANDS,) = (action.choices for action in _build_parser()._actions if isinstance(action, argparse._SubParsersAction))


def test_without_a_command_the_commands_are_listed(capsys):
    assert main([]) == 2
    printed = capsys.readouterr().out
    assert len(COMMANDS) > 20
    assert [name for name in COMMANDS if not re.search(rf"^ +{name}\b", printed, re.MULTILINE)] == []


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("reslts", "there is no command 'reslts'; did you mean results? `toolkit --help` lists all commands"),
        ("qqq", "there is no command 'qqq'; `toolkit --help` lists all commands"),
        (
            "results --databse x.db",
            "unknown arguments: --databse x.db; did you mean --database? --help lists all arguments",
        ),
        ("report a.md b.md", "unknown arguments: b.md; --help lists all arguments"),
        ("--verson", "unknown arguments: --verson; did you mean --version? --help lists all arguments"),
    ],
)
def test_a_word_that_does_not_exist_is_answered_with_the_nearest(typed, answer, capsys):
    with pytest.raises(SystemExit) as end:
        main(typed.split())
    assert (end.value.code, capsys.readouterr().err.splitlines()[-1].partition("error: ")[2]) == (2, answer)


def test_the_version_is_said(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert (end.value.code, capsys.readouterr().out) == (0, f"toolkit {version('privacy-survey-toolkit')}\n")


def test_every_argument_of_every_command_has_a_help():
    without = [
        f"{name} {action.dest}"
        for name, parser in COMMANDS.items()
        for action in parser._actions
        if len((action.help or "").split()) < 2
    ]
    assert without == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_prints_its_help(name, capsys):
    with pytest.raises(SystemExit) as end:
        main([name, "--help"])
    assert (end.value.code, capsys.readouterr().out.startswith(f"usage: toolkit {name}")) == (0, True)


WRONG = """
new; new x; new x.json; new none/x.toml; new ''; new folder.toml; new 'a\tb.toml'
notebooks; notebooks bytes.toml; notebooks /proc/none
check; check none.toml; check .; check bytes.toml; check list.json; check deep.json; check empty.toml; check folder.toml
check types.toml; check ok.toml --language xx; check ok.toml --nonsense
paper; paper ok.toml bytes.toml; paper bytes.toml x; paper ok.toml x --language xx; paper ok.toml x --copies 0
paper ok.toml x --copies y; enter; enter ok.toml; enter ok.toml none.csv; enter ok.toml bytes.toml
plan; plan warner; plan warner --prevalence x --n 5 --epsilon 1; plan warner --prevalence , --n 5
plan warner --prevalence 0.2 --n 5 --epsilon 1/0; plan warner --prevalence 0.2 --n 1.5 --epsilon 1
plan warner =3 --prevalence 0.5 --n 5; plan k_ary options=1000000000000 --prevalence 0.5 --n 5 --epsilon 1
plan one_bit bounds=0,1e400 --prevalence 3 --n 5 --epsilon 1; plan kuk --prevalence 0.5 --n 5
plan warner --prevalence 0.2 --epsilon 1 --margin 0.03 --questions 100000000000000000000
plan warner --prevalence 0.2 --epsilon 1 --margin 0.03 --level 0.99999999999999999999
serve; serve none.toml; serve bytes.toml; serve ok.toml --database x.db; serve ok.toml --database ''
serve ok.toml --database sqlite:///none/x.db; serve ok.toml --database sqlite:///text.db; serve ok.toml --database sqlite:///
serve ok.toml --database postgresql://[bad; serve ok.toml --database postgresql://nobody@127.0.0.1:1/none
serve ok.toml --port x; serve ok.toml --port -1; serve ok.toml --port 65536; serve ok.toml --port 99999999
status; status --database sqlite:///text.db; status --database nonsense; status --database sqlite:///folder.toml
pause; resume; close; close --database sqlite:///text.db; invite; invite 3; invite x; invite -3
results; results --by none; results --database sqlite:///text.db
export; export x.csv; export x.xyz; export x.csv --database sqlite:///text.db
nonsense; --nonsense
"""


@pytest.fixture
def rubble(tmp_path, monkeypatch, capsys):
    """A folder with typical files of a user, and one valid survey."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bytes.toml").write_bytes(bytes(range(256)))
    (tmp_path / "list.json").write_text("[1, 2]")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "empty.toml").write_text("")
    (tmp_path / "types.toml").write_text('title = 3\nconsent = ["x"]\nquestions = 5\n')
    (tmp_path / "text.db").write_text("This is no database. " * 200)
    (tmp_path / "folder.toml").mkdir()
    assert main(["new", "ok.toml"]) == 0
    capsys.readouterr()
    return tmp_path


@pytest.mark.parametrize("typed", [call.strip() for line in WRONG.strip().splitlines() for call in line.split(";")])
@pytest.mark.usefixtures("rubble")
def test_a_wrong_call_of_any_verb_is_a_sentence_and_no_traceback(typed, capsys):
    try:
        ended = main(shlex.split(typed))
    except SystemExit as refused:  # argparse has printed the error
        ended = refused.code
    shown = capsys.readouterr()
    assert ended == 2
    assert shown.err.startswith(("toolkit ", "usage: toolkit"))
    assert "Traceback" not in shown.err
    assert "error of the toolkit itself" not in shown.err


def test_an_error_that_nobody_foresaw_tells_its_place_and_quotes_nothing(monkeypatch, capsys):
    monkeypatch.setattr("toolkit.survey.spec.Survey.load", lambda _: [].zebra)
    assert main(["check", "ok.toml"]) == 2
    shown = capsys.readouterr().err
    assert "AttributeError in test_command.py, line " in shown
    assert "zebra" not in shown
    assert shown.count("\n") == 1


def test_of_a_server_that_dies_with_a_traceback_the_last_line_is_told(monkeypatch, capsys):
    def dying(*_, **__):
        raise CollectError(
            "Traceback (most recent call last):\n  File ...\nModuleNotFoundError: No module named 'uvloop'"
        )

    monkeypatch.setattr("toolkit.survey.spec.Survey.load", dying)
    assert main(["serve", "ok.toml"]) == 2
    assert capsys.readouterr().err == "toolkit serve: ModuleNotFoundError: No module named 'uvloop'\n"


def test_whoever_stops_a_verb_is_told_so_and_no_more(monkeypatch, capsys):
    def stopped(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("toolkit.survey.spec.Survey.load", stopped)
    assert main(["check", "ok.toml"]) == 2
    assert capsys.readouterr().err == "toolkit check: stopped.\n"


@pytest.mark.slow
@pytest.mark.usefixtures("rubble")
def test_a_reader_who_has_seen_enough_is_no_error_of_python():
    """`python -m toolkit check ok.toml | head -0`: nobody reads the output."""
    call = [sys.executable, "-m", "toolkit", "check", "ok.toml"]
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as pipe:
        done = subprocess.run(call, stdout=pipe, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "toolkit check: [Errno 32] Broken pipe\n"
