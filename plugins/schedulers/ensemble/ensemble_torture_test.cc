/// Random ensembles, executed by members that answer at once or later, in any order, compared with an oracle. To
/// repeat one seed: ATOLL_SIMULATION_SEED=<seed> ensemble_test; for more of them: ATOLL_SIMULATION_REQUESTS=1000000.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "schedulers/ensemble/testing/event_memory.h"
#include "schedulers/ensemble/testing/random_ensemble.h"

namespace atl::ensemble {
namespace {

using test::FakeHost;
using test::TestRequest;
using Row = RandomEnsemble::Row;

/// One random ensemble and requests to it.
class Torture {
 public:
  Torture(uint64_t seed, FakeHost::Threads threads)
      : real_(threads == FakeHost::Threads::kReal),
        random_(seed * 7919),
        what_(seed),
        bench_("ensemble", threads) {
    for (int i = 0; i < 3; ++i) executors_.push_back(bench_.host.executors().create("member", {}).value());
    device_ = bench_.host.executors().create("device", {}).value();
    bench_.host.registry().publish<Memory>("gpu", memory_, 0, Memory::kEventsMinor);
    EXPECT_TRUE(bench_.memory.open().ok());
    for (size_t i = 0; i < what_.steps.size(); ++i) {
      ModelInfo info = member_info(cat("m", i), what_.member_config(i));
      info.device_ordered = is_on_device(i);
      test::FakeServedModel& member = bench_.catalog.add(std::move(info));
      bench_.served.push_back(&member);
      member.respond = [this, i](Request& request) { execute(i, request); };
    }
    bench_.settings.tensor_memory_bytes = 1 << 20;
    const Status status = bench_.create(limited(what_.config()));
    EXPECT_TRUE(status.ok()) << status.text();
    made_ = status.ok();
  }
  ~Torture() {
    executors_.clear();
    device_.reset();
    bench_.scheduler.reset();
    EXPECT_EQ(memory_.buffers, 0u);
    EXPECT_EQ(memory_.events, 0u);
    EXPECT_EQ(memory_.waits, 0u) << "the host waited for the device";
    bench_.memory.close();
  }

  static inline std::atomic<uint64_t> answered_ahead{0};

  void run(int requests) {
    if (!made_) return;
    for (int i = 0; i < requests; ++i) give();
    if (!real_) bench_.host.run_until_idle();
    for (auto& call : calls_) {
      EXPECT_TRUE(!real_ || call->request->wait_done());
      check(*call);
    }
    executors_.clear();  // what the members still do
    device_.reset();
    auto& scheduler = static_cast<EnsembleScheduler&>(*bench_.scheduler);
    EXPECT_EQ(scheduler.memory().used_bytes(), 0u);
    EXPECT_EQ(scheduler.in_flight(), 0u);
  }

 private:
  struct Call {
    TestRequest* request = nullptr;
    Row inputs;
    std::vector<uint32_t> requested;
    bool cancelled = false;
  };

  std::string limited(std::string config) {
    if (!random_.chance(30)) return config;
    config.pop_back();
    return config + cat(" max_inflight_requests: ", 1 + random_.below(3), " }");
  }

  void give() {
    auto call = std::make_unique<Call>();
    call->request = &bench_.add();
    TestRequest& request = *call->request;
    for (uint32_t i = 0; i < what_.input_count(); ++i) {
      if (random_.chance(10)) {
        call->inputs.emplace_back();
        continue;
      }
      call->inputs.emplace_back(static_cast<int64_t>(random_.next() >> 1));
      request.add_input<int64_t>(cat("t", i), DataType::kInt64, {1}, {*call->inputs.back()});
    }
    choose_outputs(*call);
    for (uint32_t tensor : call->requested) request.add_output(cat("t", tensor));
    call->cancelled = random_.chance(5);
    const bool before = random_.chance(30);
    if (call->cancelled && before) request.cancel();
    const Status status = bench_.give(request);
    EXPECT_TRUE(status.ok()) << status.text();
    if (!real_ && random_.chance(30)) (void)bench_.host.simulation().step();
    if (call->cancelled && !before) request.cancel();
    calls_.push_back(std::move(call));
  }

  /// In any order.
  void choose_outputs(Call& call) {
    for (uint32_t tensor : what_.outputs()) {
      if (call.requested.empty() || random_.chance(70)) {
        call.requested.insert(
            call.requested.begin() + static_cast<long>(random_.below(call.requested.size() + 1)), tensor);
      }
    }
  }

  /// Most of the members work in one stream, and so behind what their inputs are made by.
  bool is_on_device(size_t step) const { return (step * 7 + what_.steps.size()) % 4 != 0; }

  /// Here or on one of the threads.
  void execute(size_t step, Request& request) {
    const uint64_t how = std::hash<std::string_view>()(request.id) ^ (step * 31);
    if (is_on_device(step)) {
      if (how % 4 != 0 && answer_ahead(step, request)) return;
      return device_->post(make_task([this, step, &request] { answer(step, request); }));
    }
    if (how % 3 == 0) return answer(step, request);
    executors_[how % executors_.size()]->post(make_task([this, step, &request] { answer(step, request); }));
  }

