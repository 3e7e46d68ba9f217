/// What inputs must be like before a framework sees any of them, and which requests' inputs can be laid out as one tensor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/request/request.h"

namespace atl::backends {

/// An input as a framework's model takes it.
struct InputRule {
  std::string name;
  DataType datatype = DataType::kInvalid;
  bool required = true;  ///< nothing stands in for one that is left out
  bool scalar = false;   ///< the model takes rank 0 where the configuration says [1]
  bool ragged = false;   ///< the model takes the elements of all requests in one dimension
};

/// The sum over the input's buffers.
uint64_t bytes_present(const InputTensor& input) noexcept;

/// Whether the input is of its type, in CPU memory, with as many bytes as its shape says and, if the model batches, the
/// request's batch size as first dimension. Other dimensions are left to the framework. Blocks until the bytes are ready.
/// \param anywhere        memory of GPUs will do, but for BYTES
/// \param check_elements  walk through BYTES, too, instead of finding out when they are converted
/// Errors: INVALID_ARGUMENT names the input, what was found and what was expected.
Status check_input(const InputRule& rule, const InputTensor& input, const Request& request, bool batches,
                   bool check_elements, bool anywhere = false) noexcept;

/// Whether this input of two checked requests can be laid out one after the other in one tensor: it is given in both, or in
/// neither, and unless it is ragged with equal shapes after the batch dimension.
bool can_be_joined(std::string_view name, bool is_ragged, const Request& a, const Request& b) noexcept;
inline bool can_be_joined(const InputRule& rule, const Request& a, const Request& b) noexcept {
  return can_be_joined(rule.name, rule.ragged, a, b);
}

}  // namespace atl::backends
