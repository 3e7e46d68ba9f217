/// One request between being asked for and its end.
#pragma once

#include <atomic>
#include <cstdint>

#include "admission_point.h"
#include "atoll/request_admission.h"

namespace atl::models {

class ServedModel;

/// In the request's arena. Hands the request on when it is admitted, and is then its sink: passes everything
/// on and tells the provider when the final response and the release have both gone by.
class AdmittedRequest final : public ResponseSink, public AdmissionWaiter {
 public:
  AdmittedRequest(ServedModel& model, AdmissionPoint::Hold hold) noexcept : model_(&model), hold_(hold) {}

  /// Asks, and hands over if the request may go on at once. On failure the caller still owns the request.
  static Status ask(ServedModel& model, AdmissionPoint::Hold hold, Request& request,
                    uint64_t priority) noexcept;

  // --- AdmissionWaiter ---
  void resume(Request& request, Status outcome, const AdmissionTicket& ticket) noexcept override;

  // --- ResponseSink ---
  Response* new_response() noexcept override;
  Status allocate(Response& response, OutputTensor& output, uint64_t size_bytes, MemoryKind preferred_kind,
                  int64_t preferred_device_id) noexcept override {
    return next_->allocate(response, output, size_bytes, preferred_kind, preferred_device_id);
  }
  void send(Response* response, uint32_t flags) noexcept override;
  void discard(Response* response) noexcept override;
  void released(Request& request) noexcept override;

 private:
  /// What is left to do when this object may be gone.
  struct End {
    AdmissionPoint::Hold hold;
    AdmissionTicket ticket;
    void operator()() const noexcept {
      hold.service->ended(ticket);
      hold.gate->leave();
    }
  };
  enum Part : uint32_t { kFinalPart = 1, kReleasePart = 2 };
  void interpose(Request& request) noexcept;
  /// \returns true for the part that comes last.
  bool is_last(Part part) noexcept {
    uint32_t before = open_parts_.fetch_and(~part, std::memory_order_acq_rel);
    return before == part;
  }

  ServedModel* model_;
  AdmissionPoint::Hold hold_;
  AdmissionTicket ticket_;
  ResponseSink* next_ = nullptr;
  std::atomic<uint32_t> open_parts_{kFinalPart | kReleasePart};
};

}  // namespace atl::models
