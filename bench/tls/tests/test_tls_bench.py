"""bench/tls, with few requests: figures of all cases, whatever they are."""

import os
import pathlib
import re
import subprocess
import sys

from support.server import BUILD, START_TIMEOUT_S

MEASURE = pathlib.Path(__file__).resolve().parents[1] / "measure.py"
NUMBER = r"-?\d+\.\d+"


def test_every_case_has_its_figures(tmp_path):
    subprocess.run(["cmake", "--build", BUILD, "--target", "tls_echo"], check=True, capture_output=True)
    page = tmp_path / "tls.md"
    done = subprocess.run([sys.executable, MEASURE, "--requests", "200", "--runs", "2", "--output", page], capture_output=True,
                          text=True, env={**os.environ, "ATOLL_BUILD_DIR": str(BUILD)}, timeout=10 * START_TIMEOUT_S)
    assert done.returncode in (0, 1), done.stderr  # 1: a budget is missed, of which so few requests say nothing
    text = page.read_text()
    for count in (1, 32):
        for protocol in ("http", "grpc"):
            assert re.search(rf"^\| {protocol} \| {count} (\| {NUMBER} ){{3}}\| {NUMBER} to {NUMBER} \|.* (yes|no) \|$", text, re.M), text
        for what in ("plain text", "TLS", "what TLS adds"):
            assert re.search(rf"^\| {count} \| {what} (\| {NUMBER} ){{3}}\| {NUMBER} to {NUMBER} \|", text, re.M), text
    assert re.search(r"^\| 32 \| TLS .*\| 1\.15 \| (yes|no) \|$", text, re.M), text


def test_a_build_without_the_echo_is_told(tmp_path):
    (tmp_path / "CMakeCache.txt").write_text("")
    done = subprocess.run([sys.executable, "-c", f"import sys; sys.path.insert(0, {str(MEASURE.parent)!r})\n"
                           "import pathlib, measure\nmeasure.echo(pathlib.Path()).__enter__()"],
                          capture_output=True, text=True, env={**os.environ, "ATOLL_BUILD_DIR": str(tmp_path)})
    assert done.returncode == 1 and "etc/dev/build release tls_echo" in done.stderr
