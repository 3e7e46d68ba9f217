/// InstanceModels over HTTP.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/executor.h"
#include "atoll/lib/http_client.h"
#include "pools/leases/servers/instance_models.h"
#include "pools/leases/servers/instance_tls.h"
#include "pools/leases/servers/use_watch.h"

namespace atl::pools {

struct HttpModelHostSettings {
  int64_t call_timeout_ns = 5 * kNsPerSecond;  ///< of all calls but loads
  int64_t load_timeout_ns =
      600 * kNsPerSecond;                     ///< of a load; and until a model is unloaded, with its requests
  int64_t poll_interval_ns = 100 * kNsPerMs;  ///< between two looks at a model that is being unloaded
};

/// What servers answer, as far as it is needed. Pure functions of texts that anybody may have written.
namespace answers {

/// The text of {"error": "..."}; of anything else its first line, and "HTTP status 500" of nothing.
std::string error_of(const HttpAnswer& answer);
/// Whether a model is, or is still being, served, by the answer of the repository's index. Errors: INTERNAL it is none.
Result<bool> is_in_use(std::string_view index, std::string_view model);
/// What is served by the answer of the repository's index. Errors: INTERNAL it is none.
Result<ServedModels> served_of(std::string_view index);
/// Of a model's configuration: of an ensemble none. Errors: INTERNAL it is none, or names no backend.
Result<std::vector<std::string>> backends_of(std::string_view config);
/// Of the statistics of all models. Errors: INTERNAL it is none.
Result<UseByModel> use_of(std::string_view statistics);

}  // namespace answers

class HttpInstanceModels final : public InstanceModels, public UseSource {
 public:
  /// \param answers_on  where `done` is called; goes before this \param client  outlives the executor
  /// \param tls  outlives this; null: calls go without TLS
  HttpInstanceModels(SerialExecutor& answers_on, const Clock& clock, HttpClient& client,
                     const HttpModelHostSettings& settings, const InstanceTls* tls = nullptr)
      : answers_on_(answers_on), clock_(clock), client_(client), settings_(settings), tls_(tls) {}
  HttpInstanceModels(const HttpInstanceModels&) = delete;
  HttpInstanceModels& operator=(const HttpInstanceModels&) = delete;
  virtual ~HttpInstanceModels() = default;

  /// What is asked from now on is never answered. [that executor]
  void stop() noexcept { is_stopped_ = true; }
  /// A server is ready when it lives: a model that fails, or is being loaded, makes the V2 server as a whole not ready.
  void check_ready(const ServerAddress& server, Done done) override;
  void check_closed(const ServerAddress& server, Done done) override;
  /// Of their files nothing is known here.
  void check_models(const std::vector<LeaseModel>& models, Done done) override;
  void find_models(const ModelServer& server, std::function<void(Result<ServedModels>)> done) override;
  void load(const ModelServer& server, const LeaseModel& model, Done done) override;
  void unload(const ModelServer& server, const std::string& model, Done done) override;
  void find_backends(const ServerAddress& server, const std::string& model,
                     std::function<void(Result<std::vector<std::string>>)> done) override;
  void read_use(const ServerAddress& server, std::function<void(Result<UseByModel>)> done) override;

 private:
  struct Unload;

  void call(HttpRequest request, HttpClient::Done done);
  HttpRequest read_call(const ServerAddress& server, std::string_view path, int64_t timeout_ns) const;
  /// Shows the server its key, if it has one.
  HttpRequest control_call(const ModelServer& server, std::string_view path, int64_t timeout_ns) const;
  HttpRequest index_of(const ModelServer& server) const;
  void look_whether_unloaded(std::shared_ptr<Unload> unload);

  SerialExecutor& answers_on_;
  const Clock& clock_;
  HttpClient& client_;
  const HttpModelHostSettings settings_;
  const InstanceTls* const tls_;
  bool is_stopped_ = false;
};

}  // namespace atl::pools
