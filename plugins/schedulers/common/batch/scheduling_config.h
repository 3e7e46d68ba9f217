/// What a ModelConfig says to schedulers, in the words of their parts.
#pragma once

#include <cstdint>
#include <vector>

#include "schedulers/common/batch/batch_compatibility.h"
#include "schedulers/common/batch/queue_policy.h"

namespace google::protobuf {
template <class T>
class RepeatedField;
}

namespace inference {
class ModelConfig;
class ModelDynamicBatching;
}  // namespace inference

namespace atl::schedulers {

/// All but size_max, which is the operator's.
QueuePolicies queue_policies_from(const inference::ModelDynamicBatching& config);
BatchCompatibility batch_compatibility_from(const inference::ModelConfig& config);
/// What does not fit is for ever.
int64_t duration_ns_from(uint64_t microseconds) noexcept;
/// Of a list of `preferred_batch_size`, ascending; the largest batch if it is empty.
std::vector<uint32_t> preferred_sizes_from(const google::protobuf::RepeatedField<int32_t>& sizes,
                                           uint32_t size_max);

}  // namespace atl::schedulers
