"""Everything that can be wrong with a plugin or the graph: one clear line, from --check where it can know, and from a
start, and an exit code that is not 0."""
import os
import re
import shutil
import signal
import subprocess

import pytest
from harness import ATOLL, FIXTURES, PLUGINS, SANITIZED, Server, manifest, run
from support.server import BUILD, ROOT

TAG = "itanium-abi[0-9]+/libstdc\\+\\+cxx11/sanitizer=" + ("(address|thread)" if SANITIZED else "none") \
    + "/layout=[0-9]+"
KEPT = r".*/unique\.so: was closed but is still mapped .*"
EXPORTS = r".*/{}\.so: exports \d+ symbols? beside atoll_plugin_v1 \(.*\); link with the version script, as .*"


def exactly(text):
    return re.escape(text)


def refused(tmp_path, instances, *expected, checked=True, **settings):
    """The lines, as patterns that must match whole lines, and nothing else is said. Each has its place in the manifest before it."""
    path = tmp_path / "atoll.toml"
    path.write_text(manifest(instances, **settings))
    for arguments, code in ((["--check"], 2 if checked else 0), ([], 2 if checked else 1)):
        exit_code, lines = run(path, *arguments)
        assert exit_code == code, lines
        if arguments and not checked:
            continue
        lines = [line for line in lines if line != "ended"]
        assert len(lines) == len(expected), lines
        place = exactly(str(path)) + r":\d+:\d+: "
        for pattern, line in zip(expected, lines):
            assert re.fullmatch(place + pattern, line), (pattern, line)


def one_file(tmp_path, file, *expected):
    refused(tmp_path, {"x": f'use = "fixtures/x"\nfile = "{file}"'},
            *(exactly("plugin 'x' (fixtures/x): ") + line for line in expected))


def one_fixture(tmp_path, name, cause, options="", **settings):
    refused(tmp_path, {"x": f'use = "fixtures/{name}"\n{options}'},
            exactly(f"plugin 'x' (fixtures/{name}): ") + cause, **settings)


def test_missing_file(tmp_path):
    one_file(tmp_path, f"{tmp_path}/none.so", exactly(f"cannot open {tmp_path}/none.so: No such file or directory"))


def test_a_file_that_a_stranger_takes_for_the_plugins_own(tmp_path):
    (tmp_path / "log").write_text("{}\n")
    for name, why in (("none.log", "No such file or directory"), ("log", "file too short")):
        file = tmp_path / name
        refused(tmp_path, {"x": f'use = "telemetry/audit"\nfile = "{file}"'},
                exactly("plugin 'x' (telemetry/audit): ") + f".*{exactly(why)}" +
                exactly("; 'file' is the path of the plugin's shared object, did you mean 'audit_file'?"))


def test_not_in_the_plugin_path(tmp_path):
    refused(tmp_path, {"x": 'use = "fixtures/nobody"'},
            exactly("plugin 'x' (fixtures/nobody): no file fixtures/nobody.so in the plugin path (" + str(PLUGINS)) + ".*\\)")


@pytest.fixture(scope="module")
def bare_server(tmp_path_factory):
    """The server of a build that has configured everything and built no plugin: a copy, as it looks for plugins beside itself."""
    root = tmp_path_factory.mktemp("bare")
    (root / "bin").mkdir()
    shutil.copy2(ATOLL, root / "bin" / "atoll")
    for file in (BUILD / "lib/atoll/plugins").rglob("*.missing"):
        place = root / file.relative_to(BUILD)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, place)
    return root / "bin" / "atoll"


@pytest.mark.parametrize("arguments", [["--check"], []])
def test_a_plugin_of_this_tree_that_is_not_built_is_told_with_the_command_that_builds_it(tmp_path, bare_server, arguments):
    names = sorted(f"{file.parent.parent.name}/{file.parent.name}" for file in (ROOT / "plugins").glob("*/*/plugin.cc"))
    assert len(names) > 30
    path = tmp_path / "atoll.toml"
    path.write_text("".join(f'[plugin.p{number:02}]\nuse = "{name}"\n' for number, name in enumerate(names)))
    folder = bare_server.parents[1] / "lib/atoll/plugins"
    exit_code, lines = run(path, *arguments, program=bare_server)
    assert [line for line in lines if line != "ended"] == [
        f"{path}:{2 * number + 2}:7: plugin 'p{number:02}' ({name}): no file {name}.so in the plugin path ({folder}); "
        f"to get it: etc/dev/build {BUILD.name} {name}" for number, name in enumerate(names)]
    assert exit_code == 2


