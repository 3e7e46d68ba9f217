/// What the tests of the catalog share: configurations as text, and a host with everything the plugin needs.
#pragma once

#include <google/protobuf/text_format.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "atoll/testing/fake_backend.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/fake_repository.h"
#include "atoll/testing/fake_scheduler.h"
#include "atoll/testing/recording_sink.h"
#include "model_config.pb.h"
#include "models/catalog/catalog_plugin.h"

namespace atl::models {

/// A one-input, one-output configuration of backend "fake".
inline constexpr std::string_view kSimpleConfig = R"(
  backend: "fake" max_batch_size: 8
  input { name: "INPUT0" data_type: TYPE_FP32 dims: 4 }
  output { name: "OUTPUT0" data_type: TYPE_FP32 dims: 4 })";

/// In front of a serialized configuration that stands where a text would.
inline constexpr std::string_view kSerialized = "serialized:";

/// config.pbtxt as protobuf's own text format, or serialized: enough to try the catalog with. Map fields have
/// to be serialized, because an instrumented build lays them out unlike the system's libprotobuf that parses
/// the text.
class TextConfigs final : public ModelConfigs {
 public:
  virtual ~TextConfigs() = default;
  Result<std::string> read(const RepositoryModel& model, bool strict) noexcept override {
    strict_reads += strict;
    auto written = parse(model);
    if (!written.ok()) return written;
    inference::ModelConfig config;
    config.ParseFromString(*written);
    config.set_name(model.entry.name);
    return config.SerializeAsString();
  }
  Result<std::string> parse(const RepositoryModel& model) noexcept override {
    inference::ModelConfig config;
    bool parsed = model.config_text.starts_with(kSerialized)
                      ? config.ParseFromString(model.config_text.substr(kSerialized.size()))
                      : google::protobuf::TextFormat::ParseFromString(model.config_text, &config);
    if (!parsed) {
      return invalid_argument(model.config_path, ":1:1: field 'config': cannot be parsed");
    }
    return config.SerializeAsString();
  }
  Result<std::string> parse_json(const RepositoryModel& model, std::string_view json) noexcept override {
    RepositoryModel other = model;
    other.config_text = json;
    return parse(other);
  }
  Result<std::string> finish(std::string_view config) noexcept override { return std::string(config); }
  Result<std::string> finish_instance_groups(std::string_view bytes, const BackendTraits&,
                                             std::span<const int32_t> gpus) noexcept override {
    usable_gpus.assign(gpus.begin(), gpus.end());
    if (!group_failure.empty()) return invalid_argument(group_failure);
    inference::ModelConfig config;
    config.ParseFromString(std::string(bytes));
    if (config.instance_group_size() == 0) {
      auto* group = config.add_instance_group();
      group->set_name(config.name());
      group->set_count(1);
      group->set_kind(inference::ModelInstanceGroup::KIND_CPU);
    }
    return config.SerializeAsString();
  }
  Result<std::vector<RepositoryVersion>> select_versions(std::string_view, const RepositoryModel& model,
                                                         std::vector<std::string>*) noexcept override {
    if (!model.versions.empty()) return model.versions;
    return invalid_argument("at least one version must be available under the version policy of model '",
                            model.entry.name, "'");
  }
  /// Takes text format for JSON.
  Result<std::string> read_json(const RepositoryModel& model, std::string_view json,
                                bool strict) noexcept override {
    RepositoryModel other = model;
    other.config_text = json;
    auto config = read(other, strict);
    if (!config.ok()) return invalid_argument("Invalid config override: cannot be parsed");
    return config;
  }

  std::atomic<uint32_t> strict_reads{0};
  std::vector<int32_t> usable_gpus;
  std::string group_failure;  ///< what finish_instance_groups() says; empty: nothing
};

/// Ensemble schedulers have no instances; these refuse every request.
class FakeEnsembleProvider final : public SchedulerProvider {
 public:
  virtual ~FakeEnsembleProvider() = default;
  std::string_view kind() const noexcept override { return "ensemble"; }
  Result<std::unique_ptr<Scheduler>> create(const SchedulerContext& context) noexcept override {
    if (!context.instances.empty()) return internal_error("an ensemble was given instances");
    ++creates;
    members.assign(context.members.begin(), context.members.end());
    return std::unique_ptr<Scheduler>(new FakeEnsemble(*this));
  }
  std::atomic<int64_t> live{0};
  std::atomic<uint64_t> creates{0};
  std::vector<Model*> members;  ///< of the last one

 private:
  struct FakeEnsemble final : Scheduler {
    explicit FakeEnsemble(FakeEnsembleProvider& made_by) : provider(made_by) { ++provider.live; }
    ~FakeEnsemble() override { --provider.live; }
    Status enqueue(Request&) noexcept override { return unavailable("refused"); }
    void stop_accepting() noexcept override {}
    uint64_t in_flight() const noexcept override { return 0; }
    FakeEnsembleProvider& provider;
  };
};

/// A catalog plugin with fakes around it, started.
class CatalogBench {
 public:
  using Threads = test::FakeHost::Threads;

