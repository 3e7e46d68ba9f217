#include "models/catalog/loading/usable_gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "atoll/testing/gpu/fake_device_memory.h"
#include "models/catalog/testing/test_support.h"

namespace atl::models {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class UsableGpusTest : public ::testing::Test {
 protected:
  void publish(uint32_t minor) { host_.registry().publish<Memory>("cuda", gpus_, 0, minor); }
  std::string lost(const std::string& groups) {
    inference::ModelConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString("name: 'm' " + groups, &config));
    const Status status = check_for_lost_gpus(host_.registry(), config);
    EXPECT_TRUE(status.ok() || status.code() == Code::kUnavailable);
    return status.ok() ? "none" : std::string(status.message());
  }

  test::FakeHost host_{"catalog"};
  test::FakeDeviceMemory gpus_{3};
};

TEST_F(UsableGpusTest, AreThoseOfTheProviderThatAreNotLost) {
  EXPECT_THAT(usable_gpus(host_.registry()), IsEmpty());
  publish(0);
  EXPECT_THAT(usable_gpus(host_.registry()), IsEmpty()) << "it does not know its devices";
  publish(Memory::kDevicesMinor);
  EXPECT_THAT(usable_gpus(host_.registry()), ElementsAre(0, 1, 2));
  gpus_.lose(1);
  EXPECT_THAT(usable_gpus(host_.registry()), ElementsAre(0, 2));
}

TEST_F(UsableGpusTest, OneThatIsLostAndWantedIsTold) {
  gpus_.lose(1);
  EXPECT_EQ(lost("instance_group { gpus: 1 }"), "none") << "nobody knows";
  publish(Memory::kDevicesMinor);
  EXPECT_EQ(lost("instance_group { gpus: 1 }"), "none") << "nobody says why";
  publish(Memory::kUsageMinor);
  const char* text = "an instance group of model 'm' wants GPU 1: GPU 1 is lost: it fell off the bus";
  EXPECT_EQ(lost("instance_group { gpus: 1 }"), text);
  EXPECT_EQ(lost("instance_group { kind: KIND_CPU } instance_group { kind: KIND_GPU gpus: [ 0, 1 ] }"), text);
  EXPECT_EQ(lost("instance_group { gpus: [ 0, 2, 7, -1 ] }"), "none");
  EXPECT_EQ(lost("instance_group { kind: KIND_GPU }"), "none") << "there are others";
  EXPECT_EQ(lost(""), "none");
  gpus_.lose(0);
  gpus_.lose(2);
  EXPECT_EQ(lost("instance_group { kind: KIND_GPU }"),
            "an instance group of model 'm' wants GPU 0: GPU 0 is lost: it fell off the bus");
  EXPECT_EQ(lost("instance_group { kind: KIND_AUTO }"), "none") << "it goes to the CPU";
}

TEST(UsableGpus, ALoadOnALostOneSaysSo) {
  test::FakeDeviceMemory gpus(2);
  CatalogBench bench;
  bench.host.registry().publish<Memory>("cuda", gpus, 0, Memory::kUsageMinor);
  bench.put("m", cat(kSimpleConfig, "instance_group { name: 'g' count: 1 kind: KIND_GPU gpus: 1 }"));
  bench.configs.group_failure = "there is no such GPU";
  EXPECT_THAT(bench.load_one("m").text(), ::testing::HasSubstr("Invalid argument: there is no such GPU"));
  gpus.lose(1);
  EXPECT_THAT(
      bench.load_one("m").text(),
      ::testing::HasSubstr("Unavailable: an instance group of model 'm' wants GPU 1: GPU 1 is lost: it "
                           "fell off the bus"));
}

}  // namespace
}  // namespace atl::models
