/// Services "atoll.execution_admission/1" and "atoll.request_admission/1" by deadlines: the devices with their
/// locks, and who is told.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/deadlines/device.h"
#include "atoll/core/clock.h"
#include "atoll/core/metrics.h"
#include "atoll/request/execution_admission.h"
#include "atoll/request/request_admission.h"

namespace atl::deadlines {

struct DeadlineSettings {
  PlanRules rules;
  uint32_t cpu_parallel = 1;           ///< PlanRules::parallel of the CPU
  int64_t patience_ns = kNsPerSecond;  ///< after which requests without deadline come before others
};

/// A lock for each device, held for a plan of what waits for it.
class DeadlineAdmission final : public ExecutionAdmission, public RequestAdmission, public MetricSource {
 public:
  DeadlineAdmission(const DeadlineSettings& settings, Clock& clock) : settings_(settings), clock_(clock) {}
  DeadlineAdmission(const DeadlineAdmission&) = delete;
  DeadlineAdmission& operator=(const DeadlineAdmission&) = delete;
  virtual ~DeadlineAdmission() = default;

  // --- ExecutionAdmission ---
  Result<std::unique_ptr<AdmittedInstance>> add_instance(const ExecutionDemand& demand) noexcept override;

  // --- RequestAdmission ---
  bool active() const noexcept override { return true; }
  Result<AdmissionOutcome> ask(Request& request, uint64_t priority, AdmissionWaiter& waiter,
                               AdmissionTicket* ticket) noexcept override;
  void ended(const AdmissionTicket& /*ticket*/) noexcept override {}

  void collect(MetricSink& sink) const noexcept override;

 private:
  class Instance;
  /// A device with its lock.
  struct Place {
    Place(std::string its_name, PlanRules rules) : name(std::move(its_name)), device(rules) {}
    const std::string name;  ///< "cpu", or a GPU's number
    mutable std::mutex mutex;
    Device device;
  };
  /// What waits for a version on one device. Lives as long as an instance of it.
  struct Entry {
    Entry(Place& its_place, const ExecutionDemand& demand, int64_t patience_ns)
        : place(its_place), line(demand, patience_ns) {}
    Place& place;
    Line line;  // under the place's lock
  };
  /// All of a version's. Replaced, never changed, so that whoever holds it may read it.
  using Entries = std::vector<std::shared_ptr<Entry>>;
  struct Version {
    std::shared_ptr<const Entries> entries;
    uint64_t instances = 0;
  };
  using Key = std::pair<std::string, int64_t>;
  using KeyView = std::pair<std::string_view, int64_t>;
  struct ByKey {
    using is_transparent = void;
    static KeyView view(const Key& key) noexcept { return {key.first, key.second}; }
    static KeyView view(const KeyView& key) noexcept { return key; }
    template <class A, class B>
    bool operator()(const A& a, const B& b) const noexcept {
      return view(a) < view(b);
    }
  };

  Place& place_of(const ExecutionDemand& demand);
  std::shared_ptr<Entry> enter(const ExecutionDemand& demand);
  void leave(const Key& key) noexcept;
  std::shared_ptr<const Entries> entries_of(KeyView key) const noexcept;
  static void notify(AdmittedList& admitted) noexcept;

  const DeadlineSettings settings_;
  Clock& clock_;
  mutable std::shared_mutex mutex_;  // guards what follows; taken before a place's
  std::map<std::string, Place, std::less<>> places_;
  std::map<Key, Version, ByKey> versions_;
};

}  // namespace atl::deadlines