  explicit CatalogBench(Threads threads = Threads::kSimulated,
                        const std::function<void(test::FakeOptions&)>& change = {})
      : real(threads == Threads::kReal), host("catalog", threads), backend(host.clock(), &host.fake_clock()) {
    host.options()
        .set_bool("strict_readiness", true)
        .set_bool("auto_complete_config", true)
        .set_bool("namespacing", false)
        .set_int("default_max_batch_size", 4)
        .set_int("load_retry_count", 0)
        .set_duration_ns("warmup_timeout", 60 * kNsPerSecond)
        .set_map("backend_settings", {})
        .set_map("host_policies", {})
        .set_map("gpu_load_limit", {})
        .set_duration_ns("sequence_drain", 20 * kNsPerSecond);
    if (change) change(host.options());
    host.registry().publish<Repository>("repository", repository);
    host.registry().publish<ModelConfigs>("configs", configs);
    host.registry().publish<Backend>("fake", backend);
    host.registry().publish<SchedulerProvider>("default", scheduler);
    ProblemLines problems(host.options());
    CatalogPlugin::check(problems);
    start_status = problems.status();
    plugin = std::make_unique<CatalogPlugin>(host);
    if (start_status.ok()) start_status = plugin->start();
    if (start_status.ok()) plugin->core().server_state_changed(ServerStateChanged::State::kActive);
  }
  ~CatalogBench() { end(); }

  /// Drains and stops the plugin as the kernel does.
  void end() {
    if (plugin == nullptr) return;
    host.gate().close();
    plugin->drain(0);
    host.run_ready();
    while (real && host.gate().count() != 0) std::this_thread::yield();
    plugin->stop();
    host.run_ready();
    plugin.reset();
  }

  ModelCatalog& catalog() { return plugin->catalog(); }

  void put(const std::string& model, std::string_view config = kSimpleConfig,
           const std::vector<int64_t>& versions = {1}) {
    repository.put(model, versions, std::string(config));
  }
  /// Loads in simulated time. \returns the results in the order of the models
  std::vector<ModelLoadResult> load(const std::vector<std::string>& models) {
    std::vector<ModelLoadResult> results;
    catalog().load(models, [&](std::vector<ModelLoadResult> got) { results = std::move(got); });
    host.run_ready();
    return results;
  }
  Status load_one(const std::string& model) {
    std::vector<ModelLoadResult> results = load({model});
    return results.size() == 1 ? std::move(results[0].status) : internal_error("the load did not end");
  }
  /// Loads with an override, in simulated time.
  ModelLoadOutcome load_model(ModelLoadRequest request) {
    ModelLoadOutcome outcome{internal_error("the load did not end")};
    catalog().load_model(std::move(request), [&](ModelLoadOutcome got) { outcome = std::move(got); });
    host.run_ready();
    return outcome;
  }
  ModelLoadOutcome load_config(const std::string& model, std::string config) {
    ModelLoadRequest request;
    request.model = model;
    request.config = std::move(config);
    return load_model(std::move(request));
  }
  ModelLoadOutcome load_files(const std::string& model, const std::vector<std::string>& paths,
                              std::optional<std::string> config = std::string(kSimpleConfig)) {
    ModelLoadRequest request;
    request.model = model;
    request.config = std::move(config);
    for (const std::string& path : paths) request.files.push_back({path, "x"});
    return load_model(std::move(request));
  }
  void unload_with_members(const std::string& model) {
    catalog().unload_model(model, true, [](const Status&) {});
    host.run_ready();
  }
  void unload(const std::vector<std::string>& models) {
    catalog().unload(models, [](const std::vector<ModelLoadResult>&) {});
    host.run_ready();
  }
  /// "m/1 READY", "m UNAVAILABLE reason", "m": one line each.
  std::vector<std::string> index(bool ready_only = false) {
    std::vector<std::string> lines;
    auto entries = catalog().index(ready_only);
    if (!entries.ok()) return {entries.status().text()};
    for (const ModelIndexEntry& entry : entries.value()) {
      std::string line = entry.name;
      if (!entry.version.empty()) line += "/" + entry.version;
      if (!entry.state.empty()) line += " " + entry.state;
      if (!entry.reason.empty()) line += " " + entry.reason;
      lines.push_back(std::move(line));
    }
    return lines;
  }
  void publish_change(std::string_view interface_id, std::string_view instance, ServiceChanged::Kind kind) {
    ServiceChanged event;
    event.key_text = std::string_view(cat(interface_id, " ", instance));
    event.interface_id = interface_id;
    event.instance = instance;
    event.kind = kind;
    host.events().publish(event);
    host.run_ready();
  }

  const bool real;
  test::FakeHost host;
  test::FakeRepository repository;
  TextConfigs configs;
  test::FakeBackend backend;
  test::FakeSchedulerProvider scheduler;
  std::unique_ptr<CatalogPlugin> plugin;
  Status start_status;
};

/// Four FP32 values for kSimpleConfig, batch 1.
inline void fill_simple(test::TestRequest& request) {
  request.add_input<float>("INPUT0", DataType::kFp32, {1, 4}, {1, 2, 3, 4});
}

}  // namespace atl::models
