/// The tenants by name.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admission/quotas/tenant.h"

namespace atl::quotas {

struct TenantSettings {
  std::vector<TenantQuota> named;
  Quota others;               ///< of those that are not named
  bool others_apart = false;  ///< each unknown name is a tenant; else they are one
  uint64_t max_others = 0;    ///< unknown names that are kept at a time; further ones are one
};

/// Memory is bounded whatever names come: of unknown ones max_others are kept, and the one that was away the
/// longest is forgotten for a new one, if it has no requests and its rates are not in use. Not thread safe.
class TenantTable {
 public:
  explicit TenantTable(TenantSettings settings);

  /// Other quotas and names; tenants that are not named any more, and names that now are, keep what they have running,
  /// waiting and used.
  void follow(TenantSettings settings);

  /// \param name  as the client sent it: any bytes. The tenant lives until its next request at least, and as
  /// long as it has some.
  Tenant& find(std::string_view name, int64_t now_ns) noexcept;

  /// Which unknown and absent names mean.
  const Tenant& default_tenant() const noexcept { return *default_; }
  /// Named ones first, then "default" and, if there are any, "other".
  const std::deque<TenantCounts>& counts() const noexcept { return counts_; }
  size_t size() const noexcept { return tenants_.size(); }
  template <class Visit>
  void for_each(Visit&& visit) {
    for (auto& [name, entry] : tenants_) visit(*entry.tenant);
    for (auto& tenant : leaving_) visit(*tenant);
    visit(*default_);
  }

 private:
  struct Entry {
    std::unique_ptr<Tenant> tenant;
    std::list<std::map<std::string, Entry, std::less<>>::iterator>::iterator age;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;
  bool make_room(int64_t now_ns) noexcept;
  TenantCounts& counts_of(std::string_view label);
  void add(const TenantQuota& named);
  void name(const TenantQuota& named);
  void unname();
  void note_quotas();

  TenantSettings settings_;
  std::deque<TenantCounts> counts_;
  Entries tenants_;  ///< named and unknown
  std::unique_ptr<Tenant> default_;
  std::vector<std::unique_ptr<Tenant>> leaving_;  ///< no name means them any more, but some have requests
  std::list<Entries::iterator> by_age_;           ///< unknown ones, the latest first
  TenantCounts* other_counts_ = nullptr;
  uint64_t next_index_ = 0;
};

}  // namespace atl::quotas
