#include "atoll/core/status.h"

#include <gtest/gtest.h>

#include "atoll/abi/plugin.h"

namespace atl {
namespace {

TEST(Status, SuccessIsOneZeroWord) {
  Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), Code::kOk);
  EXPECT_EQ(status.message(), "");
  EXPECT_EQ(status.text(), "OK");
  EXPECT_EQ(status.release(), nullptr);
}

TEST(Status, OkWithAMessageIsSuccess) { EXPECT_TRUE(Status(Code::kOk, "dropped").ok()); }

TEST(Status, NotesStandBeforeTheMessageNewestFirst) {
  Status status = not_found("no file '", std::string("x"), "' in ", 3, " folders");
  status.note("loading").note("starting");
  EXPECT_EQ(status.message(), "no file 'x' in 3 folders");
  EXPECT_EQ(status.text(), "starting: loading: no file 'x' in 3 folders");
}

TEST(Status, TheFirstOriginStays) {
  Status status = internal_error("broke");
  status.set_origin("inner").set_origin("outer");
  EXPECT_EQ(status.origin(), "inner");
  Status success;
  EXPECT_EQ(success.set_origin("nobody").origin(), "");
}

TEST(Status, CrossesTheCBoundaryAndBack) {
  atoll_status* raw = unavailable("gone").release();
  ASSERT_NE(raw, nullptr);
  Status back = Status::take(raw);
  EXPECT_EQ(back.code(), Code::kUnavailable);
  EXPECT_EQ(back.message(), "gone");
  EXPECT_TRUE(Status::take(nullptr).ok());
}

TEST(Status, CloneIsIndependent) {
  Status first = invalid_argument("bad");
  Status copy = first.clone();
  first = Status();
  EXPECT_EQ(copy.text(), "bad");
  EXPECT_TRUE(Status().clone().ok());
}

TEST(Status, MovedFromIsSuccess) {
  Status first = invalid_argument("bad");
  Status second = std::move(first);
  EXPECT_TRUE(first.ok());  // NOLINT(bugprone-use-after-move): that is what is tested
  EXPECT_FALSE(second.ok());
  Status& self = second;
  second = std::move(self);
  EXPECT_EQ(second.text(), "bad");
}

TEST(Status, NamesAreGrpcs) {
  EXPECT_EQ(code_name(Code::kInvalidArgument), "INVALID_ARGUMENT");
  EXPECT_EQ(code_name(Code::kUnauthenticated), "UNAUTHENTICATED");
  EXPECT_EQ(code_name(static_cast<Code>(17)), "UNKNOWN");
}

TEST(Result, HoldsAValueOrAFailure) {
  Result<std::string> value(std::string("x"));
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(*value, "x");
  EXPECT_EQ(value->size(), 1u);
  Result<std::string> failure(not_found("none"));
  EXPECT_FALSE(failure.ok());
  EXPECT_EQ(std::move(failure).status().code(), Code::kNotFound);
}

TEST(Result, FromASuccessfulStatusIsADefect) {
  Result<int> result{Status()};
  EXPECT_EQ(result.status().code(), Code::kInternal);
}

TEST(Result, TakesValuesThatOnlyMove) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 7);
}

struct Base {
  virtual ~Base() = default;
};
struct Derived final : Base {};
Result<std::unique_ptr<Base>> makes_a_base() { return std::make_unique<Derived>(); }
TEST(Result, OfABaseTakesAPointerToADerivedObject) {
  Result<std::unique_ptr<Base>> result = makes_a_base();
  ASSERT_TRUE(result.ok());
  EXPECT_NE(dynamic_cast<Derived*>(result.value().get()), nullptr);
  static_assert(!std::is_convertible_v<std::unique_ptr<Base>, Result<std::unique_ptr<Derived>>>);
}

Status fails_in_the_middle(bool& went_on) {
  ATOLL_RETURN_IF_ERROR(Status());
  ATOLL_RETURN_IF_ERROR(internal_error("middle"));
  went_on = true;
  return {};
}
TEST(Status, ReturnIfErrorReturnsTheFailure) {
  bool went_on = false;
  EXPECT_EQ(fails_in_the_middle(went_on).text(), "middle");
  EXPECT_FALSE(went_on);
}

}  // namespace
}  // namespace atl
