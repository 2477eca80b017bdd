"""The files of the module; that it agrees with Python is tested in a browser, in tests/browser/test_hide.py."""

import base64
import hashlib
import json

import pytest

from tests.survey.samples import cheated, survey
from toolkit import Question, warner
from toolkit.local import numeric, oracles
from toolkit.local.waves import Memo
from toolkit.survey import write_web_module
from toolkit.survey.client import asset, toolkit_version
from toolkit.survey.exchange.web import module_code

TRIED = Question("tried", "Which?", design=oracles.tick_boxes(["beer", "wine"], 1.0))
HOURS = Question("hours", "How long?", design=numeric.local_laplace((0, 80), 1.0))


def texts(folder, *questions):
    files = write_web_module(folder, survey(*questions) if questions else None)
    return {path.name: path.read_text(encoding="utf-8") for path in files}


def test_the_module_is_the_randomizer_of_the_page_and_one_function_more(tmp_path):
    module = texts(tmp_path / "new" / "web")["hide.js"]
    assert module.count(asset("randomizer.js").decode()) == 1
    assert f'export const version = "{toolkit_version()}";' in module
    assert "import " not in module.replace(" imports ", ""), "one file, without others"


def test_the_readme_states_the_version_and_the_hash_of_the_file(tmp_path):
    readme = texts(tmp_path)["README.md"]
    digest = hashlib.sha384((tmp_path / "hide.js").read_bytes()).digest()
    assert readme.count(f"sha384-{base64.b64encode(digest).decode()}") == 2
    assert toolkit_version() in readme
    assert "designs.js`, `designs.d.ts" not in readme, "no survey was given"


def test_designs_are_those_from_which_the_page_draws(tmp_path):
    files = texts(tmp_path, cheated(), TRIED, HOURS)
    head, _, rows = files["designs.js"].partition("export const designs = ")
    designs = json.loads(rows.rstrip(";\n").replace(",\n}", "\n}"))
    assert designs == {question.name: question.design._browser_data() for question in (cheated(), TRIED, HOURS)}
    assert survey(cheated(), TRIED, HOURS).hash in head
    assert 'readonly "tried": TicksDesign;' in files["designs.d.ts"]
    assert "hide(designs.cheated, answer)" in files["README.md"]


def test_writing_again_gives_the_same_bytes(tmp_path):
    assert texts(tmp_path / "one", cheated()) == texts(tmp_path / "two", cheated())
    assert module_code() == (tmp_path / "one" / "hide.js").read_bytes().decode()


def test_a_survey_without_a_design_for_a_browser_is_rejected(tmp_path):
    with pytest.raises(ValueError, match="must have a question with mode 'auto'"):
        texts(tmp_path, cheated(mode="physical"))


def test_a_memo_is_rejected_because_another_page_would_not_keep_it(tmp_path):
    memo = Question("cheated", "Have you?", design=Memo(warner("3/4"), warner("3/4")))
    with pytest.raises(ValueError, match="must have no memo"):
        write_web_module(tmp_path, survey(memo, waves=2))
