import csv
import json
import re
from dataclasses import replace
from unittest import mock

import pandas as pd
import psutil
import pytest
from pyarrow import feather, parquet

from tests.survey.samples import DESIGNS, MEMO, cheated, panel, survey, survey_with
from toolkit import Question, warner
from toolkit.core import extras
from toolkit.local import numeric
from toolkit.survey.export import METADATA, codebook, write
from toolkit.survey.results import estimate
from toolkit.survey.results.table import reports_table
from toolkit.survey.spec import OPEN_ACCESS_REMARK, REHEARSAL_REMARK

FRAME = pd.DataFrame({"faculty": ["arts", "law"], "cheated": ["yes", "no"], "understood": [True, False]})


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_no_cell_of_a_csv_file_is_a_formula_wherever_it_is_opened(tmp_path, separator):
    comments = ["nice;=cmd|' /C calc'!A0", '=1;"=2"', "a\n+1,-2;@x\r\n\t=3", "＝1", " =4"]
    frame = pd.DataFrame({"comment": comments, "end": [1] * len(comments)})
    lines = write(frame, tmp_path / "reports.csv").read_text().splitlines()
    cells = [cell for line in lines for cell in line.split(separator)]  # as a program that ignores quotes
    for line in csv.reader(lines, delimiter=separator):
        cells += line
    assert len(cells) > 15
    assert [cell for cell in cells if cell.lstrip(' "').startswith(tuple("=+-@＝＋－＠"))] == []


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_gives_the_same_estimates_as_the_frame(tmp_path, suffix):
    path = write(FRAME, tmp_path / f"reports.{suffix}", survey())
    back = pd.read_csv(path) if suffix == "csv" else pd.read_parquet(path)
    assert estimate(survey(), back).to_frame().equals(estimate(survey(), FRAME).to_frame())
    assert json.loads((tmp_path / "reports.codebook.json").read_text())["hash"] == survey().hash


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_exported_reports_can_be_read_by_their_owner_alone(tmp_path, suffix):
    path = tmp_path / f"out{suffix}"
    path.write_text("something older, and longer than what comes now" * 1000)
    path.chmod(0o644)
    write(pd.DataFrame({"a": [1]}), path)
    assert path.stat().st_mode & 0o077 == 0
    assert path.stat().st_size < 10_000


@pytest.mark.parametrize(("suffix", "read"), [("parquet", parquet.read_table), ("feather", feather.read_table)])
def test_the_codebook_stands_in_the_file_beside_what_pandas_wrote_there(tmp_path, suffix, read):
    path = write(FRAME, tmp_path / f"reports.{suffix}", survey())
    assert set(read(path).schema.metadata) == {b"pandas", METADATA}
    assert json.loads(read(path).schema.metadata[METADATA]) == json.loads(
        path.with_name("reports.codebook.json").read_text()
    )
    assert METADATA not in read(write(FRAME, path)).schema.metadata


@pytest.mark.parametrize(("suffix", "read"), [("parquet", parquet.read_table), ("feather", feather.read_table)])
def test_a_file_has_no_column_for_the_index(tmp_path, suffix, read):
    """An index could reveal the order in which reports were stored."""
    path = write(FRAME.set_axis([7, 3]), tmp_path / f"reports.{suffix}", survey())
    assert read(path).column_names == list(FRAME.columns)


def test_another_suffix_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match=r"must end in \.csv or .* or \.dta, got '\.xlsx'"):
        write(FRAME, tmp_path / "reports.xlsx")
    for suffix in (".sav", ".dta"):
        with pytest.raises(ValueError, match=f"a {suffix} file needs a survey, got none"):
            write(FRAME, tmp_path / f"reports{suffix}")
    assert list(tmp_path.iterdir()) == []


def test_the_codebook_holds_what_is_needed_to_estimate():
    book = codebook(survey())
    assert book["columns"]["cheated"]["design"] == warner(p="2/3").to_dict()
    assert book["columns"]["cheated"]["epsilon"] == warner(p="2/3").epsilon
    assert book["columns"]["faculty"] == {
        "text": "Which faculty are you in?",
        "kind": "choice",
        "mode": "plain",
        "options": ["arts", "law"],
        "codes": {"arts": 0, "law": 1},
        "randomized": False,
    }
    assert book["epsilon"] == survey().loss.epsilon
    json.dumps(book)


def test_the_codebook_says_what_numbers_stand_for():
    """In a list of ticks, numbers are positions, even if the options are numbers themselves."""
    ticks = Question("tried", "Tried?", options=[1, 2], multiple=True)
    asked = survey(ticks, Question("year", "Year?", options=[1980, "I do not know"]))
    columns = codebook(asked)["columns"]
    assert columns["year"]["codes"] == {"1980": 1980, "I do not know": 1}
    assert (columns["tried"].get("codes"), columns["tried"]["reading"]) == (
        None,
        "the indices of the options, from 0, that were ticked",
    )


