/// One request between being asked for and its end.
#pragma once

#include <array>
#include <cstdint>

#include "admission_point.h"
#include "atoll/open_parts.h"
#include "atoll/request_admission.h"
#include "atoll/sink_interposer.h"

namespace atl::models {

class ServedModel;

/// In the request's arena. Asks one provider after the other, be it on the threads of those that made it
/// wait, and hands the request on when all have admitted it. It is the request's sink then: passes everything
/// on and tells the providers when the final response and the release have both gone by.
class AdmittedRequest final : public SinkInterposer, public AdmissionWaiter {
 public:
  AdmittedRequest(ServedModel& model, AdmissionPoint::Hold hold, uint64_t priority) noexcept
      : model_(&model), hold_(hold), priority_(priority) {}

  /// Asks, and hands over if the request may go on at once. On failure the caller still owns the request.
  static Status ask(ServedModel& model, AdmissionPoint::Hold hold, Request& request,
                    uint64_t priority) noexcept;

  // --- AdmissionWaiter ---
  void resume(Request& request, Status outcome, const AdmissionTicket& ticket) noexcept override;

  // --- ResponseSink ---
  void send(Response* response, uint32_t flags) noexcept override;
  void released(Request& request) noexcept override;

 private:
  /// What is left to do when this object may be gone: those who admitted the request are told.
  class End {
   public:
    explicit End(const AdmittedRequest& request) noexcept;
    void operator()() const noexcept;

   private:
    AdmissionPoint::Hold hold_;
    size_t count_;
    std::array<AdmissionTicket, kAdmissionsMax> tickets_;  // so many of them are set
  };
  enum Part : uint32_t { kFinalPart = 1, kReleasePart = 2 };

  /// Asks those that have not been asked. \returns whether all have admitted the request; if not, it waits
  /// and may have ended, and this object with it. Errors: the refusal; nobody has been told of it yet.
  Result<bool> ask_the_rest(Request& request) noexcept;

  ServedModel* model_;
  AdmissionPoint::Hold hold_;
  uint64_t priority_;
  size_t admitted_ = 0;                 ///< by so many
  AdmissionTicket* tickets_ = nullptr;  ///< theirs; in the arena, one for each provider
  OpenParts parts_{kFinalPart | kReleasePart};
};

}  // namespace atl::models
