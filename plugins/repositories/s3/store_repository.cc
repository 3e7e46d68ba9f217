#include "repositories/s3/store_repository.h"

#include <unistd.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "atoll/core/guarded.h"
#include "atoll/core/text.h"
#include "repositories/common/names.h"
#include "repositories/s3/store_tasks.h"

namespace atl::s3 {
namespace {

constexpr int kAttempts = 3;
constexpr int64_t kBusyPauseNs = 100 * kNsPerMs;
constexpr int64_t kProgressNs = 10 * kNsPerSecond;

/// Those that are folders of this machine.
filesystem::RepositorySettings folder_settings(filesystem::RepositorySettings settings) {
  std::erase_if(settings.paths, [](const std::string& path) { return is_store_url(path); });
  return settings;
}

Status in_repository(const Status& status, std::string_view model, const StoreSource& source) {
  return Status(status.code(),
                cat("model '", model, "' of '", source.store().url().text, "': ", status.message()));
}

}  // namespace

StoreRepository::StoreRepository(StoreRepositorySettings settings, Clock& clock, Log& log)
    : settings_(std::move(settings)),
      clock_(clock),
      log_(log),
      folders_(folder_settings(settings_.folders)) {}

Status StoreRepository::start(ExecutorFactory& executors, std::vector<Status>* missing) {
  Result<std::shared_ptr<ObjectCache>> cache =
      ObjectCache::open(settings_.cache_directory, settings_.cache_bytes);
  if (!cache.ok()) return std::move(cache).status();
  cache_ = std::move(cache).value();
  for (const std::string& path : settings_.folders.paths) {
    if (!is_store_url(path)) {
      has_folders_ = true;
      continue;
    }
    Result<StoreUrl> url = parse_store_url(path);
    if (!url.ok()) return std::move(url).status();
    StoreAccess access{.credentials = settings_.credentials.of(url->text),
                       .endpoint = settings_.credentials.endpoint(),
                       .addressing = settings_.addressing,
                       .ca_file = settings_.ca_file,
                       .silence_ns = settings_.silence_ns};
    Result<ObjectStore> store = ObjectStore::make(std::move(url).value(), std::move(access), clock_);
    if (!store.ok()) return std::move(store).status();
    const bool again = std::ranges::any_of(
        sources_, [&](const auto& other) { return other->store().place() == store->place(); });
    if (!again) sources_.push_back(std::make_unique<StoreSource>(std::move(store).value(), cache_, log_));
  }
  if (has_folders_) ATOLL_RETURN_IF_ERROR(folders_.check(missing));
  return sources_.empty() ? Status() : calls_.start(executors);
}

bool StoreRepository::is_complete() const noexcept {
  if (has_folders_ && !folders_.is_complete()) return false;
  if (!settings_.folders.missing_paths_fail_health) return true;
  return std::ranges::all_of(sources_, [](const auto& source) { return source->state().listing != nullptr; });
}

void StoreRepository::look() {
  std::unique_lock lock(look_mutex_, std::defer_lock);
  // Nobody waits for one that is away but who looks whether it has come back.
  const bool may_go_on = std::ranges::all_of(sources_, [](const auto& source) { return source->is_away(); });
  if (!may_go_on) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return;
  }
  refresh(sources_, settings_.listing, calls_);
}

Status StoreRepository::list_stores(std::vector<RepositoryEntry>& entries) {
  look();
  for (const std::unique_ptr<StoreSource>& source : sources_) {
    const SourceState state = source->state();
    const std::string& url = source->store().url().text;
    if (state.listing == nullptr) {
      if (settings_.folders.allow_missing_paths) continue;
      return unavailable(state.away);
    }
    for (const auto& [name, model] : state.listing->models) {
      entries.push_back({settings_.folders.namespacing ? cat(url, filesystem::kNamespaceEnd, name) : name,
                         url, cat(url, "/", name)});
    }
  }
  return {};
}

Result<std::vector<RepositoryEntry>> StoreRepository::list() noexcept {
  using Entries = std::vector<RepositoryEntry>;
  return guarded("listing the repositories", [&]() -> Result<Entries> {
    Entries entries;
    if (has_folders_) {
      Result<Entries> found = folders_.list();
      if (!found.ok()) return std::move(found).status();
      entries = std::move(found).value();
    }
    ATOLL_RETURN_IF_ERROR(list_stores(entries));
    std::sort(entries.begin(), entries.end(), [](const RepositoryEntry& a, const RepositoryEntry& b) {
      return std::tie(a.name, a.repository) < std::tie(b.name, b.repository);
    });
    return entries;
  });
}

