// What goes to another server and what comes from it: its memory.
#include "frontends/grpc_nghttp2/forwarded_message.h"

#include <gmock/gmock.h>

#include <atomic>
#include <initializer_list>
#include <string>
#include <thread>

#include "atoll/testing/fake_request_memory.h"
#include "frontends/common/grpc/testing/remote_fixture.h"
#include "frontends/grpc_nghttp2/testing/failing_memory.h"

namespace atl::frontends::grpc_cases {
namespace {

using grpc::StatusCode;
using grpc_nghttp2::ForwardedMessage;
using test::FailingMemory;
using ::testing::HasSubstr;

TEST(ForwardedMessage, WithoutMemoryThereIsNone) {
  const std::string text = "as it came";
  uint64_t allocations = 0;
  for (bool failed = true; failed; ++allocations) {
    grpc_nghttp2::Message message;
    message.bytes = {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
    FailingMemory::fail_after(allocations);
    const auto forwarded = ForwardedMessage::make(std::move(message));
    failed = FailingMemory::stop();
    EXPECT_EQ(forwarded == nullptr, failed) << allocations;
    if (forwarded == nullptr) continue;
    EXPECT_EQ(forwarded->total_bytes(), text.size() + ForwardedMessage::kPrefixBytes);
  }
  EXPECT_GE(allocations, 3u) << "itself, its beginning, its pieces";
}

class ForwardedCallTest : public RemoteTest {
 protected:
  ForwardedCallTest() { host_.registry().publish<RequestMemory>("memory", memory_); }
  ~ForwardedCallTest() override {
    EXPECT_TRUE(all_gone());
    EXPECT_TRUE(eventually([this] { return memory_.used_bytes() == 0; }));
    stop();
  }
  /// A call, and one that is a request of a stream. \param texts  that its status has
  void expect_refused(std::initializer_list<std::string> texts) {
    const auto look = [&texts](const grpc::Status& status) {
      EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
      for (const std::string& text : texts) EXPECT_THAT(status.error_message(), HasSubstr(text));
    };
    look(infer_ok("m"));
    grpc::ClientContext context;
    auto stream = open(&context);
    stream->Write(numbered("m", "0"));
    Answer answer;
    EXPECT_FALSE(stream->Read(&answer));
    look(stream->Finish());
  }
  grpc::Status ask_for_metadata() {
    inference::ModelMetadataRequest message;
    message.set_name("m");
    inference::ModelMetadataResponse metadata;
    grpc::ClientContext context;
    return stub_->ModelMetadata(&context, message, &metadata);
  }

  test::FakeRequestMemory memory_;
};

TEST_F(ForwardedCallTest, NoMemoryToPassACallOnIsAnErrorOfTheCall) {
  constexpr const char* kText = "no memory to pass the message on to the other server";
  there_.catalog.add_identity("m");
  remote_.on_find = [] { FailingMemory::fail_next_of(sizeof(ForwardedMessage)); };
  start_both();
  for (int i = 0; i < 2; ++i) {
    expect_status(infer_ok("m"), StatusCode::RESOURCE_EXHAUSTED, kText);
    expect_status(ask_for_metadata(), StatusCode::RESOURCE_EXHAUSTED, kText);
    grpc::ClientContext context;
    auto stream = open(&context);
    stream->Write(numbered("m", "0"));
    Answer answer;
    EXPECT_FALSE(stream->Read(&answer));
    expect_status(stream->Finish(), StatusCode::RESOURCE_EXHAUSTED, kText);
  }
  remote_.on_find = [] { FailingMemory::stop(); };
  EXPECT_TRUE(infer_ok("m").ok());
  EXPECT_TRUE(ask_for_metadata().ok());
}

TEST_F(ForwardedCallTest, WhatWaitsForTheOtherServerCounts) {
  constexpr size_t kRequests = 16;
  HeldModel held(there_.catalog.add_identity("m"));
  there_.host.options().set_int("max_requests_per_stream", 1);
  start_both();
  grpc::ClientContext context;
  auto stream = open(&context);
  std::thread writer([&] {
    for (size_t i = 0; i < kRequests; ++i) stream->Write(numbered("m", std::to_string(i), kMiB / 4));
    stream->WritesDone();
  });
  EXPECT_TRUE(eventually([this] { return memory_.used_bytes() >= 4 * kMiB; })) << memory_.used_bytes();
  for (size_t i = 0; i < kRequests; ++i) {
    held.answer(i);
    EXPECT_EQ(id_of(read(*stream)), std::to_string(i));
  }
  writer.join();
  EXPECT_TRUE(ended(*stream).ok());
}

TEST_F(ForwardedCallTest, WhatTheOtherServerSendsHasTheLimitOfClientsMessages) {
  std::atomic<size_t> bytes{200'000};
  there_.catalog.add_identity("m").respond = [&](Request& request) {
    send_bytes(request, bytes, 'x', kFinal);
    (void)request.release().ok();
  };
  host_.options().set_bytes("max_message_bytes", 100'000);
  start_both();
  expect_refused({"larger than max (200", "vs. 100000)"});
  bytes = 90'000;
  EXPECT_TRUE(infer_ok("m").ok());
  EXPECT_TRUE(all_gone());
}

TEST_F(ForwardedCallTest, WhatTheOtherServerSendsCountsAsItComes) {
  std::atomic<size_t> bytes{4 * kMiB};
  there_.catalog.add_identity("m").respond = [&](Request& request) {
    send_bytes(request, bytes, 'x', kFinal);
    (void)request.release().ok();
  };
  memory_.set_limit(kMiB);
  start_both();
  expect_refused({test::FakeRequestMemory::kSetting});
  EXPECT_LE(memory_.peak_bytes(), kMiB);
  bytes = kMiB / 2;
  EXPECT_TRUE(infer_ok("m").ok());
}

}  // namespace
}  // namespace atl::frontends::grpc_cases
