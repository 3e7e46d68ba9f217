/// Typed tensor data (InferTensorContents) into the packed layout that models read.
#pragma once

#include <span>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/request/tensor.h"
#include "frontends/common/codec/v2_infer_request.h"
#include "frontends/common/codec/wire_format.h"

namespace atl::frontends {

/// The `contents` of one input. Lists may be packed or not, and spread over any number of pieces.
struct TypedContents {
  WireReader first;  ///< piece
  WireReader
      behind;  ///< the input's fields after the first piece, checked already; those with further pieces count
  std::string_view input;
  std::string_view model;
  DataType datatype = DataType::kInvalid;  ///< as declared by the input

  /// Sets the tensor's buffers and size_bytes; an empty `contents` is zero bytes. Memory is taken only after
  /// everything was checked; it is at most 8 times what the message takes.
  /// Errors: INVALID_ARGUMENT malformed, a list that does not fit the datatype, a second list, a number out of
  /// the datatype's range, over the limit; RESOURCE_EXHAUSTED no memory.
  Status convert(Arena& arena, OwnedBytes& owned, CopyLimit limit, InputTensor* tensor) const noexcept;
};

}  // namespace atl::frontends
