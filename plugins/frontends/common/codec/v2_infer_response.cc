#include "frontends/common/codec/v2_infer_response.h"

#include "frontends/common/call/region_tensors.h"

namespace atl::frontends {
namespace {

size_t text_field_size(std::string_view text) noexcept {
  return text.empty() ? 0 : length_field_size(text.size());
}

size_t shape_size(std::span<const int64_t> shape) noexcept {
  size_t size = 0;
  for (int64_t dim : shape) size += varint_size(static_cast<uint64_t>(dim));
  return size;
}

size_t output_size(const OutputTensor& output) noexcept {
  size_t size = text_field_size(output.name) + length_field_size(data_type_name(output.datatype).size());
  return output.shape.empty() ? size : size + length_field_size(shape_size(output.shape));
}

void write_output(WireWriter& to, const OutputTensor& output) noexcept {
  to.length(5, output_size(output));
  if (!output.name.empty()) to.text(1, output.name);
  to.text(2, data_type_name(output.datatype));
  if (output.shape.empty()) return;
  to.length(3, shape_size(output.shape));
  for (int64_t dim : output.shape) to.varint(static_cast<uint64_t>(dim));
}

/// Of the InferParameter; the fields of a oneof are written even when they hold their default.
size_t value_size(const Parameter& parameter) noexcept {
  switch (parameter.type) {
    case ParameterType::kString:
      return length_field_size(parameter.text.size());
    case ParameterType::kInt:
      return 1 + varint_size(static_cast<uint64_t>(parameter.int_value));
    case ParameterType::kBool:
      return 2;
    default:
      return 1 + sizeof(double);
  }
}

size_t parameter_size(const Parameter& parameter) noexcept {
  return length_field_size(parameter.key.size()) + length_field_size(value_size(parameter));
}

void write_parameter(WireWriter& to, const Parameter& parameter) noexcept {
  to.length(4, parameter_size(parameter));
  to.text(1, parameter.key);
  to.length(2, value_size(parameter));
  switch (parameter.type) {
    case ParameterType::kString:
      to.text(3, parameter.text);
      break;
    case ParameterType::kInt:
      to.tag(2, WireType::kVarint);
      to.varint(static_cast<uint64_t>(parameter.int_value));
      break;
    case ParameterType::kBool:
      to.tag(1, WireType::kVarint);
      to.varint(parameter.bool_value ? 1 : 0);
      break;
    default:
      to.tag(4, WireType::kFixed64);
      to.bytes(&parameter.double_value, sizeof parameter.double_value);
  }
}

bool has_wire_form(const Parameter& parameter) noexcept { return parameter.type != ParameterType::kBytes; }

}  // namespace

V2InferResponse::V2InferResponse(std::string_view model, std::string_view version, const Request& request,
                                 Response& response, uint64_t inline_max_bytes) noexcept
    : model_(model),
      version_(version),
      request_(request),
      response_(response),
      inline_max_bytes_(inline_max_bytes) {
  head_bytes_ = text_field_size(model) + text_field_size(version) + text_field_size(request.id);
  for (const Parameter& parameter : response.parameters) {
    if (has_wire_form(parameter)) head_bytes_ += length_field_size(parameter_size(parameter));
  }
  for (const RequestedOutput& wanted : request.outputs) any_placed_ |= wanted.placement.data != nullptr;
  uint64_t external_bytes = 0;
  for (size_t i = 0; i < response.outputs.size(); ++i) {
    const uint64_t size = sent_bytes(i);
    head_bytes_ += length_field_size(output_size(response.outputs[i])) + 1 + varint_size(size);
    if (size <= inline_max_bytes) {
      head_bytes_ += size;
    } else {
      external_bytes += size;
      ++external_;
    }
  }
  total_bytes_ = head_bytes_ + external_bytes;
}

uint64_t V2InferResponse::sent_bytes(size_t i) const noexcept {
  const OutputTensor& output = response_.outputs[i];
  if (!any_placed_) return output.buffer.size_bytes;
  return is_placed(request_.find_output(output.name, i), output) ? 0 : output.buffer.size_bytes;
}

std::span<const V2ResponsePart> V2InferResponse::write(uint8_t* head) noexcept {
  auto* parts = response_.arena().make_array<V2ResponsePart>(2 * external_ + 1);
  size_t count = 0;
  WireWriter to(head);
  if (!model_.empty()) to.text(1, model_);
  if (!version_.empty()) to.text(2, version_);
  if (!request_.id.empty()) to.text(3, request_.id);
  for (const Parameter& parameter : response_.parameters) {
    if (has_wire_form(parameter)) write_parameter(to, parameter);
  }
  for (const OutputTensor& output : response_.outputs) write_output(to, output);
  const uint8_t* sent = head;
  for (size_t i = 0; i < response_.outputs.size(); ++i) {
    const OutputTensor& output = response_.outputs[i];
    const uint64_t size = sent_bytes(i);
    to.length(6, size);
    if (size <= inline_max_bytes_) {
      to.bytes(output.buffer.data, size);
      continue;
    }
    parts[count++].bytes = {sent, to.at()};
    parts[count].bytes = {static_cast<const uint8_t*>(output.buffer.data), static_cast<size_t>(size)};
    parts[count++].tensor = &output;
    sent = to.at();
  }
  if (sent != to.at() || count == 0) parts[count++].bytes = {sent, to.at()};
  return {parts, count};
}

}  // namespace atl::frontends
