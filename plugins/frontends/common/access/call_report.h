/// What is told of one call to the audit service, if there is one.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "atoll/core/clock.h"
#include "atoll/core/followed_service.h"
#include "atoll/frontend/audit.h"

namespace atl::frontends {

/// The call as its transport names it: HTTP's method and path; of gRPC the path alone.
struct CallName {
  std::string_view method{}, path{};
  /// Its messages are judged one by one.
  bool is_stream = false;
  /// It may last, so that what its caller may do is looked at again.
  bool goes_on = is_stream;
};

/// As members of AuditedCall.
struct ReportedCaller {
  std::string subject, tenant, source;
};
struct ReportedDenial {
  std::string rule, reason;
};

/// What an identity was asked about models.
struct AskedModels {
  std::string model;  ///< the last one
  bool are_several = false;
  std::string lacked;  ///< the permission for it that the caller does not have
};

/// Collects what becomes known of a call, and is sent once. [any]
class CallReport {
 public:
  /// \param audit, clock  outlive this
  /// \param is_wanted  also if the call is not denied
  CallReport(const Followed<Audit>& audit, const Clock& clock, const AccessQuestion& question,
             const CallName& name, bool is_wanted);

  void set_caller(std::string_view subject, std::string_view tenant, std::string_view source);
  void set_model(std::string_view model, std::string_view version);
  /// The first one counts.
  void deny(std::string rule, std::string_view reason);
  /// An identity was asked whether the call may be about the model.
  void on_asked(std::string_view category_name, std::string_view model, bool is_allowed);
  /// \param status  as of AuditedCall
  void set_status(int32_t status);
  /// The call is over.
  void send();

 private:
  bool is_failed() const noexcept;
  bool is_refusal() const noexcept;
  void record(const std::string& model, const std::string& rule, int32_t status);

  const Followed<Audit>& audit_;
  const Clock& clock_;
  const int64_t began_ns_;
  const CallProtocol protocol_;
  const ApiCategory category_;
  const bool is_stream_;
  const bool is_wanted_;
  const std::string category_name_, method_, path_, request_id_, peer_;

  std::mutex mutex_;  ///< for all below
  ReportedCaller caller_;
  std::string model_, version_;
  AskedModels asked_;
  ReportedDenial denial_;
  int32_t status_ = -1;
};

}  // namespace atl::frontends
