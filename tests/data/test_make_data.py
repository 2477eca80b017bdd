import csv
from collections import Counter
from pathlib import Path

import pytest

from data import make_data
from toolkit import warner

FOLDER = Path(__file__).parents[2] / "data"
BY_HAND = {"epsilons.csv", "published_studies.csv"}  # facts from the literature, which no script can make


@pytest.fixture(scope="module")
def survey() -> list[dict[str, str]]:
    with (FOLDER / "exam_survey.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_script_reproduces_every_data_file_byte_for_byte(tmp_path):
    """Running the script again reproduces every committed data file byte for byte."""
    make_data.write(tmp_path)
    committed = {file.name: file.read_bytes() for file in FOLDER.glob("*.csv") if file.name not in BY_HAND}
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == committed


def test_the_data_readme_names_every_file_and_every_column(survey):
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [file.name for file in FOLDER.glob("*.csv") if f"`{file.name}`" not in text] == []
    assert [column for column in survey[0] if f"| `{column}` |" not in text] == []


def test_the_exam_survey_holds_reports_and_no_truth(survey):
    assert list(survey[0]) == ["faculty", "year", "job", "report"]
    assert len(survey) == 1200
    assert Counter(row["year"] for row in survey) == {"1": 300, "2": 300, "3": 300, "4": 300}
    assert {row["report"] for row in survey} == {"yes", "no"}


def test_the_answer_key_of_the_readme_is_what_the_script_planted():
    _, cheated = make_data.exam_survey()
    text = " ".join((FOLDER / "README.md").read_text(encoding="utf-8").split())
    assert f"Of the 1,200 students drawn, {cheated} cheated ({cheated / 12:.1f} %)" in text
    for year, percent in make_data.CHEATED_OF_100.items():
        assert f"{percent} % in year {year}" in text


def test_the_planted_share_is_estimated_within_two_errors(survey):
    """The file is fixed, so this is no lottery: it fails only if the reports do not follow the design they
    claim.
    """
    _, cheated = make_data.exam_survey()
    estimate = warner(p="2/3").estimate([row["report"] for row in survey])
    die_alone = warner(p="2/3").variance(0.25, n=1200, respondents="fixed") ** 0.5
    assert abs(estimate.value - cheated / 1200) < 2 * die_alone


def test_every_epsilon_that_others_chose_has_its_source():
    with (FOLDER / "epsilons.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len({row["who"] for row in rows}) == 45
    assert [row["who"] for row in rows if not (row["source"] and row["published"].startswith("20"))] == []
    assert {row["kind"] for row in rows} == {"local", "central", "varies"}
    assert min(float(row["epsilon"] or row["rho"] or "inf") for row in rows) > 0
    epsilons = [float(row["epsilon"] or "inf") for row in rows]  # rows without an epsilon come last
    assert epsilons == sorted(epsilons)


def test_every_published_study_has_its_source_and_as_many_people_as_it_asked():
    with (FOLDER / "published_studies.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    people = Counter()
    for row in rows:
        people[row["study"]] += int(row["count"])
    assert [study for study in people if f"| `{study}` | " not in text] == []
    assert people == {
        "plagiarism": 2 * (310 + 96),
        "minarets": 365 + 1256,
        "race": 1213 + 582,
        "nigeria": 2423,
        "dice game": 3070,
    }
    assert f"| `published_studies.csv` | {len(rows)} |" in text
