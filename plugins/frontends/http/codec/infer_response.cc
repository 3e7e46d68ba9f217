#include "frontends/http/codec/infer_response.h"

#include "frontends/common/call/region_tensors.h"
#include "frontends/common/json/json_writer.h"
#include "frontends/http/codec/tensor_json.h"

namespace atl::frontends::http {
namespace {

void write_name(JsonWriter& writer, std::string_view name, std::string_view text) {
  writer.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
  write_text(writer, text);
}

void write_parameters(const Response& response, JsonWriter& writer) {
  bool any = false;
  for (const Parameter& parameter : response.parameters) {
    if (parameter.type == ParameterType::kBytes) continue;
    if (!any) {
      writer.Key("parameters");
      writer.StartObject();
      any = true;
    }
    write_text(writer, parameter.key);
    write_value(parameter, writer);
  }
  if (any) writer.EndObject();
}

/// Whether the client wants this output as bytes.
bool wants_binary(const ReplyForm& form, const Request& request, const RequestedOutput* wanted) noexcept {
  if (!form.lists_outputs) return form.binary_default;
  return wanted != nullptr && form.is_binary(static_cast<uint32_t>(wanted - request.outputs.begin()));
}

struct Writing {
  const Request& request;
  const ReplyForm& form;
  JsonWriter& writer;
  JsonOutput& out;  ///< of the writer
  ReplyPart* parts;
  size_t count = 1;  ///< of parts; the head is the first
  uint64_t binary_bytes = 0;

  /// \param position  in the response; mostly that of the request
  Status write_output(const OutputTensor& output, size_t position) {
    writer.StartObject();
    write_name(writer, "name", output.name);
    write_name(writer, "datatype", data_type_name(output.datatype));
    writer.Key("shape");
    writer.StartArray();
    for (int64_t dim : output.shape) writer.Int64(dim);
    writer.EndArray();
    const RequestedOutput* wanted = request.find_output(output.name, position);
    if (is_placed(wanted, output)) {
      writer.EndObject();
      return {};
    }
    if (wants_binary(form, request, wanted)) {
      ATOLL_RETURN_IF_ERROR(add_part(output));
    } else {
      writer.Key("data");
      ATOLL_RETURN_IF_ERROR(write_elements(output, Brackets::kAlways, writer, out));
    }
    writer.EndObject();
    return {};
  }

  Status add_part(const OutputTensor& output) {
    uint64_t elements = 0;
    ATOLL_RETURN_IF_ERROR(check_output(output, &elements));
    writer.Key("parameters");
    writer.StartObject();
    writer.Key("binary_data_size");
    writer.Uint64(output.buffer.size_bytes);
    writer.EndObject();
    if (output.buffer.size_bytes == 0) return {};
    ReplyPart& part = parts[count++];
    part.bytes = {static_cast<const uint8_t*>(output.buffer.data),
                  static_cast<size_t>(output.buffer.size_bytes)};
    part.tensor = &output;
    binary_bytes += output.buffer.size_bytes;
    return {};
  }
};

}  // namespace

uint64_t json_tensor_bytes(const Request& request, const ReplyForm& form, const Response& response) noexcept {
  uint64_t bytes = 0;
  for (size_t i = 0; i < response.outputs.size(); ++i) {
    const OutputTensor& output = response.outputs[i];
    const RequestedOutput* wanted = request.find_output(output.name, i);
    if (!is_placed(wanted, output) && !wants_binary(form, request, wanted)) bytes += output.buffer.size_bytes;
  }
  return bytes;
}

Result<InferReply> write_infer_response(const ModelInfo& model, const Request& request, const ReplyForm& form,
                                        Response& response, JsonOutput& head) {
  head.reset();
  JsonWriter writer(head);
  writer.StartObject();
  if (!request.id.empty()) write_name(writer, "id", request.id);
  write_name(writer, "model_name", model.name);
  write_name(writer, "model_version", model.version_text);
  write_parameters(response, writer);
  writer.Key("outputs");
  writer.StartArray();
  Writing writing{request, form, writer, head,
                  response.arena().make_array<ReplyPart>(response.outputs.size() + 1)};
  for (size_t i = 0; i < response.outputs.size(); ++i) {
    if (Status status = writing.write_output(response.outputs[i], i); !status.ok()) return status;
  }
  writer.EndArray();
  writer.EndObject();
  if (head.failed()) {
    return make_status(Code::kResourceExhausted, "no memory for the JSON of the response of model '",
                       model.name, "'");
  }
  InferReply reply;
  reply.binary = writing.binary_bytes != 0;
  reply.json_bytes = head.text().size();
  reply.total_bytes = reply.json_bytes + writing.binary_bytes;
  writing.parts[0].bytes = {reinterpret_cast<const uint8_t*>(head.text().data()), reply.json_bytes};
  reply.parts = {writing.parts, writing.count};
  return reply;
}

}  // namespace atl::frontends::http
