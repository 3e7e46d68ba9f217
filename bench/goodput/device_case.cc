#include "goodput/device_case.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "admission/deadlines/deadline_admission.h"
#include "atoll/core/text.h"
#include "atoll/testing/fake_host.h"
#include "model_config.pb.h"
#include "schedulers/dynamic/dynamic_provider.h"

namespace atl::goodput {
namespace {

constexpr int32_t kMaxBatchSize = 64;
constexpr double kShareOfItem = 0.3;  // of a, what each request of a batch adds to it

template <class T>
T must(Result<T> made) {
  if (made.ok()) return std::move(made).value();
  std::fprintf(stderr, "goodput: %s\n", made.status().text().c_str());
  std::exit(1);
}

/// Before the first request that counts each model, one after the other, gets requests by which it becomes known
/// what its executions take.
constexpr int64_t kWarmUpNs = 600 * kNsPerSecond;

std::vector<Arrival> after_warm_up(const std::vector<WorkloadModel>& models,
                                   const std::vector<Arrival>& arrivals) {
  constexpr uint32_t kSizes[] = {1, 1, 1, 1, 2, 4, 3, 6, 8, 5, 2, 1};
  std::vector<Arrival> all;
  for (uint32_t model = 0; model < models.size(); ++model) {
    for (uint32_t size : kSizes) {
      const int64_t at_ns = static_cast<int64_t>(all.empty() ? 0 : all.back().at_ns + kNsPerSecond);
      // The first of them is executed by itself, and the others together.
      for (uint32_t i = 0; i <= size; ++i) all.push_back({at_ns + (i == 0 ? 0 : kNsPerMs), model});
    }
  }
  for (const Arrival& arrival : arrivals) all.push_back({kWarmUpNs + arrival.at_ns, arrival.model});
  return all;
}

class Bench;

/// One request of a client, which is used again when it has ended.
class Client final : public ResponseSink {
 public:
  explicit Client(Bench& bench) : bench_(bench) {}
  void begin(uint32_t of_model, int64_t now_ns) {
    request.reset();
    request.sink = this;
    request.batch_size = 1;
    request.times.start_ns = request.times.queue_start_ns = now_ns;
    model = of_model;
    parts_ = 0;
  }
  Response* new_response() noexcept override {
    response_.reset();
    response_.sink = this;
    return &response_;
  }
  Status allocate(Response&, OutputTensor&, uint64_t, MemoryKind, int64_t) noexcept override { return {}; }
  void send(Response* sent, uint32_t flags) noexcept override;
  void discard(Response*) noexcept override {}
  void released(Request&) noexcept override { end_part(); }

  Request request;
  uint32_t model = 0;
  bool counts = false;

 private:
  void end_part() noexcept;

  Bench& bench_;
  Response response_;
  uint32_t parts_ = 0;
};

/// A model version: what requests are asked for, its instance, and its scheduler.
class ServedModel final : public Model, public BackendInstance {
 public:
  ServedModel(Bench& bench, const WorkloadModel& workload, uint32_t number);

  const ModelInfo& info() const noexcept override { return info_; }
  Status infer(Request&) noexcept override { return internal_error("not asked"); }
  ModelStatistics statistics() const noexcept override { return {}; }
  bool ready() const noexcept override { return true; }
  void add_reference() noexcept override {}
  void drop_reference() noexcept override {}
  void report_first_response(const Request&) noexcept override {}

  Status execute(const Batch& batch) noexcept override;

  Scheduler& scheduler() noexcept { return *scheduler_; }
  int64_t slo_ns() const noexcept { return slo_ns_; }

 private:
  double cost_ns(uint32_t size) const noexcept { return first_ns_ * (1 + kShareOfItem * size); }

  Bench& bench_;
  ModelInfo info_;
  InstanceSpec spec_;
  double first_ns_;
  int64_t slo_ns_;
  std::unique_ptr<AdmittedInstance> admission_;
  AdmittedInstance* admissions_[1] = {};
  std::unique_ptr<Scheduler> scheduler_;
};

class Bench final : public EventSource, private AdmissionWaiter {
 public:
  Bench(const std::vector<WorkloadModel>& workload, const std::vector<Arrival>& coming,
        const DeviceRules& its_rules)
      : rules(its_rules),
        device(time, rules.sharing),
        admission({rules.plan}, time),
        provider({}, host_.log()),
        random(1),
        arrivals_(after_warm_up(workload, coming)) {
    outcome.missed.resize(workload.size());
    for (const WorkloadModel& model : workload) {
      models_.push_back(std::make_unique<ServedModel>(*this, model, static_cast<uint32_t>(models_.size())));
    }
    time.add(*this);
    start_ns_ = time.now_ns();
  }
  virtual ~Bench() { models_.clear(); }

