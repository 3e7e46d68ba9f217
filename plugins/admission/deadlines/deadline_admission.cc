#include "admission/deadlines/deadline_admission.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "atoll/core/text.h"
#include "atoll/lib/waiting_request.h"
#include "atoll/models/model.h"

namespace atl::deadlines {

class DeadlineAdmission::Instance final : public AdmittedInstance, public Runner {
 public:
  Instance(DeadlineAdmission& owner, std::shared_ptr<Entry> entry)
      : Runner(entry->line), owner_(owner), entry_(std::move(entry)), key_(line->model, line->version) {
    std::lock_guard lock(entry_->place.mutex);
    entry_->place.device.add(*this);
  }
  ~Instance() override {
    change([this](Device& device, int64_t now_ns, AdmittedList& admitted) {
      device.remove(*this, now_ns, admitted);
    });
    await_notified();
    owner_.leave(key_);
  }

  bool holds_resources() const noexcept override { return true; }
  bool ask(AdmissionListener& listener, void* context, bool insists) noexcept override {
    return ask_as(&Device::ask, listener, context, insists);
  }
  bool ask_again(AdmissionListener& listener, void* context, bool insists) noexcept override {
    count_execution();
    return ask_as(&Device::ask_again, listener, context, insists);
  }
  void end(bool executed) noexcept override {
    if (executed) count_execution();
    change([&](Device& device, int64_t now_ns, AdmittedList& admitted) {
      device.end(*this, executed, now_ns, admitted);
    });
  }
  bool withdraw() noexcept override {
    bool waited = false;
    {
      std::lock_guard lock(entry_->place.mutex);
      waited = state == State::kWaiting;
      entry_->place.device.withdraw(*this);
    }
    await_notified();
    return waited;
  }
  void insist() noexcept override {
    change([this](Device& device, int64_t now_ns, AdmittedList& admitted) {
      device.insist(*this, now_ns, admitted);
    });
  }
  uint64_t turn() const noexcept override { return executions_.load(std::memory_order_relaxed); }

  bool follows_queue() const noexcept override { return true; }
  void arrived(const WaitingRequest& request) noexcept override {
    for_each_entry([&](Entry& entry) {
      AdmittedList admitted;
      {
        std::lock_guard lock(entry.place.mutex);
        entry.place.device.arrived(entry.line, entry.line.waiting_of(request), owner_.clock_.now_ns(),
                                   admitted);
        about_to_notify(admitted);
      }
      notify(admitted);
    });
  }
  void left(uint64_t weight) noexcept override {
    for_each_entry([&](Entry& entry) {
      std::lock_guard lock(entry.place.mutex);
      entry.place.device.left(entry.line, weight);
    });
  }
  ExecutionGrant grant() noexcept override {
    std::lock_guard lock(entry_->place.mutex);
    return entry_->place.device.grant(*this, owner_.clock_.now_ns());
  }
  void begins(uint32_t batch_size, uint64_t weight) noexcept override {
    change([&](Device& device, int64_t now_ns, AdmittedList& admitted) {
      device.begins(*this, batch_size, weight, now_ns, admitted);
    });
    for_each_entry([&](Entry& entry) {
      if (&entry == entry_.get()) return;
      std::lock_guard lock(entry.place.mutex);
      entry.place.device.left(entry.line, weight);
    });
  }

  /// Of the device, which executes what is more urgent.
  std::vector<AdmissionShortage> shortages() const noexcept override {
    std::lock_guard lock(entry_->place.mutex);
    return std::vector<AdmissionShortage>(state == State::kWaiting ? 1 : 0);
  }

  /// Without the lock. From the last line on the instance may be gone.
  void notify_one() noexcept {
    listener_->admitted(context_);
    notifying_.fetch_sub(1, std::memory_order_release);
  }
  static void about_to_notify(const AdmittedList& admitted) noexcept {
    for (Runner* one = admitted.front(); one != nullptr; one = one->next_admitted) {
      static_cast<Instance*>(one)->notifying_.fetch_add(1, std::memory_order_relaxed);
    }
  }

