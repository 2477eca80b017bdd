"""Many options: randomizers at or near the least variance of unbiased estimates, with one estimator for all.

`best` chooses; `subset` is what it chooses from 3 options to thousands. The others are there to compare with,
and because they are in use: `unary` and `optimized_unary` (a bit an option), `local_hash` (short reports).
`tick_boxes` is for questions where several options may hold.
"""

from toolkit.core.checks import DENOMINATOR_LIMIT, Number, reject, whole
from toolkit.core.rounding import exp_below
from toolkit.local.calibration import Options, checked_epsilon, odds, option_labels, threshold_above
from toolkit.local.oracles.hashing import LocalHash, best_values
from toolkit.local.oracles.oracle import Oracle, limit
from toolkit.local.oracles.subset import Subset
from toolkit.local.oracles.ticks import tick_boxes
from toolkit.local.oracles.unary import Unary

__all__ = ["Oracle", "best", "limit", "local_hash", "optimized_unary", "subset", "tick_boxes", "unary"]


def subset(options: Options, epsilon: Number, *, size: int | None = None) -> Subset:
    """Make subset selection: report a set of options that holds the answer more often than by chance.

    The best size is near k / (e**epsilon + 1); size 1 is k-ary randomized response. At the best size no randomizer with
    the same epsilon has an unbiased estimate of smaller variance, summed over the options at equal shares.

    Parameters
    ----------
    options : int or sequence of str or int
        The labels, or their number.
    epsilon : number
        What one report may cost: the randomizer's own epsilon is computed from integers, and is not larger.
    size : int, optional
        Of the set, to compare; the best if left out.

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
    chosen = limit(len(names), epsilon).size if size is None else whole(size, "size")
    if chosen >= len(names):
        consequence = "a set of all options tells nothing"
        reject(f"`size` must be below {len(names)}, the number of options", chosen, consequence)
    inside, outside = odds(epsilon, inside=chosen, outside=len(names) - chosen)
    return Subset(names, chosen, inside, outside)


def unary(options: Options, epsilon: Number) -> Unary:
    """Make symmetric unary encoding: a bit per option, the answer's bit set, and each bit flipped alike.

    The probability is 1 / (e**(epsilon/2) + 1), because two answers differ in two bits. This is basic one-time RAPPOR.

    Parameters
    ----------
    options : int or sequence of str or int
        The labels, or their number.
    epsilon : number
        What one report may cost.

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
    flipped = threshold_above(exp_below(checked_epsilon(epsilon) / 2))
    return _unary(options, epsilon, DENOMINATOR_LIMIT - flipped, flipped)


def optimized_unary(options: Options, epsilon: Number) -> Unary:
    """Make optimized unary encoding: the answer's bit is set half of the time, the others less often.

    The others are set with probability 1 / (e**epsilon + 1). It is within 5 % of the limit when k is 50 or more
    and epsilon at most 1.

    Parameters
    ----------
    options : int or sequence of str or int
        The labels, or their number.
    epsilon : number
        What one report may cost.

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
    return _unary(options, epsilon, DENOMINATOR_LIMIT // 2, threshold_above(exp_below(checked_epsilon(epsilon))))


def _unary(options: Options, epsilon: Number, own: int, other: int) -> Unary:
    if other >= own:
        consequence = "the report would say nothing about the answer"
        reject("`epsilon` must be large enough for 32-bit odds", epsilon, consequence)
    return Unary(option_labels(options), own, other, DENOMINATOR_LIMIT)


def local_hash(options: Options, epsilon: Number, *, values: int | None = None) -> LocalHash:
    """Make optimized local hashing: hash the options to a few values, and randomize the answer's value.

    Short reports, at the price of work for the analyst: every report is hashed with every option.

    Parameters
    ----------
    options : int or sequence of str or int
        The labels, or their number.
    epsilon : number
        What one report may cost.
    values : int, optional
        How many values; about e**epsilon + 1 if left out, which is best.

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
    count = best_values(float(number)) if values is None else whole(values, "values", least=2)
    inside, outside = odds(epsilon, inside=1, outside=count - 1)
    return LocalHash(names, count, inside, outside)


def best(options: Options, epsilon: Number) -> Subset:
    """Make the randomizer with the least variance of unbiased estimates at equal shares, for this epsilon.

    It is always subset selection, which is k-ary randomized response when the best size is 1 (and then `.k_ary()`
    gives it as a design, with devices and posterior). `ratio_to_limit` says how near the rounded odds come;
    `toolkit.local.oracles.oracle` says of what that is the limit.

    Parameters
    ----------
    options : int or sequence of str or int
        The labels, or their number.
    epsilon : number
        What one report may cost.

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
