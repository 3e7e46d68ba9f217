"""--check and a start judge a manifest alike: generated manifests, and mistakes whose place and text are known.

A seeded part runs by default; ATOLL_CHECK_SUITE=all runs many times as many. What only a start can know is listed on the page
docs/manifest.md, and nowhere else do the two differ."""

import os
import pathlib
import random
import re
import select
import signal
import subprocess
import time

import pytest
from support.server import ATOLL, BUILD, ROOT, START_TIMEOUT_S

ROUNDS = 150 if os.environ.get("ATOLL_CHECK_SUITE") == "all" else 10
SEED = int(os.environ.get("ATOLL_CHECK_SEED", "20"))

# What the page lists, and how the start says it.
ONLY_A_START_KNOWS = {
    "whether an address can be listened at": r"start failed: .*(cannot listen on|already in use)",
    "whether a library can be loaded": r"start failed: option library: ",
}
# Keys that would hide the log that this suite reads.
KEPT = {("log", "level"), ("log", "format"), ("log", "file"), ("atoll", "plugin_path"), ("plugin", "use"), ("plugin", "file"),
        ("plugin", "needs"), ("plugin", "enabled")}

TEXTS = ["", "x", "a=b", "=b", "a:b", "a:1", "a:1:0", "a:weight=2", "a:wieght=2", "inference:k=v", "inferense:k=v", "OFF",
         "TIMESTAMP", "TIMESTAMPS", "*", "127.0.0.1:0", "[::1]:0", "127.0.0.1", "localhost", ":1", "127.0.0.1:65536", "h:80x",
         "{missing}", "{empty}", "{file}", "0-1", "0,", "1000", "50%", "101%", "4GiB", "../x", "a/b", ".x", "(", "[a-z]+", "0.5:0.05",
         "-1", "2", "http://a/b", "ftp://a", "root", "nobody-has-this-name", "https://app.example", "null", "x y", "\u2603", "--x=y"]
MAPS = [("", "1"), ("a", "1"), ("a.b", "1"), (".a", "1"), ("a.", "1"), ("a.1", "5"), ("a.1", "5x"), ("0", "0.5"), ("0", "2"),
        ("0", "4GiB"), ("p.numa-node", "0"), ("p.cpu-cores", "0-1"), ("p.cpu-cores", "1-"), ("p.speed", "1"), ("pool", "{json}"),
        ("pool", "{"), ("run", "{repository} --x"), ("run", "{nobody}"), ("run", "\"open"), ("m.stable", "1"), ("m.2", "0.5")]


def toml(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{toml(key)} = {toml(text)}" for key, text in value.items()) + " }"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


@pytest.fixture(scope="module")
def options():
    """{plugin: [(key, type, range)]} and those of [atoll] and [log], from the tables of what is built."""
    listed = subprocess.run([ATOLL, "--list", "--format", "markdown"], capture_output=True, text=True, timeout=120).stdout
    found, section = {}, None
    for line in listed.splitlines():
        if line.startswith("## "):
            section = found.setdefault(line[3:].split()[0].strip("[]"), [])
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 5 and cells[0] not in ("key", "---"):
            section.append((cells[0], cells[1], cells[3].replace("\\|", "|")))
    return found


def of_quantity(allowed, units):
    """The ends of a range and values beside them, as texts."""
    ends = re.findall(r"\d+[A-Za-z]*", allowed)
    return [*ends, *(f"9{end}" for end in ends), *units]


def value_for(kind, allowed, random, places):
    def text():
        return random.choice(TEXTS).format_map(places) if random.random() < 0.9 else "\u00e9" * 40

    wrong_types = [5, -1, 1.5, True, "x", ["x"], {"a": "b"}, [1], {"a": 1}, "1 week"]
    if random.random() < 0.15:
        return random.choice(wrong_types)
    if kind == "boolean":
        return random.random() < 0.5
    if kind in ("integer", "number"):
        ends = [int(end) for end in re.findall(r"-?\d+", allowed)]
        # Small ones where many threads or connections would only take long.
        return random.choice([0, 1, 2, 3, -1, 17, *(end + step for end in ends for step in (-1, 0, 1) if abs(end) <= 100000)])
    if kind == "duration":
        return random.choice(of_quantity(allowed, ["0s", "1ms", "5s", "10us", "5", "-1s", "1h", "2 s"]))
    if kind == "bytes":
        return random.choice([0, -1, *of_quantity(allowed, ["64KiB", "1MiB", "5MB", "-1", "1.5MiB"])])
    if kind == "list of strings":
        return [text() for _ in range(random.choice([0, 1, 1, 2, 3]))]
    if kind == "table of strings":
        chosen = random.sample(MAPS, random.choice([0, 1, 1, 2]))
        return {key: value.replace("{json}", '{"quota": 8, "min_instances": 0, "max_instances": 1}') for key, value in chosen}
    if allowed:
        return random.choice([*allowed.split("|"), allowed.split("|")[0][:-1]])
    return text()


