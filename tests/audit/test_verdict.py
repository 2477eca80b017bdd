from toolkit import Pure
from toolkit.audit.verdict import Trial, Verdict

TRIALS = (
    Trial("pair", "the output below 0", 50, 100, 40, 100, 0.1, 0.0, 1.0),
    Trial("pair, reversed", "the output <b> 1", 90, 100, 1, 100, 2.5, 0.4, 1e-20),
)


def verdict(violated=True):
    return Verdict(
        Pure(1), 2.5, 0.4, violated, "p-value of the claim 1e-20", 0.999, TRIALS, ("pair",), 400, notes=("few runs",)
    )


def test_a_verdict_is_true_when_the_claim_stands():
    assert verdict(violated=False)
    assert not verdict(violated=True)


def test_the_words_say_what_was_claimed_what_was_found_and_how_sure_it_is():
    assert repr(verdict()) == "<Verdict: REFUTED: claimed ε = 1, ε at least 2.5 at 99.9 %; p-value of the claim 1e-20>"


def test_the_table_lists_the_trials_and_escapes_markup():
    """It also gives the numbers of pairs, events and runs."""
    html = verdict()._repr_html_()
    assert "1 pair of neighbors, 2 events confirmed, 400 runs" in html
    assert "the output &lt;b&gt; 1: 90 of 100 against 1 of 100" in html
    assert "few runs" in html


def test_the_frame_has_the_strongest_trial_first():
    frame = verdict().to_frame()
    assert list(frame["epsilon"]) == [2.5, 0.1]
    assert list(frame.columns) == ["pair", "event", "count", "n", "other", "m", "epsilon", "delta", "p_value"]
