/// Clients of a simulated scheduler: request contexts that are reused as a frontend reuses them, so that
/// whoever touches a request too late is noticed.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "atoll/core/executor.h"
#include "atoll/request/request.h"
#include "atoll/request/statistics.h"

namespace atl::schedulers {

/// What happened to one request, and what may happen to it.
struct SimulatedRequest : ResponseSink {
  SimulatedRequest() { request.sink = this; }
  virtual ~SimulatedRequest() = default;

  Response* new_response() noexcept override {
    response.reset();
    response.sink = this;
    return &response;
  }
  Status allocate(Response&, OutputTensor&, uint64_t, MemoryKind, int64_t) noexcept override { return {}; }
  void send(Response* sent, uint32_t flags) noexcept override {
    code = sent == nullptr ? Code::kOk : sent->error.code();
    finals += (flags & kFinal) != 0;
    EXPECT_EQ(finals, 1u) << "request " << ordinal;
    EXPECT_TRUE(in_use) << "an answer after the end of request " << ordinal;
    on_answer();
    end_if_done();
  }
  void discard(Response*) noexcept override {}
  void released(Request& which) noexcept override {
    EXPECT_EQ(&which, &request);
    EXPECT_EQ(++releases, 1u) << "request " << ordinal;
    EXPECT_EQ(reports, 1u) << "request " << ordinal << " is to be counted once, before its release";
    end_if_done();
  }
  void end_if_done() {
    if (finals == 0 || releases == 0) return;
    in_use = false;
    on_end();
  }
  /// Ready for the next request.
  void begin(uint64_t number) {
    request.reset();
    request.sink = this;
    request.caller = {reinterpret_cast<const char*>(this), 0};
    ordinal = number;
    in_use = true;
    finals = releases = reports = 0;
    executed = failing = was_cancelled = false;
    code = Code::kOk;
    reason = FailureReason::kOther;
  }

  Request request;
  Response response;
  uint64_t ordinal = 0;
  uint32_t finals = 0, releases = 0, reports = 0;
  bool in_use = false, executed = false, failing = false, was_cancelled = false;
  Code code = Code::kOk;
  FailureReason reason = FailureReason::kOther;  ///< as reported
  std::function<void()> on_answer, on_end;       ///< set by SimulatedClients
};

/// Not by its sink, which a scheduler may put itself before.
inline SimulatedRequest& context_of(const Request& request) {
  return *reinterpret_cast<SimulatedRequest*>(const_cast<char*>(request.caller.data()));
}

/// The requests of one simulation. `Client` is a SimulatedRequest.
template <class Client>
class SimulatedClients {
 public:
  /// \param answered  called with each answer, before its request may be taken again.
  explicit SimulatedClients(std::function<void(Client&)> answered) : answered_(std::move(answered)) {}

  /// One that is not in use, numbered in the order of the calls.
  Client& take() {
    if (free_.empty()) {
      all_.push_back(std::make_unique<Client>());
      Client* made = all_.back().get();
      made->on_answer = [this, made] { answered_(*made); };
      made->on_end = [this, made] { free_.push_back(made); };
      free_.push_back(made);
    }
    Client& client = *free_.back();
    free_.pop_back();
    client.begin(taken_++);
    return client;
  }
  /// The scheduler did not take the request.
  void refused(Client& client) {
    EXPECT_EQ(client.finals + client.releases, 0u) << "refused and answered";
    client.in_use = false;
    free_.push_back(&client);
  }
  static void cancel(Client& client) {
    client.was_cancelled = true;
    client.request.cancellation.cancel();
  }
  static void cancel_at(Client& client, int64_t at_ns, SerialExecutor& executor) {
    (void)executor.post_at(at_ns, make_task([one = &client, ordinal = client.ordinal] {
                             // The context may be another request's by now.
                             if (one->in_use && one->ordinal == ordinal) cancel(*one);
                           }));
  }
  bool all_ended() const { return free_.size() == all_.size(); }
  uint64_t taken() const { return taken_; }

 private:
  std::function<void(Client&)> answered_;
  std::vector<std::unique_ptr<Client>> all_;
  std::vector<Client*> free_;
  uint64_t taken_ = 0;
};

/// Marks each request as it is reported.
class MarkingReporter final : public InferenceReporter {
 public:
  virtual ~MarkingReporter() = default;
  void report_request(const Request& request, bool success, const ExecutionTimes&) noexcept override {
    if ((request.call_flags & kShadow) != 0) return;
    ++context_of(request).reports;
    EXPECT_TRUE(success);
  }
  void report_batch(uint32_t, const ExecutionTimes&) noexcept override {}
  void report_failure(const Request& request, FailureReason reason) noexcept override {
    if ((request.call_flags & kShadow) != 0) return;
    SimulatedRequest& context = context_of(request);
    ++context.reports;
    context.reason = reason;
  }
};

}  // namespace atl::schedulers