class Draft:
    """A manifest of one key a line: [{section: {key: value}}], which can be written and asked about."""

    def __init__(self, folder, sections):
        self.folder = folder
        self.path = folder / "atoll.toml"
        self.base = sections
        self.sections = {name: dict(values) for name, values in sections.items()}

    def write(self):
        lines, self.keys = [], {}
        for section, values in self.sections.items():
            lines.append(f"[{section}]")
            self.keys[len(lines)] = (section, None)
            for key, value in values.items():
                lines.append(f"{key} = {toml(value)}")
                self.keys[len(lines)] = (section, key)
        self.path.write_text("\n".join(lines) + "\n")
        return self.path.read_text()

    def mend(self, section, key):
        """Takes back what was refused: an option, or all that instances are to each other and this one's options."""
        if key not in (None, "use"):
            self.sections.get(section, {}).pop(key, None)
            if key in self.base.get(section, {}):
                self.sections[section][key] = self.base[section][key]
            return
        self.sections = {name: self.sections.get(name, values) for name, values in self.base.items()}
        if section in self.base:
            self.sections[section] = dict(self.base[section])

    def command(self, *arguments):
        return [str(ATOLL), "--manifest", str(self.path), *arguments]

    def check(self):
        """None, or the lines of what is wrong."""
        done = subprocess.run(self.command("--check"), capture_output=True, text=True, timeout=START_TIMEOUT_S, cwd=self.folder)
        assert done.returncode in (0, 2), (done, self.path.read_text())
        lines = [line.removeprefix("atoll: ") for line in done.stderr.splitlines() if line.startswith("atoll: ")]
        assert (done.returncode == 0) == (not lines), done
        return lines or None

    def start(self):
        """None if it became active, or the lines of what it ended of."""
        process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   cwd=self.folder)
        log, deadline = b"", time.monotonic() + START_TIMEOUT_S
        try:
            while b"[kernel] active: " not in log and time.monotonic() < deadline:
                if not select.select([process.stderr], [], [], 1)[0]:
                    continue
                part = os.read(process.stderr.fileno(), 1 << 16)
                if not part:
                    break
                log += part
            active = b"[kernel] active: " in log
            if active:
                process.send_signal(signal.SIGTERM)
            log += process.stderr.read()
            code = process.wait(START_TIMEOUT_S)
        finally:
            if process.poll() is None:
                process.kill()
            process.stderr.close()
            process.wait()
        text = log.decode(errors="replace")
        if active:
            assert code in (0, 1), (code, text, self.path.read_text())  # 1: a drain_timeout too short for it
            return None
        assert code in (1, 2), (code, text, self.path.read_text())
        records = [re.match(r"\S+Z ERROR \[kernel\] (.*)", line) for line in text.splitlines()]
        return [record.group(1) for record in records if record]


def place_of(line, path):
    match = re.match(re.escape(str(path)) + r":(\d+):(\d+): ", line)
    assert match, f"no place in the manifest: {line}"
    return int(match.group(1))


def agree(draft):
    """Both judge alike: the wrong manifest, and what is left of it without what was refused."""
    draft.write()
    for _ in range(12):
        wrong = draft.check()
        if wrong is None:
            break
        assert draft.start() == wrong, draft.path.read_text()
        for section, key in [draft.keys[place_of(line, draft.path)] for line in wrong if "more problems" not in line]:
            draft.mend(section, key)
        draft.write()
    else:
        raise AssertionError("the manifest does not get right:\n" + draft.path.read_text() + "\n".join(wrong))
    failure = draft.start()
    if failure is not None:
        known = [what for what, pattern in ONLY_A_START_KNOWS.items() if any(re.search(pattern, line) for line in failure)]
        assert known, "--check passes this, the start refuses it:\n" + "\n".join(failure) + "\n" + draft.path.read_text()


def base_of(name, folder):
    """The manifest of etc/ as sections, with folders of its own and ports that the system chooses."""
    sections, section = {}, None
    for line in (ROOT / "etc" / name).read_text().splitlines():
        if match := re.fullmatch(r"\[([\w.]+)\]", line):
            section = sections.setdefault(match.group(1), {})
        elif match := re.match(r'use = "([\w/]+)"', line):
            section["use"] = match.group(1)
    sections.pop("plugin.pools.pools", None)
    for address in ("plugin.grpc", "plugin.http", "plugin.metrics"):
        sections[address]["address"] = "127.0.0.1:0"
    sections["plugin.repository"]["paths"] = [str(folder / "models")]
    for name in ("launcher", "pools"):
        if f"plugin.{name}" in sections:
            sections[f"plugin.{name}"]["state_directory"] = str(folder / name)
    if "plugin.pools" in sections:
        sections["plugin.pools"]["sources"] = [str(folder / "models")]
        sections["plugin.launcher"]["end_with_server"] = True
    return sections


