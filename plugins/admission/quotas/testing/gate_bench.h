/// The service with everything around it that the catalog would be.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/quotas/request_gate.h"
#include "admission/quotas/testing/control_bench.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/recording_sink.h"

namespace atl::quotas {

/// A request and what the gate has said of it.
class GatedRequest final : public AdmissionWaiter {
 public:
  enum class State { kNew, kRefused, kWaits, kRuns, kAnswered, kEnded };

  explicit GatedRequest(std::string_view tenant = {}, std::string_view id = {}) : made(id) {
    made->tenant = made->arena().copy_text(tenant);
  }
  virtual ~GatedRequest() = default;

  void ask(RequestGate& gate, uint64_t priority = 0) {
    gate_ = &gate;
    auto outcome = gate.ask(*made, priority, *this, &ticket);
    if (!outcome.ok()) {
      status = std::move(outcome).status();
      state = State::kRefused;
    } else if (outcome.value() == AdmissionOutcome::kAdmitted) {
      state = State::kRuns;
    } else if (state == State::kNew) {
      state = State::kWaits;
    }
  }
  void resume(Request&, Status outcome, const AdmissionTicket& given) noexcept override {
    ++resumes;
    ticket = given;
    state = outcome.ok() ? State::kRuns : State::kAnswered;
    status = std::move(outcome);
    order = ++last_order;
  }
  void end() {
    state = State::kEnded;
    gate_->ended(ticket);
  }

  static inline uint64_t last_order = 0;
  test::TestRequest made;
  AdmissionTicket ticket;
  State state = State::kNew;
  Status status;
  uint64_t resumes = 0;
  uint64_t order = 0;

 private:
  RequestGate* gate_ = nullptr;
};

/// In simulated time.
struct GateBench {
  explicit GateBench(AdmissionSettings settings, uint64_t seed = 1)
      : host("test", test::FakeHost::Threads::kSimulated, seed),
        gate(std::move(settings), true, host.clock()) {
    started = gate.start(host.executors(), 3);
  }
  ~GateBench() { gate.stop(); }

  GatedRequest& send(std::string_view tenant, uint64_t priority = 0, std::string_view id = {}) {
    requests.push_back(std::make_unique<GatedRequest>(tenant, id));
    requests.back()->ask(gate, priority);
    return *requests.back();
  }

  test::FakeHost host;
  RequestGate gate;
  Status started;
  std::deque<std::unique_ptr<GatedRequest>> requests;
};

}  // namespace atl::quotas
