"""Percentiles of one run, medians with spread of several."""

import dataclasses
import math
import statistics

# So many values have to lie beyond a percentile, or it says more about chance than about the server.
BEYOND_PERCENTILE = 5


@dataclasses.dataclass(frozen=True)
class Spread:
    median: float
    low: float
    high: float


def percentile(ordered, percent):
    """The smallest value that at least `percent` of the values do not exceed; None if too few lie beyond it to tell.
    `ordered` is sorted; the median is told of any number of values."""
    count = len(ordered)
    rank = math.ceil(count * percent / 100)
    if count == 0 or (percent > 50 and count - rank < BEYOND_PERCENTILE):
        return None
    return float(ordered[max(rank, 1) - 1])


def spread(values):
    """Median, smallest and largest; None if a value is missing or there is none."""
    values = list(values)
    if not values or any(value is None for value in values):
        return None
    return Spread(statistics.median(values), min(values), max(values))


def ratio(ours, theirs):
    """The spread of the quotients, repetition by repetition, as what disturbs a machine disturbs neighbours in time
    alike. None if they are not as many or one is missing."""
    ours, theirs = list(ours), list(theirs)
    if len(ours) != len(theirs) or any(value is None for value in ours) or any(not value for value in theirs):
        return None
    return spread(a / b for a, b in zip(ours, theirs))