  /// The bytes follow. \returns false: what it would answer is not known before, or goes to the CPU
  bool answer_ahead(size_t step, Request& request) {
    const RandomEnsemble::Step& what = what_.steps[step];
    if (what.decoupled || what.leaves_out || what.fails_per_mille != 0) return false;
    Response* response = request.sink->new_response();
    std::vector<std::pair<size_t, Buffer>> places;
    bool has_events = true;
    for (size_t i = 0; i < what.writes.size(); ++i) {
      const std::string name = cat("O", i);
      if (request.find_output(name) == nullptr) continue;
      OutputTensor& output = response->add_output(name, DataType::kInt64, std::vector<int64_t>{1});
      EXPECT_TRUE(response->allocate(output, sizeof(int64_t), MemoryKind::kGpu).ok());
      places.emplace_back(i, output.buffer);
      has_events = has_events && output.buffer.ready_after != nullptr;
    }
    const auto write = [this, step, &request, places] {
      const auto rows = what_.execute(step, inputs_of(step, request));
      for (const auto& [i, to] : places) std::memcpy(to.data, &*rows->front()[i], sizeof(int64_t));
    };
    if (!has_events || places.empty()) {
      device_->post(make_task([write, response, &request] {
        write();
        response->send();
        (void)request.release().ok();
      }));
      return true;
    }
    for (const auto& place : places) static_cast<SteppedEvent*>(place.second.ready_after)->record();
    device_->post(make_task([write, places, &request] {
      write();
      for (const auto& place : places) static_cast<SteppedEvent*>(place.second.ready_after)->reach();
      (void)request.release().ok();
    }));
    ++answered_ahead;
    response->send(kFinal | kAhead);
    return true;
  }

  Row inputs_of(size_t step, const Request& request) const {
    Row inputs;
    for (size_t i = 0; i < what_.steps[step].reads.size(); ++i) {
      const std::vector<int64_t> values = input_values(request, cat("I", i));
      inputs.push_back(values.empty() ? RandomEnsemble::Number() : RandomEnsemble::Number(values[0]));
    }
    return inputs;
  }

  void answer(size_t step, Request& request) {
    if (request.cancelled() && std::hash<std::string_view>()(request.id) % 2 == 0) {
      return fail_request(request, Status(Code::kCancelled, {}));
    }
    const auto rows = what_.execute(step, inputs_of(step, request));
    if (!rows) return fail_request(request, internal_error("as it was told to"));
    ResponseSink* sink = request.sink;
    const bool with_last = step % 2 == 0 || !what_.steps[step].decoupled;
    for (size_t i = 0; i < rows->size(); ++i) {
      const bool last = i + 1 == rows->size() && with_last;
      send(request, (*rows)[i], last ? static_cast<uint32_t>(kFinal) : 0u);
    }
    if (!with_last || rows->empty()) sink->send(nullptr, kFinal);
    (void)request.release().ok();
  }

  static void send(Request& request, const Row& row, uint32_t flags) {
    Response* response = request.sink->new_response();
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string name = cat("O", i);
      if (!row[i] || request.find_output(name) == nullptr) continue;
      OutputTensor& output = response->add_output(name, DataType::kInt64, std::vector<int64_t>{1});
      if (Status status = response->allocate(output, sizeof(int64_t)); !status.ok()) {
        ADD_FAILURE() << status.text();
        response->outputs.truncate(0);
        return response->send_error(std::move(status), flags);
      }
      std::memcpy(output.buffer.data, &*row[i], sizeof(int64_t));
    }
    response->send(flags);
  }

  void check(const Call& call) {
    ASSERT_TRUE(call.request->done());
    const RandomEnsemble::Expected expected = what_.expect(call.inputs, call.requested);
    std::vector<Row> rows;
    Code code = Code::kOk;
    for (const test::ReceivedResponse& response : call.request->responses()) {
      if (response.empty) continue;
      if (response.code != Code::kOk) {
        code = response.code;
        EXPECT_TRUE(code != Code::kInternal ||
                    response.message.starts_with("in ensemble 'e', as it was told to"));
        continue;
      }
      Row row;
      for (uint32_t tensor : call.requested) {
        const auto values = EnsembleBench::values_of(response, cat("t", tensor));
        row.push_back(values.empty() ? RandomEnsemble::Number() : RandomEnsemble::Number(values[0]));
      }
      rows.push_back(std::move(row));
    }
    if (call.cancelled && code == Code::kCancelled) return;
    EXPECT_EQ(code, expected.may_fail ? Code::kInternal : Code::kOk);
    if (expected.may_fail) return;
    std::vector<Row> wanted = expected.rows;
    std::sort(wanted.begin(), wanted.end());
    std::sort(rows.begin(), rows.end());
    EXPECT_EQ(rows, wanted);
  }

  const bool real_;
  test::Random random_;
  const RandomEnsemble what_;
  EventMemory memory_;
  EnsembleBench bench_;
  std::vector<SerialExecutorPtr> executors_;
  SerialExecutorPtr device_;
  std::vector<std::unique_ptr<Call>> calls_;
  bool made_ = false;
};

constexpr int kRequests = 40;

void torture(uint64_t seeds, FakeHost::Threads threads) {
  if (const char* only = std::getenv("ATOLL_SIMULATION_SEED"); only != nullptr) {
    return Torture(std::strtoull(only, nullptr, 10), threads).run(kRequests);
  }
  if (const char* requests = std::getenv("ATOLL_SIMULATION_REQUESTS"); requests != nullptr) {
    seeds = std::strtoull(requests, nullptr, 10) / kRequests;
  }
  Torture::answered_ahead = 0;
  for (uint64_t seed = 1; seed <= seeds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(cat("ATOLL_SIMULATION_SEED=", seed));
    Torture(seed, threads).run(kRequests);
  }
  EXPECT_GT(Torture::answered_ahead, 5 * seeds) << "hardly a step was";
}

TEST(EnsembleTorture, AnswersAsTheOracleDoes) { torture(400, FakeHost::Threads::kSimulated); }

TEST(EnsembleTorture, WithThreads) { torture(100, FakeHost::Threads::kReal); }

}  // namespace
}  // namespace atl::ensemble
