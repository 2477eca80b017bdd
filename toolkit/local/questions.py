"""The standard survey designs, each a function that returns a `Design`.

A probability may be a Fraction, "2/3", or a float, and is kept as an exact fraction.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from toolkit.core.arrays import Labels
from toolkit.core.checks import (
    DENOMINATOR_LIMIT,
    Number,
    check_integer,
    check_labels,
    check_probability,
    explain_call,
    reject,
)
from toolkit.local.calibration import Options, option_labels, weights_for_epsilon
from toolkit.local.design import COMPARISON_REPORTS, NEITHER_REPORTS, Design, Procedure
from toolkit.local.matrix.tables import TABLE_LIMIT, private_weights

_YES_NO = ("no", "yes")


_MAX_CARDS = 100  # the largest number of cards that people can draw and count


@explain_call('warner("3/4")')
def warner(p: Number | None = None, *, epsilon: Number | None = None) -> Design:
    """Make Warner's design: with probability p answer truthfully, else the opposite.

    Its variance is (x(1-x) + e**epsilon / (e**epsilon - 1)**2) / n. No yes/no design with the same epsilon has a
    smaller variance.

    Parameters
    ----------
    p : number, optional
        The probability of a truthful answer; not 1/2.
    epsilon : number, optional
        The privacy loss, instead of p. The largest p with ln(p / (1 - p)) <= epsilon is used, rounded toward more
        privacy.

    Returns
    -------
    Design
        A design with options "no" and "yes".

    References
    ----------
    S. L. Warner, Randomized response, Journal of the American Statistical Association 60 (1965).

    Examples
    --------
    >>> warner(p="2/3").matrix.round(3).tolist()
    [[0.667, 0.333], [0.333, 0.667]]
    >>> 0.999999 < warner(epsilon=1.0).epsilon <= 1.0
    True
    """
    if epsilon is not None and p is None:
        truth, lie = weights_for_epsilon(epsilon, n_inside=1, n_outside=1)
        return Design([[truth, lie], [lie, truth]], truth + lie, _YES_NO, name="warner")
    share = _checked_probability(p, epsilon)
    return _binary_design(share, 1 - share, "warner")


@explain_call('forced(yes="1/6", no="1/6")', no="the device forces a yes, forces a no, or lets the person answer")
def forced(yes: Number, no: Number) -> Design:
    """Make a forced-response design, in which a device forces a yes, forces a no, or lets the person answer.

    If both probabilities equal f, it is Warner's design with p = 1 - f. A die with one face for a forced yes and one
    for a forced no has epsilon ln 5.

    Parameters
    ----------
    yes, no : number
        The probabilities of a forced yes and of a forced no; their sum is below 1.

    Returns
    -------
    Design
        A design with options "no" and "yes".

    References
    ----------
    R. F. Boruch, The American Sociologist 6 (1971).

    Examples
    --------
    >>> forced(yes="1/6", no="1/6").weights.tolist()
    [[5, 1], [1, 5]]
    """
    say_yes, say_no = check_probability(yes, "yes"), check_probability(no, "no")
    if say_yes + say_no >= 1:
        reject("`yes` + `no` must be below 1", say_yes + say_no, "otherwise nobody answers truthfully")
    return _binary_design(1 - say_no, say_yes, "forced", procedure="forced")


@explain_call('unrelated("2/3", prevalence="1/4")', prevalence="the share of people who say yes to the other question")
def unrelated(p: Number, prevalence: Number) -> Design:
    """Make an unrelated-question design, in which a device selects the sensitive or an innocuous question.

    It is equivalent to `forced` with yes = (1-p) * prevalence and no = (1-p) * (1-prevalence).

    Parameters
    ----------
    p : number
        The probability of the sensitive question; above 0.
    prevalence : number
        The known share of people who answer yes to the innocuous question.

    Returns
    -------
    Design
        A design with options "no" and "yes".

    References
    ----------
    B. G. Greenberg et al., Journal of the American Statistical Association 64 (1969).

    Examples
    --------
    >>> round(unrelated(p=0.7, prevalence=0.3).epsilon, 3)
    2.172
    """
    share, innocuous = check_probability(p, "p"), check_probability(prevalence, "prevalence")
    if share == 0:
        reject("`p` must be above 0", share, "nobody would be asked the sensitive question")
    return _binary_design(share + (1 - share) * innocuous, (1 - share) * innocuous, "unrelated", procedure="unrelated")


@explain_call('mangat("2/3")')
def mangat(p: Number) -> Design:
    """Make Mangat's design: a yes is always reported; a no is reported with probability p and becomes a yes otherwise.

    A report of no proves that the answer is no, so epsilon is infinite. The design is efficient, but protects only one
    answer.

    Parameters
    ----------
    p : number
        The probability that a no is reported; above 0.

    Returns
    -------
    Design
        A design with options "no" and "yes".

    References
    ----------
    N. S. Mangat, Journal of the Royal Statistical Society B 56 (1994).

    Examples
    --------
    >>> mangat(0.7).epsilon
    inf
    """
    share = check_probability(p, "p")
    if share == 0:
        reject("`p` must be above 0", share, "everyone would say yes")
    return _binary_design(Fraction(1), 1 - share, "mangat")


@explain_call('kuk("4/5", "1/5", draws=2)')
def kuk(p_yes: Number, p_no: Number, *, draws: int = 1) -> Design:
    """Make Kuk's design: draw cards from the deck of your answer and report how many are red.

    Epsilon is `draws` times the epsilon of one card. With several cards, the unbiased estimate weights the reports by
    their information, whereas Kuk used the number of red cards. For the decks that were tried, its variance is at most
    44 % smaller and at most 2 % larger.

    Parameters
    ----------
    p_yes, p_no : number
        The shares of red cards in the decks for yes and for no; they must differ.
    draws : int
        The number of cards that are drawn.

    Returns
    -------
    Design
        A design with options "no" and "yes", whose reports are the numbers of red cards.

    References
    ----------
    A. Y. C. Kuk, Biometrika 77 (1990).

    Examples
    --------
    >>> kuk("4/5", "1/5", draws=2).weights.tolist()
    [[16, 8, 1], [1, 8, 16]]
    """
    red_yes, red_no = check_probability(p_yes, "p_yes"), check_probability(p_no, "p_no")
    if red_yes == red_no:
        reject("`p_yes` must differ from `p_no`", red_yes, "with equal decks a report says nothing about the answer")
    count = check_integer(draws, "draws", maximum=_MAX_CARDS)
    rows = [
        [math.comb(count, r) * red**r * (1 - red) ** (count - r) for r in range(count + 1)] for red in (red_no, red_yes)
    ]
    possible = [r for r in range(count + 1) if rows[0][r] or rows[1][r]]
    weights, denominator = private_weights([[row[r] for r in possible] for row in rows], DENOMINATOR_LIMIT)
    return Design(weights, denominator, _YES_NO, possible, "kuk")


@explain_call('crosswise("1/4")')
def crosswise(p: Number | None = None, *, epsilon: Number | None = None) -> Design:
    """Make a crosswise design, which asks whether the answers to two questions are the same.

    The second question has a known prevalence p of yes. No device is needed. Pr(same | yes) = p, so the matrix is
    Warner's.

    Parameters
    ----------
    p : number, optional
        The share of people who answer yes to the second question; not 1/2.
    epsilon : number, optional
        The privacy loss, instead of p. The smallest p with ln((1 - p) / p) <= epsilon is used, rounded toward more
        privacy.

    Returns
    -------
    Design
        A design with options "no" and "yes" and reports "different" and "same".

    References
    ----------
    J.-W. Yu, G.-L. Tian and M.-L. Tang, Metrika 67 (2008).

    Examples
    --------
    >>> crosswise("1/6").report_options
    ('different', 'same')
    >>> 0.999999 < crosswise(epsilon=1.0).epsilon <= 1.0
    True
    """
    if epsilon is not None and p is None:
        often, seldom = weights_for_epsilon(epsilon, n_inside=1, n_outside=1)
        return Design([[seldom, often], [often, seldom]], often + seldom, _YES_NO, COMPARISON_REPORTS, "crosswise")
    share = _checked_probability(p, epsilon)
    return _binary_design(share, 1 - share, "crosswise", COMPARISON_REPORTS)


@explain_call('triangular("1/4")')
def triangular(p: Number) -> Design:
    """Make a triangular design, which asks whether the answer is yes to neither of two questions or to at least one.

    "Neither" proves that the answer is no, so epsilon is infinite.

    Parameters
    ----------
    p : number
        The known share of people who answer yes to the second question; below 1.

    Returns
    -------
    Design
        A design with options "no" and "yes" and reports "neither" and "at least one".

    References
    ----------
    J.-W. Yu, G.-L. Tian and M.-L. Tang, Metrika 67 (2008).

    Examples
    --------
    >>> triangular("1/4").weights.tolist()
    [[3, 1], [0, 4]]
    """
    share = check_probability(p, "p")
    if share == 1:
        reject("`p` must be below 1", share, "everyone would report at least one")
    return _binary_design(Fraction(1), share, "triangular", NEITHER_REPORTS)


@explain_call(
    'k_ary(["bus", "car", "bike"], epsilon=1.0)',
    epsilon="it determines how well the answer is hidden",
    p="the probability of the truth follows from epsilon; forced_options takes probabilities",
)
def k_ary(options: Options, *, epsilon: Number) -> Design:
    """Make a k-ary randomized response design: report the answer, or one of the other options uniformly at random.

    The answer is kept with probability e**epsilon / (e**epsilon + k - 1), rounded toward more privacy.

    Parameters
    ----------
    options : int or sequence of str or int
        The labels, or the number of options. At most 2048, because the design is a table; `toolkit.local.oracles.best`
        has no such limit.
    epsilon : number
        The privacy loss of one report.

    Returns
    -------
    Design
        A design whose reports are the options.

    References
    ----------
    P. Kairouz, K. Bonawitz and D. Ramage, Discrete distribution estimation under local privacy (2016).

    Examples
    --------
    >>> k_ary(["bus", "car", "bike"], epsilon=1.0)
    <Design k_ary: 3 options (bus, car, bike), 3 reports (bus, car, bike), epsilon 1>
    """
    names = _labels_for_table(options, f"use toolkit.local.oracles.best(options, {epsilon!r})")
    k = len(names)
    truth, lie = weights_for_epsilon(epsilon, n_inside=1, n_outside=k - 1)
    weights = np.full((k, k), lie, dtype=np.int64) + (truth - lie) * np.eye(k, dtype=np.int64)
    return Design(weights, truth + (k - 1) * lie, names, name="k_ary")


def _labels_for_table(options: Options, instead: str) -> Labels:
    """Return the labels if they are few enough for a table with a row and a column for each."""
    names = options if isinstance(options, int | np.integer) else check_labels(options, "options")
    count = names if isinstance(names, int | np.integer) else len(names)
    if count > TABLE_LIMIT:
        reject(f"`options` must be at most {TABLE_LIMIT} for a design, which is a table", f"{count} options", instead)
    return option_labels(names)


@explain_call('forced_options(["a", "b", "c"], ["1/6", "1/6", "1/6"])')
def forced_options(options: Options, probabilities: Sequence[Number] | Mapping[str | int, Number]) -> Design:
    """Make a forced-response design for k options: a device forces one of them, or lets the person answer.

    Parameters
    ----------
    options : int or sequence of str or int
        The labels, or the number of options.
    probabilities : sequence or mapping of number
        The probability that each option is forced; they sum to less than 1.

    Returns
    -------
    Design
        A design whose reports are the options.

    References
    ----------
    D. W. Heck and M. Moshagen, Journal of Statistical Software 85 (2018).

    Examples
    --------
    >>> forced_options(["a", "b", "c"], ["1/6", "1/6", "1/6"]).weights.tolist()
    [[4, 1, 1], [1, 4, 1], [1, 1, 4]]
    """
    names = _labels_for_table(options, "use toolkit.local.oracles.best, which keeps no table")
    if isinstance(probabilities, Mapping):
        if set(probabilities) != set(names):
            rule = f"`probabilities` must name every option once ({', '.join(map(str, names[:8]))})"
            reject(rule, ", ".join(map(str, [*probabilities][:8])), "give one per option")
        probabilities = [probabilities[name] for name in names]
    if isinstance(probabilities, str) or not isinstance(probabilities, Iterable):
        received = type(probabilities).__name__
        reject("`probabilities` must be a list", received, "give one per option", TypeError)
    shares = [check_probability(p, "probabilities") for p in probabilities]
    if len(shares) != len(names):
        reject(f"`probabilities` must hold {len(names)} numbers", len(shares), "give one per option")
    truth = 1 - sum(shares, Fraction(0))
    if truth <= 0:
        reject("`probabilities` must sum to less than 1", 1 - truth, "otherwise nobody answers truthfully")
    denominator = min(math.lcm(*(share.denominator for share in shares)), DENOMINATOR_LIMIT)
    others = [math.ceil(share * denominator) for share in shares]  # rounded up, toward more privacy
    truthful = denominator - sum(others)
    if truthful <= 0:
        consequence = "32-bit draws would hide every answer"
        reject("`probabilities` must leave more than 2**-32 for the truth", 1 - truth, consequence)
    weights = np.tile(np.array(others, dtype=np.int64), (len(names), 1)) + truthful * np.eye(len(names), dtype=np.int64)
    return Design(weights, denominator, names, name="forced", procedure="forced")


def _checked_probability(p: Number | None, epsilon: Number | None) -> Fraction:
    """Check that exactly one of p and epsilon is given; return p as a fraction."""
    if p is None or epsilon is not None:
        consequence = "each determines the other"
        reject("exactly one of `p` and `epsilon` must be given", "both" if p is not None else "none", consequence)
    share = check_probability(p, "p")
    if share == Fraction(1, 2):
        reject("`p` must differ from 1/2", share, "at 1/2 a report says nothing about the answer")
    return share


def _binary_design(
    yes_if_yes: Fraction,
    yes_if_no: Fraction,
    name: str,
    report_options: Sequence[str] = _YES_NO,
    procedure: Procedure | None = None,
) -> Design:
    rows = [[1 - yes_if_no, yes_if_no], [1 - yes_if_yes, yes_if_yes]]
    weights, denominator = private_weights(rows, DENOMINATOR_LIMIT)
    return Design(weights, denominator, _YES_NO, report_options, name, procedure)
