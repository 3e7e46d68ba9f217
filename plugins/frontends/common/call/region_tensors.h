/// Tensors whose bytes are in a shared memory region that the client names.
#pragma once

#include <cstdint>
#include <string_view>

#include "atoll/request/request.h"
#include "frontends/common/call/region_uses.h"
#include "frontends/common/codec/owned_bytes.h"

namespace atl::frontends {

/// A part of a region, as the client gave it.
struct RegionPart {
  std::string_view region;
  uint64_t offset = 0;
  uint64_t byte_size = 0;
};

/// Makes the part the bytes of the input, whose name and datatype are set. Elements of fixed size are used in
/// place, also in device memory. BYTES are copied, because they hold lengths that would be read again after
/// they were checked while the client may write into the region at any time. A copy is in CPU memory; one out
/// of device memory blocks. Errors: those of SharedMemory::acquire and DeviceMemory::copy; INVALID_ARGUMENT a
/// region's name over kMaxRegionNameBytes, more copied than RegionUses allows; RESOURCE_EXHAUSTED no memory
/// for the copy.
Status use_region_input(const RegionPart& part, Arena& arena, OwnedBytes& owned, RegionUses& regions,
                        InputTensor& input) noexcept;

/// Makes the part the place of request.outputs[index]. Every input must have its bytes: one that shares bytes
/// with the part is copied, so that writing the output does not change what is still to be read.
/// Errors: as use_region_input().
Status use_region_output(const RegionPart& part, OwnedBytes& owned, RegionUses& regions, Request& request,
                         uint32_t index) noexcept;

/// Whether the output's bytes are where the client wanted them, so that they are not sent.
/// \param wanted  what the client asked for under the output's name; null: nothing
bool is_placed(const RequestedOutput* wanted, const OutputTensor& output) noexcept;

inline constexpr size_t kMaxRegionNameBytes = 255;

}  // namespace atl::frontends
