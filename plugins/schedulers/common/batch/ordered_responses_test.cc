#include "schedulers/common/batch/ordered_responses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "atoll/testing/recording_sink.h"

namespace atl::schedulers {
namespace {

using test::ReceivedResponse;
using test::TestRequest;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Requests in an order, and what their clients get, in the order they get it: "r1 first".
class OrderBench {
 public:
  OrderBench() = default;
  OrderBench(const OrderBench&) = delete;
  OrderBench& operator=(const OrderBench&) = delete;
  ~OrderBench() {
    for (auto& request : requests) {
      EXPECT_THAT(request->problems(), IsEmpty());
      EXPECT_TRUE(request->done()) << request->request().id;
    }
  }
  /// The next in the order.
  TestRequest& reserve() {
    requests.push_back(std::make_unique<TestRequest>(cat("r", requests.size())));
    TestRequest& request = *requests.back();
    std::string id(request->id);
    request.on_response([this, id](const ReceivedResponse& response) {
      delivered.push_back(cat(id, " ", response.empty ? "-" : response.message, response.final() ? "." : ""));
    });
    request.mark_accepted();
    order.reserve(*request);
    return request;
  }
  static void send(TestRequest& request, std::string_view text, uint32_t flags = 0) {
    request->sink->new_response()->send_error(internal_error(text), flags);
  }
  static void end(TestRequest& request, std::string_view text) {
    ResponseSink* sink = request->sink;
    send(request, text, kFinal);
    sink->released(*request);
  }
  std::vector<std::string> take() { return std::exchange(delivered, {}); }

