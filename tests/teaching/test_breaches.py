from dataclasses import replace

import numpy as np
import pytest

from toolkit import Pure
from toolkit.audit.verdict import Verdict
from toolkit.teaching import breaches
from toolkit.teaching.attacks.averaging import Belief
from toolkit.teaching.attacks.linkage import UniquenessProfile
from toolkit.teaching.attacks.membership import roc

CURVE = {"bounded": [(1.0, 1.0), (10.0, 0.8), (100.0, 0.5)], "Laplace": [(1.0, 0.9), (100.0, 0.5)]}
PROFILE = UniquenessProfile({("zip", "born"): 0.87, ("born",): 0.3, ("zip",): 0.0}, 1000)
PATH = {"fresh": Belief(("no", "yes"), np.array([[0.5, 0.5], [0.2, 0.8], [0.1, 0.9]]))}


def verdict(violated):
    return Verdict(Pure(1), 2.0 if violated else 0.9, 0.0, violated, "", 0.999, (), ("pair",), 10)


VERDICTS = {"good": verdict(False), "bad": verdict(True), "mute": replace(verdict(False), claim=None)}


def test_the_root_of_n_and_the_coin_are_marked_in_the_picture_of_bits():
    ax = breaches.bits_recovered(CURVE, n=64)
    assert [line.get_xdata()[0] for line in ax.lines if len(set(line.get_xdata())) == 1] == [8.0]
    assert ax.lines[0].get_ydata().tolist() == [1.0, 0.8, 0.5]
    assert {text.get_text() for text in ax.texts} == {"√n", "a coin"}
    assert ax.get_xscale() == "log"


def test_lines_differ_by_more_than_colour():
    first, second = breaches.bits_recovered(CURVE, n=64).lines[:2]
    assert first.get_linestyle() != second.get_linestyle()
    assert first.get_marker() != second.get_marker()


def test_the_forbidden_region_begins_at_the_corner_of_the_best_test():
    ax = breaches.roc_curves({"mean": roc([3, 2], [1, 2])}, epsilon=1)
    corners = ax.collections[0].get_paths()[0].vertices
    ceiling = {round(x, 3): y for x, y in corners if y < 1}
    expected = np.e / (1 + np.e)
    nearest = min(ceiling, key=lambda x: abs(x - (1 - expected)))
    assert ceiling[nearest] == pytest.approx(expected, abs=0.02)
    assert not breaches.roc_curves({"mean": roc([3, 2], [1, 2])}).collections


def test_areas_are_drawn_against_the_number_of_columns_or_people():
    ax = breaches.area_curves({"exact": [(100, 0.9), (10, 0.6)]}, size_name="people")
    assert ax.lines[0].get_xdata().tolist() == [10, 100]
    assert ax.get_xlabel() == "people (logarithmic)"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["exact", "a coin"]
    assert ax.xaxis.get_major_formatter()(1000.0) == "1000"


def test_bars_show_shares_with_the_most_identifying_on_top():
    """Each bar is labeled with its share."""
    ax = breaches.uniqueness_bars(PROFILE, max_bars=2)
    assert [text.get_text() for text in ax.texts] == ["87 %", "30 %"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["zip + born", "born"]
    assert ax.yaxis_inverted()


def test_the_path_is_the_belief_in_the_true_answer():
    assert breaches.belief_path(PATH, "yes").lines[0].get_ydata().tolist() == [0.5, 0.8, 0.9]
    assert breaches.belief_path(PATH, "no").lines[0].get_ydata().tolist() == [0.5, 0.2, 0.1]


def test_several_people_are_drawn_as_their_median_and_a_band():
    """The band contains the middle 90 percent of the people."""
    (path,) = PATH.values()
    told = ((0.5, 0.6, 0.7), (0.5, 0.7, 0.8))
    others = [Belief(path.options, np.array([[1 - b, b] for b in beliefs])) for beliefs in told]
    ax = breaches.belief_path({"three": [path, *others]}, "yes")
    assert np.allclose(ax.lines[0].get_ydata(), [0.5, 0.7, 0.8])
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert np.isclose(band.max(), np.quantile([0.7, 0.8, 0.9], 0.95))
    assert "median of 3 80 % (nine in ten: 71 % to 89 %) after 2 reports" in repr(ax)


def test_a_belief_is_never_rounded_to_certain_in_words():
    sure = {"often asked": Belief(("no", "yes"), np.array([[0.5, 0.5], [0.00004, 0.99996]]))}
    assert "often asked at least 99.9 % after 1 report>" in repr(breaches.belief_path(sure, "yes"))
    edges = {0.9949: "99 %", 0.995: "at least 99.5 %", 1.0: "100 %"}
    assert {belief: breaches._belief_text(belief) for belief in edges} == edges


def test_refuted_claims_stand_out_by_mark_and_colour():
    ax = breaches.audit_bounds(VERDICTS)
    dots = [line for line in ax.lines if line.get_marker() in "oD"]
    assert [dot.get_marker() for dot in dots] == ["o", "D", "o"]
    claims = [line.get_data() for line in ax.lines if line.get_marker() == "|"]
    assert claims == [([1], [0]), ([1], [1])]  # mechanisms with a claim
    assert dots[0].get_color() != dots[1].get_color()
    assert "diamond: refuted" in ax.get_xlabel()
    assert ax.get_title(loc="left") == "1 of 3 claims refuted"
    assert "bad refuted (at least 2)" in repr(ax)
