"""Make the synthetic tables for the attacks, in `data/attacks`; every run gives the same bytes.

Run it with `python data/make_attack_data.py`. No row describes a real person. All random numbers come
from `Generator.integers`, whose streams do not change between versions of numpy. `ATTACKS.md` describes each file and
what was planted in it.
"""

import csv
import sys
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from pathlib import Path

import numpy as np

Row = tuple[str | int, ...]
Rng = np.random.Generator

PATIENTS, VOTERS, IN_BOTH = 900, 1200, 600
DIAGNOSES = ("asthma", "cancer", "depression", "diabetes", "flu", "fracture", "heart disease", "migraine")
ZIPS = tuple(f"02{number}" for number in range(138, 150))
FIRST = (
    "Ada",
    "Ben",
    "Cleo",
    "Dan",
    "Eva",
    "Finn",
    "Gina",
    "Hugo",
    "Ida",
    "Jon",
    "Kim",
    "Leo",
    "Mia",
    "Ned",
    "Ola",
    "Pia",
)
LAST = (
    "Adler",
    "Brook",
    "Cole",
    "Dahl",
    "Ek",
    "Frost",
    "Gale",
    "Hale",
    "Irons",
    "Jung",
    "Klein",
    "Lund",
    "Moor",
    "Nye",
    "Orr",
)
MOVIES, USERS, REVIEWERS = 400, 220, 40
COURSES = {"logic": "B", "ethics": "A", "drawing": None, "rhetoric": None, "statistics": None, "history": None}
"""The courses of the grade list; in two of them, everyone has the grade given here."""
SNPS, POOL = 240, 60
AGES, SEXES, ORIGINS, TENURES = (("0-17", "18-39", "40-64", "65+"), ("f", "m"), ("a", "b", "c"), ("owner", "tenant"))


def shuffled(rng: Rng, values: Sequence[int]) -> list[int]:
    """Return the values in random order, by the ranks of random integers."""
    return [values[i] for i in np.argsort(rng.integers(0, 2**62, len(values)), kind="stable").tolist()]


def people(rng: Rng, count: int) -> list[tuple[str, str, str, str]]:
    """Return the name, ZIP code, birth date and sex of random people."""
    first, last = rng.integers(0, len(FIRST), count), rng.integers(0, len(LAST), count)
    zips, days, sex = (rng.integers(0, len(ZIPS), count), rng.integers(0, 365 * 60, count), rng.integers(0, 2, count))
    return [
        (f"{FIRST[f]} {LAST[s]}", ZIPS[z], (date(1935, 1, 1) + timedelta(days=int(d))).isoformat(), SEXES[x])
        for f, s, z, d, x in zip(first, last, zips, days, sex, strict=True)
    ]


def hospital_and_voters(seed: int = 1997) -> tuple[list[Row], list[Row], list[int]]:
    """Return patients without names, voters with names, and each patient's row among the voters (-1 if none)."""
    rng = np.random.default_rng(seed)
    everyone = people(rng, PATIENTS + VOTERS - IN_BOTH)
    ill = rng.integers(0, len(DIAGNOSES), PATIENTS)
    patients: list[Row] = [(*everyone[i][1:], DIAGNOSES[ill[i]]) for i in range(PATIENTS)]
    electorate = [*range(IN_BOTH), *range(PATIENTS, len(everyone))]
    order = shuffled(rng, electorate)
    place = {person: row for row, person in enumerate(order)}
    return (patients, [everyone[person] for person in order], [place.get(person, -1) for person in range(PATIENTS)])


