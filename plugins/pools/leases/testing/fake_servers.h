/// Servers that a test starts, kills and makes fail, and their models.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/executor.h"
#include "atoll/pools/launcher.h"
#include "atoll/testing/deterministic_executor.h"
#include "pools/leases/servers/instance_models.h"

namespace atl::pools {

/// An engine and the servers on it, in simulated time. Servers outlive who launched them.
class FakeServers final : public Launcher, public InstanceModels {
 public:
  struct Server {
    ServerSpec spec;
    bool is_running = false;
    bool is_ending = false;
    bool hangs = false;               ///< answers nothing any more
    bool is_dumb = false;             ///< does not say what it has
    std::vector<std::string> models;  ///< in the order of their loads
  };

  explicit FakeServers(test::DeterministicExecutors& executors)
      : executors_(executors), engine_(std::move(executors.create("engine", {})).value()) {}
  FakeServers(const FakeServers&) = delete;
  FakeServers& operator=(const FakeServers&) = delete;
  virtual ~FakeServers() = default;

  // --- what the test decides ---
  int64_t start_ns = kNsPerSecond;            ///< from the launch until a server runs
  int64_t ready_ns = 50 * kNsPerMs;           ///< from then until it is ready
  int64_t call_ns = kNsPerMs;                 ///< that a call takes
  int64_t load_ns = 100 * kNsPerMs;           ///< that a load takes
  std::deque<Status> refusals;                ///< of the next launches
  std::map<std::string, std::string> broken;  ///< models that fail to load, and why
  std::set<std::string> missing;              ///< models that no source has
  std::map<std::string, int> stuck;           ///< models that so many times fail to be unloaded
  std::map<std::string, std::vector<std::string>> backends;  ///< of models; others have "onnxruntime"
  bool engine_is_away = false;                               ///< nothing is started or ended
  /// Loads and unloads as they ended: "+a", "-a".
  std::vector<std::string> history;
  std::map<std::string, std::set<std::string>> keys;  ///< of the adopted servers, by pool

  const std::map<std::string, Server>& servers() const { return servers_; }
  uint32_t running() const {
    uint32_t count = 0;
    for (const auto& [id, server] : servers_) count += server.is_running;
    return count;
  }
  /// By pool and number; null: there is none.
  Server* find(const std::string& pool, uint32_t number) {
    for (auto& [id, server] : servers_) {
      if (server.spec.pool == pool && server.spec.instance == number && !server.is_ending) return &server;
    }
    return nullptr;
  }
  /// It ends by itself.
  void kill(const std::string& pool, uint32_t number) {
    if (Server* server = find(pool, number)) gone(server->spec.id, unavailable("killed by signal 9"));
  }
  void engine_returns() {
    engine_is_away = false;
    for (const std::string& id : std::exchange(late_ends_, {})) end(id);
    for (const ServerSpec& spec : std::exchange(late_launches_, {})) launch(spec, *listener_);
    for (const ServerSpec& spec : std::exchange(late_adoptions_, {})) adopt(spec, *listener_);
  }

  // --- Launcher ---
  void launch(const ServerSpec& spec, LauncherListener& listener) noexcept override {
    listener_ = &listener;
    if (engine_is_away) return late_launches_.push_back(spec);
    if (!refusals.empty()) {
      Status refusal = std::move(refusals.front());
      refusals.pop_front();
      return gone(spec.id, std::move(refusal));
    }
    servers_[spec.id].spec = spec;
    after(start_ns, [this, id = spec.id] {
      const auto server = servers_.find(id);
      if (server == servers_.end()) return;
      server->second.is_running = true;
      ready_at_[id] = executors_.clock().now_ns() + ready_ns;
      if (listener_ != nullptr) listener_->server_running(id, address_of(id));
    });
  }
  void adopt(const ServerSpec& spec, LauncherListener& listener) noexcept override {
    listener_ = &listener;
    keys[spec.pool].insert(spec.key);
    if (engine_is_away) return late_adoptions_.push_back(spec);
    const auto server = servers_.find(spec.id);
    if (server == servers_.end()) return gone(spec.id, not_found("there is no server ", spec.id));
    if (server->second.is_running)
      after(0, [this, id = spec.id] {
        if (listener_ != nullptr) listener_->server_running(id, address_of(id));
      });
  }
  void end(std::string_view id) noexcept override {
    if (std::erase_if(late_launches_, [&](const ServerSpec& spec) { return spec.id == id; }) != 0)
      return gone(std::string(id), {});
    const auto server = servers_.find(std::string(id));
    if (server == servers_.end()) return;
    if (engine_is_away) return late_ends_.push_back(std::string(id));
    server->second.is_ending = true;
    after(call_ns, [this, id = std::string(id)] { gone(id, {}); });
  }
  /// What the engine has not been told yet is lost with the process.
  void forget(LauncherListener&) noexcept override {
    listener_ = nullptr;
    late_ends_.clear();
    late_launches_.clear();
    late_adoptions_.clear();
  }

