/// What calls have in common.
#pragma once

#include <string_view>

#include "atoll/model.h"
#include "atoll/status.h"
#include "backplane.h"
#include "common/infer_context.h"
#include "frontends/common/http/call.h"
#include "frontends/common/http/request_head.h"
#include "route_table.h"

namespace atl::frontends::http {

/// Of calls that run a model: the answer's way to the client.
enum TransportPart : uint32_t { kExchangePart = InferContext::kTransportPart };

/// Tensors up to this size are copied behind the JSON: cheaper than a piece of their own.
inline constexpr uint64_t kInlineBytes = 4096;
inline constexpr size_t kTensorAlignment = 64;
/// What parsing a large JSON text takes beside the text, in its sizes, at most.
inline constexpr uint64_t kParsingGrowth = 3;

/// The version a path names by number or label, or ModelCatalog::kLatest. Errors: INVALID_ARGUMENT no decimal
/// number, too large.
Result<int64_t> route_version(const ServerAccess& server, const Route& route) noexcept;

/// {"error":"..."} with the status that goes with the code.
void answer_error(Channel& channel, const Status& status, uint32_t retry_after_ms = 0) noexcept;

/// Who sent the request, and the tenant that its headers name. Errors: INVALID_ARGUMENT several.
Status read_tenant(const TenantHeader& tenant, const RequestHead& head, Request& request) noexcept;

/// Null unless the request is to be traced.
Trace* start_trace(Backplane& backplane, const ModelInfo& model, std::string_view request_id,
                   const RequestHead& head) noexcept;

}  // namespace atl::frontends::http
