#include "frontends/common/call/router_slot.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/followed_fake.h"

namespace atl::frontends {
namespace {

/// Sends everything to one version, which has one label.
class OneVersion final : public ModelRouter {
 public:
  OneVersion(ModelCatalog& catalog, int64_t version) : catalog_(catalog), version_(version) {}

  std::optional<int64_t> labelled(std::string_view model, std::string_view label) const noexcept override {
    if (model != "m" || label != "the_one") return std::nullopt;
    return version_;
  }
  Result<ModelRef> route(std::string_view model, int64_t) noexcept override {
    ++routed;
    return catalog_.acquire(model, version_);
  }
  std::atomic<uint64_t> routed{0};

 private:
  ModelCatalog& catalog_;
  int64_t version_;
};

class RouterSlotTest : public ::testing::Test {
 protected:
  RouterSlotTest() {
    for (int64_t version = 1; version <= 3; ++version) {
      catalog_.add_identity("m", DataType::kFp32, 0, version);
    }
  }
  void notify_change() { test::publish_service_changed(host_, ModelRouter::kInterfaceId, "routing"); }
  void put(ModelRouter& router) {
    host_.registry().publish<ModelRouter>("routing", router);
    notify_change();
  }
  void take_away() {
    host_.registry().withdraw(std::string(ModelRouter::kInterfaceId), "routing");
    notify_change();
  }
  int64_t answers(int64_t version) {
    Result<ModelRef> model = slot_.route(catalog_, "m", version);
    EXPECT_TRUE(model.ok()) << model.status().message();
    return model.ok() ? model.value()->info().version : -1;
  }

  test::FakeModelCatalog catalog_;
  test::FakeHost host_;
  OneVersion first_{catalog_, 1};
  OneVersion second_{catalog_, 2};
  RouterSlot slot_{host_};
};

TEST_F(RouterSlotTest, WithoutARouterTheCatalogDecides) {
  ASSERT_TRUE(slot_.open().ok());
  EXPECT_EQ(answers(ModelCatalog::kLatest), 3);
  EXPECT_EQ(slot_.version_of("m", "2").value(), 2);
  EXPECT_EQ(slot_.version_of("m", "").value(), ModelCatalog::kLatest);
  EXPECT_FALSE(slot_.labelled("m", "the_one").has_value());
  Result<int64_t> refused = slot_.version_of("m", "the_one");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::kInvalidArgument);
  EXPECT_NE(refused.status().message().find("failed to get model version from specified version string "
                                            "'the_one'"),
            std::string_view::npos);
}

TEST_F(RouterSlotTest, TakesARouterThatIsThereAlready) {
  host_.registry().publish<ModelRouter>("routing", first_);
  ASSERT_TRUE(slot_.open().ok());
  EXPECT_EQ(answers(ModelCatalog::kLatest), 1);
}

TEST_F(RouterSlotTest, FollowsARouterThatComesIsReplacedAndGoes) {
  ASSERT_TRUE(slot_.open().ok());
  for (int round = 0; round < 3; ++round) {
    put(first_);
    EXPECT_EQ(answers(ModelCatalog::kLatest), 1);
    EXPECT_EQ(slot_.version_of("m", "the_one").value(), 1);
    EXPECT_EQ(slot_.version_of("m", "3").value(), 3);
    EXPECT_FALSE(slot_.version_of("m", "another").ok());
    put(second_);
    EXPECT_EQ(answers(ModelCatalog::kLatest), 2);
    EXPECT_EQ(slot_.version_of("m", "the_one").value(), 2);
    take_away();
    EXPECT_EQ(answers(ModelCatalog::kLatest), 3);
    EXPECT_EQ(host_.registry().holders(ModelRouter::kInterfaceId), 0U);
  }
}

TEST_F(RouterSlotTest, LetsGoWhenItCloses) {
  put(first_);
  ASSERT_TRUE(slot_.open().ok());
  EXPECT_EQ(host_.registry().holders(ModelRouter::kInterfaceId), 1U);
  slot_.close();
  EXPECT_EQ(host_.registry().holders(ModelRouter::kInterfaceId), 0U);
  EXPECT_EQ(answers(ModelCatalog::kLatest), 3);
}

TEST_F(RouterSlotTest, RequestsAskWhileItIsReplaced) {
  put(first_);
  ASSERT_TRUE(slot_.open().ok());
  std::atomic<bool> over{false};
  std::vector<std::thread> askers;
  for (int i = 0; i < 3; ++i) {
    askers.emplace_back([&] {
      while (!over) {
        const int64_t version = answers(ModelCatalog::kLatest);
        EXPECT_TRUE(version == 1 || version == 2 || version == 3) << version;
      }
    });
  }
  while (first_.routed == 0) std::this_thread::yield();
  for (int round = 0; round < 200; ++round) {
    put(second_);
    put(first_);
    if (round % 10 == 0) take_away();
  }
  over = true;
  for (std::thread& asker : askers) asker.join();
  slot_.close();
  EXPECT_EQ(host_.registry().holders(ModelRouter::kInterfaceId), 0U);
}

}  // namespace
}  // namespace atl::frontends
