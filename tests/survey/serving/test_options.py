import argparse
from dataclasses import asdict, replace

import pytest

from toolkit.survey.serving.options import DEFAULTS, HELP_TEXTS, SERVER_OPTIONS, ServeOptions, add_arguments
from toolkit.survey.serving.process import _parser

OTHERS = ServeOptions(
    rehearsal=True,
    host="192.0.2.8",
    port=8443,
    certificate="a b.pem",
    private_key="-k.pem",
    issuer_key="i.pem",
    public_url="https://survey.example/",
    prefix="/s",
    plain_http_beyond_this_machine=True,
    workers=2,
    amend=True,
    previous_wave="postgresql://me:secret@host/wave1",
)


def test_every_option_has_a_help_text_and_is_given_another_value_here():
    assert list(HELP_TEXTS) == list(asdict(DEFAULTS))
    assert [name for name, value in asdict(OTHERS).items() if value == getattr(DEFAULTS, name)] == []


def test_the_process_gets_only_options_of_serving():
    """The password of an earlier wave is not among its arguments."""
    assert DEFAULTS.arguments() == []
    arguments = OTHERS.arguments()
    assert "secret" not in " ".join(arguments)
    parsed = _parser().parse_args(["--database", "sqlite:///x.db", *arguments])
    served = {name: getattr(OTHERS, name) for name in SERVER_OPTIONS}
    assert ServeOptions.from_namespace(parsed) == replace(DEFAULTS, **served)


@pytest.mark.parametrize("names", [tuple(HELP_TEXTS), ("public_url", "previous_wave")])
def test_a_command_has_an_argument_for_each_of_its_options(names):
    parser = argparse.ArgumentParser()
    add_arguments(parser, names)
    assert ServeOptions.from_namespace(parser.parse_args([])) == DEFAULTS
    flags = {name: f"--{name.replace('_', '-')}" for name in names}
    given = {name: getattr(OTHERS, name) for name in names}
    words = [flags[name] if value is True else f"{flags[name]}={value}" for name, value in given.items()]
    assert ServeOptions.from_namespace(parser.parse_args(words)) == replace(DEFAULTS, **given)


@pytest.mark.parametrize("options", [{"port": -1}, {"port": 2**16}, {"workers": 0}, {"workers": 65}])
def test_numbers_out_of_range_are_refused(options):
    with pytest.raises(ValueError, match="must be"):
        ServeOptions(**options)
