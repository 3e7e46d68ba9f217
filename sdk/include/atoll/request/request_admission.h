/// Whether a client's request may go to its scheduler now: quotas, overload protection, deny lists. Service
/// "atoll.request_admission/1", minor 1, provided by admission/quotas among others; docs/guide-admission.md
/// builds one from nothing.
///
/// Who is asked. The model catalog asks every active provider, once for each valid request, before the
/// request goes to its scheduler. The provider of the highest rank is asked first; of equal ranks, the one
/// whose instance's name is first. The next one is asked when the one before has admitted the request, which
/// may have made it wait. The first that refuses ends the request. At most 8 providers are asked.
///
/// What is owed. Each provider that admitted a request is told once when the request has ended (ended()),
/// also if a later provider refused it. A provider that comes is asked for requests that come after it. One
/// that goes is still asked for those that came before, and the server waits for their ends.
///
/// Who is not asked for. Requests with kIsStep: the request that they are steps of was admitted. Answers of
/// the response cache: they cost nothing. Without an active provider a request pays one load and one branch.
///
/// What a provider sees. All of the request: model, inputs, tenant, caller and parameters. Headers that the
/// frontends are told to forward (their option `header_forward_pattern`) are string parameters under the
/// header's name. Clients can write parameters of any name into their requests, so trust a header only if a
/// proxy replaces it and its name is one that the proxy lets no client use; the same holds for the tenant.
///
/// Tokens, since minor 1. A provider that limits the tokens of language models, and not only requests, says so
/// (counts_tokens()). The catalog marks each request that such a provider has admitted with kCountsTokens,
/// reads what each of its responses has taken, and tells the provider before the client gets the response
/// (used()). A response says what it has taken in one of two ways:
///
/// - Parameters of the response, by a backend that knows its tokens and looks at the mark: the integers
///   kPromptTokensUsed and kGeneratedTokensUsed, each of them what this response adds. The catalog takes them
///   out of the response, so whatever a client asks for, it cannot leave them out. Responses that are errors
///   may have them, too.
/// - Outputs of any model: num_input_tokens, the tokens of the whole prompt, of which the largest number of
///   all responses counts once, and num_output_tokens, which are added up. The elements of a batch are added
///   up. They are there only if the request asks for them.
#pragma once

#include <cstdint>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/request/request.h"

namespace atl {

/// What a provider wants to know again when an admitted request ends. Only the provider that filled it in
/// reads it.
struct AdmissionTicket {
  uint64_t data[3] = {};
};

/// kAdmitted: the request goes on, and ended() is owed. kWaits: AdmissionWaiter::resume() is owed.
enum class AdmissionOutcome : uint32_t { kAdmitted = 0, kWaits = 1 };

/// Bit of Request::call_flags, beside those of CallFlags: somebody counts the tokens that the responses of
/// this request have taken. Set by the catalog before the request goes to its scheduler.
inline constexpr uint32_t kCountsTokens = 1U << 29;
/// Parameters of a response to such a request, of type kInt.
inline constexpr std::string_view kPromptTokensUsed = "prompt_tokens_used";
inline constexpr std::string_view kGeneratedTokensUsed = "generated_tokens_used";

/// What one response has taken. Since minor 1.
struct TokenUse {
  uint64_t prompt = 0;
  uint64_t generated = 0;
};

/// Who has asked for one request: the catalog.
class AdmissionWaiter {
 public:
  /// Ends the wait of a request. Called once for each request that waits, on a thread of the provider, with
  /// no lock held. Resumed requests of one tenant and priority come one after the other, in the order in
  /// which they were asked for. The request goes to its scheduler in here and may be executed on this thread.
  /// \param outcome  OK: the request is admitted, and ended() is owed. A failure is the request's answer
  /// \param ticket  as of ask(); read if the outcome is OK
  virtual void resume(Request& request, Status outcome, const AdmissionTicket& ticket) noexcept = 0;

 protected:
  ~AdmissionWaiter() = default;
};

/// Service "atoll.request_admission/1".
class RequestAdmission {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.request_admission/1";
  /// From this minor on a provider has counts_tokens() and used().
  static constexpr uint32_t kTokensMinor = 1;

  /// False: nothing is limited, so nobody need ask. Must not change while the service is held. [any]
  virtual bool active() const noexcept = 0;

  /// May this request go on? Must not block. [request], or on the thread of a provider before this one that
  /// resumes the request.
  /// \param priority  the level that counts for the request's model, 1 being the highest; 0: neither the
  /// request nor the model says one
  /// \param waiter    lives as long as the request
  /// \param ticket    set it when the outcome is kAdmitted
  /// \returns kAdmitted, or kWaits: the request belongs to the provider until resume(), which may be called
  /// before this returns. Until then the provider listens to the request's cancellation, answers in time when
  /// its deadline passes, and may use `next`, the arena, and `links`, which are empty again afterwards.
  /// Errors, with request.retry_after_ms set where trying again makes sense; the request stays with the
  /// caller: PERMISSION_DENIED it may not be made at all; RESOURCE_EXHAUSTED the tenant is over a quota;
  /// UNAVAILABLE the server is overloaded; DEADLINE_EXCEEDED; CANCELLED.
  virtual Result<AdmissionOutcome> ask(Request& request, uint64_t priority, AdmissionWaiter& waiter,
                                       AdmissionTicket* ticket) noexcept = 0;

  /// An admitted request has been answered and released, or was refused by a later provider. Called once for
  /// each admitted request. The request itself may be gone. [any]
  virtual void ended(const AdmissionTicket& ticket) noexcept = 0;

  // --- since minor 1 ---
  /// Whether used() is to be called. Asked when all providers have admitted a request, and holds for it. [any]
  virtual bool counts_tokens() const noexcept { return false; }
  /// A response of an admitted request has taken tokens, at least one. Comes before ended(), once a response
  /// at most. Must not block. [any]
  virtual void used(const AdmissionTicket& /*ticket*/, const TokenUse& /*use*/) noexcept {}

 protected:
  ~RequestAdmission() = default;
};

}  // namespace atl
