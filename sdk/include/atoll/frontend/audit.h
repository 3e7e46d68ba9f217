/// Who hears of calls for the record. Service "atoll.audit/1", provided by telemetry/audit; without a provider nothing
/// is recorded, and a call costs nothing for that.
///
/// Who tells. Every frontend, of every call that has a category (atoll/frontend/access.h), those of plugins included. It
/// asks wants() once the caller is known and before the call does anything. When the call has ended it calls record(),
/// once, if that was wanted or the call was denied. Denied is a call whose caller is not known, or may not make it; that
/// may show only when its model is known. Of a ModelStreamInfer each message that is denied is a record of its own.
///
/// A provider that counts denials:
///
///     bool wants(ApiCategory, std::string_view) noexcept override { return false; }
///     void record(const AuditedCall& call) noexcept override {
///       if (!call.rule.empty()) denials_.fetch_add(1);
///     }
#pragma once

#include <cstdint>
#include <string_view>

#include "atoll/core/text.h"
#include "atoll/frontend/access.h"

namespace atl {

/// What is told of one call. All texts are borrowed during Audit::record(). Those that clients have written are any
/// bytes and may be long, but none is a credential: neither a header's value nor a query is among them.
struct AuditedCall {
  CallProtocol protocol = CallProtocol::kHttp;
  ApiCategory category = ApiCategory::kOther;
  std::string_view category_name;  ///< as in AccessQuestion
  /// "POST" and "/v2/models/m/infer"; of gRPC none and "/inference.GRPCInferenceService/ModelInfer".
  std::string_view method, path;
  std::string_view request_id;  ///< header or metadata "x-request-id"; may be empty, as all that follow
  std::string_view peer;        ///< as CallHead::peer()
  std::string_view subject;     ///< Identity::name(), or who calls as Access::ask() said
  std::string_view tenant;      ///< Identity::tenant()
  std::string_view source;      ///< the instance that knew the caller: "keys"
  /// What the call is about. Empty too where several models are, or it is not known without identities.
  std::string_view model, version;
  /// Why the call was denied; empty: it was not. "credential": nobody knows the caller, or its credential is wrong;
  /// "provider": who judges calls has refused; else the permission that the caller lacks, "model-repository" or
  /// "inference@secret".
  std::string_view rule;
  std::string_view reason;  ///< of a denial: the text of its answer, if it had one of its own
  int32_t status = 0;       ///< HTTP's status, or gRPC's code. -1: the client went before it had an answer
  int64_t duration_ns = 0;  ///< from the question whether it may be made to its end
};

/// Service "atoll.audit/1".
class Audit {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.audit/1";

  /// Whether a call is wanted that will not be denied. Asked once a call. Neither blocks nor allocates. [request]
  /// \param category_name  as in AccessQuestion
  virtual bool wants(ApiCategory category, std::string_view category_name) noexcept = 0;
  /// A call has ended, or is denied. Returns soon, whatever happens to the record. [any]
  virtual void record(const AuditedCall& call) noexcept = 0;

 protected:
  ~Audit() = default;
};

/// Somebody has told the server to change something: to load a model, to change a setting, to make a lease. Published by
/// telemetry/audit on the event bus (atoll/core/event_bus.h) when the call has ended, also if it has failed; not if it
/// was denied. Not retained. As every event it owns its texts, which are cut if they are too long; what looks like a
/// credential is taken out of them.
struct ControlCallEnded {
  static constexpr std::string_view kEventId = "atoll.control_call/1";
  FixedText<256> call;      ///< "POST /v2/repository/models/m/load", or gRPC's path; without a query
  FixedText<128> subject;   ///< as AuditedCall::subject; empty: nobody is known
  FixedText<64> peer;       ///< as AuditedCall::peer
  FixedText<256> model;     ///< as AuditedCall::model; may be empty
  int32_t status = 0;       ///< as AuditedCall::status
  bool is_failure = false;  ///< the status says that nothing was done
  std::string_view key() const noexcept { return call.view(); }
};

}  // namespace atl
