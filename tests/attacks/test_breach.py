import subprocess
import sys

import numpy as np
import pytest

from data import make_attack_data as made
from toolkit.attacks import Breach, table
from toolkit.attacks.differencing import resignation
from toolkit.attacks.linkage import link
from toolkit.attacks.reconstruction import answers, bounded, queries, reconstruct


def test_one_row_an_attack_with_what_was_known_and_what_was_learned():
    frame = table([Breach("linkage", "a table without names", "ZIP, birth date, sex", "a diagnosis", 0.9, "recall")])
    assert list(frame.columns) == [
        "attack", "what was released", "what the attacker knew", "what they learned", "score", "of what",
    ]  # fmt: skip
    assert frame.loc[0, "what the attacker knew"] == "ZIP, birth date, sex"


def test_the_lesson_of_all_attacks_fits_in_one_table():
    """Each row is an attack run on the planted data: exact releases give everything away."""
    patients, voters, truth = made.hospital_and_voters()
    tables = [
        dict(zip(("zip", "born", "sex"), zip(*rows, strict=True), strict=True))
        for rows in ([row[:3] for row in patients], [row[1:] for row in voters])
    ]
    salaries = np.array([row[2] for row in made.salaries()], dtype=float)
    rng = np.random.default_rng(1)
    secret, asked = rng.integers(0, 2, 64), queries(64, rng=rng)
    frame = table(
        [
            Breach(
                "linkage",
                "patients without names",
                "a voter list",
                "names",
                link(*tables, on=["zip", "born", "sex"]).recall(truth),
            ),
            Breach(
                "differencing",
                "two means",
                "who left",
                "a salary",
                resignation(salaries.mean(), 120, salaries[1:].mean()),
            ),
            Breach(
                "reconstruction",
                "noisy counts",
                "the sets",
                "64 bits",
                reconstruct(asked, answers(secret, asked, bounded(2), rng)).share(secret),
            ),
        ]
    )
    assert frame["score"].tolist() == pytest.approx([1, salaries[0], 1], rel=0.05)


@pytest.mark.slow
def test_pandas_is_imported_only_for_the_table():
    modules = "audit, reconstruction, marginals, differencing, membership, linkage, anonymity, averaging, table, replay"
    code = (
        f"from toolkit.attacks import {modules}; import sys; sys.exit('pandas' in sys.modules or "
        "'scipy.optimize' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
