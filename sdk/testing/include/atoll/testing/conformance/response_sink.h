/// Conformance of ResponseSink (atoll/request/request.h): what a frontend's context, and whoever stands before one,
/// owes to schedulers and backends.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "atoll/request/request.h"
#include "atoll/testing/conformance/conformance.h"
#include "atoll/testing/recording_sink.h"

namespace atl::test {

/// One request whose sink is under test, as a backend has it, and what becomes of it. Its destructor ends
/// nothing: every check answers and releases.
class SinkUnderTest {
 public:
  virtual ~SinkUnderTest() = default;
  /// The request; Request::sink is under test. Not to be touched once it is answered and released.
  virtual Request& request() = 0;
  /// How often the use of the request has ended: its memory was freed, or may be used again. Waits if that
  /// takes another thread. \param expected  so many are to be waited for
  virtual int ends(int expected) = 0;
  /// The responses as the client got them; none: nobody sees them as they were sent.
  virtual std::optional<std::vector<ReceivedResponse>> received() { return std::nullopt; }
  /// What else is wrong when the use has ended, one sentence each.
  virtual std::vector<std::string> problems() { return {}; }
};

struct ResponseSinkProvider {
  std::string name;
  /// A fresh request, which asks for output "OUTPUT0" and, if `place` is not empty, for "PLACED" with its
  /// bytes there.
  std::function<std::shared_ptr<SinkUnderTest>(std::span<char> place)> make;
  /// Requests that the checks with threads are made for.
  int rounds = 100;
  std::vector<ConformanceException> exceptions;
  friend void PrintTo(const ResponseSinkProvider& provider, std::ostream* out) { *out << provider.name; }
};

/// A request of the test itself, for providers that put themselves before its sink.
class RecordedSink : public SinkUnderTest {
 public:
  explicit RecordedSink(std::span<char> place) {
    made.add_output("OUTPUT0");
    if (!place.empty()) made.add_output("PLACED", place);
    made.on_done([this] { ++ends_; });
  }
  /// The request is in the provider's hands.
  void given() { made.mark_accepted(); }

  Request& request() override { return made.request(); }
  int ends(int) override { return ends_; }
  std::optional<std::vector<ReceivedResponse>> received() override { return made.responses(); }
  std::vector<std::string> problems() override {
    std::vector<std::string> all = made.problems();
    if (made->sink != &made) all.emplace_back("the request's sink is not its own again");
    return all;
  }

  TestRequest made;

 private:
  int ends_ = 0;
};

class ResponseSinkConformance : public Conformance<ResponseSinkProvider> {
 protected:
  std::shared_ptr<SinkUnderTest> make(std::span<char> place = {}) const { return GetParam().make(place); }

