/// The `data` of a tensor given as JSON into the packed layout that models read.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/request/arena.h"
#include "atoll/request/tensor.h"
#include "frontends/common/codec/owned_bytes.h"
#include "frontends/http/codec/json_document.h"

namespace atl::frontends::http {

/// One conversion. Arrays are flat, or nested as the shape is: see nesting.h.
struct JsonTensor {
  const JsonDocument& document;  ///< that the values are of
  std::string_view input;        ///< name, for messages
  DataType datatype = DataType::kInvalid;
  std::span<const int64_t> shape;   ///< no dimension is negative
  uint64_t max_bytes = UINT64_MAX;  ///< of the converted tensor

  /// Bytes of the converted tensor, before anything was allocated for it.
  /// \param data  an array, or a single element (generate)
  /// Errors: INVALID_ARGUMENT no datatype, or FP16 or BF16, which have no form in JSON; shape of more than
  /// 2^63 - 1 elements or bytes; BYTES that are not the texts the shape asks for.
  Status size_bytes(JsonElement data, uint64_t* size) const noexcept;

  /// Sets the tensor's buffers and size_bytes. Memory is taken after the size was found to be within the
  /// limit and the document to be large enough to hold so many elements.
  /// Errors: as size_bytes(); INVALID_ARGUMENT more than max_bytes, number of elements, brackets that
  /// do not fit the shape, an element of another type or out of the datatype's range (nothing wraps round); RESOURCE_EXHAUSTED no memory.
  Status convert(JsonElement data, Arena& arena, OwnedBytes& owned, InputTensor* tensor) const noexcept;

 private:
  Status fill(JsonElement data, void* memory, uint64_t elements) const noexcept;
};

}  // namespace atl::frontends::http
