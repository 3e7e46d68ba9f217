#include "atoll/runtime/manifest_control.h"

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>

#include "atoll/core/moved_option.h"
#include "atoll/core/option_table.h"
#include "atoll/core/text.h"
#include "atoll/runtime/reload_counts.h"
#include "atoll/runtime/system_clock.h"

namespace atl::runtime {
namespace {

constexpr OptionTable kControlTable{
    option_int("threads", 4).help("How many."), option_string("path").required().help("Where."),
    option_secret(option_string("word", "").help("What is said.")), option_moved("gone", "other/plugin")};

DescribedInstance described(const std::string& name, const std::string& plugin, RawValue::Table options) {
  options.push_back({"path", {}, {std::string("/p"), {}}});
  Problems problems;
  const auto values = read_options(name, {}, options, kControlTable, {}, problems);
  EXPECT_TRUE(problems.empty()) << problems.status().text();
  return describe_instance(name, plugin, kControlTable, *values);
}

std::string text(const std::vector<InstanceDifference>& all) {
  std::string made;
  for (const InstanceDifference& one : all) {
    made += cat(made.empty() ? "" : "; ", one.instance, " ", one.plugin, " ", static_cast<uint32_t>(one.kind),
                " ", one.why);
    for (const OptionDifference& option : one.options)
      made += cat(" ", option.key, option.is_secret ? "(secret)" : "", ":", option.before, ">", option.after);
  }
  return made;
}

TEST(DescribeInstance, HasAllOptionsAndNoSecrets) {
  const InstanceOptions shown = described("a", "x/a", {{"word", {}, {std::string("hush"), {}}}}).shown;
  std::string made;
  for (const OptionState& option : shown.options) {
    made += cat(option.key, " ", option.type, " '", option.value, "' '", option.default_value, "' ",
                option.is_default ? "default" : "set", option.is_secret ? " secret" : "", "; ");
  }
  EXPECT_EQ(made,
            "threads integer '4' '4' default; path string '\"/p\"' '' set; word string '' '' set secret; ");
  EXPECT_EQ(shown.options.front().help, "How many.");
}

TEST(InstanceDifferences, SayWhatBecomesOfEach) {
  const RawValue::Table eight = {{"threads", {}, {int64_t{8}, {}}}};
  const std::vector<DescribedInstance> running = {
      described("same", "x/a", {}),    described("followed", "x/a", {}), described("gone", "x/a", {}),
      described("rebuilt", "x/a", {}), described("other", "x/a", {}),    described("taken", "x/a", {})};
  const std::vector<DescribedInstance> planned = {
      described("same", "x/a", {}),
      described("followed", "x/a", eight),
      described("added", "x/a", eight),
      described("rebuilt", "x/a", {{"word", {}, {std::string("hush"), {}}}}),
      described("other", "x/b", eight),
      described("taken", "x/a", {})};
  EXPECT_EQ(text(instance_differences(running, planned,
                                      {{"same", ""},
                                       {"followed", ""},
                                       {"added", std::string(ReloadChanges::kNew)},
                                       {"rebuilt", "options"},
                                       {"other", "plugin"},
                                       {"taken", "it needs rebuilt"}})),
            "added x/a 0 ; followed x/a 3  threads:4>8; gone x/a 1 ; other x/b 2 plugin; "
            "rebuilt x/a 2 options word(secret):>; taken x/a 2 it needs rebuilt");
}

struct Controlled {
  SystemClock clock;
  ControlLoop loop{clock};
  ManifestControl control{loop};

  Status compared(std::optional<std::string> given) {
    Status status(Code::kDataLoss, "it was not called");
    control.compare(std::move(given),
                    [&](Result<ManifestDifference> found) { status = std::move(found).status(); });
    EXPECT_EQ(status.code(), Code::kDataLoss) << "it was called inside compare()";
    loop.run_ready();
    return status;
  }
};

TEST(ManifestControl, DoesNothingInsideAProgram) {
  Controlled controlled;
  EXPECT_EQ(controlled.compared(std::nullopt).code(), Code::kUnimplemented);
  EXPECT_EQ(controlled.control.apply().code(), Code::kUnimplemented);
  EXPECT_EQ(controlled.control.running()->generation, 0u);
}

TEST(ManifestControl, ComparesOnTheControlThread) {
  Controlled controlled;
  std::vector<std::string> asked;
  int applied = 0;
  controlled.control.serve(
      [&](const std::string* given) -> Result<ManifestDifference> {
        asked.push_back(given == nullptr ? "file" : *given);
        if (asked.back() == "throw") throw std::runtime_error("no");
        return ManifestDifference{};
      },
      [&] { ++applied; });
  EXPECT_TRUE(controlled.compared(std::nullopt).ok());
  EXPECT_TRUE(controlled.compared("text").ok());
  EXPECT_EQ(controlled.compared("throw").code(), Code::kInternal);
  EXPECT_EQ(asked, std::vector<std::string>({"file", "text", "throw"}));
  EXPECT_TRUE(controlled.control.apply().ok());
  EXPECT_EQ(applied, 1);
}

TEST(ManifestControl, ShowsWhatRuns) {
  Controlled controlled;
  const auto before = controlled.control.running();
  std::vector<DescribedInstance> instances;
  instances.push_back(described("a", "x/a", {}));
  controlled.control.set_running(3, std::move(instances));
  const auto running = controlled.control.running();
  EXPECT_EQ(running->generation, 3u);
  ASSERT_EQ(running->instances.size(), 1u);
  EXPECT_EQ(running->instances.front().instance, "a");
  EXPECT_TRUE(before->instances.empty());
}

}  // namespace
}  // namespace atl::runtime
