#include "atoll/request/sink_interposer.h"

#include <gtest/gtest.h>

#include <cstring>

#include "atoll/testing/recording_sink.h"

namespace atl {
namespace {

using test::TestRequest;

/// Changes nothing.
class Transparent final : public SinkInterposer {};

/// Says which responses went by.
class Counting final : public SinkInterposer {
 public:
  void send(Response* response, uint32_t flags) noexcept override {
    ++sent;
    SinkInterposer::send(response, flags);
  }
  int sent = 0;
};

void answer(Request& request, const char* text) {
  Response* response = request.sink->new_response();
  OutputTensor& output = response->add_output("OUTPUT0", DataType::kUint8, std::vector<int64_t>{4});
  ASSERT_TRUE(response->allocate(output, 4).ok());
  std::memcpy(output.buffer.data, text, 4);
  response->send();
}

TEST(SinkInterposer, NobodySeesWhoStandsBetween) {
  TestRequest made;
  Transparent first;
  Counting second;
  first.interpose(*made);
  second.interpose(*made);
  EXPECT_EQ(made->sink, &second);
  made.mark_accepted();
  Response* dropped = made->sink->new_response();
  EXPECT_EQ(dropped->sink, &second) << "so that it comes back";
  made->sink->discard(dropped);
  answer(*made, "abcd");
  EXPECT_EQ(second.sent, 1);
  EXPECT_TRUE(made->release().ok());
  EXPECT_EQ(made->sink, &made) << "the request's own again";
  ASSERT_TRUE(made.done());
  EXPECT_EQ(made.response().find("OUTPUT0")->bytes, "abcd");
  EXPECT_TRUE(made.problems().empty()) << made.problems()[0];
}

TEST(SinkInterposer, TheReleaseMayComeFirst) {
  TestRequest made;
  Transparent between;
  between.interpose(*made);
  made.mark_accepted();
  Response* response = made->sink->new_response();
  EXPECT_TRUE(made->release().ok());
  response->send_error(internal_error("late"));
  ASSERT_TRUE(made.done());
  EXPECT_EQ(made.response().message, "late");
  EXPECT_TRUE(made.problems().empty());
}

TEST(SinkInterposer, OnlyFlagsAreASendToo) {
  TestRequest made;
  Transparent between;
  between.interpose(*made);
  made.mark_accepted();
  made->sink->send(nullptr, kFinal);
  EXPECT_TRUE(made->release().ok());
  EXPECT_TRUE(made.response().empty);
  EXPECT_TRUE(made.problems().empty());
}

TEST(SinkInterposer, FailuresOfTheSinkBehindAreTheBackends) {
  TestRequest made;
  Transparent between;
  between.interpose(*made);
  made.mark_accepted();
  made.fail_allocations(Code::kResourceExhausted, "no memory");
  Response* response = made->sink->new_response();
  OutputTensor& output = response->add_output("OUTPUT0", DataType::kUint8, std::vector<int64_t>{4});
  Status status = response->allocate(output, 4);
  EXPECT_EQ(status.message(), "no memory");
  response->send_error(std::move(status));
  EXPECT_TRUE(made->release().ok());
  EXPECT_EQ(made.response().code, Code::kResourceExhausted);
  EXPECT_TRUE(made.problems().empty());
}

TEST(SinkInterposer, IsWithdrawnFromARequestThatWasRefused) {
  TestRequest made;
  Transparent first;
  Transparent second;
  first.interpose(*made);
  second.interpose(*made);
  second.withdraw(*made);
  EXPECT_EQ(made->sink, &first);
  first.withdraw(*made);
  EXPECT_EQ(made->sink, &made);
}

/// By its type, wherever it stands: an iterative sequence's request comes by again.
TEST(SinkInterposer, IsFoundBehindOthers) {
  struct Other final : SinkInterposer {};
  TestRequest made;
  Transparent first;
  Other second;
  EXPECT_EQ(SinkInterposer::find<Transparent>(*made), nullptr);
  first.interpose(*made);
  second.interpose(*made);
  EXPECT_EQ(SinkInterposer::find<Transparent>(*made), &first);
  EXPECT_EQ(SinkInterposer::find<Other>(*made), &second);
  second.withdraw(*made);
  EXPECT_EQ(SinkInterposer::find<Other>(*made), nullptr);
  first.withdraw(*made);
}

}  // namespace
}  // namespace atl
