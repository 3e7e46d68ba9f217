"""What contradicts itself in a plugin does not compile, and the error says why in a line and points at the author's."""

import subprocess

import pytest
from installed import cache_value
from support.server import ROOT

PLUGIN = """#include "atoll/core/metrics.h"
#include "atoll/core/plugin.h"

struct Named { static constexpr std::string_view kInterfaceId = "tests.named/1"; };
struct Nameless {};
struct Private : private Named {};

class Mine final : public atl::Plugin, public Named {
 public:
  explicit Mine(atl::Host&) {}
  int number() { return 1; }
  Private& concealed() { return concealed_; }
  Named& part() { return *this; }
  Named* pointer() { return this; }

 private:
  Private concealed_;
};

constexpr atl::OptionTable kOptions{OPTIONS};
ATOLL_PLUGIN(Mine, {.name = "tests/mine", .version = "1", .license = "Apache-2.0", .help = "Mine.",
                    .provides = {PROVIDES}, .needs = {NEEDS}, .options = kOptions});
"""
GOOD = {"OPTIONS": 'atl::option_int("count", 1).range(1, 9).help("A number.")', "PROVIDES": "atl::provide<Named>()",
        "NEEDS": "atl::need<atl::MetricSource>()"}
NOT_A = "does not derive from Interface, publicly and once"
NO_PART = "part() returns no reference to something that derives from Interface"


def compiled(tmp_path, **parts):
    """The exit code and the text of the compiler for the plugin with some parts changed."""
    text = PLUGIN
    for name, part in (GOOD | parts).items():
        text = text.replace(name, part, 1)
    source = tmp_path / "mine.cc"
    source.write_text(text)
    done = subprocess.run([cache_value("CMAKE_CXX_COMPILER") or "c++", "-std=c++20", "-Wall", "-Wextra", "-Werror",
                           "-fsyntax-only", "-I", ROOT / "sdk" / "include", source],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    return done.returncode, done.stdout


def test_a_sound_plugin_compiles(tmp_path):
    code, text = compiled(tmp_path, PROVIDES="atl::provide<Named, &Mine::part>().minor(2).rank(1)")
    assert code == 0, text


@pytest.mark.parametrize("parts, reason", [
    ({"PROVIDES": "atl::provide<atl::MetricSource>()"}, NOT_A),
    ({"PROVIDES": "atl::provide<Nameless>()"}, "a service's interface says its id"),
    ({"PROVIDES": "atl::provide<Named, &Mine::number>()"}, NO_PART),
    ({"PROVIDES": "atl::provide<Named, &Mine::concealed>()"}, NO_PART),
    ({"PROVIDES": "atl::provide<Named, &Mine::pointer>()"}, NO_PART),
    ({"PROVIDES": "atl::provide<Named>(), atl::provide<Named>()"}, "an_interface_is_provided_twice"),
    ({"NEEDS": "atl::need<Named>(), atl::optional<Named>()"}, "an_interface_is_needed_twice"),
    ({"OPTIONS": 'atl::option_int("count", 1)'}, "every option ends with .help"),
    ({"OPTIONS": 'atl::option_int("count", 10).range(1, 9).help("A number.")'}, "the_default_is_outside_of_the_range"),
])
def test_a_contradiction_is_told_at_the_authors_line(tmp_path, parts, reason):
    code, text = compiled(tmp_path, **parts)
    assert code != 0
    assert reason in text
    assert "mine.cc:" in text
