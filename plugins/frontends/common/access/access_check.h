/// Whether a call may be made: what a frontend asks before a call costs anything; and what is recorded of it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "atoll/core/gate.h"
#include "frontends/common/access/access_point.h"

namespace atl::frontends {

/// The question of one call after the other. Ends before its AccessPoint. While it waits it holds a pass of the
/// host's gate, if that is open.
class AccessCheck final : private AccessWaiter {
 public:
  AccessCheck() noexcept = default;
  AccessCheck(const AccessCheck&) = delete;
  AccessCheck& operator=(const AccessCheck&) = delete;
  ~AccessCheck() { forget(); }

  /// \param settled  called with `owner` if the call waits: when there is an answer, once, on any thread,
  /// perhaps before this returns; returns soon
  /// \param name  of the call, for the record
  /// \param place  as of AccessPoint::identify()
  /// \returns true: there is an answer already. Either way take() is owed, by the thread that has asked.
  bool ask(const AccessPoint& point, const AccessQuestion& question, const CallName& name,
           void (*settled)(void* owner) noexcept, void* owner, const CallerPlace* place = nullptr) noexcept;
  /// OK: the call is allowed, as it is if nobody was asked. Else the failure is its answer.
  /// \param caller  set if one is known; valid until the next question
  Status take(std::string_view* caller) noexcept { return asked_ ? take_answer(caller) : Status(); }
  /// Who calls, from ask() to forget() or the next question; null: there are no identities.
  const CallerIdentityPtr& identity() const noexcept { return identity_; }
  /// The same, for who keeps it. The call is not over.
  CallerIdentityPtr take_identity() noexcept { return std::move(identity_); }
  /// The refusal is that of the identities: it is not known who calls, or the caller may not.
  bool is_about_caller() const noexcept { return is_about_caller_; }
  /// Identifies the caller of a call under way anew. \returns false: it may not go on
  bool renew(const AccessPoint& point, const AccessQuestion& question) noexcept;
  /// The call is over: lets the identity go, whose source could not be replaced as long, and has the call recorded.
  void forget() noexcept {
    identity_.reset();
    if (report_ != nullptr) end_report();
  }

  // --- for the record ---
  /// Null: nobody records this call. From ask() to forget().
  CallReport* report() const noexcept { return report_.get(); }
  /// How the call ends. \param status  as of AuditedCall
  void set_status(int32_t status) noexcept {
    if (report_ != nullptr) report_->set_status(status);
  }

 private:
  void on_access(Status outcome, std::string_view caller) noexcept override;
  Status take_answer(std::string_view* caller) noexcept;
  /// The caller is not known, or may not make the call.
  void refuse_caller(const AccessQuestion& question) noexcept;
  void end_report() noexcept;

  bool asked_ = false;
  bool is_about_caller_ = false;
  CallerIdentityPtr identity_;
  std::shared_ptr<CallReport> report_;
  Followed<Access>::Hold judge_;
  Pass pass_;
  void (*settled_)(void* owner) noexcept = nullptr;
  void* owner_ = nullptr;
  Status outcome_;
  std::string caller_;
};

}  // namespace atl::frontends
