import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

from toolkit.core import extras
from toolkit.core.extras import MissingExtraError, check_extras, extra

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


def test_every_module_belongs_to_the_extra_that_brings_it():
    for name, modules in extras._EXTRAS.items():
        brought = {
            re.split(r"[\[<>=; ]", line)[0].replace("-", "_")
            for line in PROJECT["optional-dependencies"][name]
        }
        modules_of = {"scikit_learn": "sklearn"}  # the one whose module has another name
        assert set(modules) <= {modules_of.get(package, package) for package in brought}, name


def test_a_missing_module_is_a_sentence_that_names_the_extra_and_the_command(monkeypatch):
    monkeypatch.setattr(
        extras, "find_spec", lambda name: None if name == "pandas" else importlib.util.find_spec(name)
    )
    wanted = r"pandas must be installed for this, got none: run pip install 'privacy-survey-toolkit\[lab\]'\."
    with pytest.raises(MissingExtraError, match=wanted):
        extra("pandas")
    with pytest.raises(MissingExtraError, match=wanted):
        check_extras("numpy", "pandas.core")
    assert PROJECT["name"] in wanted


def test_what_is_there_is_imported():
    assert extra("tomllib") is tomllib
    check_extras("numpy", "scipy.special")
    with pytest.raises(MissingExtraError, match="run pip install no_such_thing"):
        extra("no_such_thing")
