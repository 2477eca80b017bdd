"""Make the pictures of README.md and of the site's first page: the form on a phone, and a result. Run by hand.

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


def save_phone() -> None:
    """Save a picture of a protected question on a page that is 360 pixels wide."""
    question = Question("cheated", "Have you ever cheated in an exam?", design=DIE)
    survey = Survey(
        "Exams", [question], consent="We are a research group of this university.", practice=False, check=False
    )
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        collector = collect(survey, database=f"sqlite:///{folder}/exams.db", watch=False)
        browser = driver.chromium.launch(executable_path=chromium())
        page = browser.new_page(
            viewport={"width": 360, "height": 665}, device_scale_factor=1.5, reduced_motion="reduce"
        )
        page.goto(collector.url)
        page.wait_for_timeout(3000)  # the page ignores a tap that comes too soon for the text to have been read
        page.get_by_role("button", name="I take part").click()
        page.get_by_text(question.text).first.wait_for()
        page.screenshot(path=FOLDER / "phone.png")
        browser.close()
        collector.close()


def save_result() -> None:
    """Save a plot of shares by faculty, with intervals, from 1,200 simulated reports."""
    rng = np.random.default_rng(7)
    faculty = np.repeat(["arts", "law", "science"], 400)
    truth = rng.random(1200) < np.repeat([0.12, 0.3, 0.2], 400)
    frame = pd.DataFrame({"faculty": faculty, "cheated": DIE.randomize(truth, rng)})
    figure, ax = plt.subplots(figsize=(5, 2.3), layout="constrained")
    estimates(frame, {"cheated": DIE}, by="faculty").plot(ax=ax)
    ax.set_title("1,200 simulated answers through a die, 95 % intervals", loc="left", fontsize=10)
    ax.set(xlim=(0, 0.5), xlabel="share who cheated in an exam")
    ax.set_yticks(ax.get_yticks(), ["arts", "law", "science"])
    figure.savefig(FOLDER / "result.png", dpi=200, metadata={"Software": None})


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    save_result()
    save_phone()
