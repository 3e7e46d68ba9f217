#include "frontends/common/call/infer_context.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "atoll/testing/fake_catalog.h"
#include "frontends/common/call/context_pool.h"
#include "frontends/common/call/single_response.h"
#include "frontends/common/testing/output_leaks.h"

namespace atl::frontends {
namespace {

/// A call with one answer, which is written at once.
class ContextCall final : private ResponseReceiver {
 public:
  static constexpr uint32_t kWrite = InferContext::kTransportPart;

  void start(test::FakeServedModel& served) {
    served.add_reference();
    context.model = ModelRef(&served);
    context.begin(kWrite);
  }
  bool written() { return context.done(kWrite); }

  InferContext context{*this};
  std::atomic<int> recycled{0};
  std::vector<std::string> answers;
  std::vector<std::string> names;  ///< of the outputs of the last answer

 private:
  void on_response(Response* response, uint32_t flags) noexcept override {
    if (!single_.add(context, response, flags)) return;
    Result<Response*> only = single_.take_only(context);
    if (!only.ok()) {
      answers.push_back(std::string(only.status().message()));
      return;
    }
    answers.push_back(cat("outputs ", only.value()->outputs.size()));
    names.clear();
    for (const OutputTensor& output : only.value()->outputs) names.emplace_back(output.name);
    context.discard(only.value());
  }
  void recycle() noexcept override {
    context.reset();
    ++recycled;
  }

  SingleResponse single_;
};

class InferContextTest : public ::testing::Test {
 protected:
  InferContextTest() : model_(catalog_.add_identity("m")) {
    model_.respond = [this](Request& request) { request_ = &request; };
  }
  ~InferContextTest() override {
    EXPECT_EQ(model_.references(), 0);
    EXPECT_TRUE(leaks_.none());
  }
  void hand_over() {
    call_.start(model_);
    ASSERT_TRUE(context_.submit().ok());
  }
  /// As a client that has a place for each output and asks for them in this order.
  void ask_for(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      RequestedOutput& wanted = context_.request.add_output();
      wanted.name = context_.request.arena().copy_text(name);
      places_[name].assign(4, '-');
      wanted.placement.data = places_[name].data();
      wanted.placement.size_bytes = places_[name].size();
    }
  }
  /// Writes the text as the output's bytes.
  static void add(Response& response, std::string_view name, std::string_view text) {
    const int64_t shape[] = {static_cast<int64_t>(text.size())};
    OutputTensor& output = response.add_output(name, DataType::kUint8, shape);
    ASSERT_TRUE(response.allocate(output, text.size()).ok());
    std::copy(text.begin(), text.end(), static_cast<char*>(output.buffer.data));
  }
  void finish(Response* response) {
    response->send();
    (void)request_->release().ok();
    call_.written();
  }
  Response* response_with_output() {
    Response* response = context_.new_response();
    const int64_t shape[] = {test_support::kLargeOutput};
    OutputTensor& output = response->add_output("O", DataType::kUint8, shape);
    EXPECT_TRUE(response->allocate(output, test_support::kLargeOutput).ok());
    return response;
  }