READINGS = {
    "random_box": "[box, ticked]: ",
    "capped_boxes": "the indices of the options, from 0, that were sent as ticked",
    "subset": "the indices of the options, from 0, in the set",
    "unary": "the indices of the options, from 0, for which a yes",
    "one_bit": "0 is a no and 1 is a yes, as sent",
    "local_hash": "[group, …]: ",
}


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_the_codebook_says_how_the_reports_of_every_randomizer_are_read(design):
    number = (
        "0 is a no and 1 is a yes; any other report r is" if design.name == "hybrid" else "a report r is the number"
    )
    begun = READINGS.get(design.name, number) if design.matrix is None else "weights[truth][report] / denominator"
    assert codebook(survey_with(design))["columns"]["asked"]["reading"].startswith(begun)


def test_a_number_in_the_codebook_s_reading_has_the_mean_that_is_estimated():
    design = numeric.local_laplace((500, 3500), 1.0)
    reading = codebook(survey_with(design))["columns"]["asked"]["reading"]
    zero, step = map(float, re.fullmatch(r"a report r is the number (\S+) \+ (\S+) \* r", reading).groups())
    reports = [-70_000, 12, 30_000, 90_000]
    mean = sum(zero + step * report for report in reports) / len(reports)
    assert design.estimate(reports).value == pytest.approx(mean, rel=1e-9)
    mixed = codebook(survey_with(DESIGNS["hybrid"]))["columns"]["asked"]["reading"]
    assert re.fullmatch(r"0 is a no and 1 is a yes; any other report r is the number \S+ \+ \S+ \* r", mixed)


def test_the_codebook_says_once_what_must_be_known_of_the_collection():
    sure = codebook(survey_with(DESIGNS["mangat"], access="token"), ["One.", "Two.", "One."])
    assert (sure["remarks"], sure["epsilon"], sure["columns"]["asked"]["epsilon"]) == (["One.", "Two."], "inf", "inf")
    tried = codebook(replace(survey(), rehearsal=True), [OPEN_ACCESS_REMARK])
    assert (tried["remarks"], tried["rehearsal"]) == ([REHEARSAL_REMARK, OPEN_ACCESS_REMARK], True)
    assert codebook(survey(cheated(anchor="no")))["columns"]["cheated"]["anchor"] == "no"


def test_a_failed_file_leaves_nothing(tmp_path, monkeypatch):
    """A written file is not kept open."""
    with monkeypatch.context() as broken:
        broken.setattr(pd.DataFrame, "to_csv", mock.Mock(side_effect=OSError("no room")))
        with pytest.raises(OSError, match="no room"):
            write(FRAME, tmp_path / "reports.csv")
    assert list(tmp_path.iterdir()) == []
    write(FRAME, tmp_path / "reports.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["reports.csv"]
    assert [one.path for one in psutil.Process().open_files() if one.path.startswith(str(tmp_path))] == []


def test_without_pyarrow_a_parquet_file_is_not_begun(tmp_path, monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "pyarrow" else True)
    with pytest.raises(extras.MissingExtraError, match=r"run pip install 'privacy-survey-toolkit\[scale\]'"):
        write(pd.DataFrame({"a": [1]}), tmp_path / "reports.parquet")
    assert list(tmp_path.iterdir()) == []


def test_an_exported_wave_has_the_joining_number(tmp_path):
    """The codebook names its content."""
    made = panel(wave=2, panel={"identity": "ab" * 16, "loss": 3})
    body = '{"answers":{"cheated":1,"faculty":0},"understood":true,"person":"%s"}'
    frame = reports_table(made, [body % ("0e" * 16), body % ("12" * 16)])
    assert list(frame.columns) == ["cheated", "faculty", "understood", "person"]
    found = pd.read_csv(write(frame, tmp_path / "wave.csv", made), dtype={"person": str})
    assert list(found["person"]) == ["0e" * 16, "12" * 16]
    read, stored = (estimate(made, one, minimum=2)["cheated"].value for one in (found, frame))
    assert read == stored
    told = codebook(made)
    assert (told["waves"], told["wave"], told["panel"]) == (2, 2, "ab" * 16)
    assert told["columns"]["cheated"]["memo"] == MEMO.to_dict()
    assert told["columns"]["cheated"]["design"] == MEMO.design.to_dict()
    assert set(told["columns"]) == {"cheated", "faculty"}
    assert "panel" not in codebook(survey())
