// The way of a call: what is done in which order, where it waits, and that refusals are answered once.
#include "frontends/common/call/call_path.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "atoll/request/owned_sequence.h"
#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/fake_model_demand.h"

namespace atl::frontends {
namespace {

using Steps = std::vector<std::string>;

/// Notes what is asked of it. Its own thread is the test's.
class NotingCall final : private CallSteps, private ResponseReceiver {
  InferContext infer_{*this};

 public:
  explicit NotingCall(LargeWork& work) : work_(work) {}

  bool start(const ModelLookup& models, Result<int64_t> version = ModelCatalog::kLatest) {
    begin();
    return path.find(models, "m", std::move(version));
  }
  /// As start(), of a call whose message says which model it wants, and is read before.
  bool start_reading(const ModelLookup& models) {
    begin();
    models_ = &models;
    return path.read_elsewhere(work_).value();
  }
  bool end() { return infer_.done(InferContext::kTransportPart); }
  Request& request() { return infer_.request; }

  CallPath path{infer_, *this};

  Steps steps;
  Status parsed;  ///< what reading ends with, here or elsewhere
  Status head;    ///< the same of the head
  bool is_large = false;
  SequenceId sequence;  ///< what the request says when it is read
  uint32_t sequence_flags = 0;
  std::string owner;
  int came_back = 0;

 private:
  void begin() { infer_.begin(InferContext::kTransportPart); }
  bool find_model(Status read) noexcept override {
    if (!read.ok()) return path.refuse(read);
    steps.push_back("find");
    return path.find(*models_, "m", ModelCatalog::kLatest);
  }
  Result<bool> parse_request() noexcept override {
    steps.push_back("parse " + infer_.model->info().name);
    infer_.request.sequence = sequence;
    infer_.request.sequence_flags = sequence_flags;
    if (!owner.empty()) infer_.regions.set_owner(owner);
    if (is_large) return path.read_elsewhere(work_);
    ATOLL_RETURN_IF_ERROR(std::move(parsed));
    return true;
  }
  Status read_large() noexcept override {
    steps.push_back("read elsewhere");
    return std::move(parsed);
  }
  Status read_head() noexcept override {
    steps.push_back("head");
    return std::move(head);
  }
  void refuse(const Status& status) noexcept override {
    steps.push_back("refuse: " + std::string(status.message()));
  }
  void about_to_wait() noexcept override { steps.push_back("wait"); }
  void to_own_thread() noexcept override { ++came_back; }
  void on_response(Response* response, uint32_t) noexcept override {
    steps.push_back("response");
    if (response != nullptr) infer_.discard(response);
  }
  void recycle() noexcept override {
    infer_.reset();
    steps.push_back("recycled");
  }

  LargeWork& work_;
  const ModelLookup* models_ = nullptr;
};

class CallTest : public ::testing::Test {
 protected:
  CallTest() {
    EXPECT_TRUE(work_.open(host_.executors(), "reading", 1).ok());
    call_.steps.reserve(16);
  }
  void serve() { model_ = &add("infer"); }
  /// The newest version 1 of "m"; the one before finishes its sequences.
  test::FakeServedModel& add(std::string step) {
    test::FakeServedModel& model = catalog_.add_identity("m");
    model.respond = [this, step](Request& request) {
      call_.steps.push_back(step);
      fail_request(request, internal_error("no matter"));
    };
    return model;
  }
  Steps send(uint64_t sequence, uint32_t flags = 0) {
    call_.sequence.number = sequence;
    call_.sequence_flags = flags;
    EXPECT_TRUE(call_.start(models_));
    return steps();
  }
  void demand() { host_.registry().publish<ModelDemand>("control", demand_); }
  /// Ends the use, which nothing but the transport's part kept open.
  Steps steps() {
    EXPECT_TRUE(call_.end());
    EXPECT_EQ(call_.steps.back(), "recycled");
    call_.steps.pop_back();
    if (model_ != nullptr) {
      EXPECT_EQ(model_->references(), 0);
    }
    return std::exchange(call_.steps, {});
  }

