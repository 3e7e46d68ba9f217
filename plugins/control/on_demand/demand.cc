#include "control/on_demand/demand.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "atoll/lib/resident_memory.h"
#include "atoll/models/model_identifier.h"
#include "control/common/startup_load.h"
#include "control/on_demand/model_size.h"

namespace atl::control {
namespace {

constexpr int32_t kNice = 10;
/// After a repository could not be listed.
constexpr int64_t kListRetryNs = kNsPerSecond;
/// Requests for unknown names have the repository listed at most once in this time, whatever they name.
constexpr int64_t kLookAgainNs = kNsPerSecond;
/// How often use is sampled, at least and at most; in between, as often as unload_after needs it.
constexpr int64_t kSampleLeastNs = kNsPerSecond / 20;
constexpr int64_t kSampleMostNs = 10 * kNsPerSecond;
constexpr int64_t kSamplesPerUnloadAfter = 10;
/// Of a model that comes and goes; then it is loaded as if it were away, which changes nothing if it is
/// there.
constexpr int kLookUpsMax = 4;
/// A model that fails again and again waits at most this many times retry_after.
constexpr uint32_t kDoublingsMax = 6;

Status exiting() { return unavailable("Server exiting"); }

/// Grows with everything a model does.
uint64_t activity_of(const ModelStatistics& statistics) {
  uint64_t sum = statistics.success.count + statistics.fail.count + statistics.execution_count;
  for (uint64_t failures : statistics.failures) sum += failures;
  return sum + statistics.pending;
}

Status load_failure(const std::string& name, const Status& cause) {
  return unavailable("model '", name, "' is loaded on demand and failed to load: ", cause.message());
}

}  // namespace

Status Demand::start(ModelCatalog& catalog, Repository& repository) {
  catalog_ = &catalog;
  repository_ = &repository;
  ThreadPlacement placement;
  placement.nice = kNice;
  auto executor = host_.executors().create("on_demand", placement);
  if (!executor.ok()) return std::move(executor).status();
  executor_ = std::move(executor).value();
  executor_->post(make_task([this] { begin(); }));
  return {};
}

void Demand::drain() {
  if (executor_ == nullptr) return;
  executor_->post(make_task([this] {
    std::vector<uint64_t> ids;
    {
      std::scoped_lock lock(mutex_);
      for (const auto& [id, waiting] : waiting_) ids.push_back(id);
    }
    for (uint64_t id : ids) end_waiting(id, exiting());
  }));
}

// --- requests ---

Status Demand::await(const WantedModel& wanted, ModelWaiter& waiter) noexcept {
  Pass pass(host_.gate());
  if (!pass || catalog_->exiting()) return exiting();
  Result<ModelRef> found = catalog_->acquire(wanted.name, wanted.version);
  for (int i = 0; i < kLookUpsMax; ++i) {
    // It may have come since the look-up, and may come and go while it is looked at here.
    if (i != 0) found = catalog_->acquire(wanted.name, wanted.version);
    if (found.ok()) {
      waiter.on_model(std::move(found));
      return {};
    }
    Result<std::vector<int64_t>> served = catalog_->ready_versions(wanted.name);
    if (!served.ok() || served->empty()) break;
    const bool is_there = wanted.version == ModelCatalog::kLatest ||
                          std::find(served->begin(), served->end(), wanted.version) != served->end();
    // The model is there, and the version is not: nothing that a load would bring.
    if (!is_there) return std::move(found).status();
  }
  std::scoped_lock lock(mutex_);
  if (entries_.contains(wanted.name)) return wait_locked(wanted, waiter, std::move(pass));
  if (!may_look_locked()) return std::move(found).status();
  ATOLL_RETURN_IF_ERROR(add_waiting_locked(wanted, waiter, std::move(pass)));
  if (!std::exchange(is_looking_, true)) executor_->post(make_task([this] { look_for_unknown(); }));
  return {};
}

/// Names that nobody has leave room for requests that wait for models.
bool Demand::may_look_locked() const {
  if (waiting_.size() >= (options_.max_waiting + 1) / 2) return false;
  return is_looking_ || host_.clock().now_ns() >= next_look_ns_;
}

Status Demand::wait_locked(const WantedModel& wanted, ModelWaiter& waiter, Pass pass) {
  auto found = entries_.find(wanted.name);
  const std::string& name = found->first;
  Entry& entry = found->second;
  const int64_t now_ns = host_.clock().now_ns();
  if (entry.state != State::kLoading && now_ns < entry.retry_at_ns) return load_failure(name, entry.failure);
  if (waiting_.size() >= options_.max_waiting) {
    return unavailable("model '", name, "' is not loaded, and ", waiting_.size(),
                       " requests wait for models already, at most max_waiting may");
  }
  ATOLL_RETURN_IF_ERROR(add_waiting_locked(wanted, waiter, std::move(pass)));
  load_locked(name, entry);
  return {};
}

void Demand::load_locked(const std::string& name, Entry& entry) {
  if (entry.state == State::kLoading) return;
  entry.state = State::kLoading;
  executor_->post(make_task([this, name] { load(name); }));
}

Status Demand::add_waiting_locked(const WantedModel& wanted, ModelWaiter& waiter, Pass pass) {
  const std::string name(wanted.name);
  const int64_t now_ns = host_.clock().now_ns();
  const uint64_t id = ++last_waiting_;
  // The executor cannot look for this one before the lock is given back.
  if (wanted.cancellation != nullptr && !wanted.cancellation->listen(this, reinterpret_cast<void*>(id))) {
    return Status(Code::kCancelled, {});
  }
  int64_t until_ns = now_ns + options_.max_wait_ns;
  // Its client may hear of this before its own clock says so.
  const bool has_less = wanted.deadline_ns != 0 && wanted.deadline_ns < until_ns;
  const Code code = has_less ? Code::kDeadlineExceeded : Code::kUnavailable;
  if (has_less) until_ns = wanted.deadline_ns;
  Waiting& waiting = waiting_[id];
  waiting = {name, wanted.version, &waiter, wanted.cancellation, 0, std::move(pass)};
  waiting.timer = executor_->post_at(
      until_ns, make_task([this, id, name, now_ns, code] {
        int64_t waited_ms = (host_.clock().now_ns() - now_ns) / kNsPerMs;
        end_waiting(id,
                    make_status(code, "model '", name, "' is still being loaded after ", waited_ms, " ms"));
      }));
  return {};
}

/// What was made since the repository was listed last is loaded for those who have asked for it; the others are told
/// that there is no such model.
void Demand::look_for_unknown() {
  Pass pass(host_.gate());
  {
    std::scoped_lock lock(mutex_);
    is_looking_ = false;  // who comes from now on may ask for what the listing misses
    next_look_ns_ = host_.clock().now_ns() + kLookAgainNs;
  }
  if (pass) (void)list();
  struct Unknown {
    uint64_t id = 0;
    std::string model;
    int64_t version = 0;
  };
  std::vector<Unknown> unknown;
  {
    std::scoped_lock lock(mutex_);
    const int64_t now_ns = host_.clock().now_ns();
    for (const auto& [id, waiting] : waiting_) {
      auto found = entries_.find(waiting.model);
      if (pass && found != entries_.end()) {
        const bool is_away = found->second.state == State::kAway && now_ns >= found->second.retry_at_ns;
        if (is_away) load_locked(found->first, found->second);
        if (found->second.state == State::kLoading) continue;
      }
      unknown.push_back({id, waiting.model, waiting.version});
    }
  }
  for (const Unknown& one : unknown) end_waiting(one.id, catalog_->acquire(one.model, one.version));
}

void Demand::on_cancel(void* context) noexcept {
  executor_->post(make_task(
      [this, id = reinterpret_cast<uint64_t>(context)] { end_waiting(id, Status(Code::kCancelled, {})); }));
}

void Demand::end_waiting(uint64_t id, Result<ModelRef> result) {
  Waiting ended;
  {
    std::scoped_lock lock(mutex_);
    auto found = waiting_.find(id);
    if (found == waiting_.end()) return;
    ended = std::move(found->second);
    waiting_.erase(found);
  }
  if (ended.cancellation != nullptr) ended.cancellation->stop_listening();
  (void)executor_->cancel(ended.timer);
  ended.waiter->on_model(std::move(result));
}

std::string Demand::unloaded_reason(std::string_view name) const noexcept {
  std::scoped_lock lock(mutex_);
  auto found = entries_.find(name);
  if (found == entries_.end()) return {};
  if (found->second.failure.ok()) return "loaded on demand";
  return cat("loaded on demand; the last load failed: ", found->second.failure.message());
}

// --- the repository ---

void Demand::begin() {
  Pass pass(host_.gate());
  if (!pass) return;
  if (!list()) {
    executor_->post_at(host_.clock().now_ns() + kListRetryNs, make_task([this] { begin(); }));
    return;
  }
  {
    std::scoped_lock lock(mutex_);
    const int64_t now_ns = host_.clock().now_ns();
    for (auto& [name, entry] : entries_) {
      // Another control plugin may have loaded it before this one took its place.
      if (!catalog_->acquire(name, ModelCatalog::kLatest).ok()) continue;
      entry.state = State::kLoaded;
      entry.last_used_ns = now_ns;
    }
    for (const std::string& name : options_.pinned) {
      Entry& entry = entries_[name];
      if (entry.state == State::kAway) starting_.insert(name);
      if (entry.state == State::kAway) entry.state = State::kLoading;
    }
  }
  if (starting_.empty()) complete_startup();
  for (const std::string& name : std::set<std::string>(starting_)) load(name);
  watch_use();
  if (options_.interval_ns == 0) return;
  executor_->post_at(host_.clock().now_ns() + options_.interval_ns, make_task([this] { poll_repository(); }));
}

void Demand::poll_repository() {
  Pass pass(host_.gate());
  if (!pass) return;
  const int64_t next_ns = list() ? options_.interval_ns : std::min(options_.interval_ns, kListRetryNs);
  executor_->post_at(host_.clock().now_ns() + next_ns, make_task([this] { poll_repository(); }));
}

void Demand::look_again() noexcept {
  executor_->post(make_task([this] {
    if (Pass pass(host_.gate()); pass) (void)list();
  }));
}

/// \returns false if the repository cannot be listed: what is known stays.
bool Demand::list() {
  {
    std::scoped_lock lock(mutex_);
    next_look_ns_ = host_.clock().now_ns() + kLookAgainNs;
  }
  Result<std::vector<RepositoryEntry>> listed = repository_->list();
  if (!listed.ok()) {
    std::string text = listed.status().text();
    if (std::exchange(list_failure_, text) != text) {
      host_.log().error("the model repositories cannot be listed: ", text);
    }
    return false;
  }
  if (!std::exchange(list_failure_, {}).empty())
    host_.log().info("the model repositories can be listed again");
  std::vector<UnloadChoice> gone;
  {
    std::scoped_lock lock(mutex_);
    for (auto& [name, entry] : entries_) entry.listed = false;
    for (const std::string& name : distinct_names(listed.value())) entries_[name].listed = true;
    std::erase_if(entries_, [&](const auto& item) {
      const auto& [name, entry] = item;
      if (entry.listed || entry.state == State::kLoading || options_.pinned.contains(name)) return false;
      if (entry.state == State::kLoaded) gone.push_back({name, "it is gone from the repository"});
      return true;
    });
  }
  unload(gone);
  return true;
}

// --- loads ---

void Demand::load(const std::string& name) {
  Load& load = loads_[name];
  load.pass = Pass(host_.gate());
  if (!load.pass) return loaded(name, {exiting()});
  load.file_bytes = file_bytes(*repository_, name);
  make_room(name);
  load.changes_before = ++changes_;
  load.resident_before = resident_bytes();
  ModelLoadRequest request;
  request.model = name;
  request.refresh_members = true;
  catalog_->load_model(std::move(request), [this, name](ModelLoadOutcome outcome) {
    auto ended = std::make_shared<ModelLoadOutcome>(std::move(outcome));
    executor_->post(make_task([this, name, ended] { loaded(name, std::move(*ended)); }));
  });
}

void Demand::loaded(const std::string& name, ModelLoadOutcome outcome) {
  Load load = std::move(loads_.extract(name).mapped());
  const bool ok = outcome.status.ok();
  // The growth is this load's if nothing else was loaded or unloaded meanwhile.
  uint64_t bytes = load.file_bytes;
  if (const uint64_t resident = resident_bytes();
      loads_.empty() && load.changes_before == changes_ && resident > load.resident_before) {
    bytes = std::max(bytes, resident - load.resident_before);
  }
  // What is left of a failure is kept here: in the catalog it would make the server not ready, as one of a
  // start-up model has to.
  if (!ok && load.pass && !options_.pinned.contains(name))
    catalog_->unload_model(name, true, [](const Status&) {});
  {
    std::scoped_lock lock(mutex_);
    Entry& entry = entries_[name];
    entry.state = ok ? State::kLoaded : State::kAway;
    entry.last_used_ns = host_.clock().now_ns();
    entry.bytes = bytes;
    entry.activity = 0;
    entry.failures = ok ? 0 : entry.failures + 1;
    entry.failure = ok ? Status() : outcome.status.clone();
    entry.retry_at_ns = 0;
    if (!ok) {
      const uint32_t doublings = std::min(entry.failures - 1, kDoublingsMax);
      entry.retry_at_ns = entry.last_used_ns + (options_.retry_after_ns << doublings);
    }
  }
  notify(name, outcome.status);
  if (starting_.erase(name) != 0) {
    started_.push_back({name, std::move(outcome.status)});
    if (starting_.empty()) complete_startup();
  }
  // What it really takes may be more than was thought.
  if (ok && load.pass) make_room(name);
}

/// Everybody who waits for the model, in the order they came.
void Demand::notify(const std::string& name, const Status& failure) {
  std::vector<std::pair<uint64_t, int64_t>> ids;
  {
    std::scoped_lock lock(mutex_);
    for (const auto& [id, waiting] : waiting_) {
      if (waiting.model == name) ids.emplace_back(id, waiting.version);
    }
  }
  for (auto [id, version] : ids) {
    if (failure.ok()) {
      end_waiting(id, catalog_->acquire(name, version));
    } else {
      end_waiting(id, load_failure(name, failure));
    }
  }
}

void Demand::complete_startup() {
  if (std::exchange(startup_complete_, true)) return;
  log_startup(host_.log(), started_);
  started_.clear();
  catalog_->set_startup_complete();
}

// --- unloads ---

/// Brings up to date what is loaded and when it was last at work.
void Demand::check_use() {
  Result<std::vector<ModelStatistics>> all = catalog_->statistics({}, ModelCatalog::kLatest);
  if (!all.ok()) return;
  struct Use {
    uint64_t activity = 0;
    uint64_t bytes = 0;
    uint64_t last_inference_ms = 0;
    bool pending = false;
  };
  std::map<std::string, Use, std::less<>> uses;
  const auto add = [&uses](std::string_view name, const ModelStatistics& statistics) {
    Use& use = uses[std::string(name)];
    use.activity += activity_of(statistics);
    use.pending |= statistics.pending != 0;
    use.last_inference_ms = std::max(use.last_inference_ms, statistics.last_inference_ms);
    for (const MemoryUsage& memory : statistics.memory) use.bytes += memory.size_bytes;
  };
  for (const ModelStatistics& statistics : *all) {
    // Requests name models by either.
    add(statistics.name, statistics);
    if (is_model_identifier(statistics.name)) add(model_name_of(statistics.name), statistics);
  }
  std::scoped_lock lock(mutex_);
  const int64_t now_ns = host_.clock().now_ns();
  const auto now_ms = static_cast<uint64_t>(host_.clock().wall_ns() / kNsPerMs);
  for (auto& [name, entry] : entries_) {
    if (entry.state != State::kLoaded) continue;
    auto found = uses.find(name);
    if (found == uses.end()) {
      entry.state = State::kAway;  // went with a backend, or with what it is made of
      continue;
    }
    const Use& use = found->second;
    if (use.pending) {
      entry.last_used_ns = now_ns;
    } else if (use.activity != entry.activity) {
      // Between two samples several were used; which was last decides who makes room.
      const bool dated = use.last_inference_ms != 0 && use.last_inference_ms <= now_ms;
      const int64_t ago_ns = dated ? static_cast<int64_t>(now_ms - use.last_inference_ms) * kNsPerMs : 0;
      entry.last_used_ns = std::max(entry.last_used_ns, now_ns - ago_ns);
    }
    entry.activity = use.activity;
    entry.bytes = std::max(entry.bytes, use.bytes);
  }
}

void Demand::watch_use() {
  Pass pass(host_.gate());
  if (!pass || options_.unload_after_ns == 0) return;
  check_use();
  unload(choose_idle(loaded_models(), options_.unload_after_ns));
  const int64_t interval_ns =
      std::clamp(options_.unload_after_ns / kSamplesPerUnloadAfter, kSampleLeastNs, kSampleMostNs);
  executor_->post_at(host_.clock().now_ns() + interval_ns, make_task([this] { watch_use(); }));
}

void Demand::make_room(const std::string& newcomer) {
  if (options_.memory_budget_bytes == 0) return;
  check_use();
  uint64_t coming_bytes = 0;
  for (const auto& [name, load] : loads_) coming_bytes += load.file_bytes;
  unload(choose_for_room(loaded_models(), options_.memory_budget_bytes, coming_bytes, newcomer));
}

std::vector<LoadedModel> Demand::loaded_models() {
  std::vector<LoadedModel> models;
  std::scoped_lock lock(mutex_);
  const int64_t now_ns = host_.clock().now_ns();
  for (const auto& [name, entry] : entries_) {
    if (entry.state != State::kLoaded) continue;
    models.push_back({name, now_ns - entry.last_used_ns, entry.bytes, options_.pinned.contains(name)});
  }
  return models;
}

void Demand::unload(const std::vector<UnloadChoice>& choices) {
  for (const UnloadChoice& choice : choices) {
    {
      std::scoped_lock lock(mutex_);
      if (auto found = entries_.find(choice.name); found != entries_.end())
        found->second.state = State::kAway;
    }
    ++changes_;
    host_.log().info("unloading '", choice.name, "': ", choice.reason);
    auto pass = std::make_shared<Pass>(host_.gate());
    catalog_->unload_model(choice.name, true, [pass](const Status&) {});
  }
}

}  // namespace atl::control
