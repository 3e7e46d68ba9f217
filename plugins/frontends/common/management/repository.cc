// RepositoryIndex, RepositoryModelLoad and RepositoryModelUnload.
#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "atoll/models/model_demand.h"
#include "frontends/common/codec/wire_messages.h"
#include "frontends/common/management/management.h"
#include "grpc_service.pb.h"

namespace atl::frontends {
namespace {

using inference::ModelRepositoryParameter;

Status read_load_parameter(const std::string& key, const ModelRepositoryParameter& value,
                           ModelControlParameter* parameter) {
  parameter->key = key;
  if (key == "config") {
    if (value.parameter_choice_case() != ModelRepositoryParameter::kStringParam) {
      return invalid_argument("invalid value type for load parameter '", key, "', expected string_param.");
    }
    parameter->type = ParameterType::kString;
    parameter->text = value.string_param();
    return {};
  }
  if (!key.starts_with("file:")) return invalid_argument("unrecognized load parameter '", key, "'.");
  if (value.parameter_choice_case() != ModelRepositoryParameter::kBytesParam) {
    return invalid_argument("invalid value type for load parameter '", key, "', expected bytes_param.");
  }
  parameter->type = ParameterType::kBytes;
  parameter->text = value.bytes_param();
  return {};
}

/// Whether the caller may load or unload a model of this name, whether there is one or not.
/// \param brings_files  or a configuration
Status check_control(const Identity* caller, std::string_view model, bool brings_files) noexcept {
  constexpr ApiCategory kCategory = ApiCategory::kModelRepository;
  if (!may_use(caller, kCategory, model)) {
    return make_status(Code::kPermissionDenied, "the caller may not load or unload the model '", model, "'");
  }
  if (!brings_files || may_use(caller, kCategory, kModelRepositoryFiles, model)) return {};
  return make_status(Code::kPermissionDenied,
                     "the caller may not load models with files or a configuration: it has no '",
                     kModelRepositoryFiles, "'");
}

/// The control plugin of this moment, held until `finish` is dropped: another one may take its place while
/// the server runs. \returns null, and the call is answered: there is none.
std::shared_ptr<Service<ModelControl>> find_control(ServerAccess& server, const Finish& finish) {
  Result<Service<ModelControl>> control = server.host->registry().find<ModelControl>();
  if (control.ok()) return std::make_shared<Service<ModelControl>>(std::move(control).value());
  finish(unavailable(messages::kLoadNotAllowed));
  return nullptr;
}

/// Models that the first request for them loads are there, in their way.
void explain_unloaded(ServerAccess& server, std::vector<ModelIndexEntry>& entries) {
  Result<Service<ModelDemand>> demand = server.host->registry().find<ModelDemand>();
  if (!demand.ok()) return;
  const std::string_view unavailable_state = model_state_name(ModelState::kUnavailable);
  for (ModelIndexEntry& entry : entries) {
    if (!entry.state.empty() && (entry.state != unavailable_state || entry.reason != "unloaded")) continue;
    std::string reason = (*demand)->unloaded_reason(entry.name);
    if (reason.empty()) continue;
    entry.state = unavailable_state;
    entry.reason = std::move(reason);
  }
}

/// Models that other servers serve for the caller, once each.
void add_remote(ServerAccess& server, const Identity* caller, bool ready,
                std::vector<ModelIndexEntry>& entries) {
  if (server.remote_models == nullptr) return;
  auto remote = server.remote_models->hold();
  if (!remote) return;
  std::set<std::string, std::less<>> seen;
  const std::string_view ready_state = model_state_name(ModelState::kReady);
  for (const ModelIndexEntry& entry : entries) {
    if (entry.state == ready_state) seen.insert(entry.name);
  }
  std::vector<RemoteModel> models = remote.minor() < 1 ? remote->list() : remote->list_for(owner_of(caller));
  std::ranges::stable_partition(models, &RemoteModel::is_ready);
  for (RemoteModel& model : models) {
    if ((ready && !model.is_ready) || !seen.insert(model.name).second) continue;
    ModelIndexEntry& entry = entries.emplace_back();
    entry.name = std::move(model.name);
    entry.state = model.is_ready ? ready_state : model_state_name(ModelState::kLoading);
    entry.reason = std::move(model.reason);
  }
}

}  // namespace

Status list_models(ServerAccess& server, const Identity* caller, bool ready_only,
                   inference::RepositoryIndexResponse* response) noexcept {
  Result<std::vector<ModelIndexEntry>> entries = server.catalog->index(ready_only);
  if (!entries.ok()) return std::move(entries).status();
  explain_unloaded(server, entries.value());
  add_remote(server, caller, ready_only, entries.value());
  for (const ModelIndexEntry& entry : entries.value()) {
    if (!may_use(caller, ApiCategory::kModelRepository, entry.name)) continue;
    auto* model = response->add_models();
    model->set_name(entry.name);
    model->set_version(entry.version);
    model->set_state(entry.state);
    model->set_reason(entry.reason);
  }
  return {};
}

void repository_index(ServerAccess& server, const Identity* caller,
                      const inference::RepositoryIndexRequest& request,
                      inference::RepositoryIndexResponse* response, Finish finish) noexcept {
  if (!request.repository_name().empty()) {
    finish(unimplemented(messages::kRepositoryName));
    return;
  }
  // The catalog may have to look at the disk. The call's pass keeps everything alive.
  server.worker->post(make_task([&server, caller, response, ready = request.ready(), finish] {
    finish(list_models(server, caller, ready, response));
  }));
}

void repository_load(ServerAccess& server, const Identity* caller,
                     const inference::RepositoryModelLoadRequest& request, Finish finish) noexcept {
  if (!request.repository_name().empty()) return finish(unimplemented(messages::kRepositoryName));
  if (Status refusal = check_control(caller, request.model_name(), !request.parameters().empty());
      !refusal.ok())
    return finish(std::move(refusal));
  std::vector<ModelControlParameter> parameters;
  for (const auto& [key, value] : request.parameters()) {
    if (Status status = read_load_parameter(key, value, &parameters.emplace_back()); !status.ok()) {
      return finish(std::move(status));
    }
  }
  auto control = find_control(server, finish);
  if (control == nullptr) return;
  ModelControl& used = **control;
  used.load(request.model_name(), std::move(parameters),
            [control = std::move(control), finish = std::move(finish)](Status status) {
              finish(std::move(status));
            });
}

void repository_unload(ServerAccess& server, const Identity* caller,
                       const inference::RepositoryModelUnloadRequest& request, Finish finish) noexcept {
  if (!request.repository_name().empty()) return finish(unimplemented(messages::kRepositoryName));
  if (Status refusal = check_control(caller, request.model_name(), false); !refusal.ok())
    return finish(std::move(refusal));
  std::vector<ModelControlParameter> parameters;
  for (const auto& [key, value] : request.parameters()) {
    if (key != "unload_dependents") continue;  // others have never been looked at
    if (value.parameter_choice_case() != ModelRepositoryParameter::kBoolParam) {
      return finish(Status(Code::kInvalidArgument, messages::parameter_type(key, "bool_param")));
    }
    ModelControlParameter& parameter = parameters.emplace_back();
    parameter.key = key;
    parameter.type = ParameterType::kBool;
    parameter.bool_value = value.bool_param();
  }
  auto control = find_control(server, finish);
  if (control == nullptr) return;
  ModelControl& used = **control;
  used.unload(request.model_name(), std::move(parameters),
              [control = std::move(control), finish = std::move(finish)](Status status) {
                finish(std::move(status));
              });
}

}  // namespace atl::frontends
