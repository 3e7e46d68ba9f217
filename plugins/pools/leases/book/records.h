/// What the server knows of pools, instances and leases; all of it is kept in the state directory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pools/leases/book/definitions.h"
#include "pools/leases/book/pool_places.h"

namespace atl::pools {

enum class LeaseState : uint8_t {
  kPending,          ///< has its place, which is not ready yet
  kDeploying,        ///< its models are being loaded
  kActive,           ///< all of them are ready
  kReleasing,        ///< takes no requests any more; its models are unloaded
  kUnloadingFailed,  ///< a model could not be loaded; the others are unloaded
  kReleased,         ///< by its owner; this and the following are final
  kExpired,
  kFailed
};
/// "ACTIVE", "UNLOADING_FAILED"
constexpr std::string_view name_of(LeaseState state) noexcept {
  constexpr std::string_view kNames[] = {"PENDING",          "DEPLOYING", "ACTIVE",  "RELEASING",
                                         "UNLOADING_FAILED", "RELEASED",  "EXPIRED", "FAILED"};
  return kNames[static_cast<size_t>(state)];
}
inline constexpr LeaseState kLastLeaseState = LeaseState::kFailed;
constexpr bool is_final(LeaseState state) noexcept { return state >= LeaseState::kReleased; }

struct PoolRecord {
  PoolDefinition definition;
  bool is_deleting = false;  ///< it goes with its last instance
};

struct InstanceRecord {
  std::string pool;
  uint32_t number = 0;
  std::string id;   ///< of the server that was started for it; never used again
  std::string key;  ///< that this server's control calls need; empty: an earlier version has started it
  InstanceBackends backends_state = InstanceBackends::kBlank;
  std::vector<std::string> backends;
};

struct LeaseRecord {
  std::string id;  ///< UUID; never used again
  LeaseDefinition definition;
  int64_t duration_ns = 0;
  LeaseState state = LeaseState::kPending;
  uint32_t instance = 0;        ///< number in the pool
  bool has_place = true;        ///< false: it waits for one, and has lost its instance
  int64_t created_wall_ns = 0;  ///< since 1970, as all times here: they are read by another process
  int64_t expires_wall_ns = 0;
  int64_t ended_wall_ns = 0;  ///< of a final state; else 0
  Code failure = Code::kOk;   ///< of kFailed
  std::string reason;         ///< likewise
};

/// The backends of a model that was deployed once; none: it is an ensemble.
struct LeasedModel {
  std::string name, source;
  std::vector<std::string> backends;
};

/// A name that stands for a lease.
struct LeaseName {
  std::string name;
  std::string lease;  ///< id
  std::string owner;  ///< that of the lease
};

}  // namespace atl::pools
