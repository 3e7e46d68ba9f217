/// Errors and messages.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "atoll/triton/status.h"
#include "triton/core/tritonserver.h"

namespace {

TEST(Error, KeepsCodeAndText) {
  std::string text = "too big";
  TRITONSERVER_Error* error = TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_NOT_FOUND, text.c_str());
  text = "changed";
  EXPECT_EQ(TRITONSERVER_ErrorCode(error), TRITONSERVER_ERROR_NOT_FOUND);
  EXPECT_STREQ(TRITONSERVER_ErrorCodeString(error), "Not found");
  EXPECT_STREQ(TRITONSERVER_ErrorMessage(error), "too big");
  TRITONSERVER_ErrorDelete(error);
}

TEST(Error, CodesHaveTritonsNames) {
  const char* names[] = {"Unknown",     "Internal",       "Not found",      "Invalid argument", "Unavailable",
                         "Unsupported", "Already exists", "<invalid code>", "<invalid code>"};
  for (int code = 0; code < 9; ++code) {
    TRITONSERVER_Error* error = TRITONSERVER_ErrorNew(static_cast<TRITONSERVER_Error_Code>(code), nullptr);
    EXPECT_STREQ(TRITONSERVER_ErrorCodeString(error), names[code]) << code;
    EXPECT_STREQ(TRITONSERVER_ErrorMessage(error), "");
    TRITONSERVER_ErrorDelete(error);
  }
}

TEST(Error, NullIsTolerated) {
  EXPECT_EQ(TRITONSERVER_ErrorCode(nullptr), TRITONSERVER_ERROR_UNKNOWN);
  EXPECT_STREQ(TRITONSERVER_ErrorCodeString(nullptr), "<invalid code>");
  EXPECT_STREQ(TRITONSERVER_ErrorMessage(nullptr), "");
  TRITONSERVER_ErrorDelete(nullptr);
}

TEST(Status, TakesErrorsOver) {
  using atl::Code;
  EXPECT_TRUE(atl::triton::take_error(nullptr).ok());
  const Code codes[] = {Code::kUnknown,         Code::kInternal,    Code::kNotFound,
                        Code::kInvalidArgument, Code::kUnavailable, Code::kUnimplemented,
                        Code::kAlreadyExists,   Code::kCancelled,   Code::kUnknown};
  for (int code = 0; code < 9; ++code) {
    atl::Status status =
        atl::triton::take_error(TRITONSERVER_ErrorNew(static_cast<TRITONSERVER_Error_Code>(code), "why"));
    EXPECT_EQ(status.code(), codes[code]) << code;
    EXPECT_EQ(status.message(), "why");
  }
}

TRITONSERVER_Error* add(int* to, int value) {
  if (value < 0) throw std::out_of_range("below zero");
  if (value == 0) throw value;
  *to += value;
  return value > 9 ? TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, "above nine") : nullptr;
}

TEST(Call, PassesResultsOnAndCatchesWhatIsThrown) {
  int sum = 0;
  EXPECT_TRUE(atl::triton::call(add, &sum, 4).ok());
  EXPECT_EQ(sum, 4);
  EXPECT_EQ(atl::triton::call(add, &sum, 10).text(), "above nine");
  EXPECT_EQ(atl::triton::call(add, &sum, -1).text(), "it threw an exception: below zero");
  atl::Status status = atl::triton::call(add, &sum, 0);
  EXPECT_EQ(status.text(), "it threw an exception");
  EXPECT_EQ(status.code(), atl::Code::kInternal);
}

TEST(Message, HoldsTheBytesAsTheyAre) {
  for (std::string json : {std::string("{\"a\":1}"), std::string("no \0 json", 9), std::string()}) {
    TRITONSERVER_Message* message = nullptr;
    ASSERT_EQ(TRITONSERVER_MessageNewFromSerializedJson(&message, json.data(), json.size()), nullptr);
    const char* base = nullptr;
    size_t size = 99;
    EXPECT_EQ(TRITONSERVER_MessageSerializeToJson(message, &base, &size), nullptr);
    EXPECT_EQ(std::string(base, size), json);
    EXPECT_EQ(TRITONSERVER_MessageDelete(message), nullptr);
  }
}

TEST(Message, NullArgumentsAreErrors) {
  TRITONSERVER_Message* message = nullptr;
  const char* base = nullptr;
  size_t size = 0;
  for (TRITONSERVER_Error* error :
       {TRITONSERVER_MessageNewFromSerializedJson(nullptr, "{}", 2),
        TRITONSERVER_MessageNewFromSerializedJson(&message, nullptr, 2),
        TRITONSERVER_MessageSerializeToJson(nullptr, &base, &size), TRITONSERVER_MessageDelete(nullptr)}) {
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(TRITONSERVER_ErrorCode(error), TRITONSERVER_ERROR_INVALID_ARG);
    TRITONSERVER_ErrorDelete(error);
  }
  TRITONSERVER_Error* error = TRITONSERVER_MessageDelete(nullptr);
  EXPECT_STREQ(TRITONSERVER_ErrorMessage(error),
               "TRITONSERVER_MessageDelete: an argument that is needed is null");
  TRITONSERVER_ErrorDelete(error);
}

// The sizes no machine has: an error, not the end of the process.
TEST(Message, WithoutMemoryThereIsAnError) {
  TRITONSERVER_Message* message = nullptr;
  TRITONSERVER_Error* error = TRITONSERVER_MessageNewFromSerializedJson(&message, "{}", SIZE_MAX / 2);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(TRITONSERVER_ErrorCode(error), TRITONSERVER_ERROR_INTERNAL);
  EXPECT_EQ(message, nullptr);
  TRITONSERVER_ErrorDelete(error);
}

}  // namespace
