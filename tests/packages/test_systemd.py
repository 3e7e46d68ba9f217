"""The unit of the server, with each of its drop-ins, as systemd's own checks see it. Nothing is started."""
import re
import shutil
import subprocess

import pytest
from support.server import ATOLL, ROOT

UNITS = ROOT / "etc/packages/deb/systemd"
# The most that may be exposed, of 10: that of the unit is the goal, the drop-ins loosen something.
EXPOSURE = {None: 2.0, "gpu": 2.0, "python-users": 2.8}


@pytest.fixture(params=EXPOSURE)
def unit(request, tmp_path):
    """The unit beside the programs under test, in a folder of its own."""
    path = tmp_path / "atoll.service"
    path.write_text((UNITS / "atoll.service").read_text().replace("/usr/bin/atoll ", f"{ATOLL} "))
    if request.param:
        (tmp_path / "atoll.service.d").mkdir()
        shutil.copy(UNITS / f"{request.param}.conf", tmp_path / "atoll.service.d")
    return path, EXPOSURE[request.param]


def analyze(*arguments):
    done = subprocess.run(["systemd-analyze", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=60, check=False)
    return done.returncode, done.stdout


def test_the_unit_has_no_mistake(unit):
    assert analyze("verify", "--man=no", unit[0]) == (0, "")


def test_a_mistake_would_be_found(unit):
    """What the test above says is worth something."""
    with unit[0].open("a") as file:
        file.write("[Service]\nProtectSystem=perhaps\nNoSuchSetting=yes\n")
    _, said = analyze("verify", "--man=no", unit[0])
    assert "ProtectSystem" in said or "perhaps" in said
    assert "NoSuchSetting" in said


def test_little_is_exposed(unit):
    path, most = unit
    code, said = analyze("security", "--offline=true", f"--threshold={int(most * 10)}", path)
    exposure = float(re.search(r"Overall exposure level for atoll.service: ([\d.]+)", said).group(1))
    assert code == 0 and 0 < exposure <= most, said


def test_the_page_says_what_is_exposed(tmp_path):
    """The figures of docs/systemd.md."""
    page = (ROOT / "docs/systemd.md").read_text()
    for drop_in in EXPOSURE:
        folder = tmp_path / str(drop_in)
        (folder / "atoll.service.d").mkdir(parents=True)
        shutil.copy(UNITS / "atoll.service", folder)
        if drop_in:
            shutil.copy(UNITS / f"{drop_in}.conf", folder / "atoll.service.d")
        _, said = analyze("security", "--offline=true", folder / "atoll.service")
        exposure = re.search(r"Overall exposure level for atoll.service: ([\d.]+)", said).group(1)
        assert (f"rates this {exposure} of 10" if drop_in is None else f"| {exposure} |") in page


def test_the_server_has_time_to_answer_what_it_accepted():
    unit = (UNITS / "atoll.service").read_text()
    manifest = (ROOT / "etc/atoll.toml").read_text()
    stop_s = int(re.search(r"^TimeoutStopSec=(\d+)$", unit, re.M).group(1))
    assert stop_s > int(re.search(r'^drain_timeout = "(\d+)s"$', manifest, re.M).group(1))


def test_the_user_is_made_that_the_unit_names(tmp_path):
    (tmp_path / "etc").mkdir()
    done = subprocess.run(["systemd-sysusers", f"--root={tmp_path}", str(UNITS / "sysusers.conf")], capture_output=True, text=True,
                          check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    user = re.search(r"^User=(\w+)$", (UNITS / "atoll.service").read_text(), re.M).group(1)
    assert re.search(rf"^{user}:[^:]*:\d+:\d+:[^:]*:/var/lib/atoll:/usr/sbin/nologin$", (tmp_path / "etc/passwd").read_text(), re.M)
