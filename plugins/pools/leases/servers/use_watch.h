/// Watches what leases are used for, by the statistics of the servers that have them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/pools/launcher.h"
#include "pools/leases/book/lease_use.h"
#include "pools/leases/book/pool_context.h"
#include "pools/leases/book/pool_events.h"

namespace atl::pools {

class Lease;
struct PoolBook;

/// Of a model, in all its versions, since it was loaded.
struct ModelUse {
  uint64_t requests = 0;
  int64_t compute_ns = 0, queue_ns = 0;
  int64_t last_wall_ns = 0;  ///< of the last request; 0: none
};
/// The sum, or the largest number there is: whatever servers say, nothing wraps round.
constexpr int64_t capped_sum(int64_t a, int64_t b) noexcept {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}
using UseByModel = std::map<std::string, ModelUse, std::less<>>;

class UseSource {
 public:
  /// Returns at once and ends with one call of `done`, on the executor of whoever asks. [that executor]
  virtual void read_use(const ServerAddress& server, std::function<void(Result<UseByModel>)> done) = 0;

 protected:
  ~UseSource() = default;
};

struct UseSettings {
  int64_t window_ns = 60 * kNsPerSecond;  ///< over which it is reckoned how busy a lease keeps its instance
  double overuse_factor = 2;  ///< times what its quota is for, and lease.overuse is told; 0: never
};

/// A request is seen when it has ended, and it was looked. [the executor of `with`]
class UseWatch final : public LeaseUse {
 public:
  /// \param book  of the leases; all outlive this
  UseWatch(const PoolContext& with, const PoolBook& book, UseSource& source, PoolEvents& events,
           const UseSettings& settings)
      : with_(with), book_(book), source_(source), events_(events), settings_(settings) {}
  UseWatch(const UseWatch&) = delete;
  UseWatch& operator=(const UseWatch&) = delete;
  virtual ~UseWatch() = default;

  /// Asks all instances with leases that have answered before.
  void look();

  // --- LeaseUse ---
  std::optional<int64_t> last_use_ns(std::string_view lease) const override;
  const ObservedUse* observed(std::string_view lease) const override;

 private:
  struct Entry {
    std::string server;  ///< that it was seen on
    ModelUse last;
    ObservedUse total;
    std::optional<int64_t> last_use_ns;
    int64_t window_since_ns = 0, compute_in_window_ns = 0;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  void answered(const std::string& server, const std::vector<std::string>& leases, Result<UseByModel> use);
  void update(const Lease& lease, const std::string& server, const ModelUse& sum);
  void end_window(const Lease& lease, Entry& entry);

  const PoolContext& with_;
  const PoolBook& book_;
  UseSource& source_;
  PoolEvents& events_;
  const UseSettings settings_;
  Entries entries_;              ///< by lease
  std::set<std::string> asked_;  ///< servers that have not answered
  Alive alive_;
};

}  // namespace atl::pools
