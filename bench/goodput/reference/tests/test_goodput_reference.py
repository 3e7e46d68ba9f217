"""The devices of the pools' planner count as the public simulator does, on the same arrivals."""

import json
import subprocess

import make_arrivals
import pytest
from support.server import BUILD

PROGRAM = BUILD / "bench" / "goodput_reference"
EXPECTED = make_arrivals.HERE / "expected.json"


@pytest.fixture(scope="module")
def arrivals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arrivals")
    make_arrivals.write_arrivals(folder)  # refuses others than those that were counted
    return folder


def count(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)


def test_every_line_is_within_seven_requests(arrivals):
    counted = count(EXPECTED, arrivals)
    lines = json.loads(EXPECTED.read_text())["lines"]
    assert counted.returncode == 0, counted.stdout
    assert f"{len(lines)} of {len(lines)} lines within 7 requests" in counted.stdout


def test_another_count_is_noticed(arrivals, tmp_path):
    expected = json.loads(EXPECTED.read_text())
    expected["lines"] = [line for line in expected["lines"] if line["case"] == "A_2to8_cv3"]
    expected["lines"][0]["good"] += 8
    (tmp_path / "expected.json").write_text(json.dumps(expected))
    counted = count(tmp_path / "expected.json", arrivals)
    assert counted.returncode == 1
    assert counted.stdout.splitlines()[-1] == f"{len(expected['lines']) - 1} of {len(expected['lines'])} lines within 7 requests"


@pytest.mark.parametrize("content, said", [
    ("t_ms,model\n0.000,1\n0.0", "A_2to8_cv3.csv, line 3: not the arrivals of A_2to8_cv3"),
    ("t_ms,model\n0.000,2\n", "A_2to8_cv3.csv, line 2: not the arrivals of A_2to8_cv3"),
    ("0.000,1\n", "A_2to8_cv3.csv, line 1: not the arrivals of A_2to8_cv3"),
])
def test_other_files_are_refused(tmp_path, content, said):
    (tmp_path / "A_2to8_cv3.csv").write_text(content)
    counted = count(EXPECTED, tmp_path, "A_2to8_cv3")
    assert counted.returncode == 2
    assert said in counted.stderr


def test_what_cannot_be_read_is_named(tmp_path):
    counted = count(EXPECTED, tmp_path, "C_shift")
    assert (counted.returncode, counted.stderr) == (2, f"goodput_reference: cannot read {tmp_path}/C_shift.csv\n")
    (tmp_path / "expected.json").write_text('{"lines": [{}], "cases": {}}')
    counted = count(tmp_path / "expected.json", tmp_path)
    assert counted.returncode == 2
    assert "key 'case' not found" in counted.stderr


def test_a_case_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(ValueError, match="D_shift is none of the cases: A_1to1_cv1, "):
        make_arrivals.write_arrivals(tmp_path, ["D_shift"])


@pytest.mark.parametrize("interval", ["0", "1.5", "", "x", "86401"])
def test_an_interval_is_a_number_of_seconds(arrivals, interval):
    planned = subprocess.run([BUILD / "bench" / "goodput_planner", EXPECTED, arrivals, "--interval", interval], capture_output=True, text=True)
    assert planned.returncode == 2
    assert planned.stderr == f"goodput_planner: --interval is a number of seconds from 1 to 86400, not '{interval}'\n"
