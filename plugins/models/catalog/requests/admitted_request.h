/// One request between being asked for and its end.
#pragma once

#include <array>
#include <cstdint>

#include "atoll/core/open_parts.h"
#include "atoll/request/request_admission.h"
#include "atoll/request/sink_interposer.h"
#include "models/catalog/requests/provider_point.h"
#include "models/catalog/requests/token_counter.h"

namespace atl::models {

/// What becomes of a request that had to wait for its admission. It is its own now, on any thread.
class AfterAdmission {
 public:
  virtual void on_admitted(Request& request) noexcept = 0;
  virtual void on_refused(Request& request, Status reason) noexcept = 0;

 protected:
  ~AfterAdmission() = default;
};

/// In the request's arena. Asks one provider after the other, be it on the threads of those that made it
/// wait. When all have admitted the request, it is the request's sink: passes everything on, tells those of the
/// providers that count tokens what each response has taken, and tells all when the final response and the
/// release have both gone by.
class AdmittedRequest final : public SinkInterposer, public AdmissionWaiter {
 public:
  /// \param hold  into the providers; gate->leave() is owed to this object from now on
  static AdmittedRequest& make(Request& request, AdmissionPoint::Hold hold, uint64_t priority,
                               AfterAdmission& next) noexcept;

  /// \returns true: all have admitted the request, which may go on; false: `next` is told later, and may have
  /// been told, and this object be gone. Errors: the refusal; end() is owed.
  Result<bool> ask(Request& request) noexcept;
  /// For a request that was refused, or could not be handed on: those who admitted it are told.
  void end() noexcept { End{*this}(); }

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
    std::array<AdmissionTicket, kProvidersMax> tickets_;  // so many of them are set
  };
  enum Part : uint32_t { kFinalPart = 1, kReleasePart = 2 };

  void begin(Request& request) noexcept;
  void count(Response& response) noexcept;

  friend class atl::Arena;
  AdmittedRequest(AdmissionPoint::Hold hold, uint64_t priority, AfterAdmission& next) noexcept
      : hold_(hold), priority_(priority), next_step_(&next) {}

  AdmissionPoint::Hold hold_;
  uint64_t priority_;
  AfterAdmission* next_step_;
  size_t admitted_ = 0;                 ///< by so many
  AdmissionTicket* tickets_ = nullptr;  ///< theirs; in the arena, one for each provider
  OpenParts parts_{kFinalPart | kReleasePart};
  uint32_t counting_ = 0;  ///< a bit for each provider that counts tokens
  TokenCounter tokens_;
};

}  // namespace atl::models