Result<StoreRepository::Home> StoreRepository::find_model(std::string_view identifier) {
  look();
  std::vector<Home> homes;
  std::string unknown;
  for (const std::unique_ptr<StoreSource>& source : sources_) {
    const std::string start = cat(source->store().url().text, filesystem::kNamespaceEnd);
    const bool is_own = settings_.folders.namespacing && identifier.starts_with(start);
    const std::string_view name = is_own ? identifier.substr(start.size()) : identifier;
    if (!is_own && settings_.folders.namespacing &&
        identifier.find(filesystem::kNamespaceEnd) != std::string_view::npos)
      continue;
    ATOLL_RETURN_IF_ERROR(filesystem::check_model_name(name));
    SourceState state = source->state();
    if (state.listing == nullptr) {
      if (!settings_.folders.allow_missing_paths) unknown = state.away;
      continue;
    }
    const auto found = state.listing->models.find(name);
    if (found == state.listing->models.end()) continue;
    homes.push_back({source.get(), std::string(name), state.listing, &found->second, state.away});
  }
  if (has_folders_) {
    const Result<RepositoryModel> found = folders_.open(identifier);
    if (found.ok() || found.status().code() != Code::kNotFound)
      homes.push_back({.name = std::string(identifier)});
  }
  // It may be in the one that is not known.
  if (!unknown.empty()) return unavailable(unknown);
  if (homes.empty()) return not_found("model '", identifier, "' is not found in any model repository");
  if (homes.size() > 1)
    return make_status(Code::kFailedPrecondition, "model appears in two or more repositories");
  return std::move(homes.front());
}

/// Of the entry that the configuration is read from.
std::string StoreRepository::config_of(const StoreModel& model) const {
  const std::string& name = settings_.folders.config_name;
  return !name.empty() && model.has(cat("configs/", name, ".pbtxt")) ? "configs" : "config.pbtxt";
}

Status StoreRepository::check_model(const Home& home) const {
  const StoreModel& model = *home.model;
  if (!model.problem.empty()) return in_repository(invalid_argument(model.problem), home.name, *home.source);
  if (model.objects.size() + model.folders.size() > settings_.folders.files_max) {
    return in_repository(
        invalid_argument("has ", model.objects.size(), " objects, more than the option 'files_max' allows"),
        home.name, *home.source);
  }
  return {};
}

Result<std::vector<RepositoryStamp>> StoreRepository::stamps(std::string_view name) noexcept {
  using Stamps = std::vector<RepositoryStamp>;
  return guarded("looking at a model", [&]() -> Result<Stamps> {
    Result<Home> home = find_model(name);
    if (!home.ok()) return std::move(home).status();
    if (home->source == nullptr) return folders_.stamps(name);
    ATOLL_RETURN_IF_ERROR(check_model(home.value()));
    return home->model->stamps(config_of(*home->model));
  });
}

Result<RepositoryModel> StoreRepository::open(std::string_view name) noexcept {
  return guarded("opening a model", [&] { return open_model(name); });
}

Result<RepositoryModel> StoreRepository::open_model(std::string_view identifier) {
  for (int attempt = 1;; ++attempt) {
    Result<Home> home = find_model(identifier);
    if (!home.ok()) return std::move(home).status();
    if (home->source == nullptr) return folders_.open(identifier);
    ATOLL_RETURN_IF_ERROR(check_model(home.value()));
    bool is_changed = false;
    Result<RepositoryModel> model = read_model(home.value(), identifier, &is_changed);
    if (model.ok()) return model;
    if (is_changed) home->source->expire();
    if (!is_changed || attempt == kAttempts) return in_repository(model.status(), home->name, *home->source);
  }
}

Result<RepositoryModel> StoreRepository::read_model(const Home& home, std::string_view identifier,
                                                    bool* is_changed) {
  Result<std::shared_ptr<const CachedModel>> cached = fetch(home, is_changed);
  if (!cached.ok()) return std::move(cached).status();
  const std::string path = (*cached)->path();
  {
    const std::scoped_lock lock(opened_mutex_);
    opened_.insert_or_assign(std::string(identifier), std::move(cached).value());
  }
  Result<RepositoryModel> model = folders_.open_at(home.name, path);
  if (!model.ok()) return model;
  model->entry.name = identifier;
  model->entry.repository = home.source->store().url().text;
  return model;
}

