"""What a verb prints, run as in a shell."""

from toolkit.command import main


def said(capsys, *arguments):
    assert main(arguments) == 0
    return capsys.readouterr().out
