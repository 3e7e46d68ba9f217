"""What the figures were taken on."""

import os
import pathlib
import platform
import subprocess


def _first_line(command):
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.splitlines()[0].strip()
    except (OSError, IndexError):
        return "unknown"


def _governor(core):
    path = pathlib.Path(f"/sys/devices/system/cpu/cpu{core}/cpufreq/scaling_governor")
    return path.read_text().strip() if path.exists() else "not visible"


def describe(options):
    """Names and texts, in the order in which to show them."""
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
               platform.machine())
    virtual = any(line.startswith("flags") and " hypervisor" in line for line in open("/proc/cpuinfo"))
    memory = next(int(line.split()[1]) for line in open("/proc/meminfo") if line.startswith("MemTotal:"))
    release = platform.freedesktop_os_release().get("PRETTY_NAME", "unknown")
    return {"CPU": f"{cpu}, {os.cpu_count()} of them" + (", a virtual machine" if virtual else ""),
            "memory": f"{memory / (1 << 20):.0f} GiB",
            "system": f"{release}, {platform.system()} {platform.release()}",
            "cores": f"server on {options.server_core}, client on {options.client_core}",
            "frequency governor": _governor(options.server_core),
            "load before": " ".join(f"{value:.2f}" for value in os.getloadavg())}


def versions():
    return {"compiler": _first_line(["c++", "--version"]), "h2load": _first_line(["h2load", "--version"]),
            "Python": platform.python_version()}
