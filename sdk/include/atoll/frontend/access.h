/// Who a caller is and what it may call. Service "atoll.access/1".
///
/// A frontend asks once for every call, streams included, as soon as it knows which call it is: no byte of a
/// body was read or opened, no memory was counted, no model was looked up. A refusal is the call's answer. The
/// provider that is bound to the frontend is asked, else the one of the highest rank; it may be replaced while
/// calls wait for it, and each is answered by the one that was asked. Without a provider every call is allowed,
/// and costs the load of a pointer for that.
///
/// A provider that calls another service to decide makes the call wait and answers from a thread of its own.
/// Threads that ask belong to the frontend and have others to serve.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "atoll/core/status.h"

namespace atl {

/// What a call is about: Triton's categories of restricted calls; the page of metrics; and calls that a plugin
/// adds to a frontend (atoll/frontend/http_routes.h, atoll/frontend/grpc_calls.h) in a category of its own.
enum class ApiCategory : uint32_t {
  kHealth = 0,
  kMetadata = 1,
  kInference = 2,
  kSharedMemory = 3,
  kModelConfig = 4,
  kModelRepository = 5,
  kStatistics = 6,
  kTrace = 7,
  kLogging = 8,
  kMetrics = 9,
  kOther = 10
};
/// Categories with a fixed name: all but kOther.
inline constexpr uint32_t kApiCategoryCount = 10;

/// "health", "shared-memory". Not of kOther.
constexpr std::string_view api_category_name(ApiCategory category) noexcept {
  constexpr std::string_view kNames[kApiCategoryCount] = {
      "health",           "metadata",   "inference", "shared-memory", "model-config",
      "model-repository", "statistics", "trace",     "logging",       "metrics"};
  return kNames[static_cast<uint32_t>(category)];
}

/// Whether a name may be that of a category which a plugin brings: lower case letters, digits, '-', '_', and a
/// dot inside, which the fixed ones do not have; 64 bytes at most. Not a fixed one with a dot in place of '-',
/// which is a mistake.
constexpr bool is_own_category(std::string_view name) noexcept {
  constexpr size_t kMostBytes = 64;
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos || dot == 0 || name.back() == '.' || name.size() > kMostBytes)
    return false;
  for (char c : name) {
    const bool is_word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    if (!is_word && c != '.') return false;
  }
  for (uint32_t i = 0; i < kApiCategoryCount; ++i) {
    const std::string_view fixed = api_category_name(static_cast<ApiCategory>(i));
    size_t same = 0;
    while (same < fixed.size() && same < name.size() &&
           (name[same] == fixed[same] || (name[same] == '.' && fixed[same] == '-'))) {
      ++same;
    }
    if (same == fixed.size() && same == name.size()) return false;
  }
  return true;
}

enum class CallProtocol : uint32_t { kGrpc = 0, kHttp = 1 };

/// What a caller has sent before the body: metadata (gRPC) or headers (HTTP).
class CallHead {
 public:
  /// Every value under a name, in the order sent; nothing is copied. \param name  in lower case, however the
  /// caller wrote it \param values  gets the first ones, which live as long as the question
  /// \returns how many there are: more than fit, perhaps. Several are never to be taken as one of them: what a
  /// proxy sets may come after what its client has sent.
  virtual size_t find(std::string_view name, std::span<std::string_view> values) const noexcept = 0;
  /// The other end of the connection, a proxy perhaps: "ipv4:192.0.2.1:50000", "ipv6:[2001:db8::1]:50000".
  /// Made for this call.
  virtual std::string peer() const noexcept = 0;

 protected:
  ~CallHead() = default;
};

/// Borrowed during Access::ask().
struct AccessQuestion {
  ApiCategory category;
  std::string_view category_name;  ///< that of api_category_name(); of kOther the plugin's own, "openai.chat"
  CallProtocol protocol;
  const CallHead& head;
};

enum class AccessOutcome : uint32_t { kAllowed = 0, kWaits = 1 };

/// Who has asked for one call.
class AccessWaiter {
 public:
  /// The answer to a question that waits: once, on any thread, perhaps before ask() has returned. Returns
  /// soon. \param outcome  OK: the call is allowed; a failure, of the codes of Access::ask(), is its answer
  /// \param caller  as of Access::ask(); borrowed
  virtual void on_access(Status outcome, std::string_view caller) noexcept = 0;

 protected:
  ~AccessWaiter() = default;
};

class Access {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.access/1";

  /// May this call be made? [request] Neither blocks nor computes for long.
  /// \param waiter  lives until it was told
  /// \param caller  who calls, a name for logs and Request::caller; set when the outcome is kAllowed, empty:
  /// not known. It lives as long as the provider is held.
  /// \returns kAllowed, or kWaits: the waiter is told, in bounded time, also when the caller has gone
  /// meanwhile or the provider is being stopped. The question is not used any more.
  /// Errors are the call's answer, their text as it is; it holds nothing that the caller has presented:
  /// UNAUTHENTICATED (HTTP 401) it is not known who calls; PERMISSION_DENIED (403) it may not; UNAVAILABLE
  /// (503), DEADLINE_EXCEEDED (504) it cannot be found out.
  virtual Result<AccessOutcome> ask(const AccessQuestion& question, AccessWaiter& waiter,
                                    std::string_view* caller) noexcept = 0;

 protected:
  ~Access() = default;
};

}  // namespace atl
