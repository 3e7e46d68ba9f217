"""The mutants of etc/dev/mutate: what becomes of a line, and that a seed says all of it."""
import importlib.machinery
import importlib.util
import json
import subprocess

import pytest
from support.server import ROOT

LOADER = importlib.machinery.SourceFileLoader("mutate", str(ROOT / "etc/dev/mutate"))
mutate = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", LOADER))
LOADER.exec_module(mutate)


@pytest.mark.parametrize("line, expected", [
    ("  if (a < b && c) return;", {"  if (a <= b && c) return;", "  if (a < b || c) return;", "  if (!(a < b && c)) return;"}),
    ("  if (const auto found = find(); found) {", set()),
    ("  count += 1;", {"  count -= 1;", "  count += 2;", "  {}"}),
    ("  queue.remove(request);", {"  {}"}),
    ("  return take(0);", {"  return take(1);"}),
    ('  log("a < b", \'0\');  // c < d', set()),
    ("  // a < b", set()),
    ("#include <vector>", set()),
])
def test_a_line_becomes(line, expected):
    assert {changed for _, changed in mutate.changes(line)} == expected


def test_a_seed_says_all_of_it():
    first, again, other = ([mutate.describe(mutant) for _, mutant in zip(range(50), mutate.draw(seed), strict=False)] for seed in (1, 1, 2))
    assert first == again != other
    assert {row["file"].split("/")[0] for row in first} <= {"kernel", "plugins"}


def test_the_source_is_put_back(tmp_path):
    source = tmp_path / "a.cc"
    source.write_text("one\ntwo\n")
    seen = []
    with pytest.raises(KeyboardInterrupt):
        def work():
            seen.append(source.read_text())
            raise KeyboardInterrupt
        mutate.with_mutant((source, 1, "", "two", "2"), work)
    assert seen == ["one\n2\n"] and source.read_text() == "one\ntwo\n"


def test_a_run_lists_what_it_would_try():
    listed = subprocess.run([ROOT / "etc/dev/mutate", "--list", "--count", "3"], check=True, capture_output=True, text=True).stdout
    assert len([json.loads(line) for line in listed.splitlines()]) == 3