def test_a_name_that_is_like_one_of_the_plugin_path(tmp_path):
    refused(tmp_path, {"x": 'use = "fixtures/providr"'},
            exactly("plugin 'x' (fixtures/providr): no file fixtures/providr.so in the plugin path (" + str(PLUGINS)) + ".*\\)"
            + exactly(", did you mean 'fixtures/provider'?"))


def test_name_that_leaves_the_plugin_path(tmp_path):
    path = tmp_path / "atoll.toml"
    path.write_text(manifest({"x": 'use = "../fixtures/provider"'}))
    exit_code, lines = run(path)
    assert exit_code != 0 and len(lines) == 1 and "../fixtures/provider" in lines[0], lines


def test_text_file(tmp_path):
    file = tmp_path / "text.so"
    file.write_text("this is not a shared object\n" * 100)
    one_file(tmp_path, file, exactly(f"{file}: invalid ELF header"))


def test_empty_file(tmp_path):
    file = tmp_path / "empty.so"
    file.write_bytes(b"")
    one_file(tmp_path, file, exactly(f"{file}: file too short"))


def run_file(tmp_path, file):
    path = tmp_path / "atoll.toml"
    path.write_text(manifest({"x": f'use = "fixtures/provider"\nfile = "{file}"'}))
    exit_code, lines = run(path)
    return exit_code, [line for line in lines if line != "ended"]


