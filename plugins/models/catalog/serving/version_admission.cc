#include "models/catalog/serving/version_admission.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "model_config.pb.h"
#include "models/catalog/serving/chained_admission.h"
#include "models/catalog/serving/instance_specs.h"

namespace atl::models {
namespace {

/// An instance's account with one of the plugins.
struct Account {
  std::unique_ptr<AdmittedInstance> instance;
  uint32_t minor = 0;
  bool follows_queue() const noexcept {
    return minor >= ExecutionAdmission::kQueueMinor && instance->follows_queue();
  }
};

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
  for (const ServiceInfo& info : registry.list(ExecutionAdmission::kInterfaceId)) {
    auto service = registry.find<ExecutionAdmission>(info.instance);
    if (!service.ok()) continue;  // it was withdrawn meanwhile
    made.services_.push_back(std::move(service).value());
    made.plugins_.push_back(info.instance);
  }
  if (made.services_.empty()) return made;
  for (ExecutionDemand& demand : make_execution_demands(config)) {
    demand.version = version;
    ATOLL_RETURN_IF_ERROR(made.add(demand));
  }
  return made;
}

Status VersionAdmission::add(const ExecutionDemand& demand) {
  std::vector<Account> accounts;
  for (const Service<ExecutionAdmission>& service : services_) {
    auto instance = service->add_instance(demand);
    if (!instance.ok()) return std::move(instance).status();
    accounts.push_back({std::move(instance).value(), service.minor()});
  }
  // Those that decide by queues last: theirs is the last word, by what waits then.
  std::stable_partition(accounts.begin(), accounts.end(),
                        [](const Account& account) { return !account.follows_queue(); });
  std::unique_ptr<AdmittedInstance> whole;
  for (Account& account : accounts) {
    const bool is_only = accounts.size() == 1 && account.minor >= ExecutionAdmission::kShortagesMinor;
    if (is_only) {
      whole = std::move(account.instance);
    } else {
      whole =
          std::make_unique<ChainedAdmission>(std::move(whole), std::move(account.instance), account.minor);
    }
  }
  instances_.push_back(whole.get());
  owned_.push_back(std::move(whole));
  return {};
}

void VersionAdmission::reset() noexcept {
  instances_.clear();
  owned_.clear();
  services_.clear();
}

AdmittedExecution::AdmittedExecution(AdmittedInstance* instance) noexcept : instance_(instance) {
  if (instance == nullptr) return;
  Waiter waiter;
  if (instance->ask(waiter, nullptr, false)) return;
  waiter.wait();
  (void)instance->withdraw();  // it waits for the one who tells to let go of the waiter
}

}  // namespace atl::models
