/// Reads the body of an infer call into an atl::Request: JSON, JSON with binary tensors behind it, or one raw
/// binary tensor.
///
///     InferRequestReader reader(limits);            // one for each thread
///     ...
///     ATOLL_RETURN_IF_ERROR(read_json_bytes(header, body.size(), &infer_body.json_bytes));
///     ATOLL_RETURN_IF_ERROR(reader.read(infer_body, model->info(), request, parts, regions));
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/models/model.h"
#include "atoll/request/request.h"
#include "frontends/common/call/region_uses.h"
#include "frontends/http/codec/json_document.h"
#include "frontends/http/codec/reply_form.h"

namespace atl::frontends::http {

/// Of option http max_input_size.
struct InputLimits {
  /// Most bytes of the JSON part, of a tensor that JSON is converted to, and of a raw tensor.
  uint64_t max_input_bytes = 64 * 1024 * 1024;
};

/// A request's body, decompressed. kJsonPaddingBytes behind its end must be readable.
struct InferBody {
  std::span<const uint8_t> bytes;
  /// Value of Inference-Header-Content-Length: the bytes of JSON in front, 0 for a raw binary request.
  /// Absent: all of the body is JSON.
  std::optional<size_t> json_bytes;
};

/// Reads the value of Inference-Header-Content-Length for a (decompressed) body of that size.
/// Errors: INVALID_ARGUMENT no decimal number, below 0, more than the body.
Status read_json_bytes(std::string_view header_value, size_t body_bytes, std::optional<size_t>* json_bytes);

/// Not thread safe; one a thread. Nothing of a request points into it.
class InferRequestReader {
 public:
  explicit InferRequestReader(InputLimits limits = {}) noexcept : limits_(limits) {}

  /// Sets id, sequence, priority, timeout, parameters, inputs and outputs of a request that was reset.
  ///
  /// Texts and tensors given as JSON are copied, into the request's arena or into `parts`. Binary tensors
  /// become borrowed buffers that point into the body, so the body must live until the request is released.
  /// Inputs and outputs in shared memory hold their regions through `regions`.
  ///
  /// Limits: 1,024 inputs and outputs together, 1,024 parameters, 32 dimensions, names 255 bytes, id 64 KiB,
  /// and those of the constructor. Memory taken is bounded by the body's size; that of a tensor only after
  /// its shape and its number of elements have been found to agree.
  ///
  /// Errors: INVALID_ARGUMENT nearly all; NOT_FOUND shared memory region; UNIMPLEMENTED sequence id too long;
  /// RESOURCE_EXHAUSTED no memory. After an error the request is to be reset.
  Status read(const InferBody& body, const ModelInfo& model, Request& request, InferParts& parts,
              RegionUses& regions);

 private:
  InputLimits limits_;
  JsonDocument document_;
};

}  // namespace atl::frontends::http