  /// Who is answered on its executor.
  void answer_on(SerialExecutor& executor) { answers_on_ = &executor; }

  // --- InstanceModels ---
  void check_ready(const ServerAddress& address, Done done) override {
    call(address, call_ns, std::move(done), [this](Server& server) -> Status {
      return executors_.clock().now_ns() < ready_at_[server.spec.id] ? unavailable("not ready") : Status();
    });
  }
  void check_closed(const ServerAddress&, Done) override {}
  void check_models(const std::vector<LeaseModel>& models, Done done) override {
    for (const LeaseModel& model : models) {
      if (missing.contains(model.name))
        return done(make_status(Code::kFailedPrecondition, "source '", model.source, "' has no model '",
                                model.name, "'"));
    }
    done({});
  }
  void find_models(const ModelServer& on, std::function<void(Result<ServedModels>)> done) override {
    auto models = std::make_shared<ServedModels>();
    call(
        on.address, call_ns,
        [done = std::move(done), models](Status status) mutable {
          if (status.ok()) return done(std::move(*models));
          done(std::move(status));
        },
        [models](Server& server) {
          if (server.is_dumb) return internal_error("the repository's index is no JSON array");
          models->served.insert(server.models.begin(), server.models.end());
          return Status();
        });
  }
  void load(const ModelServer& on, const LeaseModel& what, Done done) override {
    call(on.address, load_ns, std::move(done), [this, model = what.name](Server& server) -> Status {
      if (const auto why = broken.find(model); why != broken.end()) return internal_error(why->second);
      std::erase(server.models, model);
      server.models.push_back(model);
      history.push_back("+" + model);
      return {};
    });
  }
  void unload(const ModelServer& on, const std::string& model, Done done) override {
    call(on.address, load_ns, std::move(done), [this, model](Server& server) -> Status {
      if (const auto times = stuck.find(model); times != stuck.end() && times->second-- > 0)
        return unavailable("it does not go");
      if (std::erase(server.models, model) != 0) history.push_back("-" + model);
      return {};
    });
  }
  void find_backends(const ServerAddress& address, const std::string& model,
                     std::function<void(Result<std::vector<std::string>>)> done) override {
    const auto known = backends.find(model);
    std::vector<std::string> found =
        known == backends.end() ? std::vector<std::string>{"onnxruntime"} : known->second;
    call(
        address, call_ns,
        [done = std::move(done), found = std::move(found)](Status status) mutable {
          if (status.ok()) return done(std::move(found));
          done(std::move(status));
        },
        [](Server&) { return Status(); });
  }

 private:
  static ServerAddress address_of(const std::string& id) { return {{id, 8000}, {id, 8001}}; }
  template <class Then>
  void after(int64_t delay_ns, Then then) {
    engine_->post_at(executors_.clock().now_ns() + delay_ns, make_task(std::move(then)));
  }
  void gone(const std::string& id, Status reason) {
    after(0, [this, id, reason = std::move(reason)]() mutable {
      servers_.erase(id);
      if (listener_ != nullptr) listener_->server_ended(id, std::move(reason));
    });
  }
  template <class Serve>
  void call(const ServerAddress& address, int64_t takes_ns, Done done, Serve serve) {
    after(takes_ns,
          [this, id = address.http.host, done = std::move(done), serve = std::move(serve)]() mutable {
            const auto server = servers_.find(id);
            Status status = unavailable("connection refused");
            if (server != servers_.end() && server->second.hangs)
              status = Status(Code::kDeadlineExceeded, "no answer");
            if (server != servers_.end() && !server->second.hangs) status = serve(server->second);
            answers_on_->post(make_task(
                [done = std::move(done), status = std::move(status)]() mutable { done(std::move(status)); }));
          });
  }

  test::DeterministicExecutors& executors_;
  SerialExecutorPtr engine_;
  LauncherListener* listener_ = nullptr;
  SerialExecutor* answers_on_ = nullptr;
  std::map<std::string, Server> servers_;
  std::map<std::string, int64_t> ready_at_;
  std::vector<std::string> late_ends_;
  std::vector<ServerSpec> late_launches_, late_adoptions_;
};

}  // namespace atl::pools
