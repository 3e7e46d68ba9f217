#include "admission/quotas/tenant_table.h"

#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace atl::quotas {
namespace {

/// Names that are looked at to find one that may be forgotten.
constexpr int kOldestLooked = 8;

}  // namespace

TenantTable::TenantTable(TenantSettings settings) : settings_(std::move(settings)) {
  for (const TenantQuota& named : settings_.named) add(named);
  counts_.emplace_back().label = kDefaultTenant;
  default_ = std::make_unique<Tenant>(std::string(kDefaultTenant), settings_.others, counts_.back());
  default_->index = next_index_++;
  if (settings_.others_apart) other_counts_ = &counts_of(kOtherTenants);
  note_quotas();
}

/// The row of this label; once there is one it stays.
TenantCounts& TenantTable::counts_of(std::string_view label) {
  for (TenantCounts& counts : counts_) {
    if (counts.label == label) return counts;
  }
  counts_.emplace_back().label = label;
  return counts_.back();
}

void TenantTable::add(const TenantQuota& named) {
  auto tenant = std::make_unique<Tenant>(named.name, named.quota, counts_of(named.name));
  tenant->index = next_index_++;
  tenants_.emplace(named.name, Entry{std::move(tenant), by_age_.end()});
}

void TenantTable::follow(TenantSettings settings) {
  settings_ = std::move(settings);
  if (settings_.others_apart) other_counts_ = &counts_of(kOtherTenants);
  default_->follow(settings_.others);
  for (const TenantQuota& named : settings_.named) name(named);
  unname();
  std::erase_if(leaving_, [](const auto& tenant) { return tenant->idle(); });
  note_quotas();
}

/// A tenant that was named before, or that was one of the others, or has not been there.
void TenantTable::name(const TenantQuota& named) {
  auto found = tenants_.find(named.name);
  if (found == tenants_.end()) return add(named);
  Entry& entry = found->second;
  entry.tenant->follow(named.quota);
  if (entry.age == by_age_.end()) return;
  by_age_.erase(std::exchange(entry.age, by_age_.end()));
  entry.tenant->count_under(counts_of(named.name));
}

/// Tenants that are not among the named ones.
void TenantTable::unname() {
  std::set<std::string_view> named;
  for (const TenantQuota& one : settings_.named) named.insert(one.name);
  for (auto at = tenants_.begin(); at != tenants_.end();) {
    Entry& entry = at->second;
    if (named.contains(at->first)) {
      ++at;
    } else if (settings_.others_apart) {
      entry.tenant->follow(settings_.others);
      if (entry.age == by_age_.end()) {
        entry.tenant->count_under(*other_counts_);
        by_age_.push_front(at);
        entry.age = by_age_.begin();
      }
      ++at;
    } else {
      if (entry.age != by_age_.end()) by_age_.erase(entry.age);
      leaving_.push_back(std::move(entry.tenant));
      at = tenants_.erase(at);
    }
  }
}

/// What is shown beside the counts; a tenant that is not named any more has the quota of the others.
void TenantTable::note_quotas() {
  std::map<std::string_view, const Quota*> named;
  for (const TenantQuota& one : settings_.named) named[one.name] = &one.quota;
  for (TenantCounts& counts : counts_) {
    const auto found = named.find(counts.label);
    counts.quota = found == named.end() ? settings_.others : *found->second;
  }
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
    if (!tenant.unused(now_ns)) continue;
    tenants_.erase(*oldest);
    by_age_.erase(oldest);
    return true;
  }
  return false;
}

}  // namespace atl::quotas
