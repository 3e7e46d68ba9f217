/// Requests and responses as entries of a recording.
#pragma once

#include <cstdint>

#include "atoll/gpu/device_memory.h"
#include "atoll/request/request.h"
#include "recording.pb.h"

namespace atl::recorder {

/// About how many bytes of memory the entry takes. \param tensors  with their bytes
uint64_t entry_bytes(const Request& request, bool tensors) noexcept;
uint64_t entry_bytes(const Request& request, const Response& response, bool tensors) noexcept;

/// All that the client has sent, without what were headers. \param now_ns  of the host's clock, for the deadline
/// \param devices  brings tensors that are in devices' memory, for which it blocks; those that it cannot bring have no data
void fill_entry(const Request& request, bool tensors, int64_t now_ns, const DeviceMemory& devices,
                recording::v1::Request* entry);
/// The outputs that the client has asked for, or the failure.
void fill_entry(const Request& request, const Response& response, bool tensors, const DeviceMemory& devices,
                recording::v1::Response* entry);

}  // namespace atl::recorder
