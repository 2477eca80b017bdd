import importlib.util
import re
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from toolkit import Curator, Ledger, Pure
from toolkit.core import extras
from toolkit.core.extras import MissingExtraError, check_engine, check_extras, extra
from toolkit.learning import PrivateLinearRegression

METADATA = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
PROJECT = METADATA["project"]


def test_every_module_belongs_to_the_extra_that_brings_it():
    for name, modules in extras._EXTRAS.items():
        brought = {re.split(r"[\[<>=; ]", line)[0].replace("-", "_") for line in PROJECT["optional-dependencies"][name]}
        modules_of = {"scikit_learn": "sklearn", "python_docx": "docx"}  # whose modules have other names
        assert set(modules) <= {modules_of.get(package, package) for package in brought}, name


def test_a_missing_module_names_its_extra_and_the_command(monkeypatch):
    """One sentence names the module, its extra and the command that installs it."""
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "pandas" else importlib.util.find_spec(name))
    wanted = r"pandas must be installed for this, got none: run pip install 'privacy-survey-toolkit\[lab\]'\."
    with pytest.raises(MissingExtraError, match=wanted):
        extra("pandas")
    with pytest.raises(MissingExtraError, match=wanted):
        check_extras("numpy", "pandas.core")
    assert PROJECT["name"] in wanted


def test_the_first_of_several_extras_is_recommended(monkeypatch):
    """The caller can name another extra."""
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    for module, name, offer in (
        ("pandas", None, "lab"),
        ("pandas", "collect", "collect"),
        ("narwhals", None, "analysis"),
    ):
        with pytest.raises(MissingExtraError, match=rf"toolkit\[{offer}\]"):
            extra(module, name)


def test_what_is_there_is_imported():
    assert extra("tomllib") is tomllib
    check_extras("numpy", "scipy.special")
    with pytest.raises(MissingExtraError, match="run pip install no_such_thing"):
        extra("no_such_thing")


def test_an_engine_is_as_new_as_the_metadata_asks_for():
    extras_and_groups = [*PROJECT["optional-dependencies"].values(), *METADATA["dependency-groups"].values()]
    lines = [line for lines in extras_and_groups for line in lines]
    for package, least in extras._OLDEST.items():
        asked = {line for line in lines if re.match(rf"{package}\b", line)}
        assert asked == {f"{package}>={'.'.join(map(str, least))}"}


@pytest.mark.parametrize("version", ["2.3.3", "2.9", "0.1.0.dev0+7"])
def test_a_frame_of_an_older_engine_is_rejected(version, monkeypatch):
    """Both a new curator and the fit of a learner check the version. pandas 2 holds text as objects: its mean was
    0.0, and the budget was gone.
    """
    ledger, frame = Ledger(Pure(1)), pd.DataFrame({"x": [1.0, 2.0]})
    learner = PrivateLinearRegression(rho=1, bounds=(0, 1), target_bounds=(0, 1), ledger=ledger)
    monkeypatch.setattr(pd, "__version__", version)
    for call in (lambda: Curator(frame, ledger, "replace"), lambda: learner.fit(frame, [0.0, 1.0])):
        with pytest.raises(MissingExtraError, match=rf"must be of pandas>=3.0, got {re.escape(version)}: "):
            call()
    assert ledger.entries() == ()


@pytest.mark.parametrize("version", ["3.0.0", "3.10.1", "4.0rc1"])
def test_a_frame_of_a_newer_engine_and_what_is_made_of_one_are_taken(version, monkeypatch):
    class Special(pd.DataFrame):
        pass

    monkeypatch.setattr(pd, "__version__", version)
    check_engine(pd.DataFrame())
    check_engine(np.ones(3))
    monkeypatch.setattr(pd, "__version__", "2.2")
    with pytest.raises(MissingExtraError):
        check_engine(Special())
