#include "admission/rate_limiter/resource_pools.h"

#include <algorithm>

namespace atl::admission {

bool ResourcePools::is_known_as(const std::string& name, bool global) const noexcept {
  // Pools of a name are neighbours, the global one first.
  auto first = pools_.lower_bound({name, ResourcePool::kGlobal});
  if (first == pools_.end() || first->second->name != name) return false;
  return (first->second->device_id == ResourcePool::kGlobal) == global;
}

Status ResourcePools::check(const std::string& name, bool global, uint32_t count, int32_t device_id) const {
  if (is_known_as(name, !global)) {
    return invalid_argument("Resource \"", name,
                            "\" is present as both global and device-specific resource in the model "
                            "configuration.");
  }
  if (!limits_.given()) return {};
  uint32_t limit = global ? limits_.global(name) : limits_.of_device(name, device_id);
  if (count <= limit) return {};
  return invalid_argument("Resource count for \"", name, "\" is limited to ", limit,
                          " which will prevent scheduling of one or more model instances, the minimum "
                          "required count is ",
                          count);
}

uint64_t ResourcePools::limit_of(const ResourcePool& pool) const noexcept {
  if (!limits_.given()) return *pool.demands.rbegin();
  return pool.device_id == ResourcePool::kGlobal ? limits_.global(pool.name)
                                                 : limits_.of_device(pool.name, pool.device_id);
}

Result<std::vector<Claim>> ResourcePools::add(const ExecutionDemand& demand) {
  std::map<std::string, std::pair<bool, uint32_t>> needs;
  for (const ExecutionResource& resource : demand.resources) {
    if (resource.count == 0) continue;
    ATOLL_RETURN_IF_ERROR(check(resource.name, resource.global, resource.count, demand.device_id));
    auto [known, added] = needs.try_emplace(resource.name, resource.global, resource.count);
    if (known->second.first != resource.global) {
      return invalid_argument("Resource \"", resource.name,
                              "\" is present as both global and device-specific resource in the model "
                              "configuration.");
    }
    known->second.second = std::max(known->second.second, resource.count);
  }
  const uint32_t priority = std::clamp<uint32_t>(demand.priority, 1, kPriorityMax);
  std::vector<Claim> claims;
  for (const auto& [name, need] : needs) {
    auto [global, count] = need;
    int32_t device_id = global ? ResourcePool::kGlobal : demand.device_id;
    std::unique_ptr<ResourcePool>& pool = pools_[{name, device_id}];
    if (pool == nullptr) {
      pool = std::make_unique<ResourcePool>();
      pool->name = name;
      pool->device_id = device_id;
    }
    pool->demands.insert(count);
    pool->priorities.insert(priority);
    pool->limit = limit_of(*pool);
    Claim& claim = claims.emplace_back();
    claim.pool = pool.get();
    claim.count = count;
    claim.priority = priority;
  }
  return claims;
}

void ResourcePools::remove(const std::vector<Claim>& claims) noexcept {
  for (const Claim& claim : claims) {
    ResourcePool& pool = *claim.pool;
    pool.demands.erase(pool.demands.find(claim.count));
    pool.priorities.erase(pool.priorities.find(claim.priority));
    if (!pool.demands.empty()) {
      pool.limit = limit_of(pool);
    } else {
      pools_.erase({pool.name, pool.device_id});
    }
  }
}

}  // namespace atl::admission
