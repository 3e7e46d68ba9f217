"""Edits of a manifest: its instances as a dictionary, and another valid value for every option of a plugin."""

import re
import subprocess
import tomllib

from .server import ATOLL

_UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_TIMES = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_DURATIONS = ["1h", "10m", "1m", "10s", "1s", "500ms", "1ms", "1us"]


def read(text):
    return tomllib.loads(text)


def write(manifest):
    """As TOML. Tables within the tables of instances are inline ones."""
    lines = []
    for section in ("atoll", "log"):
        lines += [f"[{section}]", *(f"{key} = {_value(value)}" for key, value in manifest.get(section, {}).items()), ""]
    for name, table in manifest["plugin"].items():
        lines += [f"[plugin.{name}]", *(f"{key} = {_value(value)}" for key, value in table.items()), ""]
    return "\n".join(lines)


def _value(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return "{ " + ", ".join(f"{_value(key)} = {_value(item)}" for key, item in value.items()) + " }"


def options():
    """{plugin: {option: (type, default, range)}} of all plugins that are built, as `atoll --list` tells them."""
    done = subprocess.run([ATOLL, "--list", "--format", "markdown"], capture_output=True, text=True, timeout=60)
    found, plugin = {}, None
    for line in done.stdout.splitlines():
        head = re.match(r"## (\S+/\S+) ", line)
        if head:
            plugin = found.setdefault(head[1], {})
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if plugin is not None and len(cells) == 5 and cells[0] != "key" and set(cells[0]) != {"-"}:
            plugin[cells[0]] = tuple(cells[1:4])
    return found


def other_value(kind, default, bounds):
    """A valid value that is not the default; None: that cannot be told from the description."""
    if kind == "boolean":
        return default != "true"
    if kind == "string" and "|" in bounds:
        return next(choice for choice in bounds.split("|") if choice != default)
    if kind == "integer":
        most = int(bounds.split("..")[1])
        return int(default) + (1 if int(default) < most else -1)
    if kind == "number":
        return float(default) + 0.5
    if kind == "bytes":
        return str(2 * _number(default, _UNITS)) if _number(default, _UNITS) else str(8 << 30)
    if kind == "duration":
        least, _, most = bounds.removeprefix("at least ").partition("..")
        for text in _DURATIONS:
            length = _number(text, _TIMES)
            fits = (not least or length >= _number(least, _TIMES)) and (not most or length <= _number(most, _TIMES))
            if fits and length != _number(default, _TIMES):
                return text
    return None


def _number(text, units):
    number, unit = re.fullmatch(r"(\d+)([a-zA-Z]*)", text).groups()
    return int(number) * units[unit]
