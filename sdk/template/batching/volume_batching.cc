/// A batching strategy to copy: a batch ends before its inputs would have more bytes than the model's
/// parameter MAX_BATCH_VOLUME_BYTES allows.
#include <charconv>
#include <nlohmann/json.hpp>
#include <string>

#include "triton/core/tritonbackend.h"

/// What the strategy keeps for a model: read only while the model is served.
struct TRITONBACKEND_Batcher {
  uint64_t volume_bytes_max;
};

namespace {

/// What it keeps for a batch that is being formed.
struct Batch {
  uint64_t room_bytes;
};

constexpr const char* kParameter = "MAX_BATCH_VOLUME_BYTES";

TRITONSERVER_Error* invalid(const std::string& text) {
  return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, text.c_str());
}

TRITONSERVER_Error* read_parameter(TRITONSERVER_Message* config, uint64_t* bytes) {
  const char* base = nullptr;
  size_t size = 0;
  if (TRITONSERVER_Error* error = TRITONSERVER_MessageSerializeToJson(config, &base, &size)) return error;
  const auto json = nlohmann::json::parse(base, base + size, nullptr, /*allow_exceptions=*/false);
  const nlohmann::json::json_pointer value(std::string("/parameters/") + kParameter + "/string_value");
  if (!json.contains(value)) return invalid(std::string("the model has no parameter ") + kParameter);
  const std::string text = json.at(value);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *bytes);
  if (error != std::errc() || end != text.data() + text.size()) {
    return invalid(std::string(kParameter) + " is '" + text + "', expected a number of bytes");
  }
  return nullptr;
}

TRITONSERVER_Error* add_volume(TRITONBACKEND_Request* request, uint64_t* bytes) {
  uint32_t count = 0;
  if (TRITONSERVER_Error* error = TRITONBACKEND_RequestInputCount(request, &count)) return error;
  for (uint32_t i = 0; i < count; ++i) {
    TRITONBACKEND_Input* input = nullptr;
    if (TRITONSERVER_Error* error = TRITONBACKEND_RequestInputByIndex(request, i, &input)) return error;
    uint64_t size = 0;
    if (TRITONSERVER_Error* error =
            TRITONBACKEND_InputProperties(input, nullptr, nullptr, nullptr, nullptr, &size, nullptr)) {
      return error;
    }
    *bytes += size;
  }
  return nullptr;
}

}  // namespace

extern "C" {

TRITONSERVER_Error* TRITONBACKEND_ModelBatcherInitialize(TRITONBACKEND_Batcher** batcher,
                                                         TRITONBACKEND_Model* model) {
  TRITONSERVER_Message* config = nullptr;
  if (TRITONSERVER_Error* error = TRITONBACKEND_ModelConfig(model, 1, &config)) return error;
  uint64_t bytes = 0;
  TRITONSERVER_Error* error = read_parameter(config, &bytes);
  TRITONSERVER_MessageDelete(config);
  if (error == nullptr) *batcher = new TRITONBACKEND_Batcher{bytes};
  return error;
}

TRITONSERVER_Error* TRITONBACKEND_ModelBatcherFinalize(TRITONBACKEND_Batcher* batcher) {
  delete batcher;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelBatchInitialize(const TRITONBACKEND_Batcher* batcher, void** userp) {
  *userp = new Batch{batcher->volume_bytes_max};
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelBatchIncludeRequest(TRITONBACKEND_Request* request, void* userp,
                                                           bool* should_include) {
  auto* batch = static_cast<Batch*>(userp);
  uint64_t bytes = 0;
  if (TRITONSERVER_Error* error = add_volume(request, &bytes)) return error;
  *should_include = bytes <= batch->room_bytes;
  // The first request of a batch is in it whatever the answer is, and may be larger than the limit.
  batch->room_bytes -= bytes < batch->room_bytes ? bytes : batch->room_bytes;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelBatchFinalize(void* userp) {
  delete static_cast<Batch*>(userp);
  return nullptr;
}

}  // extern "C"
