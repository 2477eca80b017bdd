"""The synthetic survey of tests/reference with the clusters that reference numbers were computed for."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from toolkit import crosswise, forced, forced_options, unrelated, warner

DIE = forced("1/6", "1/6")
WARNER = warner("3/4")
UNRELATED = unrelated("0.7", "0.3")
CROSSWISE = crosswise("0.15")
LIKERT = forced_options(5, ["0.08"] * 5)


@cache
def _read() -> pd.DataFrame:
    frame = pd.read_csv(Path(__file__).parents[1] / "reference" / "rr_synthetic.csv")
    frame["c60"] = np.arange(len(frame)) % 60  # sixty clusters across strata
    frame["psu"] = 100 * frame.stratum + frame.groupby("stratum").cumcount() % 20  # twenty in each stratum
    return frame


def survey() -> pd.DataFrame:
    return _read().copy()
