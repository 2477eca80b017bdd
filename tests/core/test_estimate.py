"""Tables as frames: in the order of their keys, never sorted."""

import operator
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from toolkit import Curator, Estimate, Ledger, Pure, k_ary, warner
from toolkit.core.estimate import text_or_int
from toolkit.core.inference.intervals import Normal, Student


def scalar() -> Estimate:
    return warner("3/4").estimate_counts([1400, 1000])


def test_a_scalar_estimate_is_a_float() -> None:
    assert float(scalar()) == scalar().value == pytest.approx(1 / 3)
    with pytest.raises(TypeError, match="only a scalar estimate is a float, got 3 values"):
        float(k_ary(3, epsilon=1.0).estimate_counts([1, 2, 3]))


def test_the_repr_is_one_line_with_error_cover_and_cost() -> None:
    assert repr(scalar()) == (
        "<Estimate 0.333 (standard error 0.020; 95 % interval 0.294 to 0.373); n = 2,400; covers sampling "
        "and randomization; "
        "privacy loss ε = 1.1; warner design, unbiased>"
    )
    many = repr(k_ary(9, epsilon=1.0).estimate_counts([10] * 9))
    assert "… 3 more" in many
    assert "\n" not in many


def test_only_the_first_rows_of_a_long_table_are_shown() -> None:
    """The display also states how many rows are not shown."""
    for size, more in ((6, False), (7, True)):
        assert ("; … 1 more;" in repr(table(("k",), tuple(range(size))))) == more
    for size, rows in ((1000, 1000 + 2), (1001, 1000 + 3)):
        page = table(("k",), tuple(range(size)))._repr_html_()
        assert (page.count("<tr>"), "… 1 more: see to_frame()" in page) == (rows, size > 1000)
    for size, more in ((8, "7, got"), (9, "7, …, got")):
        with pytest.raises(LookupError, match=f"an estimate has the entries 0, 1, .*{more} 'x'"):
            table(("k",), tuple(range(size)))["x"]


def test_html_cannot_hide_what_is_covered_and_what_it_cost() -> None:
    page = scalar()._repr_html_()
    for words in ("covers sampling and randomization", "privacy loss ε = 1.1", "0.294 to 0.373", "standard error"):
        assert words in page
    assert "outside 0 to 1" in warner("3/4").estimate_counts([78, 22])._repr_html_()


def test_html_escapes_labels() -> None:
    design = k_ary(["<script>alert(1)</script>", "b", "c"], epsilon=1.0)
    assert "<script>" not in design.estimate_counts([5, 5, 5])._repr_html_()


def test_frames_have_one_row_a_label() -> None:
    frame = k_ary(["a", "b", "c"], epsilon=1.0).estimate_counts([50, 30, 20]).to_frame(level=0.9)
    assert list(frame.index) == ["a", "b", "c"]
    assert list(frame.columns) == ["estimate", "se", "low", "high", "empty", "fit p"]
    assert np.all(frame["low"] <= frame["high"])


def test_an_estimate_is_frozen_and_not_iterable() -> None:
    with pytest.raises(AttributeError):
        scalar().value = 0.5
    with pytest.raises(TypeError):
        iter(scalar())


def test_without_a_basis_the_interval_is_walds() -> None:
    estimate = Estimate(2.0, 0.5, ("mean",), np.array([[0.25]]), n=None, loss=Pure(1), covers="noise")
    assert estimate.interval().low == pytest.approx(2 - 1.959964 * 0.5, abs=1e-6)
    assert "n private" in repr(estimate)
    assert "no privacy claim" in repr(Estimate(1.0, 0.1, ("x",), np.eye(1), n=5, loss=None, covers="sampling"))


def test_one_empty_interval_among_several_contradicts() -> None:
    for values, contradicted in (([0.5, -0.5], True), ([-0.5, 1.5], True), ([0.5, -0.1], False)):
        value, se = np.array(values), np.full(2, 0.1)
        estimate = Estimate(value, se, ("a", "b"), None, 9, None, "sampling", basis=Normal(value, se, (0.0, 1.0)))
        assert estimate.contradicted is contradicted
        shown = [row[3] for row in estimate.text_rows()]
        assert [text == "no value fits at 95 %" for text in shown] == [abs(one - 0.5) > 0.9 for one in values]


def test_another_unit_is_that_of_the_covariance_too() -> None:
    moved = Estimate(
        np.array([1.0, 2.0]), np.array([3.0, 4.0]), ("a", "b"), np.diag([9.0, 16.0]), 9, None, "sampling"
    ).rescaled(10, 5)
    assert moved.value.tolist() == [15, 25]
    assert np.sqrt(np.diag(moved.cov)) == pytest.approx(moved.se) == [30, 40]


