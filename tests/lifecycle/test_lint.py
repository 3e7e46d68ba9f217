"""atoll-lint finds what makes a plugin unsafe to load or unload."""
import re
import subprocess

import pytest
from harness import BUILD, FIXTURES, SANITIZED


def run(*arguments):
    return subprocess.run([BUILD / "bin" / "atoll-lint", *arguments], capture_output=True, text=True, timeout=60)


def lint(name, *arguments):
    """The exit code and the lines, each of which names the file once, and says what no other does."""
    file = FIXTURES / name
    done = run(*arguments, file)
    lines = done.stdout.splitlines()
    assert all(line.startswith(f"{file}: ") for line in lines), lines
    lines = [line[len(f"{file}: "):] for line in lines]
    assert len(lines) == len(set(lines)) and not any(str(file) in line for line in lines), lines
    return done.returncode, lines


@pytest.mark.parametrize("name", ["provider.so", "watcher.so", "resident.so"])
def test_good_plugins(name):
    assert lint(name) == (0, ["ok"])


def test_what_was_not_looked_at_is_said():
    assert lint("lonely.so") == (0, ["note: was not started: it needs atoll.absent/1, atoll.missing/2", "ok"])


def test_help_and_usage():
    shown = run("--help")
    assert shown.returncode == 0 and "usage: atoll-lint" in shown.stdout and "--set" in shown.stdout
    for arguments in ([], ["--nonsense"], ["--set", "x", "y.so"]):
        refused = run(*arguments)
        assert refused.returncode == 2 and "usage: atoll-lint" in refused.stderr, refused


def test_options_are_those_that_were_given():
    code, lines = lint("provider.so", "--set", "fail=start")
    assert (code, lines) == (1, ["start failed: told to fail"])
    code, lines = lint("provider.so", "--set=size=11", "--set", "sise=1")
    assert code == 1
    assert lines == ["--set size: plugin.size: found integer 11, expected integer, 1..10",
                     "--set sise: unknown key 'sise' in [plugin], did you mean 'size'?"]


def test_required_options_get_made_up_values_or_given_ones():
    assert lint("required.so") == (0, ["note: start failed with made-up options (fail_unless = lint): told to fail; "
                                       "give real ones with --set", "ok"])
    assert lint("required.so", "--set", "fail_unless=atoll") == (0, ["ok"])
    assert lint("required.so", "--set", "fail_unless=lint") == (1, ["start failed: told to fail"])


def test_a_required_option_with_choices_gets_the_first(tmp_path):
    assert lint("thrower.so") == (0, ["ok"])
    code, lines = lint("thrower.so", "--set", "where=lint")
    assert code == 1 and "expected" in lines[0] and "execute|enqueue" in lines[0], lines


def test_what_it_provides_is_asked_for():
    code, lines = lint("hollow.so")
    assert code == 1
    assert "query failed: it provides atoll.hollow/1, but gave no implementation" in lines


def test_the_step_in_which_it_crashes_is_named():
    code, lines = lint("provider.so", "--set", "crash=stop")
    assert (code, lines) == (1, ["crashed (Aborted) in this step: stop"])


def test_unique_symbols():
    code, lines = lint("unique.so")
    assert code == 1
    assert any(re.match(r"defines \d+ unique symbols \(.*\), which keep it mapped; compile with -fno-gnu-unique", line)
               for line in lines), lines
    assert ("stays mapped after it was closed, but is not flagged RESIDENT" in lines) == (not SANITIZED), lines


def test_exports_beside_the_descriptor():
    code, lines = lint("no_symbol.so")
    assert code == 1
    assert ("exports 1 symbol beside atoll_plugin_v1 (some_other_symbol); link with the version script, as "
            "atoll_add_plugin() does") in lines
    assert "does not export atoll_plugin_v1" in lines


def test_a_plugin_without_any_of_the_flags_is_told_in_few_lines():
    code, lines = lint("unflagged.so")
    assert code == 1 and len(lines) < 8, lines
    assert any(re.match(r"exports \d\d+ symbols beside atoll_plugin_v1 \(\w+, \w+, \w+ and \d+ more\)", line)
               for line in lines), lines


def test_lazy_binding_and_undefined_symbols():
    code, lines = lint("undefined.so")
    assert code == 1
    assert "binds its symbols lazily; link with -z now" in lines
    assert "undefined symbol: atoll_fixture_symbol_that_nobody_has" in lines


def test_thread_local_with_destructor():
    code, lines = lint("thread_local.so")
    assert code == 1
    assert "has a thread_local with a destructor, which keeps it mapped, but is not flagged RESIDENT" in lines


def test_an_instance_that_leaves_something_behind():
    code, lines = lint("stuck.so")
    assert code == 1
    assert lines == ["left 1 passes of its gate after destroy"]


def test_wrong_descriptor():
    code, lines = lint("wrong_magic.so")
    assert code == 1
    assert "its descriptor does not begin with the magic number of one" in lines


def test_no_file():
    assert lint("nobody.so") == (1, ["cannot be read"])


def test_a_step_that_does_not_return_is_said():
    assert lint("hanger.so", "--set", "step=start") == (1, ["hangs: did not return within 30 s from this step: start"])
