"""etc/dev/class-sizes, which etc/dev/structure runs: a class with too many methods or data members fails, and what counts as one."""

import subprocess
import sys

import pytest
from support.server import ROOT

MOST_METHODS = 25
MOST_MEMBERS = 15


def check(tmp_path, text):
    """Lines that the check says of a header with this text."""
    header = tmp_path / "part.h"
    header.write_text(text)
    run = subprocess.run([sys.executable, ROOT / "etc/dev/class-sizes", header], capture_output=True, text=True, timeout=60)
    lines = run.stdout.splitlines()
    assert (run.returncode, run.stderr) == (1 if lines else 0, "")
    return [line.removeprefix(f"{header}: ") for line in lines]


def large(name="Part", methods=0, members=0, more=""):
    return (f"class {name} {{\n public:\n" + "".join(f"  void method_{i}() noexcept;\n" for i in range(methods)) +
            " private:\n" + "".join(f"  int member_{i}_ = 0;\n" for i in range(members)) + more + "};\n")


def over(methods, members, name="Part"):
    return (f"class {name} has {methods} methods and {members} data members; "
            f"{MOST_METHODS} and {MOST_MEMBERS} are the limits")


def test_as_many_as_may_be(tmp_path):
    assert check(tmp_path, large(methods=MOST_METHODS, members=MOST_MEMBERS)) == []


def test_a_method_too_many(tmp_path):
    assert check(tmp_path, large(methods=MOST_METHODS + 1)) == [over(MOST_METHODS + 1, 0)]


def test_a_data_member_too_many(tmp_path):
    assert check(tmp_path, large(members=MOST_MEMBERS + 1)) == [over(0, MOST_MEMBERS + 1)]


@pytest.mark.parametrize("method", [
    "  int get() const noexcept { return call(member_0_, 1); }\n",
    "  int get() const noexcept {\n    if (a) return 1;\n    return 2;\n  }\n",
    "  std::function<void(int)> get() noexcept override;\n",
    "  template <class Use>\n  void get(Use use) {\n    use();\n  }\n",
    "  virtual Result<std::map<int, int>> get(int a = 1, std::string b = \"};\") = 0;\n",
    "  [[nodiscard]] static int get();\n",
    "  // A comment with a brace {\n  Type get(\n      int a, int b);\n",
])
def test_what_a_method_is(tmp_path, method):
    assert check(tmp_path, large(methods=MOST_METHODS, more=method)) == [over(MOST_METHODS + 1, 0)]


@pytest.mark.parametrize("member", [
    "  std::vector<std::pair<int, int>> one_{1, 2};\n",
    "  std::function<void(int)> one_;\n",
    "  const Type& one_;  ///< why (perhaps)\n",
    "  std::array<int, 3> one_ = {1, 2, 3};\n",
    "  Part* one_ = nullptr;\n",
    "  int one_[3] = {};\n",
    "  alignas(64) std::atomic<int> one_{0};\n",
    "  mutable std::mutex one_;\n",
])
def test_what_a_data_member_is(tmp_path, member):
    assert check(tmp_path, large(members=MOST_MEMBERS, more=member)) == [over(0, MOST_MEMBERS + 1)]


@pytest.mark.parametrize("neither", [
    "  Part() noexcept = default;\n  explicit Part(int a) : a_(a), b_{a} {}\n  Part(const Part&) = delete;\n  ~Part();\n",
    "  Part& operator=(const Part&) = delete;\n  bool operator()(int a) const { return true; }\n",
    "  static constexpr size_t kMost = size_t{64} << 10;\n",
    "  using Function = void (Part::*)() noexcept;\n",
    "  enum class State : uint8_t { kOne, kTwo };\n",
    "  friend class Other;\n",
    "  struct Inner {\n    int a = 0;\n    void run();\n  };\n",
    "  class Forward;\n",
    "  static_assert(sizeof(int) == 4);\n",
])
def test_what_counts_as_neither(tmp_path, neither):
    assert check(tmp_path, large(methods=MOST_METHODS, members=MOST_MEMBERS, more=neither)) == []


def test_a_class_in_another_one_and_one_behind_it(tmp_path):
    inner = "".join("  " + line + "\n" for line in large("Inner", methods=MOST_METHODS + 1).splitlines())
    text = large("Outer", more=inner) + large("Behind final : public Base<int>,\n             private Other", members=MOST_MEMBERS + 1)
    assert check(tmp_path, text) == [over(MOST_METHODS + 1, 0, "Inner"), over(0, MOST_MEMBERS + 1, "Behind")]


def test_the_tree_has_none_but_its_exceptions():
    run = subprocess.run([sys.executable, ROOT / "etc/dev/class-sizes"], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
