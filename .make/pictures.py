"""The pictures of README.md and of the site's first page: the form on a phone, and a result. Run by hand.

python .make/pictures.py
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from playwright.sync_api import sync_playwright

from tests.browser.lab import chromium
from toolkit import Question, Survey, collect, forced
from toolkit.analysis import estimates

FOLDER = Path(__file__).parents[1] / "docs" / "images"
DIE = forced(yes="1/6", no="1/6")


def phone() -> None:
    """The protected question at 360 pixels, as it is served."""
    question = Question("cheated", "Have you ever cheated in an exam?", design=DIE)
    survey = Survey(
        "Exams", [question], consent="We are a research group of this university.", practice=False, check=False
    )
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        collector = collect(survey, database=f"sqlite:///{folder}/exams.db", watch=False)
        browser = driver.chromium.launch(executable_path=chromium())
        page = browser.new_page(viewport={"width": 360, "height": 712}, reduced_motion="reduce")
        page.goto(collector.url)
        page.wait_for_timeout(3000)  # whoever taps at once is taken not to have read
        page.get_by_role("button", name="I take part").click()
        page.get_by_text(question.text).first.wait_for()
        page.screenshot(path=FOLDER / "phone.png", scale="css")
        browser.close()
        collector.close()


def result() -> None:
    """Shares by faculty from 1,200 simulated reports, with their intervals."""
    rng = np.random.default_rng(7)
    faculty = np.repeat(["arts", "law", "science"], 400)
    truth = rng.random(1200) < np.repeat([0.12, 0.3, 0.2], 400)
    frame = pd.DataFrame({"faculty": faculty, "cheated": DIE.randomize(truth, rng)})
    found = estimates(frame, {"cheated": DIE}, by="faculty").to_frame()
    figure, ax = plt.subplots(figsize=(5, 2.6), dpi=150)
    middle, low, high = (found[name].to_numpy(dtype=float) for name in ("estimate", "low", "high"))
    ax.errorbar(
        100 * middle, range(3), xerr=100 * np.array([middle - low, high - middle]), fmt="o", capsize=4, color="#0a5f8f"
    )
    ax.set(
        yticks=range(3),
        yticklabels=["arts", "law", "science"],
        ylim=(-0.6, 2.6),
        xlim=(0, 50),
        xlabel="cheated in an exam, percent",
    )
    ax.set_title("1,200 simulated answers through a die, 95 % intervals", fontsize=10)
    ax.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(FOLDER / "result.png")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    result()
    phone()