def test_a_mapped_estimate_has_the_delta_error_and_mapped_limits():
    """The function may rise or fall, but must be monotone."""
    found = warner("3/4").estimate_counts([600, 400])
    odds = found.map(lambda p: p / (1 - p), lambda p: 1 / (1 - p) ** 2)
    assert odds.value == pytest.approx(0.3 / 0.7)
    assert odds.se == pytest.approx(found.se / 0.7**2)
    for method in ("wilson", "exact", "bayes", "wald"):
        assert list(odds.interval(method=method)) == pytest.approx(
            [end / (1 - end) for end in found.interval(method=method)]
        )
    falling = found.map(lambda p: 1 - p, lambda p: -np.ones_like(p))
    low, high = found.interval()
    assert list(falling.interval()) == pytest.approx([1 - high, 1 - low])
    assert falling.se == pytest.approx(found.se)
    assert "not unbiased" in odds.notes[-1]


def test_a_function_of_several_entries_maps_each_and_their_covariances():
    found = k_ary(3, epsilon=1.0).estimate_counts([500, 300, 200])
    squared = found.map(np.square, lambda p: 2 * p)
    assert squared.value == pytest.approx(found.value**2)
    assert squared.cov == pytest.approx(found.cov * np.outer(2 * found.value, 2 * found.value))
    assert squared.se == pytest.approx(np.sqrt(np.diag(squared.cov)))


def table(axes: tuple[str, ...], labels: tuple[object, ...]) -> Estimate:
    value = np.arange(1.0, len(labels) + 1)
    return Estimate(value, np.ones(len(labels)), labels, None, None, None, "noise", axes=axes)


def test_a_table_by_two_columns_has_an_index_of_two_levels() -> None:
    """The rows keep the order in which the labels were given."""
    labels = (("south", "m"), ("south", "f"), ("north", "m"), ("north", "f"))
    frame = table(("region", "sex"), labels).to_frame()
    assert list(frame.index.names) == ["region", "sex"]
    assert frame.index.tolist() == list(labels)
    assert list(frame.columns) == ["estimate", "se", "low", "high"]


def test_counts_are_whole_numbers_in_a_frame_and_other_numbers_never() -> None:
    shares = table(("region",), ("north", "south"))
    counts = replace(shares, value=np.array([1, 2]))
    assert [one.to_frame().dtypes.map(str).tolist()[:3] for one in (counts, shares)] == [
        ["int64", "float64", "float64"],
        ["float64", "float64", "float64"],
    ]


def test_a_cross_tab_keeps_the_order_of_both() -> None:
    labels = tuple((region, sex) for region in ("south", "north", "east") for sex in ("m", "f"))
    estimate = table(("region", "sex"), labels)
    wide = estimate.to_frame(wide="sex")
    assert (wide.index.tolist(), wide.columns.tolist()) == (["south", "north", "east"], ["m", "f"])
    assert wide.to_numpy().tolist() == [[1, 2], [3, 4], [5, 6]]
    assert (wide.index.name, wide.columns.name) == ("region", "sex")
    tall = estimate.to_frame(wide="region")
    assert tall.columns.tolist() == ["south", "north", "east"]
    assert tall.loc["f", "east"] == 6


def test_a_cross_tab_of_three_columns_has_two_levels_left() -> None:
    labels = tuple((a, b, c) for a in (2, 1) for b in ("y", "x") for c in ("q", "p"))
    wide = table(("a", "b", "c"), labels).to_frame(wide="b")
    assert list(wide.index.names) == ["a", "c"]
    assert wide.index.tolist() == [(2, "q"), (2, "p"), (1, "q"), (1, "p")]
    assert wide.loc[(1, "p")].tolist() == [6, 8]


def test_one_column_is_no_cross_tab() -> None:
    estimate = table(("region",), ("north", "south"))
    assert estimate.to_frame().index.name == "region"
    with pytest.raises(ValueError, match="a cross-tab needs a table by two or more columns"):
        estimate.to_frame(wide="region")
    with pytest.raises(ValueError, match="`wide` must be one of a, b"):
        table(("a", "b"), ((1, 2),)).to_frame(wide="c")


def test_keys_of_several_columns_are_said_side_by_side() -> None:
    estimate = table(("region", "sex"), (("north", "f"), ("north", "m")))
    assert text_or_int(("north", "f")) == "north, f"
    assert "north, f: 1.0 (se 1.0)" in repr(estimate)
    assert "<th>north, f</th>" in estimate._repr_html_()


def test_a_contrast_of_cells_is_no_table_any_more() -> None:
    labels = (("n", "f"), ("n", "m"))
    estimate = Estimate(
        np.array([3.0, 1.0]), np.ones(2), labels, np.eye(2), None, None, "noise", axes=("region", "sex")
    )
    gap = estimate.contrast({("n", "f"): 1, ("n", "m"): -1})
    assert gap.cov == pytest.approx(np.array([[2.0]]))
    assert (float(gap), gap.axes) == (2.0, ())


def share_table(counts: tuple[int, ...] = (500, 300, 200)) -> Estimate:
    return k_ary(["no", "once", "often"], epsilon=2).estimate_counts(counts)


def noisy_table() -> Estimate:
    cities = pd.DataFrame({"city": ["A"] * 40 + ["B"] * 25 + ["C"] * 5})
    return Curator(cities, Ledger(Pure(1.0), simulated=True), neighbors="add_remove").histogram(
        "city", options=["A", "B", "C"], epsilon=1, rng=np.random.default_rng(1)
    )