  test::FakeHost host_;
  test::FakeModelCatalog catalog_;
  test::FakeServedModel* model_ = nullptr;
  test::FakeModelDemand demand_{catalog_};
  RouterSlot router_{host_};
  ModelLookup models_{router_, catalog_, host_.registry()};
  LargeWork work_;
  NotingCall call_{work_};
};

TEST_F(CallTest, GoesFromTheNameToTheModel) {
  serve();
  EXPECT_TRUE(call_.start(models_));
  EXPECT_EQ(steps(), (Steps{"parse m", "head", "infer", "response"}));
}

TEST_F(CallTest, ASequenceIsFinishedByTheVersionThatItBeganOn) {
  test::FakeServedModel& old = add("infer old");
  old.keeps_sequence = [](const SequenceId& id) { return id.number <= 2; };
  model_ = &add("infer new");
  model_->keeps_sequence = [](const SequenceId& id) { return id.number == 2; };
  EXPECT_EQ(send(1), (Steps{"parse m", "head", "infer old", "response"}));
  EXPECT_EQ(send(1, kSequenceEnd), (Steps{"parse m", "head", "infer old", "response"}));
  EXPECT_EQ(send(2), (Steps{"parse m", "head", "infer new", "response"})) << "the newest one that has it";
  EXPECT_EQ(send(1, kSequenceStart), (Steps{"parse m", "head", "infer new", "response"}));
  EXPECT_EQ(send(3), (Steps{"parse m", "head", "infer new", "response"})) << "which says what is wrong";
  EXPECT_EQ(send(0), (Steps{"parse m", "head", "infer new", "response"}));
  EXPECT_EQ(old.references(), 0);
}

TEST_F(CallTest, ASequenceOfAnotherOwnerDoesNotKeepARequestFromTheVersionThatHasItsOwn) {
  const auto keeps = [](std::string_view owner) {
    return [owner](const SequenceId& qualified) {
      const OwnedSequence asked = owned_sequence(qualified);
      return asked.owner == owner && asked.id.number == 7;
    };
  };
  add("infer old").keeps_sequence = keeps("blue");
  model_ = &add("infer new");
  model_->keeps_sequence = keeps("red");
  call_.owner = "blue";
  EXPECT_EQ(send(7), (Steps{"parse m", "head", "infer old", "response"}));
  call_.owner = "red";
  EXPECT_EQ(send(7), (Steps{"parse m", "head", "infer new", "response"}));
  call_.owner = "green";
  EXPECT_EQ(send(7), (Steps{"parse m", "head", "infer new", "response"})) << "which says what is wrong";
}

TEST_F(CallTest, AModelThatIsUnloadedFinishesItsSequences) {
  test::FakeServedModel& old = add("infer old");
  old.keeps_sequence = [](const SequenceId& id) { return id.number == 1; };
  add("infer new");
  catalog_.unload({"m"}, [](const std::vector<ModelLoadResult>&) {});
  const std::string absence = "refuse: Request for unknown model: 'm' has no available versions";
  EXPECT_EQ(send(1), (Steps{"parse m", "head", "infer old", "response"}));
  EXPECT_EQ(send(1, kSequenceStart), (Steps{"parse m", absence})) << "none begins any more";
  EXPECT_EQ(send(2), (Steps{"parse m", absence}));
  EXPECT_EQ(send(0), (Steps{"parse m", absence}));
  EXPECT_EQ(old.references(), 0);
}

TEST_F(CallTest, WhateverFailsIsRefusedOnce) {
  EXPECT_TRUE(call_.start(models_));
  EXPECT_EQ(steps(), Steps{"refuse: Request for unknown model: 'm' is not found"});
  serve();
  EXPECT_TRUE(call_.start(models_, invalid_argument("no version")));
  EXPECT_EQ(steps(), Steps{"refuse: no version"});
  call_.parsed = invalid_argument("no JSON");
  EXPECT_TRUE(call_.start(models_));
  EXPECT_EQ(steps(), (Steps{"parse m", "refuse: no JSON"}));
  call_.head = invalid_argument("reserved");
  EXPECT_TRUE(call_.start(models_));
  EXPECT_EQ(steps(), (Steps{"parse m", "head", "refuse: reserved"}));
  model_->refuse = [](Request&) { return unavailable("full"); };
  EXPECT_TRUE(call_.start(models_));
  EXPECT_EQ(steps(), (Steps{"parse m", "head", "refuse: full"}));
}

TEST_F(CallTest, WaitsForAModelThatIsLoadedOnDemand) {
  demand();
  EXPECT_FALSE(call_.start(models_));
  EXPECT_TRUE(call_.path.is_waiting());
  serve();
  demand_.notify();
  EXPECT_EQ(call_.came_back, 1);
  EXPECT_TRUE(call_.path.is_waiting()) << "until its own thread goes on with it";
  EXPECT_TRUE(call_.path.resume());
  EXPECT_FALSE(call_.path.is_waiting());
  EXPECT_EQ(steps(), (Steps{"wait", "parse m", "head", "infer", "response"}));
}

TEST_F(CallTest, AWaitMayEndBeforeItIsKnownAndMayFail) {
  demand();
  serve();
  demand_.at_once = true;
  catalog_.unload({"m"}, [](std::vector<ModelLoadResult>) {});
  EXPECT_FALSE(call_.start(models_));
  EXPECT_EQ(call_.came_back, 1);
  EXPECT_TRUE(call_.path.resume());
  ASSERT_EQ(call_.steps.size(), 2u);
  EXPECT_TRUE(call_.steps[1].starts_with("refuse: Request for unknown model: 'm'")) << call_.steps[1];
  (void)steps();
  demand_.refuse = [](const WantedModel&) { return unavailable("too many wait"); };
  EXPECT_TRUE(call_.start(models_));
  EXPECT_FALSE(call_.path.is_waiting());
  EXPECT_EQ(steps(), (Steps{"wait", "refuse: too many wait"}));
}

TEST_F(CallTest, LargeRequestsAreReadElsewhere) {
  serve();
  call_.is_large = true;
  EXPECT_FALSE(call_.start(models_));
  EXPECT_EQ(call_.came_back, 0);
  host_.run_until_idle();
  EXPECT_EQ(call_.came_back, 1);
  EXPECT_TRUE(call_.path.resume());
  EXPECT_EQ(steps(), (Steps{"parse m", "wait", "read elsewhere", "head", "infer", "response"}));
  call_.parsed = invalid_argument("no JSON");
  EXPECT_FALSE(call_.start(models_));
  host_.run_until_idle();
  EXPECT_TRUE(call_.path.resume());
  EXPECT_EQ(steps(), (Steps{"parse m", "wait", "read elsewhere", "refuse: no JSON"}));
}

TEST_F(CallTest, ALargeMessageIsReadBeforeItsModelIsKnown) {
  serve();
  EXPECT_FALSE(call_.start_reading(models_));
  host_.run_until_idle();
  EXPECT_EQ(call_.came_back, 1);
  EXPECT_TRUE(call_.path.resume());
  EXPECT_EQ(steps(), (Steps{"wait", "read elsewhere", "find", "parse m", "head", "infer", "response"}));
  call_.parsed = invalid_argument("no message");
  EXPECT_FALSE(call_.start_reading(models_));
  host_.run_until_idle();
  EXPECT_TRUE(call_.path.resume());
  EXPECT_EQ(steps(), (Steps{"wait", "read elsewhere", "refuse: no message"}));
}

TEST_F(CallTest, ALargeRequestThatNobodyWantsIsNotRead) {
  serve();
  call_.is_large = true;
  EXPECT_FALSE(call_.start(models_));
  call_.request().cancellation.cancel();
  host_.run_until_idle();
  EXPECT_TRUE(call_.path.resume());
  EXPECT_EQ(steps(), (Steps{"parse m", "wait", "refuse: "}));
}

TEST_F(CallTest, WhenTooMuchIsReadElsewhereTheClientIsToTryAgain) {
  serve();
  call_.is_large = true;
  for (size_t i = 0; i < LargeWork::kMostWaiting; ++i) ASSERT_TRUE(work_.try_post(make_task([] {})).ok());
  EXPECT_TRUE(call_.start(models_));
  EXPECT_FALSE(call_.path.is_waiting());
  EXPECT_EQ(call_.request().retry_after_ms, LargeWork::kRetryAfterMs);
  EXPECT_EQ(steps().size(), 3u);
  host_.run_until_idle();
}

TEST_F(CallTest, OutputsGetMemoryThatIsSentAsItIsOrCopied) {
  serve();
  model_->respond = [](Request& request) {
    Response* response = request.sink->new_response();
    const int64_t shape[] = {1};
    OutputTensor& output = response->add_output("O", DataType::kUint8, shape);
    for (uint64_t size :
         {uint64_t{0}, uint64_t{kInlineBytes}, uint64_t{kInlineBytes + 1}, uint64_t{1} << 20}) {
      ASSERT_TRUE(response->allocate(output, size).ok());
      EXPECT_EQ(output.buffer.size_bytes, size);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(output.buffer.data) % 64, 0u);
      EXPECT_EQ(output.sink_data != 0, size > kInlineBytes);
    }
    const uint64_t defective = (uint64_t{1} << 40) + 1;
    const Status refusal = response->allocate(output, defective);
    EXPECT_EQ(refusal.code(), Code::kResourceExhausted);
    EXPECT_EQ(refusal.message(), "no memory for the 1099511627777 bytes of output 'O'");
    response->send();
    (void)request.release().ok();
  };
  EXPECT_TRUE(call_.start(models_));
  EXPECT_EQ(steps(), (Steps{"parse m", "head", "response"}));
}

}  // namespace
}  // namespace atl::frontends
