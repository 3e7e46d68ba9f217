#include "admission/rate_limiter/rate_limiter.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace atl::admission {

class RateLimiter::Instance final : public AdmittedInstance, public Contender {
 public:
  Instance(RateLimiter& limiter, const ExecutionDemand& demand)
      : model(demand.model),
        version(demand.version),
        limiter_(limiter),
        priority_(std::max(demand.priority, 1u)) {}
  ~Instance() override {
    limiter_.change([this](AdmittedList& admitted) {
      limiter_.turns_.remove(*this);
      limiter_.pools_.remove(claims);
      limiter_.turns_.settle(admitted);
      limiter_.instances_.erase(this);
    });
    await_notified();
  }

  bool holds_resources() const noexcept override { return !claims.empty(); }
  bool ask(AdmissionListener& listener, void* context, bool insists) noexcept override {
    return claims.empty() || ask_as(&Turns::ask, listener, context, insists);
  }
  bool ask_again(AdmissionListener& listener, void* context, bool insists) noexcept override {
    count_execution();
    return claims.empty() || ask_as(&Turns::ask_again, listener, context, insists);
  }
  void end(bool executed) noexcept override {
    if (executed) count_execution();
    if (claims.empty()) return;
    limiter_.change([&](AdmittedList& admitted) { limiter_.turns_.end(*this, executed, admitted); });
  }
  bool withdraw() noexcept override {
    bool waited = false;
    limiter_.change([&](AdmittedList& admitted) {
      waited = state == State::kWaiting;
      if (waited) limiter_.turns_.withdraw(*this, admitted);
    });
    await_notified();
    return waited;
  }
  void insist() noexcept override {
    limiter_.change([this](AdmittedList& admitted) {
      if (state == State::kWaiting) limiter_.turns_.insist(*this, admitted);
    });
  }
  uint64_t turn() const noexcept override { return executions() * priority_; }
  std::vector<AdmissionShortage> shortages() const noexcept override {
    std::vector<AdmissionShortage> found;
    found.reserve(claims.size() + 1);
    std::lock_guard lock(limiter_.mutex_);
    if (state != State::kWaiting) return found;
    for (const Claim& claim : claims) {
      const ResourcePool& pool = *claim.pool;
      const uint64_t kept = pool.kept - (claim.kept ? claim.count : 0);  // for others
      if (pool.in_use + kept + claim.count <= pool.limit) continue;
      found.push_back({pool.name, pool.device_id == ResourcePool::kGlobal, pool.device_id, pool.limit,
                       pool.in_use, kept, claim.count});
    }
    if (found.empty()) found.emplace_back();  // others are before it
    return found;
  }

  /// Under the lock, of one that has been waiting.
  void will_be_notified(int64_t now_ns) noexcept {
    wait_ns += std::max<int64_t>(now_ns - waits_since_ns_, 0);
    notifying_.fetch_add(1, std::memory_order_relaxed);
  }
  /// Without it.
  void notify() noexcept {
    listener_->admitted(context_);
    notifying_.fetch_sub(1, std::memory_order_release);  // from here on the instance may be gone
  }
  uint64_t executions() const noexcept { return executions_.load(std::memory_order_relaxed); }

  const std::string model;
  const int64_t version;
  uint64_t waits = 0;  // under the lock
  int64_t wait_ns = 0;

 private:
  using Ask = void (Turns::*)(Contender&, bool, AdmittedList&) noexcept;

