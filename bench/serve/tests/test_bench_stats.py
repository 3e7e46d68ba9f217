import pytest

from comparison import stats


@pytest.mark.parametrize("percent, expected", [(50, 500), (99, 990), (99.5, 995), (0, 1)])
def test_percentile_is_the_nearest_rank(percent, expected):
    assert stats.percentile(range(1, 1001), percent) == expected


def test_percentile_of_few_values():
    assert stats.percentile([], 50) is None
    assert stats.percentile([7], 50) == 7
    assert stats.percentile([1, 2, 3, 4], 50) == 2
    # Five values have to lie beyond: 500 requests for p99.
    assert stats.percentile(range(1, 500), 99) is None
    assert stats.percentile(range(1, 501), 99) == 495
    assert stats.percentile(range(1000), 99.9) is None


def test_spread():
    assert stats.spread([3, 1, 2]) == stats.Spread(2, 1, 3)
    assert stats.spread([4, 1]) == stats.Spread(2.5, 1, 4)
    assert stats.spread([]) is None
    assert stats.spread([1, None]) is None


def test_ratio_pairs_repetitions():
    # The machine was half as fast in the second repetition; the ratio was the same.
    assert stats.ratio([200, 100], [100, 50]) == stats.Spread(2, 2, 2)
    assert stats.ratio([10, 20, 30], [10, 10, 10]) == stats.Spread(2, 1, 3)


@pytest.mark.parametrize("ours, theirs", [([1, 2], [1]), ([], []), ([1], [0]), ([1], [None]), ([None], [1])])
def test_no_ratio(ours, theirs):
    assert stats.ratio(ours, theirs) is None
