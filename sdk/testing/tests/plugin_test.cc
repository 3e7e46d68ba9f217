#include "atoll/plugin.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <stdexcept>

#include "atoll/memory.h"
#include "atoll/testing/fake_host.h"

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
static_assert(sizeof(atoll_plugin_v1_t) == 160);
static_assert(sizeof(atoll_provided_v1) == 16 && offsetof(atoll_provided_v1, rank) == 12);
static_assert(sizeof(atoll_need_v1) == 16 && offsetof(atoll_need_v1, flags) == 12);
static_assert(sizeof(atoll_option_v1) == 56 && offsetof(atoll_option_v1, help) == 48);

namespace {

/// Fails where the option "fail" says.
class Probe final : public atl::Plugin {
 public:
  explicit Probe(atl::Host& host) : fail_(host.options().get_string("fail")) {
    (void)step("constructor").ok();
  }
  atl::Status init() override { return step("init"); }
  atl::Status start() override { return step("start"); }
  void stop() override { (void)step("stop").ok(); }
  std::string holding() override { return "2 requests of resnet50"; }

 private:
  atl::Status step(const std::string& name) {
    if (fail_ == name + " throws") throw std::runtime_error("boom");
    if (fail_ == name + " throws a number") throw 7;
    return fail_ == name ? atl::unavailable(name, " failed") : atl::Status();
  }
  std::string fail_;
};

constexpr atoll_need_v1 kNeeds[] = {{"atoll.memory/1", 0, ATOLL_NEED_OPTIONAL}};
constexpr atl::OptionTable kOptions{
    atl::option_string("fail", "").help("Where to fail."),
};

}  // namespace

ATOLL_PLUGIN(Probe, {.name = "tests/probe",
                     .version = "1.2.3",
                     .license = "Apache-2.0",
                     .help = "Fails where it is told to.",
                     .needs = kNeeds,
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
  EXPECT_EQ(atoll_plugin_v1.provides_count, 0u);
  ASSERT_EQ(atoll_plugin_v1.needs_count, 1u);
  EXPECT_STREQ(atoll_plugin_v1.needs[0].id, "atoll.memory/1");
  ASSERT_EQ(atoll_plugin_v1.options_count, 1u);
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

TEST(Plugin, AThrowingStopDoesNotEscape) {
  test::FakeHost host;
  Created created = create(host, "stop throws");
  ASSERT_TRUE(created.status.ok());
  atoll_plugin_v1.stop(created.self);
  atoll_plugin_v1.destroy(created.self);
}

TEST(Plugin, ProvideComparesTheId) {
  Memory* memory = reinterpret_cast<Memory*>(0x40);  // never dereferenced
  EXPECT_EQ(provide<Memory>(memory, "atoll.memory/1"), static_cast<void*>(memory));
  EXPECT_EQ(provide<Memory>(memory, "atoll.memory/2"), nullptr);
}

}  // namespace
}  // namespace atl
