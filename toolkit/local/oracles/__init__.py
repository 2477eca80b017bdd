"""Frequency oracles: randomizers for many options, at or near the minimum variance of unbiased estimates.

`best` returns the randomizer with the smallest variance, which is always a `subset`. The others are widely used and are
included for comparison: `unary` and `optimized_unary` (a bit per option) and `local_hash` (short reports). `tick_boxes`
is for questions in which several options may apply.
"""

from toolkit.core.checks import DENOMINATOR_LIMIT, Number, check_integer, reject
from toolkit.core.rounding import exp_below
from toolkit.local.calibration import Options, checked_epsilon, flip_threshold, option_labels, weights_for_epsilon
from toolkit.local.oracles.hashing import LocalHash, best_n_values
from toolkit.local.oracles.oracle import Oracle, limit
from toolkit.local.oracles.subset import Subset
from toolkit.local.oracles.ticks import tick_boxes
from toolkit.local.oracles.unary import Unary

__all__ = ["Oracle", "best", "limit", "local_hash", "optimized_unary", "subset", "tick_boxes", "unary"]


def subset(options: Options, epsilon: Number, *, size: int | None = None) -> Subset:
    """Make a subset selection oracle, which reports a set that contains the answer more often than by chance.

    The best size is near k / (e**epsilon + 1); size 1 is k-ary randomized response. At the best size, no unbiased
    estimate from a randomizer with the same epsilon has a smaller sum of variances at equal shares.

    Parameters
    ----------
    options : int or sequence of str or int
        The labels, or the number of options.
    epsilon : number
        The privacy loss of one report. The randomizer's epsilon is computed from integers and never exceeds this value.
    size : int, optional
        The number of options in a set; the best number if left out.

    Returns
    -------
    Oracle
        The randomizer.

    References
    ----------
    M. Ye and A. Barg, IEEE Transactions on Information Theory 64 (2018); S. Wang et al., Mutual information
    optimally local private discrete distribution estimation (2016).

    Examples
    --------
    >>> subset(16, 1.0)
    <Subset of 16 options, size 4: epsilon 1, variance 1 times the unbiased limit>
    """
    names = option_labels(options)
    subset_size = limit(len(names), epsilon).size if size is None else check_integer(size, "size")
    if subset_size >= len(names):
        consequence = "a set of all options says nothing about the answer"
        reject(f"`size` must be below {len(names)}, the number of options", subset_size, consequence)
    inside, outside = weights_for_epsilon(epsilon, n_inside=subset_size, n_outside=len(names) - subset_size)
    return Subset(names, subset_size, inside, outside)


def unary(options: Options, epsilon: Number) -> Unary:
    """Make a symmetric unary encoding: each option's bit, set only for the answer, is flipped with equal probability.

    The probability is 1 / (e**(epsilon/2) + 1), because two answers differ in two bits. This is basic one-time RAPPOR.

    Parameters
    ----------
    options : int or sequence of str or int
        The labels, or the number of options.
    epsilon : number
        The privacy loss of one report.

    Returns
    -------
    Oracle
        The randomizer.

    References
    ----------
    Ú. Erlingsson, V. Pihur and A. Korolova, RAPPOR (2014).

    Examples
    --------
    >>> unary(["bus", "car", "bike"], 2.0).describe()
    'For each of the 3 possible answers we receive a yes or a no of its own. For your answer it is a yes about
    73 times in 100; for every other answer it is a yes about 27 times in 100. Whatever we receive is at most
    7.39 times as likely if the truth is one answer as if it is another. So it proves no answer. ...'
    """
    flipped = flip_threshold(exp_below(checked_epsilon(epsilon) / 2))
    return _make_unary(options, epsilon, DENOMINATOR_LIMIT - flipped, flipped)


def optimized_unary(options: Options, epsilon: Number) -> Unary:
    """Make an optimized unary encoding, which sets the answer's bit with probability 1/2 and the other bits less often.

    The other bits are set with probability 1 / (e**epsilon + 1). The variance is within 5 % of the limit if k is at
    least 50 and epsilon at most 1.

    Parameters
    ----------
    options : int or sequence of str or int
        The labels, or the number of options.
    epsilon : number
        The privacy loss of one report.

    Returns
    -------
    Oracle
        The randomizer.

    References
    ----------
    T. Wang, J. Blocki, N. Li and S. Jha, Locally differentially private protocols for frequency estimation (2017).

    Examples
    --------
    >>> round(optimized_unary(128, 1.0).ratio_to_limit, 2)
    1.02
    """
    return _make_unary(options, epsilon, DENOMINATOR_LIMIT // 2, flip_threshold(exp_below(checked_epsilon(epsilon))))


def _make_unary(options: Options, epsilon: Number, answer_weight: int, other_weight: int) -> Unary:
    if other_weight >= answer_weight:
        consequence = "the report would say nothing about the answer"
        reject("`epsilon` must be large enough for 32-bit odds", epsilon, consequence)
    return Unary(option_labels(options), answer_weight, other_weight, DENOMINATOR_LIMIT)


def local_hash(options: Options, epsilon: Number, *, values: int | None = None) -> LocalHash:
    """Make an optimized local hashing oracle, which hashes the answer to one of a few values and randomizes the value.

    Reports are short, but the analyst must hash every option for every report.

    Parameters
    ----------
    options : int or sequence of str or int
        The labels, or the number of options.
    epsilon : number
        The privacy loss of one report.
    values : int, optional
        The number of values; if left out, the best number, which is about e**epsilon + 1.

    Returns
    -------
    Oracle
        The randomizer.

    References
    ----------
    T. Wang, J. Blocki, N. Li and S. Jha, Locally differentially private protocols for frequency estimation (2017).

    Examples
    --------
    >>> local_hash(1000, 1.0)
    <LocalHash of 1000 options, 4 values: epsilon 1, variance 1.01 times the unbiased limit>
    """
    names, number = option_labels(options), checked_epsilon(epsilon)
    count = best_n_values(float(number)) if values is None else check_integer(values, "values", minimum=2)
    inside, outside = weights_for_epsilon(epsilon, n_inside=1, n_outside=count - 1)
    return LocalHash(names, count, inside, outside)


def best(options: Options, epsilon: Number) -> Subset:
    """Make the randomizer with the smallest variance of unbiased estimates at equal shares, for this epsilon.

    It is always subset selection. If the best size is 1, it is k-ary randomized response, and `.k_ary()` returns it as
    a design. `ratio_to_limit` shows how close the rounded odds come to the limit, which `limit` describes.

    Parameters
    ----------
    options : int or sequence of str or int
        The labels, or the number of options.
    epsilon : number
        The privacy loss of one report.

    Returns
    -------
    Oracle
        The randomizer.

    References
    ----------
    M. Ye and A. Barg, IEEE Transactions on Information Theory 64 (2018).

    Examples
    --------
    >>> best(["never", "once", "often"], 1.0)
    <Subset of 3 options, size 1 (k-ary): epsilon 1, variance 1 times the unbiased limit>
    """
    return subset(options, epsilon)
