/// Names that clients give to leases.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "pools/leases/book/records.h"

namespace atl::pools {

/// Each name stands for one lease of its owner, so two owners may have the same name; a lease may have any number of names. Pure book-keeping: it neither records nor publishes anything. It
/// has no lock: it is used on the executor of the PoolContext alone.
class LeaseNames {
 public:
  using Set = std::set<std::string, std::less<>>;
  using LeaseIds = std::map<std::string, std::string, std::less<>>;

  /// The ids of an owner's leases by name. \param owner  empty: nobody
  const LeaseIds& of_owner(std::string_view owner) const noexcept {
    static const LeaseIds none;
    const auto found = leases_.find(owner);
    return found == leases_.end() ? none : found->second;
  }
  /// Names of all owners.
  size_t count() const noexcept { return count_; }
  /// Empty: the lease has none.
  const Set& of(std::string_view lease) const {
    static const Set none;
    const auto found = names_.find(lease);
    return found == names_.end() ? none : found->second;
  }
  /// The first of them; empty: it has none.
  std::string_view first_of(std::string_view lease) const {
    const Set& names = of(lease);
    return names.empty() ? std::string_view() : std::string_view(*names.begin());
  }
  /// The id of the owner's lease that has this name; the text itself if none has, which may be an id.
  std::string lease_id_of(std::string_view owner, std::string_view id_or_name) const {
    const LeaseIds& leases = of_owner(owner);
    const auto named = leases.find(id_or_name);
    return named == leases.end() ? std::string(id_or_name) : named->second;
  }

  /// From now on the name stands for this lease. \returns the lease that it stood for; empty: none
  std::string bind(const LeaseName& named) {
    std::string before = remove(named.owner, named.name);
    leases_[named.owner][named.name] = named.lease;
    names_[named.lease].insert(named.name);
    ++count_;
    return before;
  }
  /// \returns likewise
  std::string remove(std::string_view owner, std::string_view name) {
    const auto owned = leases_.find(owner);
    if (owned == leases_.end()) return {};
    const auto found = owned->second.find(name);
    if (found == owned->second.end()) return {};
    std::string lease = std::move(found->second);
    erase(owned, found);
    const auto names = names_.find(lease);
    names->second.erase(names->second.find(name));
    if (names->second.empty()) names_.erase(names);
    return lease;
  }
  /// The lease is gone, and its names with it.
  void forget(std::string_view owner, const std::string& lease) {
    for (const std::string& name : of(lease)) {
      const auto owned = leases_.find(owner);
      erase(owned, owned->second.find(name));
    }
    names_.erase(lease);
  }

 private:
  using Owners = std::map<std::string, LeaseIds, std::less<>>;

  void erase(Owners::iterator owned, LeaseIds::iterator name) {
    owned->second.erase(name);
    if (owned->second.empty()) leases_.erase(owned);
    --count_;
  }

  Owners leases_;  ///< by owner
  size_t count_ = 0;
  std::map<std::string, Set, std::less<>> names_;  ///< by lease
};

}  // namespace atl::pools
