from toolkit.command import main


def test_a_missing_file_or_database_is_an_error_and_no_traceback(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["check", "none.toml"]) == 2
    assert main(["status", "--database", "sqlite:///none.db"]) == 2
    assert main(["results", "--database", "mysql://x"]) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 3
    assert "Traceback" not in shown


def test_without_a_verb_the_verbs_are_listed(capsys):
    assert main([]) == 2
    told = capsys.readouterr().out
    assert [verb for verb in ("serve", "status", "close", "results", "export", "plan", "paper") if verb not in told] == []
