// The instances of a version that is served change, and nothing else of it.
#include <algorithm>
#include <utility>

#include "model_config.pb.h"
#include "models/catalog/loading/loader.h"
#include "models/catalog/loading/model_info.h"
#include "models/catalog/loading/warmup.h"
#include "models/catalog/serving/instance_specs.h"

namespace atl::models {
namespace {

/// Tells the statistics nothing until it is opened: warm-up does not count, and what is counted stays.
class QuietReporter final : public InferenceReporter {
 public:
  explicit QuietReporter(InferenceReporter* reporter) noexcept : reporter_(reporter) {}
  void open() noexcept { open_.store(true, std::memory_order_relaxed); }
  void report_request(const Request& request, bool success, const ExecutionTimes& times) noexcept override {
    if (is_open()) reporter_->report_request(request, success, times);
  }
  void report_batch(uint32_t batch_size, const ExecutionTimes& times) noexcept override {
    if (is_open()) reporter_->report_batch(batch_size, times);
  }
  void report_failure(const Request& request, FailureReason reason) noexcept override {
    if (is_open()) reporter_->report_failure(request, reason);
  }

 private:
  bool is_open() const noexcept { return open_.load(std::memory_order_relaxed); }
  InferenceReporter* reporter_;
  std::atomic<bool> open_{false};
};

/// An instance's description together with what it reports to.
struct QuietSpec {
  QuietSpec(InstanceSpec described, InferenceReporter* reporter)
      : spec(std::move(described)), quiet(reporter) {
    spec.reporter = &quiet;
  }
  InstanceSpec spec;
  QuietReporter quiet;
};

/// What an instance is, whatever it is called.
bool is_alike(const InstanceSpec& a, const InstanceSpec& b) {
  return a.kind == b.kind && a.device_id == b.device_id && a.passive == b.passive &&
         a.host_policy == b.host_policy && a.cpu_cores == b.cpu_cores && a.numa_node == b.numa_node &&
         a.profiles == b.profiles && a.secondary_devices == b.secondary_devices;
}

/// Fills in, for each of the wanted, an instance of the old version that is alike; one is taken once. The
/// names of those that stay are the ones they had. \returns how many
size_t take_over(const ModelParts& old, const std::vector<std::unique_ptr<InstanceSpec>>& wanted,
                 ModelParts& parts) {
  std::vector<bool> taken(old.instances.size());
  size_t count = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    for (size_t k = 0; k < taken.size() && parts.instances[i] == nullptr; ++k) {
      if (taken[k] || !is_alike(*old.specs[k], *wanted[i])) continue;
      taken[k] = true;
      parts.specs[i] = old.specs[k];
      parts.instances[i] = old.instances[k];
      ++count;
    }
  }
  return count;
}

/// The completed configuration that is served, with what the new one says of its instances.
Result<inference::ModelConfig> with_instances(const std::string& served, const std::string& wanted) {
  inference::ModelConfig config, other;
  if (!config.ParseFromString(served) || !other.ParseFromString(wanted)) {
    return internal_error("a configuration that was served can not be parsed");
  }
  *config.mutable_instance_group() = other.instance_group();
  config.clear_version_policy();
  if (other.has_version_policy()) *config.mutable_version_policy() = other.version_policy();
  return config;
}

}  // namespace

Result<std::unique_ptr<ServedModel>> Loader::build_on(const ServedModel& served,
                                                      const std::shared_ptr<const PreparedModel>& model,
                                                      MissingService* missing) {
  const ModelParts& old = served.parts();
  ModelParts parts;
  parts.pass = Pass(host_.gate());
  if (!parts.pass) return unavailable("the server is going down");
  parts.source = model;
  parts.backend = old.backend;
  parts.backend_instance = old.backend_instance;
  parts.backend_model = old.backend_model;
  parts.statistics = old.statistics;

  Result<inference::ModelConfig> wanted = with_instances(served.info().config, model->config);
  if (!wanted.ok()) return std::move(wanted).status();
  Result<std::string> bytes =
      configs_.finish_instance_groups(wanted->SerializeAsString(), (*parts.backend)->traits(), usable_gpus());
  if (!bytes.ok()) return std::move(bytes).status();
  inference::ModelConfig config;
  if (!config.ParseFromString(*bytes)) return internal_error("the configuration can not be parsed");
  warn_of_unknown_policies(config);
  auto specs = make_instance_specs(config, options_.host_policies, nullptr);
  if (!specs.ok()) return std::move(specs).status();
  Result<ModelInfo> info =
      make_model_info(config, std::move(bytes).value(), served.info().version, model->files.entry.path);
  if (!info.ok()) return std::move(info).status();
  parts.info = std::make_unique<const ModelInfo>(std::move(info).value());

  // Its own: until the old scheduler is done, both ask for the instances that stay.
  ATOLL_RETURN_IF_ERROR(admit(config, served.info().version, parts, missing));

  parts.specs.resize(specs->size());
  parts.instances.resize(specs->size());
  const size_t kept = take_over(old, *specs, parts);
  std::vector<std::shared_ptr<QuietSpec>> made;
  for (size_t i = 0; i < specs->size(); ++i) {
    if (parts.instances[i] != nullptr) continue;
    made.push_back(std::make_shared<QuietSpec>(std::move(*specs.value()[i]), parts.statistics.get()));
    parts.specs[i] = {made.back(), &made.back()->spec};
  }
  ATOLL_RETURN_IF_ERROR(create_instances(*model, parts));
  std::vector<ScheduledInstance> fresh;
  for (const ScheduledInstance& instance : parts.scheduled) {
    bool is_new =
        std::any_of(made.begin(), made.end(), [&](auto& one) { return &one->spec == instance.spec; });
    if (is_new) fresh.push_back(instance);
  }
  ATOLL_RETURN_IF_ERROR(create_scheduler(*model, config, parts, missing));
  auto built = std::make_unique<ServedModel>(serving_, std::move(parts), find_correlation_control(config));
  ATOLL_RETURN_IF_ERROR(run_warmup(config, model->files.entry.path, *built, fresh));
  for (const auto& spec : made) spec->quiet.open();
  built->set_load_duration_ns(served.statistics().load_duration_ns);
  const size_t gone = old.instances.size() - kept;
  if (made.empty() && gone == 0) return built;
  host_.log().info("'", built->info().name, "' version ", built->info().version,
                   " changes its instances: ", kept, " stay, ", made.size(), " are new, ", gone,
                   " go when they are idle");
  return built;
}

}  // namespace atl::models
