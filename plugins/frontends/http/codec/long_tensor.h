/// The elements of a long array into the packed layout that models read, without a document of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "atoll/request/tensor.h"
#include "frontends/http/codec/long_arrays.h"
#include "frontends/http/codec/tensor_fault.h"

namespace atl::frontends::http {

/// As json_tensor.cc reads the elements of a short array, which decides what is taken.
/// \param memory    for `elements` of the datatype; for BYTES, 4 bytes an element and their text
/// \param refused   set with kRange: the number
/// \returns kCount: there are more or fewer elements; kNesting: the brackets do not fit the shape. What was written before a fault stays.
/// Throws std::bad_alloc.
Fault fill_from_long_array(const LongArray& array, DataType datatype, std::span<const int64_t> shape,
                           void* memory, uint64_t elements, std::string* refused);

}  // namespace atl::frontends::http
