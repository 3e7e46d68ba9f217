#include "frontends/c_api/in_process_server.h"

#include <future>
#include <memory>

#include "atoll/models/model_control.h"
#include "atoll/models/model_demand.h"
#include "frontends/common/codec/wire_messages.h"
#include "frontends/common/json/index_json.h"
#include "frontends/common/json/metadata_json.h"
#include "frontends/common/json/model_config_json.h"
#include "frontends/common/json/statistics_json.h"

namespace atl::frontends::c_api {
namespace {

template <class Request>
Request named_request(std::string_view model, int64_t version) {
  Request request;
  request.set_name(std::string(model));
  if (version != ModelCatalog::kLatest) request.set_version(std::to_string(version));
  return request;
}

/// What a thread waits for.
class AwaitedModel final : public ModelWaiter {
 public:
  virtual ~AwaitedModel() = default;
  Result<ModelRef> get() { return promise_->get_future().get(); }
  void on_model(Result<ModelRef> model) noexcept override {
    const auto promise = promise_;  // this may be gone as soon as it is kept
    promise->set_value(std::move(model));
  }

 private:
  std::shared_ptr<std::promise<Result<ModelRef>>> promise_ =
      std::make_shared<std::promise<Result<ModelRef>>>();
};

/// Begins what is answered later, and waits for the answer.
template <class Begin>
Status wait_for(Begin&& begin) noexcept {
  auto promise = std::make_shared<std::promise<Status>>();
  std::future<Status> answer = promise->get_future();
  begin([promise](Status status) { promise->set_value(std::move(status)); });
  // Whoever should answer is the last to hold it.
  promise.reset();
  try {
    return answer.get();
  } catch (const std::future_error&) {
    return unavailable(messages::kServerExiting);
  }
}

}  // namespace

template <class Function>
auto InProcessServer::call(Function&& function) noexcept -> decltype(function()) {
  const Pass pass(host_.gate());
  return function();
}

Status InProcessServer::open() noexcept {
  Result<ServerAccess> server = ServerAccess::open_models(host_);
  if (!server.ok()) return std::move(server).status();
  server_ = std::move(server).value();
  server_.server_name = server_name_;
  ATOLL_RETURN_IF_ERROR(repository_paths_.open());
  ATOLL_RETURN_IF_ERROR(repository_poll_.open());
  return metrics_page_.open();
}

void InProcessServer::close() noexcept {
  metrics_page_.close();
  repository_poll_.close();
  repository_paths_.close();
  server_ = {};
}

Result<ModelRef> InProcessServer::acquire(std::string_view model, int64_t version) noexcept {
  return call([&]() -> Result<ModelRef> {
    Result<ModelRef> found = server_.router->route(*server_.catalog, model, version);
    if (found.ok()) return found;
    // Of this moment: another control plugin may take its place while the server runs.
    auto demand = host_.registry().find<ModelDemand>();
    if (!demand.ok()) return found;
    AwaitedModel awaited;
    ATOLL_RETURN_IF_ERROR((*demand)->await({.name = model, .version = version}, awaited));
    return awaited.get();
  });
}

bool InProcessServer::is_live() noexcept {
  inference::ServerLiveResponse response;
  return call([&] { return server_live(server_, &response); }).ok() && response.live();
}

bool InProcessServer::is_ready() noexcept {
  inference::ServerReadyResponse response;
  return call([&] { return server_ready(server_, &response); }).ok() && response.ready();
}

Result<bool> InProcessServer::is_model_ready(std::string_view model, int64_t version) noexcept {
  return call([&]() -> Result<bool> {
    inference::ModelReadyResponse response;
    ATOLL_RETURN_IF_ERROR(model_ready(
        server_, nullptr, named_request<inference::ModelReadyRequest>(model, version), &response));
    return response.ready();
  });
}

Result<std::string> InProcessServer::metadata() noexcept {
  return call([&]() -> Result<std::string> {
    inference::ServerMetadataResponse response;
    ATOLL_RETURN_IF_ERROR(server_metadata(server_, &response));
    return server_metadata_json(response);
  });
}

Result<std::string> InProcessServer::model_metadata(std::string_view model, int64_t version) noexcept {
  return call([&]() -> Result<std::string> {
    inference::ModelMetadataResponse response;
    ATOLL_RETURN_IF_ERROR(frontends::model_metadata(
        server_, nullptr, named_request<inference::ModelMetadataRequest>(model, version), &response));
    return model_metadata_json(response);
  });
}

Result<std::string> InProcessServer::model_config(std::string_view model, int64_t version) noexcept {
  return call([&]() -> Result<std::string> {
    inference::ModelConfigResponse response;
    ATOLL_RETURN_IF_ERROR(frontends::model_config(
        server_, nullptr, named_request<inference::ModelConfigRequest>(model, version), &response));
    return model_config_json(response.config());
  });
}

Result<std::string> InProcessServer::statistics(std::string_view model, int64_t version) noexcept {
  return call([&]() -> Result<std::string> {
    inference::ModelStatisticsResponse response;
    ATOLL_RETURN_IF_ERROR(model_statistics(
        server_, nullptr, named_request<inference::ModelStatisticsRequest>(model, version), &response));
    return statistics_json(response);
  });
}

Result<std::string> InProcessServer::index(bool ready_only) noexcept {
  return call([&]() -> Result<std::string> {
    inference::RepositoryIndexResponse response;
    ATOLL_RETURN_IF_ERROR(list_models(server_, nullptr, ready_only, &response));
    return index_json(response);
  });
}

Status InProcessServer::load(std::string_view model, const std::string* config,
                             std::vector<RepositoryFile> files) noexcept {
  return call([&]() -> Status {
    inference::RepositoryModelLoadRequest request;
    request.set_model_name(std::string(model));
    auto& parameters = *request.mutable_parameters();
    if (config != nullptr) parameters["config"].set_string_param(*config);
    for (RepositoryFile& file : files) {
      const std::string key = cat("file:", file.path);
      if (parameters.contains(key)) return invalid_argument("load parameter '", key, "' is given twice");
      parameters[key].set_bytes_param(std::move(file.content));
    }
    return wait_for([&](Finish finish) { repository_load(server_, nullptr, request, std::move(finish)); });
  });
}

Status InProcessServer::unload(std::string_view model, bool with_dependents) noexcept {
  return call([&] {
    inference::RepositoryModelUnloadRequest request;
    request.set_model_name(std::string(model));
    if (with_dependents) (*request.mutable_parameters())["unload_dependents"].set_bool_param(true);
    return wait_for([&](Finish finish) { repository_unload(server_, nullptr, request, std::move(finish)); });
  });
}

Status InProcessServer::poll() noexcept {
  return call([&]() -> Status {
    auto repository_poll = repository_poll_.hold();
    if (!repository_poll) return unavailable("polling is disabled");
    return wait_for([&](Finish finish) { repository_poll->poll(std::move(finish)); });
  });
}

Result<Followed<RepositoryPaths>::Hold> InProcessServer::hold_paths(std::string_view change) noexcept {
  auto control = host_.registry().find<ModelControl>();
  if (!control.ok() || (*control)->mode() != "explicit") {
    return unimplemented("repository ", change, " is not allowed if model control mode is not EXPLICIT");
  }
  auto paths = repository_paths_.hold();
  if (!paths) return unimplemented("no plugin provides ", RepositoryPaths::kInterfaceId);
  return paths;
}

Status InProcessServer::register_repository(
    std::string_view path, std::span<const std::pair<std::string, std::string>> names) noexcept {
  return call([&]() -> Status {
    auto paths = hold_paths("registration");
    if (!paths.ok()) return std::move(paths).status();
    std::vector<NamedDirectory> directories;
    for (const auto& [directory, model] : names) directories.push_back({directory, model});
    return (*paths)->add(path, directories);
  });
}

Status InProcessServer::unregister_repository(std::string_view path) noexcept {
  return call([&]() -> Status {
    auto paths = hold_paths("unregistration");
    if (!paths.ok()) return std::move(paths).status();
    return (*paths)->remove(path);
  });
}

Result<std::string> InProcessServer::metrics() noexcept {
  return call([&]() -> Result<std::string> {
    auto page = metrics_page_.hold();
    if (!page) {
      return unavailable("there is no page of metrics: no plugin provides ", MetricsPage::kInterfaceId,
                         ", as frontends/metrics does");
    }
    return page->text();
  });
}

}  // namespace atl::frontends::c_api
