#include "frontends/common/access/call_report.h"

#include <span>
#include <utility>

#include "atoll/core/text.h"

namespace atl::frontends {
namespace {

constexpr std::string_view kRequestId = "x-request-id";
/// Enough for whoever cuts texts shorter, so that no client makes them long.
constexpr size_t kMostBytes = 1024;
/// gRPC's codes for a model that is not there, and for calls that somebody may not make.
constexpr int32_t kGrpcNotFound = 5, kGrpcPermissionDenied = 7, kGrpcUnauthenticated = 16;

std::string cut(std::string_view text) { return std::string(text.substr(0, kMostBytes)); }

std::string request_id_of(const CallHead& head) {
  std::string_view id;
  return head.find(kRequestId, {&id, 1}) == 1 ? cut(id) : std::string();
}

}  // namespace

CallReport::CallReport(const Followed<Audit>& audit, const Clock& clock, const AccessQuestion& question,
                       const CallName& name, bool is_wanted)
    : audit_(audit),
      clock_(clock),
      began_ns_(clock.now_ns()),
      protocol_(question.protocol),
      category_(question.category),
      is_stream_(name.is_stream),
      is_wanted_(is_wanted),
      category_name_(question.category_name),
      method_(cut(name.method)),
      path_(cut(name.path)),
      request_id_(request_id_of(question.head)),
      peer_(question.head.peer()) {}

void CallReport::set_caller(std::string_view subject, std::string_view tenant, std::string_view source) {
  const std::lock_guard lock(mutex_);
  caller_ = {cut(subject), cut(tenant), cut(source)};
}

void CallReport::set_model(std::string_view model, std::string_view version) {
  const std::lock_guard lock(mutex_);
  model_ = cut(model);
  version_ = cut(version);
}

void CallReport::deny(std::string rule, std::string_view reason) {
  const std::lock_guard lock(mutex_);
  if (!denial_.rule.empty()) return;
  denial_.rule = std::move(rule);
  denial_.reason = cut(reason);
}

void CallReport::on_asked(std::string_view category_name, std::string_view model, bool is_allowed) {
  const std::lock_guard lock(mutex_);
  std::string lacked = is_allowed ? std::string() : cat(category_name, '@', cut(model));
  if (is_stream_) {
    if (!is_allowed) record(cut(model), lacked, protocol_ == CallProtocol::kGrpc ? kGrpcNotFound : 0);
    return;
  }
  asked_.are_several = asked_.are_several || (!asked_.model.empty() && asked_.model != model);
  asked_.model = cut(model);
  if (!is_allowed) asked_.lacked = std::move(lacked);
}

void CallReport::set_status(int32_t status) {
  const std::lock_guard lock(mutex_);
  status_ = status;
}

/// A call whose client left before its answer counts as failed, so that leaving early hides no denial.
bool CallReport::is_failed() const noexcept {
  return protocol_ == CallProtocol::kHttp ? status_ < 0 || status_ >= 400 : status_ != 0;
}

/// The answer says that the caller may not.
bool CallReport::is_refusal() const noexcept {
  return protocol_ == CallProtocol::kHttp
             ? status_ == 401 || status_ == 403
             : status_ == kGrpcPermissionDenied || status_ == kGrpcUnauthenticated;
}

void CallReport::send() {
  const std::lock_guard lock(mutex_);
  // A list leaves out what the caller may not see, which is no denial; an answer about that one model is.
  if (denial_.rule.empty() && !asked_.are_several && is_failed()) denial_.rule = asked_.lacked;
  // What is asked for all models, or is about several, is refused by whoever answers the call.
  if (denial_.rule.empty() && is_refusal())
    denial_.rule = asked_.lacked.empty() ? category_name_ : asked_.lacked;
  if (!is_wanted_ && denial_.rule.empty()) return;
  if (model_.empty() && !asked_.are_several) model_ = asked_.model;
  record(model_, denial_.rule, status_);
}

void CallReport::record(const std::string& model, const std::string& rule, int32_t status) {
  const auto audit = audit_.hold();
  if (!audit) return;
  AuditedCall call;
  call.protocol = protocol_;
  call.category = category_;
  call.category_name = category_name_;
  call.method = method_;
  call.path = path_;
  call.request_id = request_id_;
  call.peer = peer_;
  call.subject = caller_.subject;
  call.tenant = caller_.tenant;
  call.source = caller_.source;
  call.model = model;
  call.version = version_;
  call.rule = rule;
  call.reason = denial_.reason;
  call.status = status;
  call.duration_ns = clock_.now_ns() - began_ns_;
  audit->record(call);
}

}  // namespace atl::frontends
