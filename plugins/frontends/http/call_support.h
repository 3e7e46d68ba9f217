/// What calls have in common.
#pragma once

#include <string_view>

#include "atoll/core/status.h"
#include "atoll/models/model.h"
#include "frontends/common/call/infer_context.h"
#include "frontends/common/http/call.h"
#include "frontends/common/http/request_head.h"
#include "frontends/http/http_context.h"
#include "frontends/http/route_table.h"

namespace atl::frontends::http {

/// Of calls that run a model, both done on the connection's thread.
enum TransportPart : uint32_t {
  kExchangePart = InferContext::kTransportPart,  ///< the connection needs nothing of the call any more
  kAnswerPart =
      kExchangePart * 2  ///< the end of the answer has come, and is given to the connection or dropped
};

/// What parsing a large JSON text takes beside the text, in its sizes, at most.
inline constexpr uint64_t kParsingGrowth = 3;

/// The version a path names by number or label, or ModelCatalog::kLatest. Errors: INVALID_ARGUMENT no decimal
/// number, too large.
Result<int64_t> route_version(const ServerAccess& server, const Route& route) noexcept;

/// The same where the caller may not see the model: labels are not looked up.
Result<int64_t> hidden_version(const Route& route) noexcept;

/// {"error":"..."} with the status that goes with the code.
void answer_error(Channel& channel, const Status& status, uint32_t retry_after_ms = 0) noexcept;

/// What a request has from its headers: those that are forwarded, as parameters in place of others of their
/// names; its caller, its tenant, and a trace if it is to have one.
/// Errors: INVALID_ARGUMENT a reserved name, several tenants.
Status read_head(const HttpContext& frontend, const RequestHead& head, const ModelInfo& model,
                 Request& request) noexcept;

}  // namespace atl::frontends::http
