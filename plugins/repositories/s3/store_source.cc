#include "repositories/s3/store_source.h"

#include <utility>

#include "atoll/core/text.h"

namespace atl::s3 {
namespace {

/// How long is waited for a store while there is a listing to go on with.
constexpr int64_t kShortNs = 3 * kNsPerSecond;
constexpr int kShortRetries = 2;
constexpr int64_t kLongNs = 60 * kNsPerSecond;
/// How long a store that is away is left alone: at first, and at most.
constexpr int64_t kAwayNs = kNsPerSecond;
constexpr int64_t kAwayNsMax = 15 * kNsPerSecond;
constexpr size_t kToldMax = 100;

}  // namespace

StoreSource::StoreSource(ObjectStore store, std::shared_ptr<ObjectCache> cache, Log& log)
    : store_(std::move(store)), cache_(std::move(cache)), log_(log), away_ns_(kAwayNs) {}

SourceState StoreSource::state() const {
  const std::scoped_lock lock(mutex_);
  return state_;
}

bool StoreSource::is_due(const ListingRules& rules, int64_t now_ns) const {
  const std::scoped_lock lock(mutex_);
  if (now_ns < next_try_ns_) return false;
  return state_.listing == nullptr || !state_.away.empty() || now_ns - state_.listed_ns >= rules.max_age_ns;
}

bool StoreSource::is_away() const {
  const std::scoped_lock lock(mutex_);
  return state_.listing != nullptr && !state_.away.empty();
}

void StoreSource::expire() {
  const std::scoped_lock lock(mutex_);
  if (state_.away.empty()) state_.listed_ns = INT64_MIN / 2;
}

std::shared_ptr<ListingTask> StoreSource::begin(const ListingRules& rules, int64_t now_ns) {
  if (!std::exchange(has_read_kept_, true)) read_kept(rules.objects_max);
  auto task = std::make_shared<ListingTask>(store_, rules.objects_max);
  const bool has_listing = state().listing != nullptr;
  task->deadline_ns = now_ns + (has_listing ? kShortNs : kLongNs);
  if (has_listing) task->retries_max = kShortRetries;
  return task;
}

/// Takes the listing that an earlier process has kept.
void StoreSource::read_kept(size_t objects_max) {
  int64_t age_seconds = 0;
  std::optional<std::string> json = cache_->kept_listing(store_.place(), &age_seconds);
  if (!json) return;
  Result<StoreListing> listing = parse_kept_listing(*json, store_.url().prefix, objects_max);
  if (!listing.ok()) {
    log_.warning("'", store_.url().text,
                 "': the listing that the cache kept is left: ", listing.status().message());
    return;
  }
  const std::scoped_lock lock(mutex_);
  kept_json_ = std::move(*json);
  state_.listing = std::make_shared<const StoreListing>(std::move(listing).value());
  state_.listed_ns = StoreCalls::now_ns() - age_seconds * kNsPerSecond;
  state_.away = "it was not asked yet";
}

void StoreSource::end(ListingTask& task, const Status& status) {
  if (status.ok()) return took(task.listing());
  const int64_t now = StoreCalls::now_ns();
  std::string before;
  bool has_listing = false;
  {
    const std::scoped_lock lock(mutex_);
    before = std::exchange(state_.away, std::string(status.message()));
    has_listing = state_.listing != nullptr;
    next_try_ns_ = now + (has_listing ? away_ns_ : kAwayNs);
    away_ns_ = std::min(2 * away_ns_, kAwayNsMax);
  }
  if (has_listing && before != status.message())
    log_.warning("'", store_.url().text, "': ", remark(), "; what is cached is served");
}

void StoreSource::took(StoreListing listing) {
  report_ignored(listing);
  std::string json = listing.to_json();
  const bool is_same = json == kept_json_;
  const Status kept = cache_->keep_listing(store_.place(), is_same ? std::string() : json);
  if (!kept.ok()) log_.warning("'", store_.url().text, "': its listing cannot be kept: ", kept.message());
  auto shared = std::make_shared<const StoreListing>(std::move(listing));
  std::string away;
  {
    const std::scoped_lock lock(mutex_);
    if (kept.ok()) kept_json_ = std::move(json);
    away = std::exchange(state_.away, {});
    state_.listing = std::move(shared);
    state_.listed_ns = StoreCalls::now_ns();
    next_try_ns_ = 0;
    away_ns_ = kAwayNs;
  }
  const bool was_away = !away.empty() && away != "it was not asked yet";
  if (was_away) log_.info("'", store_.url().text, "' can be listed again");
}

void StoreSource::report_ignored(const StoreListing& listing) {
  for (const std::string& text : listing.ignored) {
    if (told_.size() < kToldMax && told_.insert(text).second)
      log_.warning("'", store_.url().text, "': ", text);
  }
}

std::string StoreSource::remark() const {
  const SourceState state = this->state();
  if (state.away.empty() || state.listing == nullptr) return {};
  const int64_t age_ns = std::max<int64_t>(StoreCalls::now_ns() - state.listed_ns, 0);
  return cat("the store is away, and what is known of it is ", age_ns / kNsPerSecond, " s old: ", state.away);
}

void refresh(const std::vector<std::unique_ptr<StoreSource>>& sources, const ListingRules& rules,
             StoreCalls& calls) {
  const int64_t now = StoreCalls::now_ns();
  std::vector<StoreSource*> due;
  std::vector<std::shared_ptr<ListingTask>> listings;
  std::vector<std::shared_ptr<StoreTask>> tasks;
  for (const std::unique_ptr<StoreSource>& source : sources) {
    if (!source->is_due(rules, now)) continue;
    due.push_back(source.get());
    listings.push_back(source->begin(rules, now));
    tasks.push_back(listings.back());
  }
  if (tasks.empty()) return;
  const std::vector<Status> ends = calls.run(std::move(tasks), rules.limits);
  for (size_t i = 0; i < due.size(); ++i) due[i]->end(*listings[i], ends[i]);
}

}  // namespace atl::s3
