/// What is known of one tenant while the server runs.
#pragma once

#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "admission/quotas/quota.h"
#include "admission/quotas/token_bucket.h"
#include "atoll/request/request_admission.h"

namespace atl::quotas {

struct Tenant;

/// Why a request was not admitted. The order is that of kReasonNames.
enum class Refusal : uint32_t {
  kRate,         ///< its tenant's rate
  kTokens,       ///< its tenant has used more tokens than it may
  kConcurrency,  ///< its tenant's requests, running and waiting
  kWait,         ///< max_request_wait
  kInFlight,     ///< the server's requests in flight
  kQueueDelay,   ///< the server's queue is too slow
  kDeadline,
  kCancelled
};
inline constexpr std::string_view kReasonNames[] = {"rate",      "tokens",      "concurrency", "wait",
                                                    "in_flight", "queue_delay", "deadline",    "cancelled"};
inline constexpr size_t kReasons = std::size(kReasonNames);

/// One request from being asked for to its answer. In the request's arena.
struct Waiter {
  enum class State : uint32_t { kNew, kWaiting, kDecided };

  Request* request = nullptr;
  AdmissionWaiter* caller = nullptr;
  void* owner = nullptr;  ///< the service
  Tenant* tenant = nullptr;
  const Quota* quota = nullptr;  ///< the tenant's
  std::string_view tenant_name;  ///< as it may be shown
  uint64_t priority = 1;         ///< 1 is the highest
  uint64_t number = 0;           ///< in the order of arrival
  int64_t since_ns = 0;          ///< waits
  int64_t deadline_ns = 0;       ///< the client's; 0: none
  int64_t expires_ns = 0;        ///< waits no longer; 0: as long as it takes
  State state = State::kNew;
  bool cancelled = false;  ///< before it was decided or waited
  bool refused = false;
  Refusal refusal = Refusal::kRate;
  bool at_own_limit = false;  ///< refused while its tenant had as many running as it may
  uint32_t retry_after_ms = 0;
  int64_t admitted_ns = 0;
  int64_t expected_ns = 0;  ///< that it would run, when it was admitted
  Waiter* next = nullptr;   ///< in a list of decided ones
};

/// The first gets its turn first.
struct ByTurn {
  bool operator()(const Waiter* a, const Waiter* b) const noexcept {
    return a->priority != b->priority ? a->priority < b->priority : a->number < b->number;
  }
};
/// The first gives up first.
struct ByExpiry {
  bool operator()(const Waiter* a, const Waiter* b) const noexcept {
    return a->expires_ns != b->expires_ns ? a->expires_ns < b->expires_ns : a->number < b->number;
  }
};
struct ByDeadline {
  bool operator()(const Waiter* a, const Waiter* b) const noexcept {
    return a->deadline_ns != b->deadline_ns ? a->deadline_ns < b->deadline_ns : a->number < b->number;
  }
};

/// Of one tenant, or of all that share a label.
struct TenantCounts {
  std::string label;
  Quota quota;  ///< of each tenant with this label
  uint64_t admitted = 0;
  uint64_t waited = 0;  ///< had to wait, whatever came of it
  uint64_t refused[kReasons] = {};
  uint64_t running = 0;
  uint64_t waiting = 0;
  int64_t wait_ns = 0;  ///< of requests that waited and were decided
  TokenUse tokens;      ///< that responses have taken
};

struct Tenant {
  Tenant(std::string tenant_name, const Quota& limits, TenantCounts& counted) noexcept
      : name(std::move(tenant_name)),
        quota(limits),
        bucket(limits.rate, limits.burst),
        tokens(limits.tokens, limits.token_burst),
        counts(&counted) {}

  /// Goes on with another quota; what it has running and waiting, and what it has used of its rate, stays.
  void follow(const Quota& limits) noexcept {
    if (limits.rate != quota.rate || limits.burst != quota.burst) bucket.follow(limits.rate, limits.burst);
    if (limits.tokens != quota.tokens || limits.token_burst != quota.token_burst)
      tokens.follow(limits.tokens, limits.token_burst);
    quota = limits;
  }
  /// Is counted there from now on, with what it has running and waiting.
  void count_under(TenantCounts& other) noexcept {
    counts->running -= running;
    counts->waiting -= waiting.size();
    counts = &other;
    counts->running += running;
    counts->waiting += waiting.size();
  }

  const std::string name;
  Quota quota;
  TokenBucket bucket;
  TokenBucket tokens;     ///< of language models
  TenantCounts* counts;   ///< never null
  uint64_t index = 0;     ///< names the thread that resumes its requests
  uint64_t running = 0;   ///< admitted and not ended
  uint64_t resuming = 0;  ///< decided and not yet handed on
  std::set<Waiter*, ByTurn> waiting;
  uint64_t held_up = 0;    ///< of its waiting requests, those that only the server's slots hold up
  double tag = 0;          ///< virtual time of its next turn, see FairTurns
  bool ready = false;      ///< is among those whose turn may come
  double expected_ns = 0;  ///< mean time that its requests run; 0: none has ended

  bool idle() const noexcept { return running == 0 && resuming == 0 && waiting.empty(); }
  /// A response of one of its requests has taken tokens.
  void use(const TokenUse& taken, int64_t now_ns) noexcept {
    counts->tokens.prompt += taken.prompt;
    counts->tokens.generated += taken.generated;
    tokens.charge(static_cast<double>(taken.prompt) + static_cast<double>(taken.generated), now_ns);
  }
  /// Forgetting it and beginning anew would change nothing.
  bool unused(int64_t now_ns) noexcept { return idle() && bucket.full(now_ns) && tokens.full(now_ns); }
  bool may_run() const noexcept { return quota.concurrency == 0 || running < quota.concurrency; }
};

}  // namespace atl::quotas
