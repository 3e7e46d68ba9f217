/// Where requests find the service that admits them, which may come and go while they run.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "atoll/gate.h"
#include "atoll/host.h"
#include "atoll/registry.h"
#include "atoll/request_admission.h"

namespace atl::models {

/// Holds the current provider, and each earlier one as long as a request that it admitted, or keeps waiting,
/// has not ended. Such a request stays with its own provider.
class AdmissionPoint {
 public:
  explicit AdmissionPoint(Host& host) noexcept : host_(host) {}
  AdmissionPoint(const AdmissionPoint&) = delete;
  AdmissionPoint& operator=(const AdmissionPoint&) = delete;

  /// Moves on to the provider that is there now; none is no failure. [control]
  /// Errors: FAILED_PRECONDITION several providers of one rank; then nobody is asked.
  Status follow();
  /// Nobody is asked any more. [control]
  void leave();

  /// False: nobody is to be asked. [request]
  bool asks() const noexcept { return current_.load(std::memory_order_acquire) != nullptr; }

  /// A request's hold on the provider. `gate` null: nobody is to be asked. Else gate->leave() is owed, after
  /// the last use of the service.
  struct Hold {
    RequestAdmission* service = nullptr;
    Gate* gate = nullptr;
  };
  Hold hold() noexcept;

 private:
  enum class State { kFree, kOpen, kDraining, kReleasing };
  struct Slot {
    Gate gate{&AdmissionPoint::on_empty, this};
    Service<RequestAdmission> service;
    Pass pass;  ///< into the plugin's gate: it waits for the last request
    std::atomic<State> state{State::kFree};
  };
  static void on_empty(void* context);
  void close(Slot& slot);
  Slot& free_slot();

  Host& host_;
  std::vector<std::unique_ptr<Slot>> slots_;  ///< as many as providers were held at a time
  std::atomic<Slot*> current_{nullptr};
};

}  // namespace atl::models
