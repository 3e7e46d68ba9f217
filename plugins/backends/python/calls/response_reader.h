/// Responses that a worker has written: checked and copied.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/request/request.h"
#include "backends/python/memory/payload.h"
#include "backends/python/memory/protocol.h"
#include "backends/python/memory/slab_table.h"

namespace atl::python {

/// A tensor that a worker has described: what is here is a copy, but for the bytes.
struct ReceivedTensor {
  std::string name;
  DataType datatype = DataType::kInvalid;
  uint32_t rank = 0;
  int64_t shape[kMaxRank] = {};
  const std::byte* data = nullptr;  ///< in memory that the worker may still change
  uint64_t size_bytes = 0;

  std::span<const int64_t> dims() const noexcept { return {shape, rank}; }
};

/// Most responses or requests in one payload, and tensors in one of them.
inline constexpr uint32_t kRecordsMax = 1u << 20;

/// The code for what Triton numbers so; INTERNAL for a number that is none.
Code code_of(uint32_t triton_code) noexcept;
/// The other way round.
uint32_t triton_code_of(Code code) noexcept;

/// Errors, as all others here INVALID_ARGUMENT: the payload is not what a worker that keeps to the protocol writes.
Status read_responses(const PayloadView& payload, std::vector<ResponseRecord>& records);
/// \param at  offset of the record. Errors also: no type, a rank or size that does not fit
Status read_tensor(const PayloadView& payload, const SlabTable& slabs, uint64_t at, ReceivedTensor& tensor);
/// Whether these bytes are `count` elements of BYTES. They must be such that nobody else writes.
bool are_elements(std::span<const std::byte> bytes, uint64_t count) noexcept;

/// Copies outputs that are asked for, and parameters, into the response. Errors: as above; those of Response::allocate(), and of outputs
/// that cannot be copied, are answers to this request: they are in `failure`
Status fill_response(const PayloadView& payload, const SlabTable& slabs, const ResponseRecord& record,
                     const Request& request, Response& response, Status& failure);

/// A JSON object as parameters; what is no text, number or bool is left out. \returns false: it is no object
bool read_parameters(const std::string& json, Arena& arena, ArenaList<Parameter>& parameters);

}  // namespace atl::python
