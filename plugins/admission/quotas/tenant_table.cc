#include "admission/quotas/tenant_table.h"

#include <iterator>
#include <utility>

namespace atl::quotas {
namespace {

/// Names that are looked at to find one that may be forgotten.
constexpr int kOldestLooked = 8;

}  // namespace

TenantTable::TenantTable(TenantSettings settings) : settings_(std::move(settings)) {
  for (const TenantQuota& named : settings_.named) {
    counts_.emplace_back().label = named.name;
    auto tenant = std::make_unique<Tenant>(named.name, named.quota, counts_.back());
    tenant->index = next_index_++;
    tenants_.emplace(named.name, Entry{std::move(tenant), by_age_.end()});
  }
  counts_.emplace_back().label = kDefaultTenant;
  default_ = std::make_unique<Tenant>(std::string(kDefaultTenant), settings_.others, counts_.back());
  default_->index = next_index_++;
  if (!settings_.others_apart) return;
  other_counts_ = &counts_.emplace_back();
  other_counts_->label = kOtherTenants;
}

Tenant& TenantTable::find(std::string_view name, int64_t now_ns) noexcept {
  if (auto found = tenants_.find(name); found != tenants_.end()) {
    Entry& entry = found->second;
    if (entry.age != by_age_.end()) by_age_.splice(by_age_.begin(), by_age_, entry.age);
    return *entry.tenant;
  }
  if (!settings_.others_apart || !is_tenant_name(name) || !make_room(now_ns)) return *default_;
  auto tenant = std::make_unique<Tenant>(std::string(name), settings_.others, *other_counts_);
  tenant->index = next_index_++;
  auto added = tenants_.emplace(std::string(name), Entry{std::move(tenant), by_age_.end()}).first;
  by_age_.push_front(added);
  added->second.age = by_age_.begin();
  return *added->second.tenant;
}

bool TenantTable::make_room(int64_t now_ns) noexcept {
  if (by_age_.size() < settings_.max_others) return true;
  auto oldest = by_age_.end();
  for (int i = 0; i < kOldestLooked && oldest != by_age_.begin(); ++i) {
    --oldest;
    Tenant& tenant = *(*oldest)->second.tenant;
    if (!tenant.idle() || !tenant.bucket.full(now_ns)) continue;
    tenants_.erase(*oldest);
    by_age_.erase(oldest);
    return true;
  }
  return false;
}

}  // namespace atl::quotas
