/// One repository in an object store: what it held when it was listed last.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "atoll/core/log.h"
#include "atoll/core/status.h"
#include "repositories/s3/object_cache.h"
#include "repositories/s3/object_store.h"
#include "repositories/s3/store_calls.h"
#include "repositories/s3/store_listing.h"
#include "repositories/s3/store_tasks.h"

namespace atl::s3 {

struct ListingRules {
  size_t objects_max = 200'000;
  int64_t max_age_ns = 0;  ///< a listing is good for so long
  RunLimits limits = {};
};

/// What is known of a source. Never changes.
struct SourceState {
  std::shared_ptr<const StoreListing> listing = {};  ///< null: there was none yet
  int64_t listed_ns = 0;  ///< StoreCalls::now_ns() then; may be long before the process began
  std::string away = {};  ///< not empty: it could not be listed since, and why
};

/// [worker]
class StoreSource {
 public:
  StoreSource(ObjectStore store, std::shared_ptr<ObjectCache> cache, Log& log);

  const ObjectStore& store() const noexcept { return store_; }
  SourceState state() const;
  /// Whether its listing is too old, or there is none, and it is time to ask.
  bool is_due(const ListingRules& rules, int64_t now_ns) const;
  /// The next look at the repository asks the store.
  void expire();
  /// A task that lists it anew. Its deadline is a short one if there is a listing to go on with.
  std::shared_ptr<ListingTask> begin(const ListingRules& rules, int64_t now_ns);
  /// How that ended.
  void end(ListingTask& task, const Status& status);
  /// Whether there is a listing to go on with though the store is away.
  bool is_away() const;
  /// "the listing is 3 h old, as the store is away: ..."; empty: it is not.
  std::string remark() const;

 private:
  void read_kept(size_t objects_max);
  void took(StoreListing listing);
  void report_ignored(const StoreListing& listing);

  const ObjectStore store_;
  const std::shared_ptr<ObjectCache> cache_;
  Log& log_;
  mutable std::mutex mutex_;
  SourceState state_;
  std::string kept_json_;
  int64_t next_try_ns_ = 0;  ///< not before, as it is away
  int64_t away_ns_;          ///< how long it is left alone when it is away the next time
  bool has_read_kept_ = false;
  std::set<std::string> told_;
};

/// Lists anew those that are due, side by side. One thread at a time.
void refresh(const std::vector<std::unique_ptr<StoreSource>>& sources, const ListingRules& rules,
             StoreCalls& calls);

}  // namespace atl::s3