  bool ask_as(Ask how, AdmissionListener& listener, void* context, bool insists) noexcept {
    bool admitted_at_once = false;
    limiter_.change([&](AdmittedList& admitted) {
      listener_ = &listener;
      context_ = context;
      (limiter_.turns_.*how)(*this, insists, admitted);
      admitted_at_once = admitted.remove(*this);
      if (admitted_at_once) return;
      ++waits;
      waits_since_ns_ = limiter_.clock_.now_ns();
    });
    return admitted_at_once;
  }
  /// Whoever notifies this one has done so, each on its own thread.
  void await_notified() const noexcept {
    while (notifying_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  }
  /// One call at a time, so no increment gets lost.
  void count_execution() noexcept { executions_.store(executions() + 1, std::memory_order_relaxed); }

  RateLimiter& limiter_;
  const uint64_t priority_;
  std::atomic<uint64_t> executions_{0};
  std::atomic<uint32_t> notifying_{0};     // threads: the next one may come before the last one has left
  AdmissionListener* listener_ = nullptr;  // under the lock, or while notifying
  void* context_ = nullptr;
  int64_t waits_since_ns_ = 0;
};

template <class Change>
void RateLimiter::change(Change&& make) noexcept {
  AdmittedList admitted;
  {
    std::lock_guard lock(mutex_);
    make(admitted);
    if (admitted.empty()) return;
    int64_t now_ns = clock_.now_ns();
    for (Contender* one = admitted.front(); one != nullptr; one = one->next_admitted) {
      static_cast<Instance*>(one)->will_be_notified(now_ns);
    }
  }
  while (Contender* one = admitted.pop_front()) {
    static_cast<Instance*>(one)->notify();
  }
}

Result<std::unique_ptr<AdmittedInstance>> RateLimiter::add_instance(const ExecutionDemand& demand) noexcept {
  auto instance = std::make_unique<Instance>(*this, demand);
  Status failure;
  change([&](AdmittedList& admitted) {
    auto claims = pools_.add(demand);
    if (claims.ok()) {
      instance->claims = std::move(claims).value();
      turns_.add(*instance, admitted);
    } else {
      failure = std::move(claims).status();
    }
    instances_.insert(instance.get());  // its destructor takes it out in any case
  });
  if (!failure.ok()) return failure;
  return std::unique_ptr<AdmittedInstance>(std::move(instance));
}

void RateLimiter::collect(MetricSink& sink) const noexcept {
  collect_pools(sink);
  collect_models(sink);
}

void RateLimiter::collect_pools(MetricSink& sink) const {
  struct Row {
    std::string name, device;
    uint64_t limit, in_use, waiting;
  };
  std::vector<Row> rows;
  {
    std::lock_guard lock(mutex_);
    pools_.for_each([&](const ResourcePool& pool) {
      bool global = pool.device_id == ResourcePool::kGlobal;
      rows.push_back(
          {pool.name, global ? "global" : cat(pool.device_id), pool.limit, pool.in_use, pool.waiting});
    });
  }
  auto family = [&](std::string_view name, std::string_view help, uint64_t Row::*value) {
    sink.family(name, help, MetricKind::kGauge);
    for (const Row& row : rows) {
      MetricLabel labels[] = {{"resource", row.name}, {"device", row.device}};
      sink.sample(labels, static_cast<double>(row.*value));
    }
  };
  family("atoll_rate_limiter_resource_copies", "Copies of the resource that there are", &Row::limit);
  family("atoll_rate_limiter_resource_copies_in_use", "Copies of the resource that executions hold",
         &Row::in_use);
  family("atoll_rate_limiter_waiting_instances", "Model instances that wait and need the resource",
         &Row::waiting);
}

void RateLimiter::collect_models(MetricSink& sink) const {
  struct Sums {
    double executions = 0, waits = 0, wait_s = 0;
  };
  std::map<std::pair<std::string, int64_t>, Sums> models;
  {
    std::lock_guard lock(mutex_);
    for (const Instance* instance : instances_) {
      Sums& sums = models[{instance->model, instance->version}];
      sums.executions += static_cast<double>(instance->executions());
      sums.waits += static_cast<double>(instance->waits);
      sums.wait_s += static_cast<double>(instance->wait_ns) / 1e9;
    }
  }
  auto family = [&](std::string_view name, std::string_view help, double Sums::*value) {
    sink.family(name, help, MetricKind::kCounter);
    for (const auto& [key, sums] : models) {
      std::string version = cat(key.second);
      MetricLabel labels[] = {{"model", key.first}, {"version", version}};
      sink.sample(labels, sums.*value);
    }
  };
  family("atoll_rate_limiter_executions_total", "Executions of the model that were admitted and have ended",
         &Sums::executions);
  family("atoll_rate_limiter_waits_total", "How often an instance of the model had to wait for resources",
         &Sums::waits);
  family("atoll_rate_limiter_wait_seconds_total",
         "Time that instances of the model have waited for resources", &Sums::wait_s);
}

}  // namespace atl::admission
