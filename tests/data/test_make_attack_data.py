import csv
from pathlib import Path

from data import make_attack_data as made

FOLDER = Path(__file__).parents[2] / "data"


def test_the_script_reproduces_every_table_byte_for_byte(tmp_path):
    """Running the script again reproduces every committed table byte for byte."""
    made.write(tmp_path)
    committed = {file.name: file.read_bytes() for file in (FOLDER / "attacks").glob("*.csv")}
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == committed
    assert sum(map(len, committed.values())) < 300_000


def test_the_provenance_names_every_file_its_rows_and_its_columns():
    text = (FOLDER / "ATTACKS.md").read_text(encoding="utf-8")
    for file in (FOLDER / "attacks").glob("*.csv"):
        with file.open(newline="", encoding="utf-8") as opened:
            header, *rows = csv.reader(opened)
        (line,) = [line for line in text.splitlines() if line.startswith(f"| `{file.name}` |")]
        assert f"| {len(rows):,} |" in line
        assert [column for column in header if f"`{column}`" not in line] == []


def test_patients_and_voters_hold_the_planted_people():
    patients, voters, truth = made.hospital_and_voters()
    for patient, row in zip(patients, truth, strict=True):
        assert row == -1 or voters[row][1:] == patient[:3]
    assert sum(row >= 0 for row in truth) == made.IN_BOTH


def test_no_patient_has_a_name():
    names = {voter[0] for voter in made.hospital_and_voters()[1]}
    text = (FOLDER / "attacks" / "hospital.csv").read_text(encoding="utf-8")
    assert not any(name in text for name in names)


def test_reviews_are_a_star_and_a_week_off_at_most():
    ratings, reviews, chosen = made.ratings_and_reviews()
    known = {(row[0], row[1]): row[2:] for row in ratings}
    for reviewer, movie, stars, day in reviews:
        true = known[chosen[int(reviewer.split()[1]) - 1], movie]
        assert abs(true[0] - stars) <= 1
        assert abs(true[1] - day) <= 7
