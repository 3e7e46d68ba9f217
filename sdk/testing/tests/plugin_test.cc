#include "atoll/core/plugin.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

#include "atoll/memory/memory.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/plugin_runner.h"

// The layout that every plugin ever built relies on: a change here breaks them all.
static_assert(sizeof(void*) == 8, "the figures below are those of 64-bit machines");
static_assert(offsetof(atoll_plugin_v1_t, magic) == 0);
static_assert(offsetof(atoll_plugin_v1_t, struct_size) == 8);
static_assert(offsetof(atoll_plugin_v1_t, abi_major) == 12);
static_assert(offsetof(atoll_plugin_v1_t, abi_minor) == 16);
static_assert(offsetof(atoll_plugin_v1_t, flags) == 20);
static_assert(offsetof(atoll_plugin_v1_t, build_tag) == 24);
static_assert(offsetof(atoll_plugin_v1_t, name) == 32);
static_assert(offsetof(atoll_plugin_v1_t, help) == 56);
static_assert(offsetof(atoll_plugin_v1_t, provides) == 64);
static_assert(offsetof(atoll_plugin_v1_t, needs) == 72);
static_assert(offsetof(atoll_plugin_v1_t, options) == 80);
static_assert(offsetof(atoll_plugin_v1_t, provides_count) == 88);
static_assert(offsetof(atoll_plugin_v1_t, create) == 104);
static_assert(offsetof(atoll_plugin_v1_t, holding) == 152);
static_assert(offsetof(atoll_plugin_v1_t, check) == 160);
static_assert(sizeof(atoll_plugin_v1_t) == 168);
static_assert(sizeof(atoll_provided_v1) == 24 && offsetof(atoll_provided_v1, flags) == 16);
static_assert(sizeof(atoll_need_v1) == 16 && offsetof(atoll_need_v1, flags) == 12);
static_assert(sizeof(atoll_option_v1) == 56 && offsetof(atoll_option_v1, help) == 48);

namespace {

struct First {
  static constexpr std::string_view kInterfaceId = "tests.first/1";
  virtual int first() const = 0;

 protected:
  ~First() = default;
};
struct Second {
  static constexpr std::string_view kInterfaceId = "tests.second/1";
  virtual int second() const = 0;

 protected:
  ~Second() = default;
};
struct Third {
  static constexpr std::string_view kInterfaceId = "tests.third/1";
  int third() const { return value; }
  int value = 3;
};
/// Third is its second base, so that it is somewhere else than the part itself.
struct Part : std::string, Third {};

/// Fails where the option "fail" says.
class Probe final : public atl::Plugin, public First, public Second {
 public:
  explicit Probe(atl::Host& host) : fail_(host.options().get_string("fail")) {
    (void)step("constructor").ok();
  }
  atl::Status init() override { return step("init"); }
  atl::Status start() override { return step("start"); }
  void stop() override { (void)step("stop").ok(); }
  std::string holding() override { return "2 requests of resnet50"; }
  int first() const override { return 1; }
  int second() const override { return 2; }
  Part& part() noexcept { return part_; }

 private:
  atl::Status step(const std::string& name) {
    if (fail_ == name + " throws") throw std::runtime_error("boom");
    if (fail_ == name + " throws a number") throw 7;
    return fail_ == name ? atl::unavailable(name, " failed") : atl::Status();
  }
  std::string fail_;
  Part part_;
};

constexpr atl::OptionTable kOptions{
    atl::option_string("fail", "").help("Where to fail."),
    atl::option_int("count", 3).range(1, 10).help("A number."),
    atl::option_duration("wait", "2s").at_least("1s").help("How long."),
    atl::option_string_list("names", {"a"}).help("Which."),
};

}  // namespace

ATOLL_PLUGIN(Probe, {.name = "tests/probe",
                     .version = "1.2.3",
                     .license = "Apache-2.0",
                     .help = "Fails where it is told to.",
                     .provides = {atl::provide<First>(), atl::provide<Second>().minor(3).rank(-2),
                                  atl::provide<Third, &Probe::part>()},
                     .needs = {atl::need<First>().minor(4), atl::optional<atl::Memory>(), atl::many<Third>()},
                     .options = kOptions});

