/// The model catalog in this process, without sockets and threads, with models that cost nothing.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "atoll/backend/responder.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/fake_repository.h"
#include "client.h"
#include "models/catalog/testing/test_support.h"
#include "schedulers/default/default_provider.h"

namespace atl::bench {

/// Answers with memory that nobody has written to.
class FreeBackend final : public Backend {
 public:
  explicit FreeBackend(Clock& clock) : clock_(clock) {}
  virtual ~FreeBackend() = default;
  BackendTraits traits() const noexcept override { return {}; }
  Result<std::string> complete_config(const ModelSource& source) noexcept override { return source.config; }
  Result<std::unique_ptr<BackendModel>> load(const ModelSource&) noexcept override {
    return std::unique_ptr<BackendModel>(new FreeModel(clock_));
  }

 private:
  class FreeInstance final : public BackendInstance {
   public:
    FreeInstance(Clock& clock, InferenceReporter* reporter) : clock_(clock), responder_(reporter, false) {}
    Status execute(const Batch& batch) noexcept override {
      responder_.answer_each(batch, clock_, [&](uint32_t i) {
        const InputTensor& input = responder_.request(i).inputs[0];
        for (const RequestedOutput& wanted : responder_.request(i).outputs)
          (void)responder_.add_output(i, wanted, input.datatype, input.shape, input.size_bytes);
        return Status();
      });
      return {};
    }

   private:
    Clock& clock_;
    backends::BatchResponder responder_;
  };
  struct FreeModel final : BackendModel {
    explicit FreeModel(Clock& of) : clock(of) {}
    Result<std::unique_ptr<BackendInstance>> create_instance(const InstanceSpec& spec) noexcept override {
      return std::unique_ptr<BackendInstance>(new FreeInstance(clock, spec.reporter));
    }
    Clock& clock;
  };

  Clock& clock_;
};

/// One UINT8 tensor of any length in and out. \param how  the rest of the configuration
inline std::string model_config(const std::string& how) {
  return how + R"( input { name: "INPUT0" data_type: TYPE_UINT8 dims: -1 }
                   output { name: "OUTPUT0" data_type: TYPE_UINT8 dims: -1 } )";
}

/// The catalog with the default scheduler and backend "free". What else is to be there is published before start().
class ServedModels {
 public:
  ServedModels() : backend_(host_.clock()), default_(settings()) {
    host_.options()
        .set_bool("strict_readiness", true)
        .set_bool("auto_complete_config", true)
        .set_bool("namespacing", false)
        .set_int("default_max_batch_size", 4)
        .set_int("load_retry_count", 0)
        .set_duration_ns("warmup_timeout", 60 * kNsPerSecond)
        .set_map("backend_settings", {})
        .set_map("gpu_load_limit", {})
        .set_map("host_policies", {})
        .set_duration_ns("sequence_drain", 0);
    host_.registry().publish<Repository>("repository", repository_);
    host_.registry().publish<ModelConfigs>("configs", configs_);
    host_.registry().publish<Backend>("free", backend_);
    host_.registry().publish<SchedulerProvider>("default", default_);
  }
  ServedModels(const ServedModels&) = delete;
  ServedModels& operator=(const ServedModels&) = delete;
  ~ServedModels() { stop(); }
  /// Nothing that was published is used from here on.
  void stop() {
    if (plugin_ == nullptr) return;
    host_.gate().close();
    plugin_->drain(0);
    host_.run_ready();
    plugin_->stop();
    host_.run_ready();
    plugin_.reset();
  }
  test::FakeHost& host() noexcept { return host_; }
  void start() {
    plugin_ = std::make_unique<models::CatalogPlugin>(host_);
    if (!plugin_->init().ok() || !plugin_->start().ok()) fail("the catalog does not start");
  }
  void load(const std::string& model, const std::string& config) {
    repository_.put(model, {1}, config);
    Status status = internal_error("the load did not end");
    plugin_->catalog().load(
        {model}, [&](std::vector<ModelLoadResult> results) { status = std::move(results[0].status); });
    host_.run_ready();
    if (!status.ok()) fail(status.text());
  }
  ModelRef acquire(const std::string& model) {
    auto found = plugin_->catalog().acquire(model, ModelCatalog::kLatest);
    if (!found.ok()) fail(found.status().text());
    return std::move(found).value();
  }
  /// Lets what waits for another thread happen; needed until executions are known to be light.
  void run_ready() { host_.run_ready(); }

 private:
  static schedulers::DefaultSettings settings() {
    schedulers::DefaultSettings settings;
    settings.dispatcher.light_execution_ns = INT64_MAX;
    return settings;
  }

  test::FakeHost host_;
  test::FakeRepository repository_;
  models::TextConfigs configs_;
  FreeBackend backend_;
  schedulers::DefaultProvider default_;
  std::unique_ptr<models::CatalogPlugin> plugin_;
};

}  // namespace atl::bench
