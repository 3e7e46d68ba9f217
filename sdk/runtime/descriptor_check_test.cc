#include "atoll/runtime/descriptor_check.h"

#include <gtest/gtest.h>

#include <string>

namespace atl::runtime {
namespace {

class DescriptorCheckTest : public testing::Test {
 protected:
  std::string verdict(std::string_view use = "test/x") { return check_descriptor(&d, 0, use).text(); }

  atoll_provided_v1 provided[2] = {{"test.a/1", 0, 0, 0}, {"test.b/2", 0, 0, 0}};
  atoll_need_v1 needed[1] = {{"test.c/1", 0, 0}};
  atoll_option_v1 options[1] = {{"port", ATOLL_OPTION_INT, 0, "1", nullptr, nullptr, nullptr, "a port"}};
  atoll_plugin_v1_t d = {ATOLL_PLUGIN_MAGIC,
                         sizeof(atoll_plugin_v1_t),
                         ATOLL_ABI_MAJOR,
                         ATOLL_ABI_MINOR,
                         0,
                         ATOLL_BUILD_TAG,
                         "test/x",
                         "1",
                         "MIT",
                         "help",
                         provided,
                         needed,
                         options,
                         2,
                         1,
                         1,
                         0,
                         [](atoll_host*, void**) -> atoll_status* { return nullptr; },
                         [](void*) -> atoll_status* { return nullptr; },
                         [](void*, int64_t) {},
                         [](void*) {},
                         [](void*) {},
                         [](void*, const char*) -> void* { return nullptr; },
                         [](void*, char*, uint32_t) -> uint32_t { return 0; },
                         nullptr};
};

TEST_F(DescriptorCheckTest, AcceptsAGoodOne) {
  EXPECT_EQ(verdict(), "OK");
  EXPECT_EQ(verdict(""), "OK");
}

TEST_F(DescriptorCheckTest, ANewerMinorMayBeLarger) {
  d.struct_size += 64;
  d.abi_minor += 1;
  EXPECT_EQ(verdict(), "OK");
}

TEST_F(DescriptorCheckTest, SaysWhichLayoutTheOtherHas) {
  d.build_tag = ATOLL_BUILD_TAG "7";
  EXPECT_EQ(verdict(), cat("it was built with layout ", ATOLL_SDK_LAYOUT,
                           "7 of the SDK's structs, this server has layout ", ATOLL_SDK_LAYOUT,
                           ": build the plugin again with this server's SDK"));
}

TEST_F(DescriptorCheckTest, ChecksSizes) {
  EXPECT_EQ(check_descriptor(&d, 8, "test/x").text(),
            cat("its descriptor has 8 bytes, expected at least ", sizeof d));
  d.struct_size -= 1;
  EXPECT_EQ(verdict(), cat("its descriptor says ", sizeof d - 1, " bytes, expected at least ", sizeof d));
}

TEST_F(DescriptorCheckTest, ChecksTexts) {
  d.license = nullptr;
  EXPECT_EQ(verdict(), "its descriptor has no license");
  std::string long_text(5000, 'x');
  d.license = long_text.c_str();
  EXPECT_EQ(verdict(), "its descriptor's license is longer than 4096 bytes");
}

TEST_F(DescriptorCheckTest, ChecksTheName) {
  d.name = "ab";
  EXPECT_EQ(verdict(), "its name is 'ab', expected role/name");
  EXPECT_TRUE(is_plugin_name("backends/my-own_2.1"));
  for (const char* name : {"", "/", "a/", "/a", "a/b/c", "a b/c", "./a"})
    EXPECT_FALSE(is_plugin_name(name)) << name;
}

TEST_F(DescriptorCheckTest, ChecksFunctionsAndFlags) {
  d.stop = nullptr;
  EXPECT_EQ(
      verdict(),
      "its descriptor lacks a function; create, start, drain, stop, destroy, query and holding are needed");
  d.stop = d.destroy;
  d.flags = 0x100;
  EXPECT_EQ(verdict(), "its descriptor has unknown flags 256");
}

TEST_F(DescriptorCheckTest, ChecksTables) {
  d.provides_count = 1025;
  EXPECT_EQ(verdict(), "its descriptor has 1025 provided interfaces, expected at most 1024");
  d.provides_count = 2;
  d.needs = nullptr;
  EXPECT_EQ(verdict(), "its descriptor has 1 needs but no table of them");
  d.needs = needed;
  provided[1].id = "test.a/1";
  EXPECT_EQ(verdict(), "provided interface 'test.a/1' is listed twice");
  provided[1].id = "Test";
  EXPECT_EQ(verdict(), "provided interface 'Test' is malformed, expected the form atoll.noun/1");
}

TEST_F(DescriptorCheckTest, ChecksTheOptionTable) {
  options[0].default_value = "not a number";
  EXPECT_NE(verdict().find("its option table is wrong: "), std::string::npos) << verdict();
  options[0].key = nullptr;
  EXPECT_EQ(verdict(), "its descriptor has no option key");
}

TEST(IsInterfaceId, Forms) {
  for (const char* good : {"atoll.backend/1", "com.example.x_y/12", "a/1"})
    EXPECT_TRUE(is_interface_id(good)) << good;
  for (const char* bad :
       {"", "/1", "a", "a/", "a/0", "a/01", "a/x", "a..b/1", ".a/1", "a./1", "A/1", "a b/1", "a/1/2"}) {
    EXPECT_FALSE(is_interface_id(bad)) << bad;
  }
}

}  // namespace
}  // namespace atl::runtime
