#include "models/catalog/states/lifecycle.h"

#include <set>
#include <utility>

#include "models/catalog/loading/failure_text.h"

namespace atl::models {
namespace {

void tell(const std::vector<LoadDone>& told, const Status& status, bool was_read = false) {
  for (const LoadDone& done : told) done({status.clone(), was_read});
}

}  // namespace

Lifecycle::Lifecycle(Host& host, ServingContext& serving, ServingTable& table)
    : host_(host), serving_(serving), table_(table), records_(host.events()) {}

Lifecycle::~Lifecycle() { records_.forget_events(); }

void Lifecycle::load(const std::vector<std::string>& models, LoadCall::Done done) {
  auto call = std::make_shared<LoadCall>(host_.workers(), host_.gate(), models.size(), std::move(done));
  // All are registered before the first one is built, so an ensemble finds its members loading.
  std::vector<AttemptPtr> attempts;
  bool refused = false;
  {
    std::scoped_lock lock(mutex_);
    refused = ending_;
    for (size_t i = 0; !refused && i < models.size(); ++i) {
      LoadOrder order;
      order.requested = true;
      order.startup = starting_;
      order.told.push_back([call, i](const ModelLoadOutcome& outcome) { call->finish(i, outcome); });
      attempts.push_back(begin_or_wait(models[i], std::move(order)));
    }
  }
  for (size_t i = 0; refused && i < models.size(); ++i) call->finish(i, {unavailable("Server exiting")});
  for (const AttemptPtr& attempt : attempts) {
    if (attempt != nullptr) post(attempt, &Lifecycle::prepare);
  }
  call->all_begun();
}

void Lifecycle::load(ModelLoadRequest request, ModelDone done) {
  LoadOrder order;
  order.config = std::move(request.config);
  order.files = std::move(request.files);
  order.requested = true;
  order.refresh_members = request.refresh_members;
  order.awaits_departures = true;
  order.told.push_back([done = std::move(done)](const ModelLoadOutcome& outcome) {
    done({outcome.status.clone(), outcome.was_read});
  });
  start_load(request.model, std::move(order));
}

void Lifecycle::end_startup() {
  std::scoped_lock lock(mutex_);
  starting_ = false;
}

void Lifecycle::unload(const std::vector<std::string>& models, LoadCall::Done done) {
  auto call = std::make_shared<LoadCall>(host_.workers(), host_.gate(), models.size(), std::move(done));
  std::vector<LoadDone> cancelled;
  {
    std::scoped_lock lock(mutex_);
    for (const std::string& model : models) unload_by_name_locked(model, &cancelled);
  }
  tell(cancelled, outdated(), true);
  for (size_t i = 0; i < models.size(); ++i) call->finish(i, {});
  call->all_begun();
}

void Lifecycle::unload(const std::string& model, bool with_members) {
  std::vector<LoadDone> cancelled;
  {
    std::scoped_lock lock(mutex_);
    std::vector<EnsembleMember> members;
    if (ModelRecord* record = records_.find(model); record != nullptr) members = record->members;
    unload_by_name_locked(model, &cancelled);
    if (with_members) unload_members_locked(members, &cancelled);
  }
  tell(cancelled, outdated(), true);
}

void Lifecycle::stop_accepting() {
  std::scoped_lock lock(mutex_);
  std::set<std::string, std::less<>> members;
  for (const auto& [model, record] : records_.all()) {
    for (const EnsembleMember& member : record.members) members.insert(member.model);
  }
  for (const auto& [model, record] : records_.all()) {
    if (members.contains(model)) continue;
    for (const auto& [version, state] : record.versions) {
      if (state.served != nullptr) state.served->stop_accepting();
    }
  }
}

void Lifecycle::end() {
  std::vector<LoadDone> cancelled;
  {
    std::scoped_lock lock(mutex_);
    ending_ = true;
    std::vector<std::string> models;
    for (const auto& [model, record] : records_.all()) models.push_back(model);
    for (const std::string& model : models) unload_by_name_locked(model, &cancelled);
  }
  tell(cancelled, unavailable("Server exiting"));
}

std::string Lifecycle::holding() const {
  std::scoped_lock lock(mutex_);
  std::map<std::string, uint64_t> requests;
  for (const auto& [object, live] : live_) requests[live.model] += live.object->holders();
  std::string text;
  for (const auto& [model, count] : requests) {
    if (count == 0) continue;
    text += cat(text.empty() ? "" : ", ", count, count == 1 ? " request of " : " requests of ", model);
  }
  for (const auto& [model, record] : records_.all()) {
    if (record.loading) text += cat(text.empty() ? "" : ", ", "the load of ", model);
  }
  return text;
}

void Lifecycle::start_load(const std::string& model, LoadOrder order) {
  AttemptPtr attempt;
  bool refused = false;
  {
    std::scoped_lock lock(mutex_);
    refused = ending_;
    if (!refused) attempt = begin_or_wait(model, std::move(order));
  }
  if (refused) return tell(order.told, unavailable("Server exiting"));
  if (attempt != nullptr) post(attempt, &Lifecycle::prepare);
}

void Lifecycle::rebuild(const std::string& model) { start_load(model, rebuild_order()); }

Lifecycle::AttemptPtr Lifecycle::begin_or_wait(const std::string& model, LoadOrder order) {
  ModelRecord& record = records_.at(model);
  if (!record.loading) return begin(model, std::move(order));
  enqueue(record.waiting, std::move(order));
  return nullptr;
}

Lifecycle::AttemptPtr Lifecycle::begin(const std::string& model, LoadOrder order) {
  ModelRecord& record = records_.at(model);
  auto attempt = std::make_shared<Attempt>();
  attempt->model = model;
  attempt->operation = ++last_operation_;
  attempt->services_seen = last_change_;
  record.operation = attempt->operation;
  record.loading = true;
  record.running = std::move(order.told);
  attempt->order = std::move(order);
  return attempt;
}

void Lifecycle::post(const AttemptPtr& attempt, Step step) {
  Pass pass(host_.gate());
  if (!pass) return finish(attempt, unavailable("Server exiting"));
  host_.workers().run(make_task([this, attempt, step, pass = std::move(pass)] { run(attempt, step); }));
}

void Lifecycle::run(const AttemptPtr& attempt, Step step) noexcept { (this->*step)(attempt); }

void Lifecycle::finish(const AttemptPtr& attempt, const Status& status) {
  std::vector<LoadDone> told;
  std::vector<LoadDone> refused;
  AttemptPtr next;
  attempt->prepared = nullptr;  // files that came with a load that failed are gone when its end is told
  {
    std::scoped_lock lock(mutex_);
    ModelRecord& record = records_.at(attempt->model);
    record.loading = false;
    told = std::move(record.running);
    record.running.clear();
    if (attempt->departure != nullptr && attempt->departure->left != 0) {
      attempt->departure->told = std::exchange(told, {});
    }
    if (record.waiting.empty()) {
      if (!status.ok()) records_.forget_if_empty(attempt->model);
    } else if (ending_) {
      for (LoadOrder& order : record.waiting) {
        for (LoadDone& done : order.told) refused.push_back(std::move(done));
      }
      record.waiting.clear();
    } else {
      LoadOrder order = std::move(record.waiting.front());
      record.waiting.pop_front();
      next = begin(attempt->model, std::move(order));
    }
    records_.trim();
  }
  tell(told, status, attempt->was_read);
  tell(refused, unavailable("Server exiting"));
  if (next != nullptr) post(next, &Lifecycle::prepare);
}

}  // namespace atl::models