def ratings_and_reviews(seed: int = 2006) -> tuple[list[Row], list[Row], list[int]]:
    """Return ratings under random user numbers, inexact public reviews by some users, and the reviewers' numbers."""
    rng = np.random.default_rng(seed)
    ratings: list[Row] = []
    for user in range(USERS):
        # The smaller of two draws makes some films popular and most of them rare.
        seen = np.unique(np.minimum(rng.integers(0, MOVIES, 20), rng.integers(0, MOVIES, 20)))
        stars, days = rng.integers(1, 6, len(seen)), rng.integers(0, 720, len(seen))
        ratings += [(user, int(m), int(s), int(d)) for m, s, d in zip(seen, stars, days, strict=True)]
    chosen = shuffled(rng, range(USERS))[:REVIEWERS]
    reviews: list[Row] = []
    for reviewer, user in enumerate(chosen):
        own = [row for row in ratings if row[0] == user]
        for place in sorted(shuffled(rng, range(len(own)))[:6]):
            _, movie, stars_given, day = (int(cell) for cell in own[place])
            off, later = int(rng.integers(-1, 2)), int(rng.integers(-7, 8))
            reviews.append((f"reviewer {reviewer + 1}", movie, min(5, max(1, stars_given + off)), day + later))
    return ratings, reviews, chosen


def salaries(seed: int = 2010) -> list[Row]:
    """Return a firm with one very rich partner: department, years of service, salary."""
    rng = np.random.default_rng(seed)
    departments = ("legal", "sales", "support", "workshop")
    rows: list[Row] = [
        (departments[d], int(y), 30_000 + 900 * int(y) + 100 * int(x))
        for d, y, x in zip(rng.integers(0, 4, 119), rng.integers(0, 35, 119), rng.integers(0, 300, 119), strict=True)
    ]
    return [*rows, ("legal", 34, 90_000_000)]


def grades(seed: int = 2020) -> list[Row]:
    """Return a list of grades without names: course, year, grade. In two courses, everyone has the same grade."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for course, planted in COURSES.items():
        for year in (1, 2, 3):
            drawn = rng.integers(0, 5, 12)
            rows += [(course, year, planted or "ABCDE"[g]) for g in drawn.tolist()]
    return rows


def block(seed: int = 2021) -> list[Row]:
    """Return a census block of 40 people: age, sex, origin, tenure."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, len(values), 40).tolist() for values in (AGES, SEXES, ORIGINS, TENURES)]
    return [(AGES[a], SEXES[s], ORIGINS[o], TENURES[t]) for a, s, o, t in zip(*columns, strict=True)]


def genomes(seed: int = 2008) -> tuple[list[Row], list[Row]]:
    """Return genomes (0 or 1 for each position) of people in a study and outside it, and population frequencies."""
    rng = np.random.default_rng(seed)
    frequency = rng.integers(10, 91, SNPS)
    drawn = (rng.integers(0, 100, (2 * POOL, SNPS)) < frequency).astype(int)
    rows: list[Row] = [
        ("study" if i < POOL else "outside", "".join(map(str, row))) for i, row in enumerate(drawn.tolist())
    ]
    return rows, [(place, f"0.{share}") for place, share in enumerate(frequency.tolist())]


def save(path: Path, header: Row, rows: Iterable[Row]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(header)
        table.writerows(rows)


def write(folder: Path) -> None:
    """Write every table into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    patients, voters, _ = hospital_and_voters()
    ratings, reviews, _ = ratings_and_reviews()
    genotypes, frequencies = genomes()
    save(folder / "hospital.csv", ("zip", "born", "sex", "diagnosis"), patients)
    save(folder / "voters.csv", ("name", "zip", "born", "sex"), voters)
    save(folder / "ratings.csv", ("user", "movie", "stars", "day"), ratings)
    save(folder / "reviews.csv", ("reviewer", "movie", "stars", "day"), reviews)
    save(folder / "salaries.csv", ("department", "years", "salary"), salaries())
    save(folder / "grades.csv", ("course", "year", "grade"), grades())
    save(folder / "block.csv", ("age", "sex", "origin", "tenure"), block())
    save(folder / "genomes.csv", ("group", "snps"), genotypes)
    save(folder / "frequencies.csv", ("position", "frequency"), frequencies)


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "attacks")
