/// The meaning of the JSON of an infer request: its parameters, inputs and outputs. Used by infer_request.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/models/model.h"
#include "atoll/request/request.h"
#include "frontends/common/call/region_uses.h"
#include "frontends/http/codec/json_document.h"
#include "frontends/http/codec/reply_form.h"

namespace atl::frontends::http {

struct JsonMember;

/// One request being read.
struct InferJson {
  const JsonDocument& document;
  const ModelInfo& model;
  Request& request;
  InferParts& parts;
  RegionUses& regions;
  uint64_t max_input_bytes;
  std::span<const uint8_t> binary;  ///< behind the JSON; what no input has taken yet

  /// Fills the request. Errors: as InferRequestReader::read().
  Status read();

 private:
  Status read_parameters(JsonObject parameters);
  Status read_parameter(std::string_view key, JsonElement value);
  Status read_sequence_id(JsonElement value);
  Status read_inputs(JsonArray inputs);
  Status read_input(JsonElement element);
  Status read_shape(JsonElement value, InputTensor& input);
  Status read_data(std::span<const JsonMember> parameters, const JsonMember& data, InputTensor& input);
  Status take_binary(JsonElement size, InputTensor& input);
  Status read_outputs(JsonArray outputs);
  Status read_output(JsonElement element, uint32_t index);
};

}  // namespace atl::frontends::http
