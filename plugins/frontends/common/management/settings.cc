// Trace and log settings.
#include "frontends/common/codec/wire_messages.h"
#include "frontends/common/management/management.h"
#include "grpc_service.pb.h"

namespace atl::frontends {
namespace {

using Value = inference::LogSettingsRequest::SettingValue;

Status read_flag(const std::string& key, const Value& value, bool* flag) {
  if (value.parameter_choice_case() != Value::kBoolParam)
    return invalid_argument("expect boolean for '", key, "'");
  *flag = value.bool_param();
  return {};
}

/// Unknown keys are ignored, as the protocol has always done.
Status read_change(const std::string& key, const Value& value, LogSettings* settings) {
  if (key == "log_file") {
    return unimplemented("log file location can not be updated through network protocol");
  }
  if (key == "log_info") return read_flag(key, value, &settings->info);
  if (key == "log_warning") return read_flag(key, value, &settings->warning);
  if (key == "log_error") return read_flag(key, value, &settings->error);
  if (key == "log_verbose_level") {
    if (value.parameter_choice_case() != Value::kUint32Param) {
      return invalid_argument("expect int32 for 'log_verbose_level'");
    }
    settings->verbose_level = value.uint32_param();
  } else if (key == "log_format") {
    if (value.parameter_choice_case() != Value::kStringParam) {
      return invalid_argument("expect string for 'log_format'");
    }
    if (value.string_param() != "default" && value.string_param() != "ISO8601") {
      return invalid_argument("invalid argument for log_format, got: ", value.string_param());
    }
    settings->format = value.string_param();
  }
  return {};
}

}  // namespace

Status trace_setting(ServerAccess& server, const Identity* caller, const std::string& model,
                     const std::vector<TraceSetting>& changes,
                     std::vector<TraceSetting>* effective) noexcept {
  constexpr ApiCategory kCategory = ApiCategory::kTrace;
  if (model.empty() && caller != nullptr && !caller->may_all(kCategory, api_category_name(kCategory))) {
    return make_status(Code::kPermissionDenied, "the caller may not see or change what holds for all models");
  }
  auto tracing = server.tracing->hold();
  if (!tracing) {
    return unimplemented("trace settings are not available: this server has no trace plugin");
  }
  if (!model.empty()) {
    Result<ModelRef> found = server.catalog->acquire(model, ModelCatalog::kLatest);
    if (!found.ok() || !may_use(caller, kCategory, model))
      return invalid_argument("Request for unknown model : ", model);
  }
  if (!changes.empty()) ATOLL_RETURN_IF_ERROR(tracing->update(model, changes));
  Result<std::vector<TraceSetting>> settings = tracing->settings(model);
  if (!settings.ok()) return std::move(settings).status();
  *effective = std::move(settings).value();
  return {};
}

Status trace_setting(ServerAccess& server, const Identity* caller,
                     const inference::TraceSettingRequest& request,
                     inference::TraceSettingResponse* response) noexcept {
  std::vector<TraceSetting> changes;
  for (const auto& [key, value] : request.settings()) {
    changes.push_back({key, {value.value().begin(), value.value().end()}});
  }
  std::vector<TraceSetting> effective;
  ATOLL_RETURN_IF_ERROR(trace_setting(server, caller, request.model_name(), changes, &effective));
  for (const TraceSetting& setting : effective) {
    auto& value = (*response->mutable_settings())[setting.key];
    for (const std::string& text : setting.values) value.add_value(text);
  }
  return {};
}

Status log_settings(ServerAccess& server, const inference::LogSettingsRequest& request,
                    inference::LogSettingsResponse* response) noexcept {
  auto log_control = server.log_control->hold();
  if (!log_control) return unimplemented("log settings are not available in this server");
  LogSettings settings = log_control->settings();
  for (const auto& [key, value] : request.settings()) {
    ATOLL_RETURN_IF_ERROR(read_change(key, value, &settings));
  }
  if (!request.settings().empty()) ATOLL_RETURN_IF_ERROR(log_control->update(settings));
  auto& map = *response->mutable_settings();
  map["log_file"].set_string_param(settings.file);
  map["log_info"].set_bool_param(settings.info);
  map["log_warning"].set_bool_param(settings.warning);
  map["log_error"].set_bool_param(settings.error);
  map["log_verbose_level"].set_uint32_param(settings.verbose_level);
  map["log_format"].set_string_param(settings.format);
  return {};
}

}  // namespace atl::frontends