def folders(tmp_path):
    for name in ("models", "empty"):
        (tmp_path / name).mkdir()
    (tmp_path / "file.txt").write_text("text\n")
    return {"missing": str(tmp_path / "missing"), "empty": str(tmp_path / "empty"), "file": str(tmp_path / "file.txt")}


@pytest.fixture(params=["atoll.toml", "pools.toml"])
def manifest(request, tmp_path):
    return base_of(request.param, tmp_path)


def misspelt(word, random):
    at = random.randrange(len(word))
    return random.choice([word[:at] + word[at + 1:], word[:at] + random.choice("abcxyz") + word[at:], word + "s"])


def spoil(draft, options, random, places):
    """Other values, a key that nobody has, a plugin that is not there or missing, two at one port."""
    for section, values in draft.sections.items():
        kind = values.get("use", section)
        for key, type_name, allowed in options[kind]:
            if (section, key) in KEPT or key in draft.base[section] or random.random() < 0.5:
                continue
            values[key] = value_for(type_name, allowed, random, places)
        if random.random() < 0.1 and options[kind]:
            values[misspelt(random.choice(options[kind])[0], random)] = 1
    plugins = [section for section in draft.sections if section.startswith("plugin.")]
    chosen = random.randrange(6)
    if chosen == 0:
        draft.sections["plugin.extra"] = {"use": misspelt(draft.sections[random.choice(plugins)]["use"], random)}
    elif chosen == 1:
        draft.sections.pop(random.choice(plugins))
    elif chosen == 2:
        draft.sections["plugin.http"]["address"] = draft.sections["plugin.metrics"]["address"] = "127.0.0.1:48211"
    elif chosen == 3:
        draft.sections["plugin.second"] = dict(draft.sections[random.choice(plugins)])


@pytest.mark.parametrize("number", range(ROUNDS))
def test_check_and_start_agree_about_generated_manifests(manifest, options, tmp_path, number):
    places = folders(tmp_path)
    generator = random.Random(f"{SEED} {number}")
    draft = Draft(tmp_path, manifest)
    spoil(draft, options, generator, {**places, "json": "{json}", "repository": "{repository}", "nobody": "{nobody}"})
    agree(draft)


EVERY_MISTAKE = """\
[atoll]
drain_timout = "30s"
[log]
level = "loud"
file = "{tmp}/file.txt/log"
[plugin.repository]
use = "repositories/filesystem"
paths = ["{tmp}/models", "{tmp}/none"]
[plugin.configs]
use = "configs/pbtxt"
[plugin.models]
use = "models/catalog"
host_policies = {{ "p.speed" = "1" }}
[plugin.control]
use = "control/none"
[plugin.control2]
use = "control/none"
[plugin.http]
use = "frontends/http"
address = "localhost"
cors_allowed_origins = ["*", "app.example"]
tenant_header = "x y"
[plugin.http2]
use = "frontends/http"
address = "127.0.0.1"
[plugin.metrics]
use = "frontends/metrics"
address = "127.0.0.1:8002"
[plugin.grpc]
use = "frontends/grpc_nghttp2"
address = "0.0.0.0:8002"
use_ssl = true
[plugin.trace]
use = "telemetry/trace"
level = ["TIMESTAMP"]
resource = ["a=b", "c"]
[plugin.onnx]
use = "backends/onnxrutime"
[plugin.triton]
use = "backends/triton"
settings = {{ "onnx." = "1" }}
[plugin.python]
use = "backends/python"
environment = ["HF_*", "A=B"]
needs = {{ "atoll.model_catalog/1.0" = "models" }}
"""
FOUND = [
    (2, 1, "unknown key 'drain_timout' in [atoll], did you mean 'drain_timeout'?"),
    (4, 9, "log.level: found string \"loud\", expected one of trace|debug|info|warning|error"),
    (5, 8, "log.file: found '{tmp}/file.txt', expected a folder that can be written: Not a directory"),
    (8, 'paths = ["{tmp}/models", ', "plugin.repository.paths: failed to stat file {tmp}/none: No such file or directory"),
    (13, 31, "plugin.models.host_policies.p.speed: \"p.speed\" = \"1\": Unsupported host policy setting 'speed' is specified, "
             "supported settings are 'numa-node', 'cpu-cores'"),
    (16, 1, "plugin 'control2' (control/none): the server takes one plugin that provides atoll.model_control/1, and plugin "
            "'control' (control/none) is one already"),
    (20, 11, "plugin.http.address: found 'localhost', expected host:port or [ipv6]:port, such as 127.0.0.1:8000"),
    (21, 30, "plugin.http.cors_allowed_origins: has 'app.example', expected an origin as browsers "
             "send it, such as https://app.example or http://127.0.0.1:8080, or null, or *"),
    (22, 17, None),
    (25, 11, "plugin.http2.address: found '127.0.0.1', expected host:port or [ipv6]:port, such as 127.0.0.1:8000"),
    (28, 11, "plugin.metrics.address: found '127.0.0.1:8002', at whose port [plugin.grpc] listens (address = '0.0.0.0:8002')"),
    (29, 1, "plugin.grpc.server_cert: is empty, expected the path of a PEM file, because 'use_ssl' is true"),
    (35, 10, "plugin.trace.level: invalid value for trace level option: found 'TIMESTAMP', "
     "expected OFF, TIMESTAMPS or TENSORS"),
    (36, 20, "plugin.trace.resource: has 'c', expected key=value"),
    (38, 7, "plugin 'onnx' (backends/onnxrutime): no file backends/onnxrutime.so in the plugin path ({plugins}), did you mean "
            "'backends/onnxruntime'?"),
    (41, 24, "plugin.triton.settings.onnx.: found the key 'onnx.', expected '<backend>.<setting>' or '<setting>'"),
    (44, 'environment = ["HF_*", ', "plugin.python.environment: has 'A=B', expected the name of a variable, whose value is the "
                                    "server's own, or the begin of names with '*' behind it"),
    (45, 9, "plugin 'python' (backends/python): the manifest binds atoll.model_catalog/1.0 to 'models', but the plugin does not "
            "need it, did you mean 'atoll.model_catalog/1'?"),
]


