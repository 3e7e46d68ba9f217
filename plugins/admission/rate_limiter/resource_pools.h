/// The resources that loaded instances name: which pools there are, and how many copies each has.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "admission/rate_limiter/resource_limits.h"
#include "atoll/request/execution_admission.h"

namespace atl::admission {

/// The copies of one resource, of one device or of the server.
struct ResourcePool {
  static constexpr int32_t kGlobal = -1;

  std::string name;
  int32_t device_id = kGlobal;
  uint64_t limit = 0;    ///< copies there are
  uint64_t in_use = 0;   ///< more than the limit only by executions that insisted, or after the limit shrank
  uint64_t kept = 0;     ///< for those whose turn is over-due
  uint64_t turn = 0;     ///< the latest turn that was admitted; grows round
  uint32_t waiting = 0;  ///< instances that want some
  std::multiset<uint32_t> demands, priorities;  ///< of all loaded instances

  bool has(uint64_t count) const noexcept { return in_use + kept + count <= limit; }
};

/// What one instance needs of a pool, and where it is in the pool's order of turns.
struct Claim {
  ResourcePool* pool = nullptr;
  uint32_t count = 0;
  uint32_t priority = 1;   ///< how many turns an execution takes
  bool kept = false;       ///< counted in pool->kept
  bool was_kept = false;   ///< since it waits
  uint64_t turn = 0;       ///< of the execution asked for
  uint64_t next_turn = 0;  ///< of the next execution, if it does not come much later
};

/// Not thread safe: the limiter's lock guards it.
class ResourcePools {
 public:
  /// A larger priority counts as this one, so that turns can be compared however long the server runs.
  static constexpr uint32_t kPriorityMax = 1'000'000;

  explicit ResourcePools(ResourceLimits limits) : limits_(std::move(limits)) {}
  ResourcePools(const ResourcePools&) = delete;
  ResourcePools& operator=(const ResourcePools&) = delete;

  /// Adds an instance's needs; of several entries of one resource the largest holds. On failure nothing has
  /// changed. Errors: INVALID_ARGUMENT too few copies, or a name that is global here and per device there.
  Result<std::vector<Claim>> add(const ExecutionDemand& demand);
  void remove(const std::vector<Claim>& claims) noexcept;

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [key, pool] : pools_) visit(*pool);
  }

 private:
  using Key = std::tuple<std::string, int32_t>;

  Status check(const std::string& name, bool global, uint32_t count, int32_t device_id) const;
  uint64_t limit_of(const ResourcePool& pool) const noexcept;
  bool is_known_as(const std::string& name, bool global) const noexcept;

  const ResourceLimits limits_;
  std::map<Key, std::unique_ptr<ResourcePool>> pools_;
};

}  // namespace atl::admission
