"""What the check of instruction counts says of given counts."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import instructions  # noqa: E402

LISTED = """
--------------------------------------------------------------------------------
Ir
6,482,007 (100.0%)  PROGRAM TOTALS

492,000 ( 7.59%)  build/../tensor.h:atl::Request::parse(std::span<int, 4ul>) [/x/request_instructions]
 8,000 ( 0.12%)  /x/arena.h:atl::Request::parse(std::span<int, 4ul>) [/x/request_instructions]
    9,000 ( 0.14%)  ???:operator delete(void*) [/usr/lib/libstdc++.so.6]
"""


def budget(**functions):
    return {"total": sum(functions.values()), "functions": functions}


def test_lines_of_one_function_are_added_up():
    functions = instructions.read_functions(LISTED)
    assert functions == {"atl::Request::parse(std::span<int, 4ul>)": 500_000, "operator delete(void*)": 9_000}


def test_small_functions_are_summed_up():
    counted = instructions.each_request(instructions.read_functions(LISTED), 1000)
    assert counted == {"total": 509, "functions": {"atl::Request::parse(std::span<int, 4ul>)": 500, "others": 9}}


def test_functions_without_a_name_are_one():
    listed = "  1,000 (50.0%)  ???:0x00000000000188b0 [/usr/lib/libnghttp2.so.14]\n  2,000 (50.0%)  ???:0x0000000000017ed0 [/usr/lib/libnghttp2.so.14]\n"
    assert instructions.read_functions(listed) == {instructions.UNNAMED: 3000}


def test_a_rise_of_five_per_cent_is_the_most():
    assert not instructions.is_over(budget(a=1000), budget(a=1050))
    assert instructions.is_over(budget(a=1000), budget(a=1051))
    assert not instructions.is_over(budget(a=1000), budget(a=10))


def test_the_difference_names_functions_and_the_largest_rise_first():
    lines = instructions.difference(budget(same=5, less=30, more=40), budget(same=5, less=10, more=50, new=90))
    assert [line.split() for line in lines] == [["+90", "new"], ["+10", "more"], ["-20", "less"]]


def test_the_budget_in_the_tree_adds_up():
    budgets = instructions.json.loads(instructions.BUDGET.read_text())
    assert set(budgets) == set(instructions.PATHS)
    for path, kept in budgets.items():
        assert kept["total"] == sum(kept["functions"].values()) > 0, path