  test::FakeModelCatalog catalog_;
  test::FakeServedModel& model_;
  Request* request_ = nullptr;
  const test_support::OutputLeaks leaks_;
  ContextCall call_;
  InferContext& context_ = call_.context;
  std::map<std::string, std::string> places_;
};

TEST_F(InferContextTest, IsReusedOnlyAfterEveryPartInAnyOrder) {
  for (int order = 0; order < 6; ++order) {
    hand_over();
    std::vector<int> steps = {0, 1, 2};
    for (int i = 0; i < order; ++i) std::next_permutation(steps.begin(), steps.end());
    const int before = call_.recycled;
    for (size_t i = 0; i < steps.size(); ++i) {
      EXPECT_EQ(call_.recycled, before);
      if (steps[i] == 0) response_with_output()->send();
      if (steps[i] == 1) (void)request_->release().ok();
      if (steps[i] == 2) call_.written();
    }
    EXPECT_EQ(call_.recycled, before + 1);
  }
  EXPECT_EQ(call_.answers, std::vector<std::string>(6, "outputs 1"));
}

TEST_F(InferContextTest, TheModelIsKeptUntilItsOwnCallReturns) {
  int64_t references_inside = -1;
  model_.respond = [&](Request& request) {
    test::answer_identity(request);
    (void)request.release().ok();
    call_.written();
    references_inside = model_.references();
  };
  call_.start(model_);
  ASSERT_TRUE(context_.submit().ok());
  EXPECT_EQ(references_inside, 1);
  EXPECT_EQ(call_.recycled, 1);
}

TEST_F(InferContextTest, ARefusedRequestIsOverWhenItsErrorIsWritten) {
  model_.refuse = [](Request&) { return invalid_argument("no"); };
  call_.start(model_);
  EXPECT_EQ(context_.submit().message(), "no");
  EXPECT_EQ(call_.recycled, 0);
  EXPECT_TRUE(call_.written());
  EXPECT_EQ(call_.recycled, 1);
}

TEST_F(InferContextTest, APartThatIsDoneTwiceCountsOnce) {
  hand_over();
  (void)request_->release().ok();
  (void)request_->release().ok();
  call_.written();
  call_.written();
  EXPECT_EQ(call_.recycled, 0);
  response_with_output()->send();
  EXPECT_EQ(call_.recycled, 1);
}

TEST_F(InferContextTest, ResponsesAfterTheFinalOneAreDropped) {
  hand_over();
  response_with_output()->send();
  response_with_output()->send();
  context_.send(nullptr, kFinal);
  (void)request_->release().ok();
  EXPECT_EQ(call_.recycled, 0);
  call_.written();
  EXPECT_EQ(call_.answers, std::vector<std::string>{"outputs 1"});
}

TEST_F(InferContextTest, AUnaryCallWantsExactlyOneResponse) {
  hand_over();
  response_with_output()->send(0);
  response_with_output()->send(0);
  response_with_output()->send(kFinal);
  (void)request_->release().ok();
  call_.written();
  hand_over();
  context_.send(nullptr, kFinal);
  (void)request_->release().ok();
  call_.written();
  hand_over();
  response_with_output()->send(0);
  context_.send(nullptr, kFinal);
  (void)request_->release().ok();
  call_.written();
  EXPECT_EQ(call_.answers, (std::vector<std::string>{"expected a single response, got 3",
                                                     "expected a single response, got 0", "outputs 1"}));
  EXPECT_EQ(call_.recycled, 3);
}

TEST_F(InferContextTest, ErrorResponsesAnswerWithTheirError) {
  hand_over();
  Response* response = response_with_output();
  response->send_error(internal_error("broken"));
  (void)request_->release().ok();
  call_.written();
  EXPECT_EQ(call_.answers, std::vector<std::string>{"broken"});
}

TEST_F(InferContextTest, DiscardedResponsesAreUsedAgain) {
  hand_over();
  Response* first = response_with_output();
  Response* second = response_with_output();
  context_.discard(first);
  context_.discard(second);
  EXPECT_EQ(context_.new_response(), first);
  EXPECT_EQ(context_.new_response(), second);
  context_.discard(first);
  context_.discard(second);
  fail_request(*request_, unavailable("gone"));
  call_.written();
  EXPECT_EQ(call_.answers, std::vector<std::string>{"gone"});
}

TEST_F(InferContextTest, PartsOnThreeThreadsRecycleExactlyOnce) {
  for (int round = 1; round <= 500; ++round) {
    hand_over();
    Response* response = response_with_output();
    std::thread release([this] { (void)request_->release().ok(); });
    std::thread write([this] { call_.written(); });
    response->send();
    release.join();
    write.join();
    ASSERT_EQ(call_.recycled, round);
  }
}

TEST_F(InferContextTest, AnOutputWithAPlaceIsWrittenThere) {
  char place[8];
  context_.request.add_output().name = "O";
  context_.request.outputs[0].placement.data = place;
  context_.request.outputs[0].placement.size_bytes = sizeof place;
  hand_over();
  const int64_t shape[] = {8};
  for (uint64_t size : {uint64_t{0}, uint64_t{7}, uint64_t{8}}) {
    Response* response = context_.new_response();
    OutputTensor& output = response->add_output("O", DataType::kUint8, shape);
    ASSERT_TRUE(response->allocate(output, size).ok());
    EXPECT_EQ(output.buffer.data, place);
    EXPECT_EQ(output.buffer.size_bytes, size);
    context_.discard(response);
  }
  Response* response = context_.new_response();
  OutputTensor& output = response->add_output("O", DataType::kUint8, shape);
  Status small = response->allocate(output, 9);
  EXPECT_EQ(small.code(), Code::kInternal);
  EXPECT_EQ(
      small.message(),
      "shared memory size specified with the request for output 'O' (8 bytes) should be at least 9 bytes "
      "to hold the results");
  response->send_error(std::move(small));
  (void)request_->release().ok();
  call_.written();
}

TEST_F(InferContextTest, OutputsGoToTheirOwnPlacesInWhateverOrderTheyAreMade) {
  for (const auto& asked : {std::vector<std::string>{"P", "LABEL"}, {"LABEL", "P"}}) {
    ask_for(asked);
    hand_over();
    Response* response = context_.new_response();
    add(*response, "P", "prob");
    add(*response, "LABEL", "name");
    finish(response);
    EXPECT_EQ(places_["P"], "prob");
    EXPECT_EQ(places_["LABEL"], "name");
    EXPECT_EQ(call_.names, (std::vector<std::string>{"P", "LABEL"}));
  }
}

TEST_F(InferContextTest, WhatWasNotAskedForHasNoPlaceAndIsLeftOut) {
  ask_for({"LABEL", "P"});
  hand_over();
  Response* response = context_.new_response();
  add(*response, "MORE", "more");
  add(*response, "P", "prob");
  add(*response, "EVEN MORE", std::string(test_support::kLargeOutput, 'e'));
  finish(response);
  EXPECT_EQ(places_["P"], "prob");
  EXPECT_EQ(places_["LABEL"], "----");
  EXPECT_EQ(call_.names, std::vector<std::string>{"P"});
  EXPECT_TRUE(leaks_.none());
}

TEST_F(InferContextTest, AResponseWithAnOutputTwiceIsAnError) {
  for (const auto& made : {std::vector<std::string>{"P", "P"}, {"LABEL", "P", "LABEL"}, {"X", "X", "P"}}) {
    ask_for({"LABEL", "P"});
    hand_over();
    Response* response = context_.new_response();
    for (const std::string& name : made) add(*response, name, "more");
    finish(response);
  }
  EXPECT_EQ(call_.answers,
            (std::vector<std::string>{"model 'm' answered output 'P' more than once in a response",
                                      "model 'm' answered output 'LABEL' more than once in a response",
                                      "outputs 1"}));
}

TEST(ContextPool, KeepsAtMostItsCapacityAndGivesTheLastBack) {
  ContextPool<int> pool(2);
  EXPECT_EQ(pool.take(), nullptr);
  for (int i = 0; i < 3; ++i) pool.give(std::make_unique<int>(i));
  EXPECT_EQ(pool.size(), 2u);
  EXPECT_EQ(*pool.take(), 1);
  EXPECT_EQ(*pool.take(), 0);
  EXPECT_EQ(pool.take(), nullptr);
}

}  // namespace
}  // namespace atl::frontends
