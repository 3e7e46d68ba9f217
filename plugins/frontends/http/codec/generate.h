/// The generate extension: a plain JSON object becomes a request, a response becomes a plain JSON object.
#pragma once

#include <string_view>

#include "atoll/core/status.h"
#include "atoll/models/model.h"
#include "atoll/request/request.h"
#include "frontends/common/json/json_output.h"
#include "frontends/http/codec/infer_request.h"
#include "frontends/http/codec/json_document.h"
#include "frontends/http/codec/reply_form.h"

namespace atl::frontends::http {

/// Not thread safe; one a thread. Nothing of a request points into it.
class GenerateRequestReader {
 public:
  explicit GenerateRequestReader(InputLimits limits = {}) noexcept : limits_(limits) {}

  /// Members named like inputs of the model become those inputs (their shape follows from the number of
  /// elements), `parameters` is searched in the same way, `id` is the request's id and a parameter as well,
  /// all others are parameters of the request.
  /// \param body  kJsonPaddingBytes behind its end must be readable; not needed after the call
  /// Limits and errors as InferRequestReader::read().
  Status read(std::string_view body, const ModelInfo& model, Request& request, InferParts& parts) noexcept;

 private:
  InputLimits limits_;
  JsonDocument document_;
};

/// Appends the object to `out`: outputs by name, parameters by name, id (if the request has one), model_name
/// and model_version, all sorted by name. Tensors of one element are scalars, others flat arrays. \param
/// response  without error; its outputs' buffers are in CPU memory Errors: as write_infer_response(). `out`
/// then holds part of an object.
Status write_generate_response(const ModelInfo& model, const Request& request, Response& response,
                               JsonOutput& out) noexcept;

}  // namespace atl::frontends::http
