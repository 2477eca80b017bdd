"""Make the synthetic data sets in this folder; every run gives the same bytes.

Run it with `python data/make_data.py`. All random numbers come from `Generator.integers`, whose streams do not
change between versions of numpy, and reports are drawn by the same integer arithmetic as on phones, so neither
numpy nor the toolkit can change a row unnoticed.
"""

import csv
import sys
from pathlib import Path

import numpy as np

from toolkit import warner

STUDENTS = 1200
FACULTIES = ("arts", "engineering", "law", "medicine", "science")
CHEATED_OF_100 = {1: 10, 2: 20, 3: 30, 4: 40}
"""The percentage of students who cheated, by year of study."""

Row = tuple[str | int, ...]


def exam_survey(seed: int = 1965) -> tuple[list[Row], int]:
    """Return the rows of a class survey about cheating on an exam, and the number of students who cheated.

    All students answered with Warner's design, with p = 2/3. The number is for the teacher; no column holds the
    truth.
    """
    rng = np.random.default_rng(seed)
    design = warner(p="2/3")
    faculty = rng.integers(0, len(FACULTIES), STUDENTS)
    year = 1 + np.arange(STUDENTS) % len(CHEATED_OF_100)
    job = rng.integers(0, 100, STUDENTS) < 45
    cheated = rng.integers(0, 100, STUDENTS) < np.array([CHEATED_OF_100[y] for y in year.tolist()])
    draws = rng.integers(0, design.denominator, STUDENTS).tolist()
    truths = cheated.astype(int).tolist()
    reports = [design._draw_report(truth, lambda _, draw=draw: draw) for truth, draw in zip(truths, draws, strict=True)]
    rows: list[Row] = [
        (FACULTIES[f], y, "yes" if j else "no", str(design.report_options[r]))
        for f, y, j, r in zip(faculty.tolist(), year.tolist(), job.tolist(), reports, strict=True)
    ]
    return rows, int(cheated.sum())


def write(folder: Path) -> None:
    """Write every data set into `folder`."""
    rows, _ = exam_survey()
    with (folder / "exam_survey.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("faculty", "year", "job", "report"))
        table.writerows(rows)


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
