/// Who a caller is and what it may call. Service "atoll.access/1", provided by security/keys; without a
/// provider every call is allowed, and costs the load of a pointer for that.
///
/// Who asks, and when. A frontend asks once for every call, streams included, as soon as it knows which call
/// it is: no byte of a body has been read or opened, no memory was counted, no model was looked up. A refusal
/// is the call's answer.
///
/// Who is asked. The provider that the manifest binds to the frontend, else the one of the highest rank. It
/// may be replaced while calls wait for it; each call is answered by the provider that was asked. If it
/// cannot be said which provider is meant (several of the highest rank), no call is allowed.
///
/// A provider that knows one secret:
///
///     Result<AccessOutcome> ask(const AccessQuestion& question, AccessWaiter&,
///                               std::string_view* caller) noexcept override {
///       std::string_view value;
///       if (question.head.find("x-secret", {&value, 1}) != 1 || !is_secret(value))  // in constant time
///         return make_status(Code::kUnauthenticated, "the header x-secret is missing or wrong");
///       *caller = "operator";
///       return AccessOutcome::kAllowed;
///     }
///
/// A provider that has to ask another service returns kWaits and answers from a thread of its own: threads
/// that ask belong to the frontend and have others to serve.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "atoll/core/status.h"

namespace atl {

/// What a call is about. The first nine are Triton's categories of restricted protocols and APIs; kMetrics is
/// the page of metrics; kOther stands for calls that a plugin adds to a frontend
/// (atoll/frontend/http_routes.h, atoll/frontend/grpc_calls.h) in a category of its own.
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
/// How many categories have a fixed name: all but kOther.
inline constexpr uint32_t kApiCategoryCount = 10;

/// The name that manifests and metrics have for the category: "health", "shared-memory". Not to be called for
/// kOther.
constexpr std::string_view api_category_name(ApiCategory category) noexcept {
  constexpr std::string_view kNames[kApiCategoryCount] = {
      "health",           "metadata",   "inference", "shared-memory", "model-config",
      "model-repository", "statistics", "trace",     "logging",       "metrics"};
  return kNames[static_cast<uint32_t>(category)];
}

/// Whether a name may be that of a category which a plugin brings. It has lower case letters, digits, '-',
/// '_', and a dot inside, which the fixed names do not have; at most 64 bytes. A fixed name with a dot in
/// place of '-' ("shared.memory") is taken for a mistake and refused.
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

/// How the call came; the page of metrics counts as kHttp.
enum class CallProtocol : uint32_t { kGrpc = 0, kHttp = 1 };

/// What a caller has sent before the body: metadata (gRPC) or headers (HTTP). Valid as long as the question
/// or exchange that it belongs to.
class CallHead {
 public:
  /// Finds every value under a name, in the order in which they were sent. Nothing is copied.
  /// \param name    in lower case, however the caller has written it
  /// \param values  gets the first values, which live as long as this object; may be empty
  /// \returns how many values there are, which may be more than fit. If there are several, never take one of
  /// them for the value: what a proxy sets may come behind what its client has sent.
  virtual size_t find(std::string_view name, std::span<std::string_view> values) const noexcept = 0;
  /// The other end of the connection, which may be a proxy: "ipv4:192.0.2.1:50000",
  /// "ipv6:[2001:db8::1]:50000". The text is made for this call.
  virtual std::string peer() const noexcept = 0;

 protected:
  ~CallHead() = default;
};

/// What is asked of Access::ask(). Borrowed during the call.
struct AccessQuestion {
  ApiCategory category;
  /// That of api_category_name(); for kOther the plugin's own, "openai.chat".
  std::string_view category_name;
  CallProtocol protocol;
  const CallHead& head;
};

/// kAllowed: the call may be made. kWaits: AccessWaiter::on_access() is owed.
enum class AccessOutcome : uint32_t { kAllowed = 0, kWaits = 1 };

/// Who has asked for one call: the frontend.
class AccessWaiter {
 public:
  /// Answers a question that waits. Called once, on any thread, perhaps before ask() has returned. It returns
  /// soon.
  /// \param outcome  OK: the call is allowed. A failure, with the codes of Access::ask(), is its answer
  /// \param caller   as of Access::ask(); borrowed during the call
  virtual void on_access(Status outcome, std::string_view caller) noexcept = 0;

 protected:
  ~AccessWaiter() = default;
};

/// Service "atoll.access/1".
class Access {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.access/1";

  /// May this call be made? Neither blocks nor computes for long. [request]
  /// \param waiter  lives until on_access() was called
  /// \param caller  set to who calls, a name for logs and for Request::caller, if the outcome is kAllowed;
  /// empty: it is not known. The text lives as long as the provider is held
  /// \returns kAllowed; or kWaits: the waiter is called in bounded time, also if the client has gone
  /// meanwhile or the provider is being stopped. The question must not be used after this call.
  /// Errors are the call's answer, with their text as it is; the text must not repeat what the caller has
  /// presented. UNAUTHENTICATED (HTTP 401) it is not known who calls; PERMISSION_DENIED (403) this caller may
  /// not; UNAVAILABLE (503), DEADLINE_EXCEEDED (504) it cannot be found out.
  virtual Result<AccessOutcome> ask(const AccessQuestion& question, AccessWaiter& waiter,
                                    std::string_view* caller) noexcept = 0;

 protected:
  ~Access() = default;
};

}  // namespace atl
