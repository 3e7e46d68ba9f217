"""etc/dev/build-budget on compile commands of two small units: what is over the budget fails, in a line that says so."""

import subprocess
import sys

import pytest
from support.server import ROOT

LINES = 1000


class Build:
    """A folder with compile commands of units, each of one source, and its budget."""

    def __init__(self, folder):
        self.folder = folder
        self.budget = folder / "budget.txt"

    def command(self, name):
        """As ninja lists it, with ccache and with a precompiled header, which nothing has made."""
        output = f"parts/CMakeFiles/parts.dir/{name}.cc.o"
        return (f"/usr/bin/ccache c++ -std=c++20 -Winvalid-pch -include parts/cmake_pch.hxx -MD -MT {output} -MF {output}.d "
                f"-o {output} -c {name}.cc")

    def write(self, sizes):
        """sizes: {name of a unit: lines that its compiler reads}, half of them from a header"""
        for name, lines in sizes.items():
            (self.folder / f"{name}.h").write_text("".join(f"// A comment.\nint h{line};\n" for line in range(lines // 2)))
            own = "".join(f"int s{line};\n" for line in range(lines - lines // 2))
            (self.folder / f"{name}.cc").write_text(f'#include "{name}.h"\n{own}')
        linking = ": && c++ -shared -o parts.so parts/CMakeFiles/parts.dir/one.cc.o && :"
        (self.folder / "commands.txt").write_text("\n".join([*map(self.command, sizes), linking, ""]))

    def check(self, *arguments):
        files = ["--commands", self.folder / "commands.txt", "--budget", self.budget]
        command = [sys.executable, ROOT / "etc/dev/build-budget", *files, *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    def breaches(self):
        run = self.check()
        lines = run.stderr.splitlines()
        assert run.returncode == (1 if lines else 0), run
        assert all(line.endswith("(if this is on purpose, etc/dev/build-budget --update rewrites the budget)") for line in lines)
        return [line.partition(" (if this")[0] for line in lines]


@pytest.fixture
def build(tmp_path):
    build = Build(tmp_path)
    build.write({"one": LINES, "two": LINES})
    assert build.check("--update").returncode == 0
    return build


def test_the_file_says_what_is_found(build):
    lines = [line for line in build.budget.read_text().splitlines() if not line.startswith("#")]
    assert lines == ["units 2", f"{LINES:7}  parts/parts/one.cc", f"{LINES:7}  parts/parts/two.cc"]
    run = build.check()
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == f"atoll_quickstart: 2 units, {2 * LINES} lines; 0 of the units see protobuf\n"


def test_nothing_is_compiled(build):
    assert not list(build.folder.rglob("*.o")) and not list(build.folder.rglob("*.d"))


def test_two_percent_more_are_let_pass(build):
    build.write({"one": LINES + LINES // 50, "two": LINES})
    assert build.breaches() == []


def test_more_than_two_percent_are_too_many(build):
    build.write({"one": LINES, "two": LINES + LINES // 50 + 1})
    assert build.breaches() == [
        "parts/parts/two.cc: 1021 lines, 2.1 % over the budget of 1000 lines, of which 2 % are let pass"]


def test_a_unit_more(build):
    build.write({"one": LINES, "two": LINES, "three": 10})
    assert build.breaches() == ["atoll_quickstart: 3 units; the budget is 2 units",
                                "parts/parts/three.cc: a new unit of 10 lines; the budget has none of this name"]


def test_a_unit_of_another_name(build):
    build.write({"one": LINES, "three": LINES})
    assert build.breaches() == ["parts/parts/three.cc: a new unit of 1000 lines; the budget has none of this name",
                                "parts/parts/two.cc: no such unit any more; the budget has one of 1000 lines"]


def test_a_line_of_a_unit_that_is_gone(build):
    build.write({"one": LINES})
    assert build.breaches() == ["parts/parts/two.cc: no such unit any more; the budget has one of 1000 lines"]


def test_a_change_on_purpose(build):
    build.write({"one": 2 * LINES})
    assert build.check("--update").returncode == 0
    assert build.breaches() == []


def test_units_that_see_protobuf_are_counted(build):
    header = build.folder / "google/protobuf/message.h"
    header.parent.mkdir(parents=True)
    header.write_text("class Message;\n")
    (build.folder / "one.h").write_text('#include "google/protobuf/message.h"\n')
    assert "; 1 of the units see protobuf\n" in build.check().stdout


def test_a_source_that_cannot_be_read_is_no_success(build):
    (build.folder / "two.cc").unlink()
    run = build.check()
    assert run.returncode == 1 and "etc/dev/build-budget: failed: c++" in run.stderr
