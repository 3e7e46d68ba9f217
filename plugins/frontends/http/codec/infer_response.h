/// Writes the reply to an infer call: a head of JSON and behind it the tensors the client wants as bytes,
/// which stay where the backend has put them.
///
///     JsonOutput head;                              // reused, in the request's context
///     Result<InferReply> reply = write_infer_response(model->info(), request, parts.reply, response, head);
///     ... Content-Type reply->content_type(); if (reply->binary) Inference-Header-Content-Length
///     reply->json_bytes; Content-Length reply->total_bytes; then all of reply->parts in order ...
///
/// Classification comes first (common/classification.h), so that outputs are what is to be written.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/models/model.h"
#include "atoll/request/request.h"
#include "frontends/common/json/json_output.h"
#include "frontends/http/codec/reply_form.h"

namespace atl::frontends::http {

struct ReplyPart {
  std::span<const uint8_t> bytes;
  const OutputTensor* tensor = nullptr;  ///< whose buffer this is; null: of the head
};

struct InferReply {
  bool binary = false;               ///< tensors follow the JSON
  size_t json_bytes = 0;             ///< of the head
  uint64_t total_bytes = 0;          ///< of head and tensors
  std::span<const ReplyPart> parts;  ///< the head first; in the response's arena

  std::string_view content_type() const noexcept {
    return binary ? std::string_view("application/octet-stream") : std::string_view("application/json");
  }
};

/// Bytes of the tensors that are to be written as JSON. Arguments as of write_infer_response().
uint64_t json_tensor_bytes(const Request& request, const ReplyForm& form, const Response& response) noexcept;

/// \param request   as the model has seen it (its outputs are read); only until the call returns
/// \param response  without error; its outputs' buffers are in CPU memory
/// \param head      emptied first; the reply's first part points into it
/// Parameters of type kBytes have no form on this wire and are left out. Texts that are not UTF-8 are written
/// with U+FFFD in place of what is wrong.
/// Errors: INVALID_ARGUMENT FP16 or BF16 without binary; INTERNAL a tensor whose bytes do not fit its type
/// and shape; RESOURCE_EXHAUSTED no memory for the JSON.
Result<InferReply> write_infer_response(const ModelInfo& model, const Request& request, const ReplyForm& form,
                                        Response& response, JsonOutput& head);

}  // namespace atl::frontends::http
