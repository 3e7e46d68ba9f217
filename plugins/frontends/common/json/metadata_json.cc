#include "frontends/common/json/metadata_json.h"

#include "frontends/common/json/json_text.h"

namespace atl::frontends {
namespace {

using Tensor = inference::ModelMetadataResponse::TensorMetadata;

void write_tensors(JsonWriter& writer, std::string_view name,
                   const google::protobuf::RepeatedPtrField<Tensor>& tensors) {
  write_key(writer, name);
  write_array(writer, tensors, [&](const Tensor& tensor) {
    writer.StartObject();
    write_member(writer, "name", tensor.name());
    write_member(writer, "datatype", tensor.datatype());
    write_key(writer, "shape");
    write_array(writer, tensor.shape(), [&](int64_t dim) { writer.Int64(dim); });
    writer.EndObject();
  });
}

}  // namespace

std::string server_metadata_json(const inference::ServerMetadataResponse& metadata) {
  return json_text([&](JsonWriter& writer) {
    writer.StartObject();
    write_member(writer, "name", metadata.name());
    write_member(writer, "version", metadata.version());
    write_key(writer, "extensions");
    write_array(writer, metadata.extensions(), [&](const std::string& text) { write_text(writer, text); });
    writer.EndObject();
  });
}

std::string model_metadata_json(const inference::ModelMetadataResponse& metadata) {
  return json_text([&](JsonWriter& writer) {
    writer.StartObject();
    write_member(writer, "name", metadata.name());
    write_key(writer, "versions");
    write_array(writer, metadata.versions(), [&](const std::string& text) { write_text(writer, text); });
    write_member(writer, "platform", metadata.platform());
    write_tensors(writer, "inputs", metadata.inputs());
    write_tensors(writer, "outputs", metadata.outputs());
    writer.EndObject();
  });
}

}  // namespace atl::frontends