  OrderedResponses order;
  std::vector<std::unique_ptr<TestRequest>> requests;
  std::vector<std::string> delivered;
};

TEST(OrderedResponses, TheFirstPassesAtOnceAndTheOthersAreKept) {
  OrderBench bench;
  TestRequest &a = bench.reserve(), &b = bench.reserve(), &c = bench.reserve();
  bench.end(c, "x");
  EXPECT_THAT(bench.take(), IsEmpty());
  bench.send(a, "x");
  EXPECT_THAT(bench.take(), ElementsAre("r0 x"));
  bench.end(a, "y");
  EXPECT_THAT(bench.take(), ElementsAre("r0 y."));
  bench.end(b, "x");
  EXPECT_THAT(bench.take(), ElementsAre("r1 x.", "r2 x."));
}

TEST(OrderedResponses, AFailureKeepsItsPlaceInTheOrder) {
  OrderBench bench;
  TestRequest &a = bench.reserve(), &b = bench.reserve();
  fail_request(*b, unavailable("b"));
  EXPECT_TRUE(b.got_release()) << "its inputs are not needed any more";
  EXPECT_FALSE(b.got_final());
  fail_request(*a, unavailable("a"));
  EXPECT_THAT(bench.take(), ElementsAre("r0 a.", "r1 b."));
}

TEST(OrderedResponses, OnlyFlagsAreKeptAsWell) {
  OrderBench bench;
  TestRequest &a = bench.reserve(), &b = bench.reserve();
  ResponseSink* sink = b->sink;
  sink->send(nullptr, 0);
  bench.send(b, "x");
  sink->send(nullptr, kFinal);
  sink->released(*b);
  EXPECT_THAT(bench.take(), IsEmpty());
  bench.end(a, "x");
  EXPECT_THAT(bench.take(), ElementsAre("r0 x.", "r1 -", "r1 x", "r1 -."));
}

TEST(OrderedResponses, WhatComesAfterTheFinalOneIsDiscarded) {
  OrderBench bench;
  TestRequest &a = bench.reserve(), &b = bench.reserve();
  for (TestRequest* request : {&b, &a}) {  // kept, and passed on
    ResponseSink* sink = (*request)->sink;
    bench.send(*request, "x", kFinal);
    bench.send(*request, "late");
    bench.send(*request, "late", kFinal);
    sink->send(nullptr, 0);
    sink->send(nullptr, kFinal);
    sink->released(**request);
  }
  EXPECT_THAT(bench.take(), ElementsAre("r0 x.", "r1 x."));
}

TEST(OrderedResponses, ResponsesMayBeDiscarded) {
  OrderBench bench;
  TestRequest& a = bench.reserve();
  ResponseSink* sink = a->sink;
  sink->discard(sink->new_response());
  bench.end(a, "x");
  EXPECT_THAT(bench.take(), ElementsAre("r0 x."));
}

TEST(OrderedResponses, MemoryIsTheRequestsOwn) {
  OrderBench bench;
  TestRequest &a = bench.reserve(), &b = bench.reserve();
  auto allocate = [](TestRequest& request) {
    Response* response = request->sink->new_response();
    const int64_t shape[] = {1};
    OutputTensor& output = response->add_output("OUT", DataType::kUint8, shape);
    Status status = response->allocate(output, 1);
    if (status.ok()) *static_cast<char*>(output.buffer.data) = 'v';
    response->send(kFinal);
    request->sink->released(*request);
    return status;
  };
  EXPECT_TRUE(allocate(b).ok());
  a.fail_allocations(Code::kResourceExhausted, "full");
  EXPECT_EQ(allocate(a).code(), Code::kResourceExhausted);
  ASSERT_NE(b.response().find("OUT"), nullptr);
  EXPECT_EQ(b.response().find("OUT")->bytes, "v");
}

TEST(OrderedResponses, ARequestGetsItsOwnSinkBack) {
  OrderBench bench;
  TestRequest& a = bench.reserve();
  EXPECT_NE(a->sink, &a);
  a.on_release([&](Request& released) { EXPECT_EQ(released.sink, &a); });
  bench.end(a, "x");
  EXPECT_EQ(a->sink, &a);
}

/// Looks at each response as it passes.
struct LookingSink final : ResponseSink {
  virtual ~LookingSink() = default;
  Response* new_response() noexcept override {
    response.sink = this;
    return &response;
  }
  Status allocate(Response&, OutputTensor&, uint64_t, MemoryKind, int64_t) noexcept override { return {}; }
  void send(Response* sent, uint32_t) noexcept override { is_own = sent->sink == this; }
  void discard(Response* dropped) noexcept override { is_own = dropped->sink == this; }
  void released(Request&) noexcept override {}
  Response response;
  bool is_own = false;
};

TEST(OrderedResponses, AResponseComesBackWithItsOwnSink) {
  OrderedResponses order;
  LookingSink sink;
  Request request;
  request.sink = &sink;
  order.reserve(request);
  ResponseSink* place = request.sink;
  place->discard(place->new_response());
  EXPECT_TRUE(std::exchange(sink.is_own, false));
  place->new_response()->send(kFinal);
  EXPECT_TRUE(std::exchange(sink.is_own, false));
  place->new_response()->send(kFinal);
  EXPECT_TRUE(sink.is_own) << "discarded, because it is too late";
  place->released(request);
}

TEST(OrderedResponses, PlacesAreUsedAgain) {
  OrderBench bench;
  std::set<ResponseSink*> places;
  for (int round = 0; round < 100; ++round) {
    std::vector<TestRequest*> three;
    for (int i = 0; i < 3; ++i) three.push_back(&bench.reserve());
    for (TestRequest* request : three) places.insert((*request)->sink);
    // Released before or after its final one, kept or not: a place is free when both have come.
    bool release_first = round % 2 == 0;
    std::rotate(three.begin(), three.begin() + round % 3, three.end());
    for (TestRequest* request : three) {
      ResponseSink* place = (*request)->sink;
      if (release_first) place->released(**request);
      place->new_response()->send(kFinal);
      if (!release_first) place->released(**request);
    }
  }
  EXPECT_EQ(places.size(), 3u);
}

TEST(OrderedResponses, ADeliveredResponseBringsTheNextRequest) {
  constexpr int kRequests = 10'000;
  OrderedResponses order;
  std::vector<std::unique_ptr<TestRequest>> requests;
  int depth = 0, deepest = 0, delivered = 0;
  // As an instance that is run on the thread that brings the request: it is answered inside the delivery.
  std::function<void()> bring = [&] {
    if (requests.size() == kRequests) return;
    requests.push_back(std::make_unique<TestRequest>());
    TestRequest& request = *requests.back();
    request.on_response([&](const ReceivedResponse&) {
      deepest = std::max(deepest, ++depth);
      ++delivered;
      bring();
      --depth;
    });
    request.mark_accepted();
    order.reserve(*request);
    ResponseSink* sink = request->sink;
    sink->new_response()->send(kFinal);
    sink->released(*request);
  };
  bring();
  EXPECT_EQ(delivered, kRequests);
  EXPECT_EQ(deepest, 1) << "the delivery that runs goes on with it";
  for (auto& request : requests) EXPECT_TRUE(request->done());
}

TEST(OrderedResponses, ADeliveredResponseBringsAnotherOfTheSameRequest) {
  OrderBench bench;
  TestRequest &a = bench.reserve(), &b = bench.reserve();
  bench.end(b, "z");
  a.on_response([&](const ReceivedResponse& response) {
    bench.delivered.push_back(cat("r0 ", response.message));
    if (response.message == "1") bench.send(a, "2");
    if (response.message == "2") bench.end(a, "3");
  });
  bench.send(a, "1");
  EXPECT_THAT(bench.take(), ElementsAre("r0 1", "r0 2", "r0 3", "r1 z."));
}

// --- every interleaving ---

/// What the backend does with one request: s sends a response, n only flags, f the final response, e the
/// final flags alone, l a response too late, r releases.
const std::vector<std::string> kScripts = {"fr", "srnf", "rsel"};

/// How far the clients can be, if the requests' scripts are done up to `done`.
std::vector<std::string> allowed(const std::vector<size_t>& done) {
  std::vector<std::string> all;
  for (size_t r = 0; r < kScripts.size(); ++r) {
    bool ended = false;
    for (size_t i = 0; i < done[r]; ++i) {
      char step = kScripts[r][i];
      if (step == 's' || step == 'f') all.push_back(cat("r", r, " ", i, step == 'f' ? "." : ""));
      if (step == 'n' || step == 'e') all.push_back(cat("r", r, " -", step == 'e' ? "." : ""));
      ended = ended || step == 'f' || step == 'e';
    }
    if (!ended) break;
  }
  return all;
}

void act(TestRequest& request, ResponseSink& place, char step, size_t number) {
  switch (step) {
    case 'n':
      return place.send(nullptr, 0);
    case 'e':
      return place.send(nullptr, kFinal);
    case 'r':
      return place.released(*request);
    default:
      return place.new_response()->send_error(internal_error(number), step == 'f' ? uint32_t{kFinal} : 0);
  }
}

TEST(OrderedResponses, EveryInterleaving) {
  std::string turns;  // whose script goes on; a permutation with repetition
  for (size_t r = 0; r < kScripts.size(); ++r) turns.append(kScripts[r].size(), static_cast<char>('0' + r));
  int interleavings = 0;
  do {
    // "l" comes after the request's own final one, but is a breach once both parts of the request are over.
    OrderBench bench;
    std::vector<ResponseSink*> places;
    for (size_t r = 0; r < kScripts.size(); ++r) places.push_back(bench.reserve().request().sink);
    std::vector<size_t> done(kScripts.size(), 0);
    for (char turn : turns) {
      auto r = static_cast<size_t>(turn - '0');
      char step = kScripts[r][done[r]];
      bool is_over = bench.requests[r]->done();
      if (!is_over) act(*bench.requests[r], *places[r], step, done[r]);
      ++done[r];
      ASSERT_EQ(bench.delivered, allowed(done)) << turns;
    }
    ++interleavings;
  } while (std::next_permutation(turns.begin(), turns.end()));
  EXPECT_EQ(interleavings, 3150);  // 10! / (2! 4! 4!)
}

}  // namespace
}  // namespace atl::schedulers
