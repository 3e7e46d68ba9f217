#include "models/catalog/states/service_changes.h"

#include <gtest/gtest.h>

#include <memory>

#include "atoll/request/execution_admission.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/fake_scheduler.h"

namespace atl::models {
namespace {

using Kind = ServiceChanged::Kind;

constexpr std::string_view kBackend = Backend::kInterfaceId;
constexpr std::string_view kAdmission = ExecutionAdmission::kInterfaceId;
constexpr std::string_view kScheduler = SchedulerProvider::kInterfaceId;

/// A version that needs backend "b", is admitted by nobody and has scheduler "s".
class ServiceChangesTest : public ::testing::Test {
 protected:
  ServiceChangesTest() {
    parts_.dependencies = {{kBackend, "b"},
                           {kAdmission, "", Dependency::Kind::kOptional},
                           {kScheduler, "s", Dependency::Kind::kChosen}};
    auto info = std::make_unique<ModelInfo>();
    info->name = "m";
    parts_.info = std::move(info);
    parts_.wanted_scheduler.demand.kind = "default";
    registry_.publish<SchedulerProvider>("s", scheduler_);
    parts_.scheduler_provider = std::move(registry_.find<SchedulerProvider>("s")).value();
  }
  Consequence after(std::string_view interface_id, std::string_view instance, Kind kind) {
    std::vector<SchedulerOffer> offers = scheduler_offers(registry_);
    return consequence_of({interface_id, instance, kind}, parts_, offers);
  }
  Effect effect(std::string_view interface_id, std::string_view instance, Kind kind) {
    return after(interface_id, instance, kind).effect;
  }

  test::FakeRegistry registry_;
  test::FakeSchedulerProvider scheduler_, other_;
  ModelParts parts_;
};

TEST_F(ServiceChangesTest, WhatIsRequiredIsFollowed) {
  EXPECT_EQ(effect(kBackend, "b", Kind::kPublished), Effect::kNone);
  EXPECT_EQ(effect(kBackend, "b", Kind::kReplaced), Effect::kRebuild);
  EXPECT_EQ(effect(kBackend, "b", Kind::kWithdrawn), Effect::kTakeDown);
  EXPECT_EQ(effect(kBackend, "other", Kind::kWithdrawn), Effect::kNone);
  EXPECT_EQ(effect("atoll.memory/1", "b", Kind::kWithdrawn), Effect::kNone);
}

TEST_F(ServiceChangesTest, WhatIsOptionalIsUsedWhenItComesAndDoneWithoutWhenItGoes) {
  EXPECT_EQ(effect(kAdmission, "a", Kind::kPublished), Effect::kRebuild);
  EXPECT_EQ(effect(kAdmission, "a", Kind::kWithdrawn), Effect::kNone);
  parts_.dependencies[1].instance = "a";
  EXPECT_EQ(effect(kAdmission, "second", Kind::kPublished), Effect::kNone);
  EXPECT_EQ(effect(kAdmission, "a", Kind::kReplaced), Effect::kRebuild);
  EXPECT_EQ(effect(kAdmission, "a", Kind::kWithdrawn), Effect::kRebuild);
}

TEST_F(ServiceChangesTest, WhatIsChosenIsChosenAgain) {
  EXPECT_EQ(effect(kScheduler, "s", Kind::kPublished), Effect::kNone);
  registry_.publish<SchedulerProvider>("other", other_, 1);
  Consequence better = after(kScheduler, "other", Kind::kPublished);
  EXPECT_EQ(better.effect, Effect::kReschedule);
  EXPECT_EQ(better.scheduler, "other");
  EXPECT_EQ(better.cause->instance, "s");

  registry_.withdraw(std::string(kScheduler), "s");
  EXPECT_EQ(effect(kScheduler, "s", Kind::kWithdrawn), Effect::kReschedule);
  registry_.withdraw(std::string(kScheduler), "other");
  EXPECT_EQ(effect(kScheduler, "s", Kind::kWithdrawn), Effect::kTakeDown);
  EXPECT_EQ(effect(kScheduler, "s", Kind::kReplaced), Effect::kRebuild);
  EXPECT_EQ(effect(kScheduler, "other", Kind::kWithdrawn), Effect::kNone);
}

TEST_F(ServiceChangesTest, WhatWentIsWantedBack) {
  const Want backend = want_of(parts_.dependencies[0]);
  EXPECT_TRUE(may_help({kBackend, "b", Kind::kPublished}, backend));
  EXPECT_FALSE(may_help({kBackend, "other", Kind::kPublished}, backend));
  EXPECT_FALSE(may_help({kBackend, "b", Kind::kReplaced}, backend));
  const Want scheduler = want_of(parts_.dependencies[2]);
  EXPECT_TRUE(may_help({kScheduler, "other", Kind::kPublished}, scheduler)) << "another one will do";
  const Want admission{kAdmission, {}, true};
  EXPECT_TRUE(may_help({kAdmission, "a", Kind::kWithdrawn}, admission)) << "it may be what refused";
}

TEST_F(ServiceChangesTest, TheLastChangeOfEachServiceIsRemembered) {
  ServiceChanges changes;
  changes.note({kBackend, "b", Kind::kWithdrawn});
  const uint64_t then = changes.last();
  EXPECT_TRUE(changes.since(then).empty());
  EXPECT_EQ(changes.lost(parts_), &parts_.dependencies[0]);
  changes.note({kBackend, "b", Kind::kPublished});
  changes.note({kAdmission, "a", Kind::kWithdrawn});
  EXPECT_EQ(changes.since(then).size(), 2U);
  EXPECT_EQ(changes.lost(parts_), nullptr);
}

TEST(RemovalText, NamesTheServiceByItsInterface) {
  EXPECT_EQ(removal_text({kBackend, "onnx"}), "backend 'onnx' was removed");
  EXPECT_EQ(removal_text({kScheduler, "d"}), "scheduler 'd' was removed");
}

}  // namespace
}  // namespace atl::models
