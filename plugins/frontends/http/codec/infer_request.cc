#include "frontends/http/codec/infer_request.h"

#include <charconv>

#include "frontends/common/codec/wire_messages.h"
#include "frontends/http/codec/infer_json.h"
#include "frontends/http/codec/json_values.h"

namespace atl::frontends::http {
namespace {

Status read_raw(const InferBody& body, uint64_t max_bytes, Request& request, InferParts& parts) {
  if (body.bytes.size() > max_bytes) {
    return invalid_argument(messages::raw_input_too_large(body.bytes.size(), max_bytes));
  }
  auto* buffer = request.arena().make<Buffer>();
  buffer->data = const_cast<uint8_t*>(body.bytes.data());
  buffer->size_bytes = body.bytes.size();
  InputTensor& input = request.add_input();
  input.flags = InputTensor::kRaw;
  input.buffers = {buffer, 1};
  input.size_bytes = body.bytes.size();
  parts.reply.binary_default = true;
  return {};
}

}  // namespace

Status read_json_bytes(std::string_view header_value, size_t body_bytes, std::optional<size_t>* json_bytes) {
  int64_t value = 0;
  const char* end = header_value.data() + header_value.size();
  const auto [stopped, error] = std::from_chars(header_value.data(), end, value);
  if (error == std::errc::invalid_argument || stopped != end) {
    return invalid_argument(messages::header_length_not_number(header_value));
  }
  if (error != std::errc() || value < 0 || static_cast<uint64_t>(value) > body_bytes) {
    return invalid_argument(messages::header_length_range(body_bytes, header_value));
  }
  *json_bytes = static_cast<size_t>(value);
  return {};
}

Status InferRequestReader::read(const InferBody& body, const ModelInfo& model, Request& request,
                                InferParts& parts, RegionUses& regions) {
  if (body.json_bytes == 0) return read_raw(body, limits_.max_input_bytes, request, parts);
  const size_t json_bytes = body.json_bytes.value_or(body.bytes.size());
  if (json_bytes > body.bytes.size()) {
    return invalid_argument(messages::header_length_range(body.bytes.size(), cat(json_bytes)));
  }
  if (json_bytes > limits_.max_input_bytes) {
    return invalid_argument(messages::json_too_large(json_bytes, limits_.max_input_bytes));
  }
  Status status = document_.parse({reinterpret_cast<const char*>(body.bytes.data()), json_bytes});
  if (status.ok()) {
    InferJson message{
        document_, model, request, parts, regions, limits_.max_input_bytes, body.bytes.subspan(json_bytes)};
    status = message.read();
  }
  document_.release();
  return status;
}

}  // namespace atl::frontends::http
