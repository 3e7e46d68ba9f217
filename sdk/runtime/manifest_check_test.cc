#include "atoll/runtime/manifest_check.h"

#include <gtest/gtest.h>

#include <deque>

#include "atoll/core/option_check.h"
#include "atoll/core/option_table.h"
#include "atoll/runtime/raw_value.h"

namespace atl::runtime {
namespace {

constexpr OptionTable kOptions{
    option_string("address", "127.0.0.1:8000").listens().help("Where."),
    option_bool("listen", true).listens().help("Whether."),
    option_bool("shared", false).shares_ports().help("Whether."),
    option_string_list("even").help("Numbers."),
    option_string_map("named").help("Numbers."),
    option_string("mode", "a").choices("a|b").help("Which."),
};

Status all_even(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    if (text.empty() || (text.back() - '0') % 2 != 0)
      return invalid_argument("option 'even' has '", text, "', expected an even number");
  }
  return {};
}

void check_options(atoll_option_check* raw) {
  auto& check = *reinterpret_cast<OptionCheck*>(raw);
  check.list("even", &all_even);
  for (const auto& [name, text] : check.options().get_map("named")) {
    if (text == "bad") check.report("named", name, "found 'bad'");
  }
  if (check.options().get_string("mode") == "b")
    check.whole(invalid_argument("option 'mode' is 'b', expected another one"));
  if (check.options().get_bool("shared") && check.options().get_string("address") == "127.0.0.1:1")
    check.whole(invalid_argument("options 'listen' and 'shared': 'shared' is too much"));
  if (check.options().get_bool("shared") && !check.options().get_bool("listen"))
    check.whole(invalid_argument("neither here nor there"));
}

class ManifestCheckTest : public testing::Test {
 protected:
  ManifestCheckTest() {
    plugin_.options = kOptions.begin();
    plugin_.options_count = kOptions.size();
    plugin_.check = &check_options;
  }

  /// Adds [plugin.NAME]; each option, its list's elements and its map's members are in columns of a line.
  void add(const std::string& name, RawValue::Table options) {
    Instance& instance = instances_.emplace_back();
    instance.section = "plugin." + name;
    instance.where = {"m", static_cast<uint32_t>(10 * instances_.size()), 1};
    instance.options = std::move(options);
    uint32_t line = instance.where.line;
    for (RawValue::Member& option : instance.options) place(option.value, ++line);
    instance.values =
        read_options(instance.section, instance.where, instance.options, kOptions, {}, problems_);
    entries_.push_back({instance.section, instance.where, instance.options, *instance.values, plugin_});
  }

  std::string problems() {
    for (const ManifestEntry& entry : entries_) check_entry(entry, problems_);
    check_addresses(entries_, problems_);
    return std::string(problems_.status().message());
  }

 private:
  struct Instance {
    std::string section;
    SourceLocation where;
    RawValue::Table options;
    std::unique_ptr<OptionValues> values;
  };

  static void place(RawValue& value, uint32_t line) {
    value.where = {"m", line, 5};
    uint32_t column = 5;
    if (auto* array = std::get_if<RawValue::Array>(&value.data)) {
      for (RawValue& element : *array) element.where = {"m", line, ++column};
    } else if (value.table() != nullptr) {
      for (RawValue::Member& member : *value.table()) member.value.where = {"m", line, ++column};
    }
  }

  atoll_plugin_v1_t plugin_{};
  std::deque<Instance> instances_;
  std::vector<ManifestEntry> entries_;
  Problems problems_;
};

RawValue::Member option(const char* key, std::string_view literal) {
  if (literal.front() == '"') return {key, {}, {std::string(literal.substr(1, literal.size() - 2)), {}}};
  return {key, {}, parse_literal(literal).value()};
}

TEST_F(ManifestCheckTest, EveryProblemHasThePlaceOfItsOptionOrElement) {
  add("a", {option("even", R"(["2", "3", "4", "5"])"), option("named", R"({ x = "good", y = "bad" })"),
            option("address", "\"localhost\"")});
  EXPECT_EQ(problems(),
            "m:11:7: plugin.a.even: has '3', expected an even number\n"
            "m:11:9: plugin.a.even: has '5', expected an even number\n"
            "m:12:7: plugin.a.named.y: found 'bad'\n"
            "m:13:5: plugin.a.address: found 'localhost', expected host:port or [ipv6]:port, such as "
            "127.0.0.1:8000");
}

TEST_F(ManifestCheckTest, TheOptionThatATextNamesIsFoundAndOtherTextsAreTheTables) {
  add("a", {option("mode", "\"b\"")});
  add("b", {option("shared", "true"), option("listen", "false")});
  EXPECT_EQ(problems(),
            "m:11:5: plugin.a.mode: is 'b', expected another one\n"
            "m:20:1: plugin.b: neither here nor there");
}

TEST_F(ManifestCheckTest, OfSeveralOptionsTheOneThatIsWrittenIsThePlace) {
  add("a", {option("address", "\"127.0.0.1:1\""), option("shared", "true")});
  EXPECT_EQ(problems(), "m:12:5: plugin.a.shared: options 'listen' and 'shared': 'shared' is too much");
}

TEST_F(ManifestCheckTest, WhatTheTableRefusedIsNotToldAgain) {
  add("a", {option("even", "3"), option("address", "8000")});
  EXPECT_EQ(
      problems(),
      "m:11:5: plugin.a.even: found integer 3, expected list of strings ([\"a\", \"b\"])\n"
      "m:12:5: plugin.a.address: found integer 8000, expected string (\"127.0.0.1:8000\": host and port)");
}

TEST_F(ManifestCheckTest, TwoThatListenAtOnePort) {
  add("a", {});
  add("b", {option("address", "\"0.0.0.0:8000\"")});
  add("c", {option("address", "\"127.0.0.2:8000\"")});
  add("d", {option("address", "\"127.0.0.1:8000\""), option("listen", "false")});
  add("e", {option("address", "\"127.0.0.1:0\"")});
  add("f", {option("address", "\"127.0.0.1:0\"")});
  EXPECT_EQ(problems(),
            "m:21:5: plugin.b.address: found '0.0.0.0:8000', at whose port [plugin.a] listens (address = "
            "'127.0.0.1:8000')");
}

TEST_F(ManifestCheckTest, APortIsSharedWhereBothSaySo) {
  add("a", {option("shared", "true")});
  add("b", {option("shared", "true")});
  EXPECT_EQ(problems(), "");
  add("c", {});
  EXPECT_EQ(problems(),
            "m:30:1: plugin.c.address: found '127.0.0.1:8000', at whose port [plugin.a] listens (address = "
            "'127.0.0.1:8000')");
}

TEST(ProblemLinesTest, NameTheirOption) {
  const OptionValues values({});
  ProblemLines lines(values);
  lines.problem("a", "found nothing");
  lines.problem("a", "option 'a' is empty");
  lines.problem({}, "neither here nor there");
  EXPECT_EQ(lines.status().text(), "option 'a': found nothing\noption 'a' is empty\nneither here nor there");
}

}  // namespace
}  // namespace atl::runtime