def refused(tmp_path, text, expected):
    draft = Draft(tmp_path, {})
    draft.path.write_text(text)
    wrong = draft.check()
    assert wrong is not None
    shown = [line.removeprefix(f"{draft.path}:") for line in wrong]
    for line, (row, column, message) in zip(shown, expected):
        if isinstance(column, str):  # what stands before it
            column = len(column.format(tmp=tmp_path)) + 1
        if message is None:
            assert line.startswith(f"{row}:{column}: "), line
        else:
            assert line == f"{row}:{column}: " + message.format(tmp=tmp_path, plugins=BUILD / "lib/atoll/plugins")
    assert len(shown) == len(expected), shown
    assert draft.start() == wrong
    return wrong


def test_every_mistake_is_told_at_once_with_its_place(tmp_path):
    folders(tmp_path)
    refused(tmp_path, EVERY_MISTAKE.format(tmp=tmp_path), FOUND)


def test_what_instances_are_to_each_other_is_told(tmp_path):
    """Of a manifest whose plugins are all there."""
    (tmp_path / "models").mkdir()
    text = EVERY_MISTAKE.format(tmp=tmp_path)
    needed = text[text.index("[plugin.configs]"):text.index("host_policies")] + text[text.index("[plugin.control]"):text.index("[plugin.http]")]
    refused(tmp_path, needed, [
        (3, 1, "plugin 'models' (models/catalog): needs atoll.repository/1, no enabled plugin provides it; these do: "
               "repositories/filesystem, repositories/s3"),
        (5, 1, "plugin 'control' (control/none): needs atoll.repository/1, no enabled plugin provides it; these do: "
               "repositories/filesystem, repositories/s3"),
        (7, 1, "plugin 'control2' (control/none): the server takes one plugin that provides atoll.model_control/1, and plugin "
               "'control' (control/none) is one already"),
    ])


def test_a_reload_tells_the_same_and_changes_nothing(tmp_path):
    places = folders(tmp_path)
    draft = Draft(tmp_path, base_of("atoll.toml", tmp_path))
    draft.write()
    process = subprocess.Popen(draft.command(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True)
    try:
        for line in process.stderr:
            if "[kernel] active: " in line:
                break
        draft.sections["plugin.http"]["address"] = "localhost"
        draft.sections["plugin.trace"]["level"] = ["TIMESTAMP"]
        draft.sections["plugin.repository"]["paths"] = [places["missing"]]
        draft.sections["plugin.models"]["strict_readiness"] = False
        draft.write()
        wrong = draft.check()
        assert len(wrong) == 3
        process.send_signal(signal.SIGHUP)
        for line in process.stderr:
            assert "draining" not in line and "created" not in line
            if "reload refused" in line:
                break
        assert "; ".join(wrong) + "; generation 1 goes on" in line
        process.send_signal(signal.SIGTERM)
        process.stderr.read()
        assert process.wait(START_TIMEOUT_S) == 0
    finally:
        process.kill()
        process.stderr.close()
        process.wait()


def test_the_page_lists_what_only_a_start_can_know():
    page = (pathlib.Path(ROOT) / "docs" / "manifest.md").read_text()
    for what in ONLY_A_START_KNOWS:
        assert what in page