def test_truncated_file(tmp_path):
    """Wherever it is cut off, the server says one line and does not die of a signal."""
    whole = (FIXTURES / "provider.so").read_bytes()
    for size in [*range(0, 1024, 56), *range(1024, len(whole), len(whole) // 12), len(whole) - 1]:
        file = tmp_path / "truncated.so"
        file.write_bytes(whole[:size])
        exit_code, lines = run_file(tmp_path, file)
        assert exit_code == 2 and len(lines) == 1, (size, exit_code, lines)
        cause = f"{file}: " + ("file too short" if size < 64 else "truncated: ")
        assert lines[0].startswith(f"{tmp_path}/atoll.toml:8:8: plugin 'x' (fixtures/provider): " + cause), (size, lines)


def test_directory(tmp_path):
    one_file(tmp_path, tmp_path,
             exactly(f"{tmp_path}: not a regular file; 'file' is the path of the plugin's shared object"))


def test_fifo(tmp_path):
    file = tmp_path / "fifo.so"
    os.mkfifo(file)
    one_file(tmp_path, file, exactly(f"{file}: not a regular file"))


def test_other_machine(tmp_path):
    file = tmp_path / "other.so"
    whole = bytearray((FIXTURES / "provider.so").read_bytes())
    own = int.from_bytes(whole[18:20], "little")
    whole[18:20] = (243).to_bytes(2, "little")
    file.write_bytes(whole)
    one_file(tmp_path, file, exactly(f"{file}: a shared object for another machine (ELF machine 243, class 2), "
                                     f"expected machine {own}, class 2"))


def test_undefined_symbol(tmp_path):
    one_fixture(tmp_path, "undefined", exactly(f"{FIXTURES}/undefined.so: undefined symbol: "
                                               "atoll_fixture_symbol_that_nobody_has"))


def test_no_descriptor(tmp_path):
    one_fixture(tmp_path, "no_symbol", exactly(f"{FIXTURES}/no_symbol.so: not a plugin: it does not export "
                                               "atoll_plugin_v1"))


def test_wrong_magic(tmp_path):
    one_fixture(tmp_path, "wrong_magic", exactly(f"{FIXTURES}/wrong_magic.so: its descriptor does not begin with the "
                                                 "magic number of one"))


def test_wrong_abi_major(tmp_path):
    one_fixture(tmp_path, "wrong_major", exactly(f"{FIXTURES}/wrong_major.so: its plugin ABI is 7, this server's is 1: "
                                                 "build the plugin again with this server's SDK"))


def test_wrong_abi_major_by_symbol(tmp_path):
    one_fixture(tmp_path, "wrong_symbol", exactly(f"{FIXTURES}/wrong_symbol.so: its plugin ABI is 2, this server's is 1"))


def test_wrong_build_tag(tmp_path):
    one_fixture(tmp_path, "wrong_tag",
                exactly(f"{FIXTURES}/wrong_tag.so: its build tag is 'other-compiler/other-stl/sanitizer=none', "
                        "this server's is '") + TAG + exactly("': build the plugin with the compiler, its options and the SDK of this server"))


def test_wrong_layout(tmp_path):
    one_fixture(tmp_path, "wrong_layout",
                exactly(f"{FIXTURES}/wrong_layout.so: it was built with layout ") + "([0-9]+)0"
                + exactly(" of the SDK's structs, this server has layout ") + "\\1"
                + exactly(": build the plugin again with this server's SDK"))


def test_other_name(tmp_path):
    refused(tmp_path, {"x": f'use = "fixtures/x"\nfile = "{FIXTURES}/provider.so"'},
            exactly(f"plugin 'x' (fixtures/x): {FIXTURES}/provider.so: the file holds plugin 'fixtures/provider', "
                    "expected 'fixtures/x'"))


def test_missing_needs_all_at_once(tmp_path):
    refused(tmp_path, {"l": 'use = "fixtures/lonely"', "c": 'use = "fixtures/consumer"'},
            exactly("plugin 'l' (fixtures/lonely): needs atoll.absent/1, no enabled plugin provides it"),
            exactly("plugin 'l' (fixtures/lonely): needs atoll.missing/2, no enabled plugin provides it"),
            exactly("plugin 'c' (fixtures/consumer): needs atoll.fixture/1, no enabled plugin provides it; these do: ")
            + r"\w+/\w+(, \w+/\w+)*")


def test_a_disabled_provider_is_none(tmp_path):
    refused(tmp_path, {"c": 'use = "fixtures/consumer"', "p": 'use = "fixtures/provider"\nenabled = false'},
            exactly("plugin 'c' (fixtures/consumer): needs atoll.fixture/1, no enabled plugin provides it; these do: ")
            + ".*fixtures/provider.*")


def test_version_too_low(tmp_path):
    refused(tmp_path, {"p": 'use = "fixtures/provider"', "w": 'use = "fixtures/wants_newer"'},
            exactly("plugin 'w' (fixtures/wants_newer): needs atoll.fixture/1 of minor 9 or newer, "
                    "'p' provides minor 2"))


def test_two_of_the_same_rank(tmp_path):
    refused(tmp_path, {"a": 'use = "fixtures/provider"', "b": 'use = "fixtures/provider"',
                       "c": 'use = "fixtures/consumer"'},
            exactly("plugin 'c' (fixtures/consumer): needs atoll.fixture/1, 'a' and 'b' provide it with the same rank 0; "
                    'name one: needs = { "atoll.fixture/1" = "a" }'))


def test_named_provider_that_is_not_there(tmp_path):
    refused(tmp_path, {"p": 'use = "fixtures/provider"',
                       "c": 'use = "fixtures/consumer"\nneeds = { "atoll.fixture/1" = "q" }'},
            exactly("plugin 'c' (fixtures/consumer): needs atoll.fixture/1 from 'q', which is not an enabled plugin"))


def test_cycle(tmp_path):
    refused(tmp_path, {"b": 'use = "fixtures/cycle_a"', "a": 'use = "fixtures/cycle_b"'},
            exactly("plugin 'a' (fixtures/cycle_b): cycle of needs: a -> b -> a"))


def test_singleton_twice(tmp_path):
    refused(tmp_path, {"a": 'use = "fixtures/singleton"', "b": 'use = "fixtures/singleton"'},
            exactly("plugin 'b' (fixtures/singleton): the server takes one instance of this plugin, and 'a' is one already"))


@pytest.mark.parametrize("option, words", [
    ("sise = 3", ["sise", "size"]),          # unknown, with the nearest known key
    ('size = "big"', ["size"]),              # wrong type
    ("size = 11", ["size", "11", "10"]),     # out of range
    ('fail = "never"', ["fail", "never"]),   # not a choice
])
def test_wrong_option(tmp_path, option, words):
    path = tmp_path / "atoll.toml"
    path.write_text(manifest({"x": f'use = "fixtures/provider"\n{option}'}))
    line_number = path.read_text().splitlines().index(option) + 1
    for arguments in (["--check"], []):
        exit_code, lines = run(path, *arguments)
        assert exit_code == 2 and len(lines) == 1, (exit_code, lines)
        assert f"atoll.toml:{line_number}:" in lines[0], lines
        assert all(word in lines[0] for word in words), lines


@pytest.mark.parametrize("step", ["create", "start"])
def test_failing_step(tmp_path, step):
    one_fixture(tmp_path, "provider", exactly(f"{step} failed: told to fail"), f'fail = "{step}"', checked=False)


def test_who_starts_the_server_reads_why_it_failed_wherever_the_log_goes(tmp_path):
    path, log = tmp_path / "atoll.toml", tmp_path / "server.log"
    path.write_text(manifest({"b": 'use = "fixtures/provider"\nfail = "start"'}, log=f'file = "{log}"'))
    exit_code, lines = run(path)
    reason = f"{path}:6:1: plugin 'b' (fixtures/provider): start failed: told to fail"
    assert (exit_code, lines) == (1, [reason])
    assert f"ERROR [kernel] {reason}" in log.read_text()


def test_what_a_failed_start_makes_fail_is_not_said(tmp_path):
    refused(tmp_path, {"a": 'use = "fixtures/crasher"\ncrash = "complain"', "b": 'use = "fixtures/provider"\nfail = "start"'},
            exactly("plugin 'b' (fixtures/provider): start failed: told to fail"), checked=False)


@pytest.mark.parametrize("step", ["drain", "stop"])
def test_what_the_end_of_a_plugin_throws_is_logged(tmp_path, step):
    with Server(tmp_path, {"x": f'use = "fixtures/provider"\nthrow = "{step}"'}) as server:
        server.expect("active")
        server.send(signal.SIGTERM)
        server.expect(rf"^{step}: threw: as told$")
        assert server.wait() == 0


@pytest.mark.parametrize("step", ["create", "start"])
def test_throwing_step(tmp_path, step):
    one_fixture(tmp_path, "provider", exactly(f"{step} failed: {step} threw: as told"), f'throw = "{step}"',
                checked=False)


def test_interface_without_implementation(tmp_path):
    one_fixture(tmp_path, "hollow", exactly("query failed: it provides atoll.hollow/1, but gave no implementation"),
                checked=False)


def test_file_that_the_linker_keeps_is_not_called_unloaded(tmp_path):
    path = tmp_path / "atoll.toml"
    path.write_text(manifest({"x": 'use = "fixtures/unique"'}))
    exit_code, lines = run(path, "--check")
    assert exit_code == 0
    assert re.fullmatch(EXPORTS.format("unique"), lines[0]), lines
    assert [bool(re.fullmatch(KEPT, line)) for line in lines[1:]] == ([] if SANITIZED else [True]), lines


def test_more_symbols_than_the_one_are_told(tmp_path):
    path = tmp_path / "atoll.toml"
    path.write_text(manifest({"x": 'use = "fixtures/unflagged"'}))
    exit_code, lines = run(path, "--check")
    assert exit_code == 0
    assert re.fullmatch(EXPORTS.format("unflagged"), lines[0]), lines


def test_each_line_of_an_error_names_the_plugin(tmp_path):
    prefix = f"plugin 'x' (fixtures/wrong_options): {FIXTURES}/wrong_options.so: its option table is wrong: "
    refused(tmp_path, {"x": 'use = "fixtures/wrong_options"'}, exactly(prefix + "option 'a' has no help"),
            exactly(prefix + "option 'b' has default 'x', expected integer"))


def test_problems_of_several_plugins_are_all_said(tmp_path):
    refused(tmp_path, {"a": 'use = "fixtures/no_symbol"', "b": 'use = "fixtures/wrong_magic"'},
            exactly("plugin 'a' (fixtures/no_symbol): ") + ".*", exactly("plugin 'b' (fixtures/wrong_magic): ") + ".*")




def test_list_shows_the_good_ones_and_names_the_others(tmp_path):
    path = tmp_path / "atoll.toml"
    path.write_text(manifest({}))
    done = subprocess.run([ATOLL, "--manifest", str(path), "--list"], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    for name in ("provider", "consumer", "singleton"):
        assert f"fixtures/{name}" in done.stdout
    for name in ("wrong_magic", "undefined", "no_symbol"):
        assert f"fixtures/{name}" not in done.stdout
        assert f"{FIXTURES}/{name}.so: " in done.stderr
