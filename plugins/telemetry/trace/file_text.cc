#include "telemetry/trace/file_text.h"

#include "telemetry/trace/json_text.h"
#include "telemetry/trace/tensor_text.h"

namespace atl::tracing {
namespace {

void write_request(JsonWriter& json, const RecordedRequest& request) {
  json.StartObject();
  write_key(json, "id");
  json.Uint64(request.id);
  write_key(json, "model_name");
  write_text(json, request.model);
  write_key(json, "model_version");
  json.Int64(request.version);
  if (!request.request_id.empty()) {
    write_key(json, "request_id");
    write_text(json, request.request_id);
  }
  if (request.parent_id != 0) {
    write_key(json, "parent_id");
    json.Uint64(request.parent_id);
  }
  json.EndObject();
}

void write_moment(JsonWriter& json, const RecordedEvent& event) {
  write_key(json, "timestamps");
  json.StartArray();
  json.StartObject();
  write_key(json, "name");
  write_text(json, event.name());
  write_key(json, "ns");
  json.Int64(event.timestamp_ns);
  json.EndObject();
  json.EndArray();
}

void write_tensor(JsonWriter& json, const RecordedEvent& event) {
  write_key(json, "activity");
  write_text(json, activity_name(event.activity));
  write_key(json, "tensor");
  json.StartObject();
  write_key(json, "name");
  write_text(json, event.tensor->name);
  write_key(json, "data");
  write_text(json, tensor_text(*event.tensor));
  write_key(json, "shape");
  write_text(json, dims_text(*event.tensor));
  write_key(json, "dtype");
  write_text(json, data_type_name(event.tensor->datatype));
  json.EndObject();
}

}  // namespace

std::string file_text(const Record& record) {
  CheckedBuffer buffer;
  std::string text;
  auto add = [&](auto&& write) {
    buffer.Clear();
    JsonWriter json(buffer);
    write(json);
    if (!text.empty()) text.push_back(',');
    text.append(buffer.GetString(), buffer.GetSize());
  };
  for (const RecordedRequest& request : record.requests) {
    add([&](JsonWriter& json) { write_request(json, request); });
    for (const RecordedEvent& event : request.events) {
      add([&](JsonWriter& json) {
        json.StartObject();
        write_key(json, "id");
        json.Uint64(request.id);
        event.tensor != nullptr ? write_tensor(json, event) : write_moment(json, event);
        json.EndObject();
      });
    }
  }
  return text;
}

}  // namespace atl::tracing