Result<std::shared_ptr<const void>> StoreRepository::hold(const RepositoryModel& model) noexcept {
  using Held = std::shared_ptr<const void>;
  return guarded("holding a model", [&]() -> Result<Held> {
    const bool is_copy = std::ranges::any_of(
        sources_, [&](const auto& source) { return source->store().url().text == model.entry.repository; });
    if (!is_copy) return Held();
    Result<std::shared_ptr<const CachedModel>> held = cache_->hold(model.entry.path);
    if (!held.ok()) return std::move(held).status();
    const std::scoped_lock lock(opened_mutex_);
    opened_.erase(model.entry.name);
    return Held(std::move(held).value());
  });
}

std::string StoreRepository::remark(std::string_view name) const noexcept {
  for (const std::unique_ptr<StoreSource>& source : sources_) {
    const std::string start = cat(source->store().url().text, filesystem::kNamespaceEnd);
    const std::string_view own =
        settings_.folders.namespacing && name.starts_with(start) ? name.substr(start.size()) : name;
    const SourceState state = source->state();
    if (!state.away.empty() && state.listing != nullptr && state.listing->models.contains(own))
      return source->remark();
  }
  return {};
}

Result<std::shared_ptr<const CachedModel>> StoreRepository::fetch(const Home& home, bool* is_changed) {
  const std::string place = cat(home.source->store().place(), "\n", home.name);
  const std::string identity = home.model->identity(place);
  while (true) {
    Result<std::shared_ptr<const CachedModel>> found = cache_->find(identity, *home.model);
    if (!found.ok() || found.value() != nullptr) return found;
    Result<std::optional<ModelDraft>> draft = cache_->begin(place, identity, *home.model);
    if (!draft.ok()) return std::move(draft).status();
    if (!draft->has_value()) {  // somebody else downloads it
      if (!calls_.pause(kBusyPauseNs)) return make_status(Code::kCancelled, "the server ends");
      continue;
    }
    ATOLL_RETURN_IF_ERROR(download(home, **draft, is_changed));
    return cache_->finish(std::move(**draft), *home.model);
  }
}

Status StoreRepository::download(const Home& home, ModelDraft& draft, bool* is_changed) {
  const auto got = std::make_shared<std::atomic<uint64_t>>(0);
  std::vector<std::shared_ptr<StoreTask>> tasks;
  std::vector<std::shared_ptr<ObjectTask>> objects;
  uint64_t bytes = 0;
  for (MissingObject& missing : draft.missing) {
    const ModelObject& object = home.model->objects[missing.index];
    if (missing.size == 0) {
      ATOLL_RETURN_IF_ERROR(ObjectCache::complete(missing));
      continue;
    }
    bytes += missing.size;
    objects.push_back(std::make_shared<ObjectTask>(home.source->store(), cat(home.name, "/", object.path),
                                                   object.etag, std::move(missing), got));
    tasks.push_back(objects.back());
  }
  if (tasks.empty()) return {};
  // One that is silent would be waited for, for each model.
  if (!home.away.empty()) return unavailable("it is not in the cache, and the store is away: ", home.away);
  const int64_t begin_ns = StoreCalls::now_ns();
  int64_t told_ns = begin_ns;
  RunLimits limits = settings_.listing.limits;
  limits.needs_all = true;
  limits.on_tick = [&] {
    const int64_t now = StoreCalls::now_ns();
    if (now - told_ns < kProgressNs) return;
    told_ns = now;
    log_.info("model '", home.name, "': ", got->load(), " of ", bytes, " bytes are downloaded");
  };
  const std::vector<Status> ends = calls_.run(std::move(tasks), limits);
  for (const auto& object : objects) *is_changed = *is_changed || object->is_changed();
  for (const Status& end : ends) {
    if (!end.ok() && end.code() != Code::kCancelled) return end.clone();
  }
  for (const Status& end : ends) ATOLL_RETURN_IF_ERROR(end.clone());
  log_.info("model '", home.name, "' of '", home.source->store().url().text, "': ", bytes, " bytes in ",
            objects.size(), " objects were downloaded in ", (StoreCalls::now_ns() - begin_ns) / kNsPerMs,
            " ms");
  return {};
}

}  // namespace atl::s3
