#include "models/catalog/serving/version_admission.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "model_config.pb.h"
#include "models/catalog/serving/instance_specs.h"

namespace atl::models {
namespace {

std::optional<Service<ExecutionAdmission>> find_plugin(Registry& registry, std::string* plugin) {
  for (const ServiceInfo& info : registry.list(ExecutionAdmission::kInterfaceId)) {
    auto found = registry.find<ExecutionAdmission>(info.instance);
    if (!found.ok()) continue;  // it was withdrawn meanwhile
    *plugin = info.instance;
    return std::move(found).value();
  }
  return std::nullopt;
}

class Waiter final : public AdmissionListener {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return admitted_; });
  }
  void admitted(void*) noexcept override {
    std::scoped_lock lock(mutex_);
    admitted_ = true;
    changed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool admitted_ = false;
};

}  // namespace

Result<VersionAdmission> VersionAdmission::create(Registry& registry, const inference::ModelConfig& config,
                                                  int64_t version) {
  VersionAdmission made;
  auto service = find_plugin(registry, &made.plugin_);
  if (!service) return made;
  made.service_ = std::move(*service);
  for (ExecutionDemand& demand : make_execution_demands(config)) {
    demand.version = version;
    auto instance = made.service_->add_instance(demand);
    if (!instance.ok()) return std::move(instance).status();
    made.instances_.push_back(instance->get());
    made.owned_.push_back(std::move(instance).value());
  }
  return made;
}

void VersionAdmission::reset() noexcept {
  instances_.clear();
  owned_.clear();
  service_.reset();
}

AdmittedExecution::AdmittedExecution(AdmittedInstance* instance) noexcept : instance_(instance) {
  if (instance == nullptr) return;
  Waiter waiter;
  if (instance->ask(waiter, nullptr, false)) return;
  waiter.wait();
  (void)instance->withdraw();  // it waits for the one who tells to let go of the waiter
}

}  // namespace atl::models
