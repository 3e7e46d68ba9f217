/// The elements of an output as JSON.
#pragma once

#include <cstdint>

#include "atoll/core/status.h"
#include "atoll/request/request.h"
#include "frontends/common/json/json_writer.h"

namespace atl::frontends::http {

/// Number of elements of an output whose bytes are about to be read.
/// Errors: INTERNAL they are not in CPU memory or do not fit datatype and shape.
Status check_output(const OutputTensor& output, uint64_t* elements);

/// How the elements are put.
enum class Brackets : uint32_t {
  kAlways,       ///< always an array
  kUnlessSingle  ///< one element without brackets
};

/// Writes all elements in their order, flat. FP32 as the double that is exactly its value.
/// \param out  that the writer writes into
/// Errors: as check_output(); INVALID_ARGUMENT FP16 and BF16, which have no form in JSON; INVALID_ARGUMENT
/// BYTES that are not UTF-8; INTERNAL BYTES whose lengths do not fit the buffer.
Status write_elements(const OutputTensor& output, Brackets brackets, JsonWriter& writer, JsonOutput& out);

/// The value of a parameter; not of type kBytes.
void write_value(const Parameter& parameter, JsonWriter& writer);

}  // namespace atl::frontends::http