namespace atl {
namespace {

struct Created {
  Status status;
  void* self = nullptr;
};
Created create(test::FakeHost& host, const std::string& fail) {
  host.options().set_string("fail", fail);
  Created created;
  created.status = Status::take(
      atoll_plugin_v1.create(reinterpret_cast<atoll_host*>(static_cast<Host*>(&host)), &created.self));
  return created;
}

TEST(Plugin, TheDescriptorIsData) {
  EXPECT_EQ(atoll_plugin_v1.magic, ATOLL_PLUGIN_MAGIC);
  EXPECT_EQ(atoll_plugin_v1.struct_size, sizeof(atoll_plugin_v1_t));
  EXPECT_STREQ(atoll_plugin_v1.name, "tests/probe");
  EXPECT_STREQ(atoll_plugin_v1.build_tag, ATOLL_BUILD_TAG);
  ASSERT_EQ(atoll_plugin_v1.options_count, 4u);
  EXPECT_STREQ(atoll_plugin_v1.options[0].key, "fail");
}

TEST(Plugin, LivesAndEnds) {
  test::FakeHost host;
  Created created = create(host, "");
  ASSERT_TRUE(created.status.ok()) << created.status.text();
  EXPECT_EQ(atoll_plugin_v1.start(created.self), nullptr);
  EXPECT_EQ(atoll_plugin_v1.query(created.self, "atoll.memory/1"), nullptr);
  char text[64];
  EXPECT_EQ(atoll_plugin_v1.holding(created.self, text, sizeof text), 22u);
  EXPECT_STREQ(text, "2 requests of resnet50");
  EXPECT_EQ(atoll_plugin_v1.holding(created.self, text, 6), 5u);
  EXPECT_STREQ(text, "2 req");
  EXPECT_EQ(atoll_plugin_v1.holding(created.self, text, 0), 0u);
  atoll_plugin_v1.drain(created.self, 0);
  atoll_plugin_v1.stop(created.self);
  atoll_plugin_v1.destroy(created.self);
}

TEST(Plugin, AFailedCreateLeavesNothing) {
  for (std::string fail : {"init", "init throws", "constructor throws", "init throws a number"}) {
    test::FakeHost host;
    Created created = create(host, fail);
    EXPECT_FALSE(created.status.ok()) << fail;
    EXPECT_EQ(created.self, nullptr) << fail;
  }
}

TEST(Plugin, WhatIsThrownIsNamed) {
  test::FakeHost host;
  Created created = create(host, "start throws");
  ASSERT_TRUE(created.status.ok());
  Status status = Status::take(atoll_plugin_v1.start(created.self));
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_EQ(status.text(), "start threw: boom");
  atoll_plugin_v1.destroy(created.self);
}

TEST(Plugin, WhatStopThrowsReachesTheServerWhichLogsIt) {
  test::FakeHost host;
  Created created = create(host, "stop throws");
  ASSERT_TRUE(created.status.ok());
  EXPECT_THROW(atoll_plugin_v1.stop(created.self), std::runtime_error);
  atoll_plugin_v1.destroy(created.self);
}

TEST(Plugin, WhatIsProvidedIsTheInterfaceItself) {
  test::FakeHost host;
  Created created = create(host, "");
  ASSERT_TRUE(created.status.ok());
  const std::string_view kIds[] = {First::kInterfaceId, Second::kInterfaceId, Third::kInterfaceId};
  ASSERT_EQ(atoll_plugin_v1.provides_count, std::size(kIds));
  for (size_t i = 0; i < std::size(kIds); ++i) EXPECT_EQ(atoll_plugin_v1.provides[i].id, kIds[i]);
  EXPECT_EQ(atoll_plugin_v1.provides[1].minor, 3u);
  EXPECT_EQ(atoll_plugin_v1.provides[1].rank, -2);
  auto query = [&](std::string_view id) { return atoll_plugin_v1.query(created.self, id.data()); };
  EXPECT_EQ(static_cast<First*>(query(kIds[0]))->first(), 1);
  EXPECT_EQ(static_cast<Second*>(query(kIds[1]))->second(), 2);
  EXPECT_EQ(static_cast<Third*>(query(kIds[2]))->third(), 3);
  EXPECT_EQ(query("tests.first/2"), nullptr);
  EXPECT_EQ(query(""), nullptr);
  atoll_plugin_v1.destroy(created.self);
}

TEST(Plugin, NeedsAreRowsOfTheDescriptor) {
  ASSERT_EQ(atoll_plugin_v1.needs_count, 3u);
  const atoll_need_v1* needs = atoll_plugin_v1.needs;
  EXPECT_EQ(needs[0].id, First::kInterfaceId);
  EXPECT_EQ(needs[0].minor, 4u);
  EXPECT_EQ(needs[0].flags, 0u);
  EXPECT_STREQ(needs[1].id, "atoll.memory/1");
  EXPECT_EQ(needs[1].flags, ATOLL_NEED_OPTIONAL);
  EXPECT_EQ(needs[2].id, Third::kInterfaceId);
  EXPECT_EQ(needs[2].flags, ATOLL_NEED_MANY);
}

TEST(PluginRunner, DefaultsAreThoseOfTheTable) {
  test::FakeHost host;
  test::PluginRunner plugin(host);
  Status status = plugin.create_and_start();
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(host.options().get_string("fail"), "");
  EXPECT_EQ(host.options().get_int("count"), 3);
  EXPECT_EQ(host.options().get_duration_ns("wait"), 2 * kNsPerSecond);
  EXPECT_EQ(host.options().get_strings("names"), std::vector<std::string>{"a"});
  EXPECT_EQ(plugin.query<First>()->first(), 1);
}

TEST(PluginRunner, TextsAndTypedValuesGoBeforeDefaults) {
  test::FakeHost host;
  host.options().set_int("count", 11).set_strings("names", {"typed"});  // typed values are the test's affair
  test::PluginRunner plugin(host);
  plugin.set("wait", "1500ms").set("names", R"(["x", "y"])");
  Status status = plugin.create_and_start();
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(host.options().get_int("count"), 11);
  EXPECT_EQ(host.options().get_duration_ns("wait"), 1500 * kNsPerMs);
  EXPECT_EQ(host.options().get_strings("names"), (std::vector<std::string>{"x", "y"}));
}

TEST(PluginRunner, TextsAreCheckedAsTheServerDoes) {
  test::FakeHost host("mine");
  test::PluginRunner plugin(host);
  plugin.set("count", "11").set("wait", "10").set("naems", "x").set("fail", "constructor throws");
  Status status = plugin.create();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.text(),
            "\"count\": plugin.mine.count: found integer 11, expected integer, 1..10\n"
            "\"naems\": unknown key 'naems' in [plugin.mine], did you mean 'names'?\n"
            "\"wait\": plugin.mine.wait: found string \"10\", expected duration (\"250ms\"), at least 1s");
}

}  // namespace
}  // namespace atl
