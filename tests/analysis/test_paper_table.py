from tests.analysis.reference_survey import DIE
from toolkit.analysis.group_estimate import GroupEstimate
from toolkit.analysis.paper_table import escaped, latex, paper_rows


def test_latex_reads_nothing_but_text() -> None:
    assert escaped("a_b & 5 % {x} \\ #") == r"a\_b \& 5 \% \{x\} \textbackslash{} \#"
    assert escaped("\N{MINUS SIGN}3 ≥ ε") == r"$-$3 $\geq$ $\varepsilon$"


def test_designs_stand_below_the_table_as_comments_of_one_line() -> None:
    import pandas as pd

    text = latex(pd.DataFrame({"a": ["1"]}), {"q": "two\nlines"})
    assert text.splitlines()[-1] == "% q: two lines"


def test_a_line_has_the_digits_that_its_error_allows() -> None:
    one = GroupEstimate("q", (), DIE.estimate_counts([1538, 862]), 2400, 0)
    (row,) = paper_rows({"q": DIE}, (), [one], 0.95)
    assert (row["estimate"], row["SE"], row["95 % interval"]) == ("28.9 %", "1.5 points", "26.0 to 31.8 %")
    assert (row["n"], row["missing"], row["ε"]) == (2400, 0, "1.61")
