/// Names that clients give to leases.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace atl::pools {

/// Each name stands for one lease; a lease may have any number of names. Pure book-keeping: it neither records nor publishes anything. It
/// has no lock: it is used on the executor of the PoolContext alone.
class LeaseNames {
 public:
  using Set = std::set<std::string, std::less<>>;
  using LeaseIds = std::map<std::string, std::string, std::less<>>;

  /// The ids of leases by name.
  const LeaseIds& all() const noexcept { return leases_; }
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
  /// The id of the lease that has this id or name; the text itself if there is none.
  std::string lease_id_of(std::string_view id_or_name) const {
    const auto named = leases_.find(id_or_name);
    return named == leases_.end() ? std::string(id_or_name) : named->second;
  }

  /// From now on the name stands for this lease. \returns the lease that it stood for; empty: none
  std::string bind(const std::string& name, const std::string& lease) {
    std::string before = remove(name);
    leases_[name] = lease;
    names_[lease].insert(name);
    return before;
  }
  /// \returns likewise
  std::string remove(const std::string& name) {
    const auto found = leases_.find(name);
    if (found == leases_.end()) return {};
    std::string lease = std::move(found->second);
    leases_.erase(found);
    const auto names = names_.find(lease);
    names->second.erase(name);
    if (names->second.empty()) names_.erase(names);
    return lease;
  }
  /// The lease is gone, and its names with it.
  void forget(const std::string& lease) {
    for (const std::string& name : of(lease)) leases_.erase(name);
    names_.erase(lease);
  }

 private:
  LeaseIds leases_;
  std::map<std::string, Set, std::less<>> names_;  ///< by lease
};

}  // namespace atl::pools
