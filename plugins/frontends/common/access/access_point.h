/// Who is asked whether calls of a frontend may be made.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "atoll/core/followed_service.h"
#include "atoll/core/gate.h"
#include "atoll/core/metrics.h"
#include "atoll/frontend/access.h"
#include "atoll/frontend/audit.h"
#include "frontends/common/access/call_report.h"
#include "frontends/common/access/caller_identity.h"
#include "frontends/common/access/failed_credentials.h"
#include "frontends/common/access/last_callers.h"

namespace atl::frontends {

/// The access services of one frontend, which may come, be replaced and go: the sources of identities, the one that
/// judges calls, and the one that records them.
class AccessPoint {
 public:
  explicit AccessPoint(Host& host);

  /// Takes the providers that are there and follows their changes. [control]
  Status open() noexcept;
  /// [control]
  void close() noexcept;

  /// False: every call is allowed, nobody records it, and it need not ask. [request]
  bool asks() const noexcept {
    // Looked at twice, as a provider may be found, or get lost, between the two.
    return judge_.is_present() || others_.load(std::memory_order_acquire) != 0 || judge_.is_present();
  }
  /// Questions whose answer was not taken yet, and identities that are held: the threads that would take or drop
  /// them stay as long. [control]
  int64_t unsettled() const noexcept {
    return judge_.holds() + chain_.holds() - kept_.load(std::memory_order_relaxed);
  }

  /// Who calls. \param identity  set if that is known, also if this caller may not make the call. If it has one already,
  /// the call is identified anew, and its report goes on. Not called without a source of identities. [request]
  /// \param report  of the call; null: nobody records it, or it goes on
  /// \param place  of the connection, whose caller of before may be asked for again; null: there is none
  /// Errors: the call's answer, with a text that is the same whatever is wrong.
  /// \param used  gets the models that the call uses; null: nobody asks for them again
  Status identify(const AccessQuestion& question, CallerIdentityPtr* identity,
                  std::shared_ptr<CallReport> report = nullptr, const CallerPlace* place = nullptr,
                  std::shared_ptr<UsedModels> used = nullptr) const noexcept;
  /// Of a call that goes on: who calls now, and whether that one may use the models that the call uses. \param identity  of before;
  /// null: there were no sources, so that nobody knows which models these are
  /// Errors: as identify().
  Status renew(const AccessQuestion& question, CallerIdentityPtr* identity,
               std::shared_ptr<CallReport> report = nullptr) const noexcept;
  /// Whether there are sources of identities. [any]
  bool has_sources() const noexcept { return (others_.load(std::memory_order_acquire) & kSources) != 0; }

  /// What is to be told of a call that begins; null: nobody wants to hear of it. [request]
  std::shared_ptr<CallReport> begin_report(const AccessQuestion& question,
                                           const CallName& name) const noexcept;

  /// The counts of credentials that were wrong, if there are sources. \param family  a constant text
  void collect(std::string_view family, std::string_view instance, MetricSink& sink) const noexcept;

 private:
  friend class AccessCheck;
  enum Others : uint32_t { kLost = 1, kSources = 2, kAudited = 4 };

  /// The provider that judges calls. Looks for the sources first: whoever hears of a new judge has them too.
  Result<Service<Access>> find() noexcept;
  void judge_changed() noexcept;
  void audit_changed() noexcept;
  /// The sources that there are now. [control]
  void renew_chain() noexcept;
  IdentityChain find_sources() noexcept;
  /// The one that the manifest binds to this frontend; null: none that can be told from the others.
  const Access* bound(const std::vector<ServiceInfo>& providers) noexcept;
  /// Whom a source knows.
  struct Found {
    std::shared_ptr<const Identity> identity;  ///< null: anybody may make the call
    size_t source = 0;
  };
  /// Asks one source after the other. Errors: as identify().
  Result<Found> look_up(const IdentityChain& chain, const AccessQuestion& question) const noexcept;
  Status failed(const AccessQuestion& question) const noexcept;

  Host& host_;
  /// There are providers, and none that could be asked: no call is allowed then; whether there are sources; and whether
  /// calls are recorded.
  std::atomic<uint32_t> others_{0};
  Followed<Access> judge_;
  Replaceable<IdentityChain> chain_;
  Followed<Audit> audit_;
  mutable FailedCredentials failed_;
  mutable std::atomic<int64_t> kept_{0};  ///< holds of chain_ by LastCallers
};

/// What every call is told whose caller is not known.
inline constexpr std::string_view kUnknownCaller = "the call needs a valid credential";

}  // namespace atl::frontends
