from toolkit import warner
from toolkit.core.fit_table import FitTable, coefficient_rows, escape, format_p_value, latex


def test_latex_reads_nothing_but_text() -> None:
    assert escape("a_b & 5 % {x} \\ #") == r"a\_b \& 5 \% \{x\} \textbackslash{} \#"
    assert escape("\N{MINUS SIGN}3 ≥ ε") == r"$-$3 $\geq$ $\varepsilon$"


def test_designs_stand_below_the_table_as_comments_of_one_line() -> None:
    text = latex([[["a"]], [["1"]]], "l", ["q: two\nlines"], None)
    assert text.splitlines()[-1] == "% q: two lines"


def test_a_p_value_has_three_decimals() -> None:
    assert [format_p_value(p) for p in (float("nan"), 0.0004, 0.0461)] == ["—", "< 0.001", "0.046"]


def test_a_coefficient_is_a_row_of_text() -> None:
    estimate = warner("3/4").estimate_counts({"no": 600, "yes": 400}).rescaled(1)
    (row,) = coefficient_rows(estimate, [estimate.interval(0.9)])
    assert row[1:3] == ("0.300", "0.031")
    assert row[4:] == ("< 0.001", "0.250 to 0.351")


def test_the_names_in_a_table_are_escaped() -> None:
    table = FitTable("a < b", ("", "estimate"), (("x<y", "1"),), (("n", "5"),), ("note",))
    assert str(table).splitlines() == [
        "a < b",
        "     estimate",
        "x<y         1",
        "-------------",
        "n           5",
        "note",
    ]
    assert "x&lt;y" in table.to_html()
    assert table.to_frame()["estimate"].tolist() == ["1", "5"]
    assert table.to_latex().splitlines()[-2:] == ["% a < b", "% note"]
