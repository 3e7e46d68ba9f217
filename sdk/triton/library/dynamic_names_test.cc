#include "dynamic_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace atl::triton {
namespace {

const std::string kFile = std::string(ATOLL_FIXTURE_LIBRARIES) + "/libtriton_renamed.so";

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(DynamicNames, OfASharedObject) {
  DynamicNames names = read_dynamic_names(kFile).value();
  EXPECT_THAT(names.needed, testing::Contains("libtritonserver-0a1b2c3d.so"));
}

TEST(DynamicNames, ItsOwnNameIsWhereItSays) {
  const std::string path = std::string(ATOLL_FIXTURE_LIBRARIES) + "/libtriton_renamed_server.so";
  DynamicNames names = read_dynamic_names(path).value();
  EXPECT_EQ(names.soname, "libtritonserver-0a1b2c3d.so");
  EXPECT_EQ(bytes_of(path).substr(names.soname_offset, names.soname.size()), names.soname);
}

TEST(DynamicNames, WhatCanNotBeReadIsAnError) {
  EXPECT_EQ(read_dynamic_names(std::string("/nonexistent/x")).status().code(), Code::kNotFound);
  for (const std::string& bytes : {std::string(), std::string("text"), std::string(4096, 'x')}) {
    EXPECT_EQ(read_dynamic_names(std::span<const char>(bytes)).status().code(), Code::kInvalidArgument);
  }
}

TEST(DynamicNames, AFileThatIsCutLeadsNowhere) {
  const std::string whole = bytes_of(kFile);
  ASSERT_FALSE(whole.empty());
  for (size_t kept = 0; kept < whole.size(); kept += whole.size() / 211 + 1) {
    const std::string cut = whole.substr(0, kept);
    (void)read_dynamic_names(std::span<const char>(cut)).ok();
  }
}

TEST(DynamicNames, AFileOfWrongBytesLeadsNowhere) {
  std::string bytes = bytes_of(kFile);
  for (size_t at = 0; at < bytes.size() && at < 4096; at += 3) {
    const char before = bytes[at];
    bytes[at] = static_cast<char>(before ^ 0x7f);
    (void)read_dynamic_names(std::span<const char>(bytes)).ok();
    bytes[at] = before;
  }
}

}  // namespace
}  // namespace atl::triton
