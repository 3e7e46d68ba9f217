/// The fields that say how a model makes its answer.
#pragma once

#include <span>
#include <string_view>

#include "frontends/openai/request/fields.h"
#include "frontends/openai/request/generation_request.h"

namespace atl::frontends::openai {

inline constexpr int64_t kMostTokens = 2'147'483'647;
inline constexpr int64_t kMostStops = 16;
inline constexpr int64_t kMostStopBytes = 1024;

/// Reads the fields of sampling that all APIs have under the same names.
void read_sampling(Fields& fields, GenerationRequest& request);
/// Reads a stop string, or a list of them.
void read_stops(Fields& fields, const char* name, GenerationRequest& request);
/// Reads `response_format`, `json_schema`, `grammar` and their other names.
void read_response_format(Fields& fields, GenerationRequest& request);
/// A format as {"type":...}. \param where  its name in the request
void read_format(Fields& fields, const CheckedValue& format, const char* where, GenerationRequest& request);
/// Known names, for the count of the others.
std::span<const std::string_view> sampling_fields() noexcept;

}  // namespace atl::frontends::openai