TABLES = {
    "shares": share_table,
    "percent": lambda: share_table().rescaled(100),
    "odds": lambda: share_table().map(lambda p: p / (1 - p), lambda p: 1 / (1 - p) ** 2),
    "noise": noisy_table,
    "nobody fits": lambda: k_ary(["no", "once", "often"], epsilon=1).estimate_counts([500, 300, 0]),
    "by t": lambda: replace(share_table(), basis=Student(share_table().value, share_table().se, 7)),
}


@pytest.mark.parametrize("name", TABLES)
def test_an_entry_has_the_number_error_limits_and_test_of_its_row(name) -> None:
    whole = TABLES[name]()
    tests, methods = whole.test(0), [method for method in whole._basis.methods if method != "bayes"]
    for index, label in enumerate(whole.labels):
        entry, row = whole[label], whole.to_frame().iloc[index]
        assert (entry.labels, entry.value, entry.se) == ((label,), row["estimate"], pytest.approx(row["se"]))
        assert list(entry.interval()) == pytest.approx([row["low"], row["high"]], nan_ok=True)
        assert entry.interval().empty == np.broadcast_to(whole.interval().empty, 3)[index]
        assert entry.test(0).p == pytest.approx(tests.p[index], rel=1e-6, nan_ok=True)
        for method in methods:
            limits = np.array([whole.interval(0.9, method).low, whole.interval(0.9, method).high])[:, index]
            assert list(entry.interval(0.9, method)) == pytest.approx(limits, nan_ok=True)
        assert type(entry.value) is (int if whole.whole else float)


def test_entries_of_one_estimate_are_subtracted_with_their_covariance() -> None:
    """Shares add up to one: their errors are correlated, and those of independent groups would be too small."""
    whole = share_table()
    less = whole["once"] - whole["often"]
    variance = whole.cov[1, 1] + whole.cov[2, 2] - 2 * whole.cov[1, 2]
    assert less.se == pytest.approx(np.sqrt(variance))
    assert less.se > 1.05 * np.hypot(whole.se[1], whole.se[2])
    assert (less.labels, less.n, less.loss) == (("once less often",), whole.n, whole.loss)
    assert not any("independent" in note for note in less.notes)
    further = less - (whole["no"] - whole["often"])
    assert further.se == pytest.approx(whole.contrast({"once": 1, "no": -1}).se)
    in_percent = whole["once"].rescaled(100) - whole["often"].rescaled(100)
    assert in_percent.se == pytest.approx(100 * less.se)
    logs = [whole[name].map(np.log, lambda p: 1 / p) for name in ("once", "often")]
    slopes = np.array([0, 1 / whole.value[1], -1 / whole.value[2]])
    assert (logs[0] - logs[1]).se == pytest.approx(np.sqrt(slopes @ whole.cov @ slopes))
    assert (whole["once"] / whole["often"]).se == pytest.approx(whole.ratio("once", "often").se)
    doubled = whole.contrast({"once": 2}) - whole["once"]
    assert (doubled.value, doubled.se) == pytest.approx((whole.value[1], whole.se[1]))


def test_entries_of_two_estimates_are_independent() -> None:
    """An entry cannot be subtracted from itself."""
    first, second = share_table(), share_table((400, 350, 250))
    apart = first["once"] - second["once"]
    assert apart.se == pytest.approx(np.hypot(first.se[1], second.se[1]))
    assert any("independent groups" in note for note in apart.notes)
    assert apart.origin is None
    assert list(apart.interval()) == pytest.approx([limit[1] for limit in (first - second).interval()], abs=1e-12)
    with pytest.raises(ValueError, match="and itself"):
        first["once"] - first["once"]


def test_only_independent_samples_are_composed_in_parallel() -> None:
    """A person of the sample may also be in the table of a release, and so may lose twice."""
    sampled = scalar()
    released = replace(sampled, covers="noise", loss=Pure(2))
    assert (sampled - replace(sampled, loss=Pure(2))).loss == Pure(2)
    for first, second in ((sampled, released), (released, sampled), (released, replace(released))):
        assert (first - second).loss == (first / second).loss == first.loss + second.loss


def test_entries_of_a_copy_cannot_be_combined() -> None:
    """The covariance of an entry with an entry of the copy is not known. `fit.margins("x")["x = 1"] -
    fit.margins("x")["x = 0"]` makes two estimates with the same numbers.
    """
    whole = share_table()
    for copy in (share_table(), pickle.loads(pickle.dumps(whole))):  # noqa: S301
        for combine in (operator.sub, operator.truediv):
            with pytest.raises(ValueError, match="from one object"):
                combine(whole["once"], copy["often"])
    first, second = pickle.loads(pickle.dumps((whole["once"], whole["often"])))  # noqa: S301
    assert (first - second).se == (whole["once"] - whole["often"]).se
    assert (whole - share_table())["once"].se == pytest.approx(np.sqrt(2) * whole.se[1])
