#include "atoll/core/guarded.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace atl {
namespace {

TEST(Guarded, GivesWhatTheFunctionGives) {
  EXPECT_TRUE(guarded("it", [] { return Status(); }).ok());
  EXPECT_EQ(guarded("it", [] { return not_found("gone"); }).message(), "gone");
  EXPECT_EQ(guarded("it", []() -> Result<int> { return 7; }).value(), 7);
  bool called = false;
  EXPECT_TRUE(guarded("it", [&] { called = true; }).ok() && called);
}

TEST(Guarded, WhatIsThrownIsAFailure) {
  Status status = guarded("it", []() -> Status { throw std::runtime_error("out of luck"); });
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_EQ(status.message(), "it threw: out of luck");
  EXPECT_EQ(guarded("it", []() -> Result<int> { throw 7; }).status().message(),
            "it threw something that is not a std::exception");
  EXPECT_EQ(guarded("it", [] { throw 7; }).code(), Code::kInternal);
}

}  // namespace
}  // namespace atl
