/// What the tests of request admission share.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "atoll/request/request_admission.h"
#include "models/catalog/testing/test_support.h"

namespace atl::models {

/// Does what the test says, and remembers.
class FakeAdmission final : public RequestAdmission {
 public:
  struct Waiting {
    Request* request;
    AdmissionWaiter* waiter;
  };
  explicit FakeAdmission(std::vector<std::string>* log = nullptr, std::string name = {})
      : log_(log), name_(std::move(name)) {}
  virtual ~FakeAdmission() = default;
  bool active() const noexcept override { return is_active; }
  Result<AdmissionOutcome> ask(Request& request, uint64_t priority, AdmissionWaiter& waiter,
                               AdmissionTicket* ticket) noexcept override {
    ++asked;
    note("?");
    last_priority = priority;
    if (refuses) {
      request.retry_after_ms = 70;
      return Status(Code::kResourceExhausted, "too much");
    }
    if (waits) {
      waiting.push_back({&request, &waiter});
      return AdmissionOutcome::kWaits;
    }
    ticket->data[0] = ++admitted;
    return AdmissionOutcome::kAdmitted;
  }
  void ended(const AdmissionTicket& ticket) noexcept override {
    note(".");
    tickets_ended.push_back(ticket.data[0]);
  }
  bool counts_tokens() const noexcept override { return counts; }
  void used(const AdmissionTicket& ticket, const TokenUse& use) noexcept override {
    uses.push_back({ticket.data[0], use.prompt, use.generated});
  }
  void resume_all(Code code = Code::kOk) {
    for (Waiting& one : std::exchange(waiting, {})) {
      AdmissionTicket ticket;
      if (code == Code::kOk) ticket.data[0] = ++admitted;
      one.waiter->resume(*one.request, Status(code, "shed"), ticket);
    }
  }

  bool is_active = true;
  bool refuses = false;
  bool waits = false;
  bool counts = false;
  uint64_t asked = 0, admitted = 0, last_priority = 0;
  std::vector<Waiting> waiting;
  std::vector<uint64_t> tickets_ended;
  std::vector<std::vector<uint64_t>> uses;  ///< ticket, tokens of the prompt, generated tokens

 private:
  void note(std::string_view what) {
    if (log_ != nullptr) log_->push_back(cat(name_, what));
  }
  std::vector<std::string>* log_;
  std::string name_;
};

/// A catalog that serves the model "m" with its outputs reshaped.
struct AdmissionBench {
  AdmissionBench() {
    bench.put("m", R"(backend: "fake" max_batch_size: 8
      input { name: "INPUT0" data_type: TYPE_FP32 dims: [ 2, 2 ] reshape { shape: 4 } }
      output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 2, 2 ] reshape { shape: 4 } })");
    EXPECT_EQ(bench.load_one("m").text(), "OK");
  }
  void publish(const std::string& name, RequestAdmission& provider, int32_t rank = 0,
               ServiceChanged::Kind kind = ServiceChanged::Kind::kPublished, uint32_t minor = 1) {
    bench.host.registry().publish<RequestAdmission>(name, provider, rank, minor);
    bench.publish_change(RequestAdmission::kInterfaceId, name, kind);
  }
  void withdraw(const std::string& name) {
    bench.host.registry().withdraw(std::string(RequestAdmission::kInterfaceId), name);
    bench.publish_change(RequestAdmission::kInterfaceId, name, ServiceChanged::Kind::kWithdrawn);
  }
  Status infer(test::TestRequest& request) {
    request.add_input<float>("INPUT0", DataType::kFp32, {1, 2, 2}, {1, 2, 3, 4});
    auto model = bench.catalog().acquire("m", 1);
    if (!model.ok()) return std::move(model).status();
    held.push_back(std::move(model).value());
    return request.infer(*held.back().get());
  }
  size_t holders() { return bench.host.registry().holders(std::string(RequestAdmission::kInterfaceId)); }
  uint64_t failures(FailureReason reason) {
    return held.back()->statistics().failures[static_cast<uint32_t>(reason)];
  }

  CatalogBench bench;
  std::vector<ModelRef> held;  ///< as frontends do
};

}  // namespace atl::models
