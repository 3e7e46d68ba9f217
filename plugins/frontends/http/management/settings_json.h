/// Trace and log settings: bodies to changes, answers to JSON.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/request/tracing.h"
#include "grpc_service.pb.h"

namespace atl::frontends::http {

/// {"trace_level":[string],"trace_rate":string,"trace_count":string,"log_frequency":string}; null clears a
/// setting, members of other names are ignored. The values are Tracing::update's to check.
/// Errors: INVALID_ARGUMENT; UNIMPLEMENTED trace_file, whatever its value.
Status read_trace_changes(std::string_view body, std::vector<TraceSetting>* changes) noexcept;
/// In the order given; trace_level is an array, all others are texts.
std::string trace_settings_json(std::span<const TraceSetting> settings);

/// {"log_info":bool,...,"log_verbose_level":uint,"log_format":string}; null leaves a setting, as do members
/// of other names. Errors: INVALID_ARGUMENT; UNAVAILABLE, as the protocol has it, a format that is none.
Status read_log_changes(std::string_view body, inference::LogSettingsRequest* request) noexcept;
/// {"log_file","log_info","log_warning","log_error","log_verbose_level","log_format"}
std::string log_settings_json(const inference::LogSettingsResponse& response);

}  // namespace atl::frontends::http
