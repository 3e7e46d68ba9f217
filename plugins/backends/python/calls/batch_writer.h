/// Requests on their way into the memory of a worker.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/gpu/device_memory.h"
#include "atoll/request/request.h"
#include "backends/python/memory/block_allocator.h"
#include "backends/python/memory/payload.h"
#include "backends/python/memory/protocol.h"

namespace atl::python {

/// A batch that is written and not sent yet.
struct WrittenBatch {
  const Block* block = nullptr;         ///< payload of kExecute
  std::vector<const Block*> tensors;    ///< blocks of their own
  std::vector<uint32_t*> cancel_words;  ///< by request: RequestRecord::cancelled
};

/// Whether the request's inputs can be copied: memory of the CPU, or of a device that is reached, as many bytes as they say.
/// Errors: INVALID_ARGUMENT names the input.
Status check_inputs(const Request& request, const DeviceMemory& devices);

/// Parameters as a JSON object; empty if there are none.
std::string parameters_json(std::span<const Parameter> parameters);

/// Copies requests that check_inputs() has accepted. \param batch  its memory is used again \param first_handle  of the first request; the
/// others' follow \param devices  null: all inputs are in memory of the CPU. Errors, after which nothing is held: RESOURCE_EXHAUSTED;
/// INVALID_ARGUMENT what is not tensors takes 4 GiB; those of Memory::copy()
Status write_batch(BlockAllocator& blocks, std::span<Request* const> requests, uint64_t first_handle,
                   const DeviceMemory* devices, WrittenBatch& batch);

/// Gives back what was written and not sent.
void drop_batch(BlockAllocator& blocks, WrittenBatch& batch) noexcept;

}  // namespace atl::python
