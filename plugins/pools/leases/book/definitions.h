/// What a client asks for: pools and leases, before anything is made of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/status.h"

namespace atl::pools {

/// What an instance runs and what is reserved for it.
struct InstanceDefinition {
  std::string runtime;        ///< image or profile, in the launcher's words; empty: the launcher's default
  uint32_t cpus = 0;          ///< logical cores; 0: none are reserved
  uint32_t gpus = 0;          ///< devices
  uint64_t memory_bytes = 0;  ///< 0: no limit

  friend bool operator==(const InstanceDefinition&, const InstanceDefinition&) = default;
};

struct PoolDefinition {
  std::string name;
  uint32_t min_instances = 0;  ///< that the pool keeps up
  uint32_t max_instances = 0;  ///< that it has at most; 0: not said
  uint64_t quota = 0;          ///< of each instance, in the creator's unit; 0: not said
  bool enforce_backends = true;
  InstanceDefinition instance;
};

struct LeaseModel {
  std::string name;
  std::string source;  ///< where its files are

  friend bool operator==(const LeaseModel&, const LeaseModel&) = default;
};

/// A lease that is used when it ends goes on instead.
struct AutoRenew {
  int64_t duration_ns = 0;  ///< by which it goes on; 0: the lease's own duration
  int64_t window_ns = 0;    ///< before the end, in which a request is a use; 0: likewise

  friend bool operator==(const AutoRenew&, const AutoRenew&) = default;
};

struct LeaseDefinition {
  std::string pool;
  uint64_t quota = 0;  ///< of one instance; 0: not said
  std::optional<int64_t> duration_ns;
  std::vector<LeaseModel> models;  ///< loaded in this order
  std::optional<AutoRenew> auto_renew;
  std::string idempotency_key;  ///< empty: none
  std::string owner;            ///< whoever asks for it; empty: nobody, as callers are not known

  friend bool operator==(const LeaseDefinition&, const LeaseDefinition&) = default;
};

/// What the operator allows.
struct LeaseLimits {
  int64_t default_duration_ns = 3600 * kNsPerSecond;
  int64_t min_duration_ns = kNsPerSecond;
  int64_t max_duration_ns = 0;  ///< 0: any
  std::vector<std::string> sources =
      {};  ///< directories that models come from, absolute and normal; empty: any
};

inline constexpr uint32_t kInstancesMax = 10'000;  ///< of a pool
inline constexpr size_t kLeaseModelsMax = 1'024;
inline constexpr size_t kNameBytesMax = 255;
inline constexpr size_t kSourceBytesMax = 4'096;

/// Whether a name can be a directory's, a path's part and a label's value. \param what  "pool name"
/// Errors: INVALID_ARGUMENT.
Status check_name(std::string_view what, std::string_view name);
/// Errors: INVALID_ARGUMENT, naming the field.
Status check(const PoolDefinition& pool);
/// Errors: INVALID_ARGUMENT, naming the field. Whether the pool has so much quota is not looked at.
Status check(const LeaseDefinition& lease, const LeaseLimits& limits);
/// One that was given, or the default.
/// Errors: INVALID_ARGUMENT it is outside of the limits.
Result<int64_t> checked_duration(std::optional<int64_t> duration_ns, const LeaseLimits& limits);

}  // namespace atl::pools