  DeviceOutcome run() {
    time.run();
    if (outcome.in_time + outcome.late + outcome.refused != outcome.arrived) {
      std::fputs("goodput: requests without an end\n", stderr);
      std::exit(1);
    }
    outcome.busy_share =
        static_cast<double>(device.busy_ns()) / static_cast<double>(time.now_ns() - start_ns_ - kWarmUpNs);
    outcome.batch_size = executions == 0 ? 0
                                         : static_cast<double>(outcome.in_time + outcome.late) /
                                               static_cast<double>(executions);
    return outcome;
  }
  void answered(const Client& client, bool is_answer) {
    if (!client.counts) return;
    const int64_t latency_ns = time.now_ns() - client.request.times.start_ns;
    const bool is_in_time = is_answer && latency_ns <= models_[client.model]->slo_ns();
    ++(is_in_time ? outcome.in_time : is_answer ? outcome.late : outcome.refused);
    if (!is_in_time) ++outcome.missed[client.model];
  }
  void ended(Client& client) { free_.push_back(&client); }

  int64_t next_ns() const noexcept override {
    return next_ == arrivals_.size() ? INT64_MAX : start_ns_ + arrivals_[next_].at_ns;
  }
  void happen() override {
    const Arrival& arrival = arrivals_[next_++];
    Client& client = take();
    ServedModel& model = *models_[arrival.model];
    client.begin(arrival.model, time.now_ns());
    client.counts = arrival.at_ns >= kWarmUpNs;
    outcome.arrived += client.counts;
    client.request.model = &model;
    if (rules.has_deadlines) {
      AdmissionTicket ticket;
      auto asked = admission.ask(client.request, 0, *this, &ticket);
      if (!asked.ok()) return refused(client);
    }
    if (!model.scheduler().enqueue(client.request).ok()) refused(client);
  }

  const DeviceRules rules;
  VirtualTime time;
  SharedDevice device;
  deadlines::DeadlineAdmission admission;

 private:
  test::FakeHost host_{"goodput"};

 public:
  schedulers::DynamicProvider provider;
  std::mt19937_64 random;
  DeviceOutcome outcome;
  uint64_t executions = 0;

 private:
  void resume(Request&, Status, const AdmissionTicket&) noexcept override {}
  void refused(Client& client) {
    answered(client, false);
    ended(client);
  }
  Client& take() {
    if (free_.empty()) {
      clients_.push_back(std::make_unique<Client>(*this));
      free_.push_back(clients_.back().get());
    }
    Client& client = *free_.back();
    free_.pop_back();
    return client;
  }

  const std::vector<Arrival> arrivals_;
  size_t next_ = 0;
  int64_t start_ns_ = 0;
  std::vector<std::unique_ptr<ServedModel>> models_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<Client*> free_;
};

void Client::send(Response* sent, uint32_t flags) noexcept {
  if ((flags & kFinal) == 0) return;
  bench_.answered(*this, sent != nullptr && sent->error.ok());
  end_part();
}

void Client::end_part() noexcept {
  if (++parts_ == 2) bench_.ended(*this);
}

ServedModel::ServedModel(Bench& bench, const WorkloadModel& workload, uint32_t number)
    : bench_(bench),
      first_ns_(workload.latency_ns / (1 + kShareOfItem)),
      slo_ns_(static_cast<int64_t>(workload.latency_ns * bench.rules.slo_scale)) {
  info_.name = cat("model_", number);
  info_.version = 1;
  info_.max_batch_size = kMaxBatchSize;
  spec_.name = cat(info_.name, "_0");
  const auto target_ns = static_cast<int64_t>(static_cast<double>(slo_ns_) * bench.rules.target_scale);
  inference::ModelConfig config;
  config.set_name(info_.name);
  config.set_max_batch_size(kMaxBatchSize);
  config.mutable_dynamic_batching();
  (*config.mutable_parameters())["latency_target_microseconds"].set_string_value(cat(target_ns / kNsPerUs));
  info_.config = config.SerializeAsString();

  SchedulerContext context;
  context.model_name = info_.name;
  context.model_version = 1;
  context.config = info_.config;
  context.max_batch_size = kMaxBatchSize;
  const ScheduledInstance scheduled[] = {{this, &spec_}};
  context.instances = scheduled;
  context.clock = &bench.time;
  context.executors = &bench.time;
  if (bench.rules.has_deadlines) {
    ExecutionDemand demand;
    demand.model = info_.name;
    demand.version = 1;
    demand.instance = spec_.name;
    demand.on_gpu = true;
    demand.max_batch_size = kMaxBatchSize;
    demand.latency_target_ns = target_ns / kNsPerUs * kNsPerUs;
    admission_ = must(bench.admission.add_instance(demand));
    admissions_[0] = admission_.get();
    context.admissions = admissions_;
  }
  scheduler_ = must(bench.provider.create(context));
}

Status ServedModel::execute(const Batch& batch) noexcept {
  std::uniform_real_distribution<double> factor(1 - bench_.rules.noise, 1 + bench_.rules.noise);
  ++bench_.executions;
  bench_.device.execute(cost_ns(batch.total_batch_size) *
                        (bench_.rules.noise == 0 ? 1.0 : factor(bench_.random)));
  for (Request* request : batch.requests) {
    request->sink->new_response()->send();
    (void)request->release().ok();
  }
  return {};
}

}  // namespace

DeviceOutcome run_device(const std::vector<WorkloadModel>& models, const std::vector<Arrival>& arrivals,
                         const DeviceRules& rules) {
  return Bench(models, arrivals, rules).run();
}

}  // namespace atl::goodput
