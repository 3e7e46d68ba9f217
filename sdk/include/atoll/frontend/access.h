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
///
/// Identities, since minor 1. A provider with kKnowsCallers in roles() is a source of identities. All sources of
/// a manifest are a chain: a frontend calls identify() of one after the other, by rank and then by the instance's
/// name, until one knows the caller or refuses it. A call whose caller none knows is refused with UNAUTHENTICATED.
/// The identity then says what the caller may do: the frontend asks it for the category before a byte of the
/// body is read, and for the model as soon as that is known. Only after this is ask() called, of the one provider
/// as above; of providers that have kJudgesCalls in roles(), as all of minor 0 have. A frontend that the
/// manifest binds to an instance asks this instance alone. Where a source has looked at the header `authorization` and at
/// nothing else of a call's head, the frontend may use the identity for further calls of that connection with the same
/// value and category, without asking again: for a second at most, and while Identity::holds().
///
/// Certificates, since minor 2. A frontend of this minor asks sources of this minor by identify_certified(), where
/// they see the certificate that the client has shown in TLS. Between any other two it is identify(), without one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// What is said of the client by a certificate that TLS has verified: an authority that the frontend trusts has signed
/// it, and the client has its key. Names are as the certificate has them: any bytes, also NUL; who takes them for
/// somebody's name checks them. Since minor 2.
struct ClientCertificate {
  std::vector<std::string> uris;          ///< names of kind URI (subjectAltName), in their order
  std::vector<std::string> common_names;  ///< "CN" of the subject, in UTF-8, in their order
  int64_t expires_s = 0;  ///< since 1970, UTC. It may have passed: the connection is older than that then
};

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

  // --- since minor 2: only of heads that Access::identify_certified() is given ---
  /// What the other end of the connection is by its certificate, which may be a proxy's. Lives as long as this
  /// object. Null: there is no TLS, it has shown none, or none was asked for.
  virtual const ClientCertificate* certificate() const noexcept { return nullptr; }

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
  /// The call only asks whether the server lives or is ready: /v2/health/live and /v2/health/ready,
  /// ServerLive and ServerReady, grpc.health.v1.Health.
  bool is_probe = false;
};

/// Who calls, as a source of identities knows it, and what it may do. All functions may be called at a time from
/// any threads. [any]
class Identity {
 public:
  virtual ~Identity() = default;
  /// For logs and Request::caller; not empty. Valid as long as this object.
  virtual std::string_view name() const noexcept = 0;
  /// Whose quotas and queues its requests count for (Request::tenant); empty: nobody's. Valid as long as this
  /// object.
  virtual std::string_view tenant() const noexcept = 0;
  /// Whether it may make calls of a category about this model. Quick: it is asked for every message of a stream
  /// and every entry of a list.
  /// \param category_name  as in AccessQuestion. "model-repository-files", with kModelRepository, is asked for
  /// loads that bring files or a configuration, because those can run code
  /// \param model  its name, which need not exist; empty: whether there may be any model that it may use so
  virtual bool may(ApiCategory category, std::string_view category_name,
                   std::string_view model) const noexcept = 0;
  /// Whether it may make calls of a category about every model, and about none: settings of the whole server.
  virtual bool may_all(ApiCategory category, std::string_view category_name) const noexcept = 0;
  /// False once the identity has expired, or what it was made from has changed. Who keeps an identity for longer
  /// than one call asks now and then, and identifies the caller anew.
  virtual bool holds() const noexcept = 0;
};

/// To whom the regions, sequences and leases belong that a caller makes; to others they are unknown. A caller without a
/// tenant is one of its own. Empty: to nobody, as callers are not known. Valid as long as the identity. [any]
/// \param identity  of the call; null: there are no identities
inline std::string_view owner_of(const Identity* identity) noexcept {
  if (identity == nullptr) return {};
  const std::string_view tenant = identity->tenant();
  return tenant.empty() ? identity->name() : tenant;
}

/// The category name that identities are asked for loads which bring files or a configuration.
inline constexpr std::string_view kModelRepositoryFiles = "model-repository-files";

/// What identify() found. kKnown: the identity is set. kNotMine: the call presents nothing that this source
/// knows; another source may know it. kOpen: anybody may make this call, whatever it presents.
enum class IdentityOutcome : uint32_t { kKnown = 0, kNotMine = 1, kOpen = 2 };

/// What a provider does; bits of Access::roles().
enum AccessRole : uint32_t { kJudgesCalls = 1, kKnowsCallers = 2 };

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

  // --- since minor 1 ---
  /// What it does; always the same. [any]
  virtual uint32_t roles() const noexcept { return kJudgesCalls; }
  /// Who makes this call? Asked of providers with kKnowsCallers. Neither blocks nor computes for long. [request]
  /// \param identity  set if the outcome is kKnown. Its code is the provider's: the frontend holds the provider
  /// as long as it has the identity, and lets both go soon when the provider is to be replaced
  /// Errors: UNAUTHENTICATED what the call presents is this source's and is wrong; UNAVAILABLE the source knows
  /// nobody yet. Clients get a text of the frontend's own, the same for all, so that it tells nothing.
  virtual Result<IdentityOutcome> identify(const AccessQuestion& question,
                                           std::shared_ptr<const Identity>* identity) noexcept {
    (void)question;
    (void)identity;
    return IdentityOutcome::kNotMine;
  }

  // --- since minor 2 ---
  /// The same, in place of identify(), where the frontend can tell of certificates: CallHead::certificate() may be
  /// called of the question's head. [request]
  virtual Result<IdentityOutcome> identify_certified(const AccessQuestion& question,
                                                     std::shared_ptr<const Identity>* identity) noexcept {
    return identify(question, identity);
  }

 protected:
  ~Access() = default;
};

}  // namespace atl
