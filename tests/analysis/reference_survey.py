"""The synthetic survey that rr, RRreg and our own fits are compared on: 2,400 invented people."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from toolkit import Design, crosswise, forced, forced_options, unrelated, warner

DIE = forced("1/6", "1/6")
WARNER = COINS = warner("3/4")
UNRELATED = unrelated("0.7", "0.3")
CROSSWISE = BIRTHDAY = crosswise("0.15")
DIRECT = Design([[1, 0], [0, 1]], 1, ("no", "yes"), name="direct")
LIKERT = forced_options(5, ["0.08"] * 5)
BOTH = Design(  # a die and two coins for one truth: four reports
    [[int(a * b) for a in DIE.weights[truth] for b in COINS.weights[truth]] for truth in (0, 1)],
    DIE.denominator * COINS.denominator,
    ("no", "yes"),
    ("00", "01", "10", "11"),
)
COVARIATES = "~ female + age10 + loginc"


@cache
def _read() -> pd.DataFrame:
    frame = pd.read_csv(Path(__file__).parents[1] / "reference" / "rr_synthetic.csv")
    return frame.assign(
        age10=(frame.age - 45) / 10,
        loginc=np.log(frame.income / 30),
        c60=np.arange(len(frame)) % 60,  # sixty clusters across strata
        psu=100 * frame.stratum + frame.groupby("stratum").cumcount() % 20,  # twenty in each stratum
        die_or_coins=np.where(frame.group == 1, frame.forced, frame.warner),
        die_or_unrelated=np.where(frame.group == 1, frame.forced, frame.unrelated),
        both=2 * frame.forced + frame.warner,
    )


def survey() -> pd.DataFrame:
    """The file's columns, and those that the reference numbers are defined on."""
    return _read().copy()


def runaway() -> tuple[np.ndarray, np.ndarray]:
    """Reports through a die and a covariate, whose likelihood has no maximum: 50 yes of 300, as expected if nobody has
    the trait.
    """
    rng = np.random.default_rng(31)
    x = rng.normal(size=300)
    truth = rng.random(300) < 1 / (1 + np.exp(3 - 0.5 * x))
    draw = rng.random(300)
    return np.where(draw < 1 / 6, 0, np.where(draw < 1 / 3, 1, truth)).astype(int), x