  static OutputTensor& add_output(Response& response, uint64_t size_bytes) {
    const int64_t shape[] = {static_cast<int64_t>(size_bytes)};
    return response.add_output("OUTPUT0", DataType::kUint8, shape);
  }
  /// A response with so many bytes of the character.
  static Response* respond(ResponseSink& sink, uint64_t size_bytes, char byte) {
    Response* response = sink.new_response();
    OutputTensor& output = add_output(*response, size_bytes);
    EXPECT_TRUE(is_ok(response->allocate(output, size_bytes)));
    EXPECT_GE(output.buffer.size_bytes, size_bytes);
    if (size_bytes != 0) std::memset(output.buffer.data, byte, size_bytes);
    output.buffer.size_bytes = size_bytes;
    return response;
  }
  static void release(Request& request) { EXPECT_TRUE(is_ok(request.release())); }
  static void expect_end(SinkUnderTest& under_test) {
    EXPECT_EQ(under_test.ends(1), 1) << "answered and released";
    EXPECT_EQ(under_test.problems(), std::vector<std::string>());
  }
  /// \param bytes  of OUTPUT0
  static void expect_output(const ReceivedResponse& response, std::string_view bytes) {
    ASSERT_EQ(response.code, Code::kOk) << response.message;
    const ReceivedOutput* output = response.find("OUTPUT0");
    ASSERT_NE(output, nullptr);
    EXPECT_EQ(output->bytes, bytes);
  }
};

TEST_P(ResponseSinkConformance, ResponsesAreEmptyAndTheSinksOwn) {
  check([&] {
    auto under_test = make();
    Request& request = under_test->request();
    ASSERT_NE(request.sink, nullptr);
    Response* first = request.sink->new_response();
    Response* second = request.sink->new_response();
    ASSERT_NE(first, nullptr);
    ASSERT_NE(second, nullptr);
    EXPECT_NE(first, second);
    for (Response* response : {first, second}) {
      EXPECT_EQ(response->sink, request.sink) << "so that it comes back this way";
      EXPECT_TRUE(response->outputs.empty());
      EXPECT_TRUE(response->error.ok());
    }
    request.sink->discard(first);
    second->send();
    release(request);
    expect_end(*under_test);
  });
}

TEST_P(ResponseSinkConformance, DiscardedResponsesLeaveNothingBehind) {
  check([&] {
    auto under_test = make();
    Request& request = under_test->request();
    for (int i = 0; i < 100; ++i) {
      Response* response = request.sink->new_response();
      EXPECT_TRUE(response->outputs.empty()) << i;
      EXPECT_TRUE(response->error.ok()) << i;
      OutputTensor& output = add_output(*response, 10'000);
      if (i % 3 != 0) {
        EXPECT_TRUE(is_ok(response->allocate(output, 10'000)));
      }
      if (i % 2 != 0) response->error = internal_error("not this");
      request.sink->discard(response);
    }
    EXPECT_EQ(under_test->ends(0), 0);
    respond(*request.sink, 4, 'x')->send();
    release(request);
    expect_end(*under_test);
    if (auto received = under_test->received()) {
      ASSERT_EQ(received->size(), 1u);
      expect_output(received->front(), "xxxx");
    }
  });
}

TEST_P(ResponseSinkConformance, OutputsGetMemoryOfEverySize) {
  check([&] {
    for (uint64_t size :
         {uint64_t{0}, uint64_t{1}, uint64_t{64}, uint64_t{4096}, uint64_t{4097}, uint64_t{1} << 20}) {
      auto under_test = make();
      Request& request = under_test->request();
      respond(*request.sink, size, 'a')->send();
      release(request);
      expect_end(*under_test);
      if (auto received = under_test->received()) {
        ASSERT_EQ(received->size(), 1u);
        expect_output(received->front(), std::string(size, 'a'));
      }
    }
  });
}

TEST_P(ResponseSinkConformance, APlaceOfTheClientsIsUsedAndItsSizeKept) {
  check([&] {
    alignas(64) char place[16];
    std::memset(place, '-', sizeof place);
    auto under_test = make({place, 8});
    Request& request = under_test->request();
    Response* response = request.sink->new_response();
    const int64_t shape[] = {8};
    OutputTensor& output = response->add_output("PLACED", DataType::kUint8, shape);
    EXPECT_FALSE(response->allocate(output, 9).ok()) << "more than the place has";
    request.sink->discard(response);
    response = respond(*request.sink, 4, 'x');
    OutputTensor& placed = response->add_output("PLACED", DataType::kUint8, shape);
    ASSERT_TRUE(is_ok(response->allocate(placed, 8)));
    EXPECT_EQ(placed.buffer.data, place);
    EXPECT_EQ(placed.buffer.size_bytes, 8u);
    std::memset(placed.buffer.data, 'p', 8);
    response->send();
    release(request);
    expect_end(*under_test);
    EXPECT_EQ(std::string(place, sizeof place), "pppppppp--------");
  });
}

TEST_P(ResponseSinkConformance, OnlyFlagsMayBeSent) {
  check([&] {
    auto under_test = make();
    Request& request = under_test->request();
    request.sink->send(nullptr, 0);
    respond(*request.sink, 4, 'x')->send(0);
    request.sink->send(nullptr, kFinal);
    EXPECT_EQ(under_test->ends(0), 0);
    release(request);
    expect_end(*under_test);
    // And nothing but the end.
    under_test = make();
    ResponseSink* sink = under_test->request().sink;
    release(under_test->request());
    EXPECT_EQ(under_test->ends(0), 0);
    sink->send(nullptr, kFinal);
    expect_end(*under_test);
  });
}

TEST_P(ResponseSinkConformance, FailuresAreAnswers) {
  check([&] {
    auto under_test = make();
    Request& request = under_test->request();
    Response* response = respond(*request.sink, 5000, 'x');
    response->send_error(unavailable("not now"));
    release(request);
    expect_end(*under_test);
    if (auto received = under_test->received()) {
      ASSERT_EQ(received->size(), 1u);
      EXPECT_EQ(received->front().code, Code::kUnavailable);
      EXPECT_EQ(received->front().message, "not now");
      EXPECT_TRUE(received->front().final());
    }
    under_test = make();
    fail_request(under_test->request(), internal_error("broken"));
    expect_end(*under_test);
  });
}

TEST_P(ResponseSinkConformance, WhatComesAfterTheFinalResponseIsDropped) {
  check([&] {
    auto under_test = make();
    Request& request = under_test->request();
    respond(*request.sink, 4, 'x')->send();
    respond(*request.sink, 5000, 'y')->send();
    respond(*request.sink, 5000, 'z')->send(0);
    request.sink->send(nullptr, kFinal);
    EXPECT_EQ(under_test->ends(0), 0) << "it is not released";
    release(request);
    EXPECT_EQ(under_test->ends(1), 1);
    if (auto received = under_test->received()) {
      ASSERT_EQ(received->size(), 1u);
      expect_output(received->front(), "xxxx");
    }
  });
}

TEST_P(ResponseSinkConformance, TheReleaseMayComeBeforeTheResponse) {
  check([&] {
    auto under_test = make();
    Request& request = under_test->request();
    ResponseSink* sink = request.sink;
    Response* response = respond(*sink, 5000, 'x');
    release(request);
    EXPECT_EQ(under_test->ends(0), 0) << "it is not answered";
    response->send(0);
    respond(*sink, 4, 'y')->send();
    expect_end(*under_test);
    if (auto received = under_test->received()) {
      ASSERT_EQ(received->size(), 2u);
      expect_output(received->back(), "yyyy");
    }
  });
}

TEST_P(ResponseSinkConformance, AnsweredAndReleasedByDifferentThreads) {
  check([&] {
    for (int round = 0; round < GetParam().rounds; ++round) {
      auto under_test = make();
      Request& request = under_test->request();
      Response* response = respond(*request.sink, round % 2 == 0 ? 4 : 5000, 'x');
      std::thread releasing([&] { release(request); });
      response->send();
      releasing.join();
      ASSERT_EQ(under_test->ends(1), 1) << round;
      ASSERT_EQ(under_test->problems(), std::vector<std::string>()) << round;
    }
  });
}

TEST_P(ResponseSinkConformance, ADecoupledModelAnswersAnyNumberOfTimes) {
  check([&] {
    constexpr int kResponses = 200;
    auto under_test = make();
    Request& request = under_test->request();
    for (int i = 0; i < kResponses; ++i) {
      respond(*request.sink, static_cast<uint64_t>(i % 50), static_cast<char>('a' + i % 26))->send(0);
    }
    EXPECT_EQ(under_test->ends(0), 0);
    // Two of them at a time.
    Response* first = respond(*request.sink, 1, '1');
    Response* second = respond(*request.sink, 2, '2');
    second->send(0);
    first->send(0);
    request.sink->send(nullptr, kFinal);
    release(request);
    expect_end(*under_test);
    auto received = under_test->received();
    if (!received) return;
    ASSERT_EQ(received->size(), kResponses + 3u);
    for (int i = 0; i < kResponses; ++i) {
      expect_output((*received)[i], std::string(i % 50, static_cast<char>('a' + i % 26)));
      EXPECT_FALSE((*received)[i].final()) << i;
    }
    expect_output((*received)[kResponses], "22");
    expect_output((*received)[kResponses + 1], "1");
    EXPECT_TRUE(received->back().empty && received->back().final());
  });
}

}  // namespace atl::test