 private:
  using Ask = void (Device::*)(Runner&, bool, int64_t, AdmittedList&);

  template <class Change>
  void change(Change&& make) noexcept {
    AdmittedList admitted;
    {
      std::lock_guard lock(entry_->place.mutex);
      make(entry_->place.device, owner_.clock_.now_ns(), admitted);
      about_to_notify(admitted);
    }
    notify(admitted);
  }
  bool ask_as(Ask how, AdmissionListener& listener, void* context, bool insists) noexcept {
    bool at_once = false;
    change([&](Device& device, int64_t now_ns, AdmittedList& admitted) {
      listener_ = &listener;
      context_ = context;
      (device.*how)(*this, insists, now_ns, admitted);
      at_once = admitted.remove(*this);
    });
    return at_once;
  }
  /// Those of this version on all devices: its instances have one queue.
  template <class Use>
  void for_each_entry(Use&& use) noexcept {
    const std::shared_ptr<const Entries> entries = owner_.entries_of({key_.first, key_.second});
    for (const std::shared_ptr<Entry>& entry : *entries) use(*entry);
  }
  /// Whoever notifies this one has done so, each on its own thread.
  void await_notified() const noexcept {
    while (notifying_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  }
  /// One call at a time, so no increment gets lost.
  void count_execution() noexcept {
    executions_.store(executions_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  DeadlineAdmission& owner_;
  const std::shared_ptr<Entry> entry_;
  const Key key_;
  std::atomic<uint64_t> executions_{0};
  std::atomic<uint32_t> notifying_{0};     // threads: the next one may come before the last one has left
  AdmissionListener* listener_ = nullptr;  // under the lock, or while notifying
  void* context_ = nullptr;
};

void DeadlineAdmission::notify(AdmittedList& admitted) noexcept {
  while (Runner* one = admitted.pop_front()) static_cast<Instance*>(one)->notify_one();
}

DeadlineAdmission::Place& DeadlineAdmission::place_of(const ExecutionDemand& demand) {
  std::string name = demand.on_gpu ? cat(demand.device_id) : "cpu";
  auto known = places_.find(name);
  if (known == places_.end()) {
    PlanRules rules = settings_.rules;
    if (!demand.on_gpu) rules.parallel = settings_.cpu_parallel;
    rules.executions = std::max(rules.executions, rules.parallel);
    known = places_.try_emplace(name, name, rules).first;
  }
  return known->second;
}

std::shared_ptr<DeadlineAdmission::Entry> DeadlineAdmission::enter(const ExecutionDemand& demand) {
  std::lock_guard lock(mutex_);
  Place& place = place_of(demand);
  Version& version = versions_[{demand.model, demand.version}];
  ++version.instances;
  auto entries = std::make_shared<Entries>();
  if (version.entries != nullptr) *entries = *version.entries;
  for (const std::shared_ptr<Entry>& entry : *entries) {
    if (&entry->place == &place) return entry;
  }
  entries->push_back(std::make_shared<Entry>(place, demand, settings_.patience_ns));
  version.entries = std::move(entries);
  return version.entries->back();
}

void DeadlineAdmission::leave(const Key& key) noexcept {
  std::lock_guard lock(mutex_);
  auto version = versions_.find(key);
  if (--version->second.instances == 0) versions_.erase(version);
}

std::shared_ptr<const DeadlineAdmission::Entries> DeadlineAdmission::entries_of(KeyView key) const noexcept {
  std::shared_lock lock(mutex_);
  auto version = versions_.find(key);
  return version == versions_.end() ? nullptr : version->second.entries;
}

Result<std::unique_ptr<AdmittedInstance>> DeadlineAdmission::add_instance(
    const ExecutionDemand& demand) noexcept {
  return std::unique_ptr<AdmittedInstance>(std::make_unique<Instance>(*this, enter(demand)));
}

Result<AdmissionOutcome> DeadlineAdmission::ask(Request& request, uint64_t /*priority*/,
                                                AdmissionWaiter& /*waiter*/,
                                                AdmissionTicket* /*ticket*/) noexcept {
  if (request.model == nullptr) return AdmissionOutcome::kAdmitted;
  const ModelInfo& info = request.model->info();
  const std::shared_ptr<const Entries> entries = entries_of({info.name, info.version});
  if (entries == nullptr) return AdmissionOutcome::kAdmitted;
  const int64_t now_ns = clock_.now_ns();
  const WaitingRequest waiting = waiting_request(request, now_ns);
  int64_t busy_ns = INT64_MAX;
  for (const std::shared_ptr<Entry>& entry : *entries) {
    std::lock_guard lock(entry->place.mutex);
    const OfferOutcome outcome =
        entry->place.device.offer(entry->line, entry->line.waiting_of(waiting), clock_.now_ns());
    if (outcome.is_taken) return AdmissionOutcome::kAdmitted;
    busy_ns = std::min(busy_ns, outcome.busy_ns);
  }
  constexpr int64_t kMostMs = 3'600'000;
  request.retry_after_ms =
      static_cast<uint32_t>(std::clamp<int64_t>((busy_ns + kNsPerMs - 1) / kNsPerMs, 1, kMostMs));
  return unavailable("the request could not be answered in time: the device is busy for ",
                     request.retry_after_ms, " ms");
}

void DeadlineAdmission::collect(MetricSink& sink) const noexcept {
  struct Row {
    std::string model, version, device;
    double taken, refused, executed, waiting, single_s;
  };
  std::vector<Row> rows;
  std::vector<std::pair<std::string, double>> devices;
  {
    std::shared_lock table(mutex_);
    for (const auto& [key, version] : versions_) {
      for (const std::shared_ptr<Entry>& entry : *version.entries) {
        std::lock_guard lock(entry->place.mutex);
        const Line& line = entry->line;
        rows.push_back({line.model, cat(line.version), entry->place.name, static_cast<double>(line.taken),
                        static_cast<double>(line.refused), static_cast<double>(line.executed),
                        static_cast<double>(line.weight), static_cast<double>(line.cost_ns(1)) / 1e9});
      }
    }
    for (const auto& [name, place] : places_) {
      std::lock_guard lock(place.mutex);
      devices.emplace_back(name, static_cast<double>(place.device.running()));
    }
  }
  auto family = [&](std::string_view name, std::string_view help, MetricKind kind, double Row::*value) {
    sink.family(name, help, kind);
    for (const Row& row : rows) {
      MetricLabel labels[] = {{"model", row.model}, {"version", row.version}, {"device", row.device}};
      sink.sample(labels, row.*value);
    }
  };
  family("atoll_deadlines_requests_taken_total", "Requests with a deadline that can be in time",
         MetricKind::kCounter, &Row::taken);
  family("atoll_deadlines_requests_refused_total", "Requests that could not be answered in time",
         MetricKind::kCounter, &Row::refused);
  family("atoll_deadlines_executions_total", "Executions of the model that have ended", MetricKind::kCounter,
         &Row::executed);
  family("atoll_deadlines_waiting_requests", "Batch weights that wait for an execution", MetricKind::kGauge,
         &Row::waiting);
  family("atoll_deadlines_single_execution_seconds", "What a batch of one is expected to take",
         MetricKind::kGauge, &Row::single_s);
  sink.family("atoll_deadlines_running_executions", "Executions that run on the device", MetricKind::kGauge);
  for (const auto& [name, running] : devices) {
    MetricLabel labels[] = {{"device", name}};
    sink.sample(labels, running);
  }
}

}  // namespace atl::deadlines
