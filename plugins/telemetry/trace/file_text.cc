#include "telemetry/trace/file_text.h"

#include "atoll/lib/json_writer.h"
#include "telemetry/trace/tensor_text.h"

namespace atl::tracing {
namespace {

void write_request(CheckedWriter& json, const RecordedRequest& request) {
  json.StartObject();
  write_member(json, "id", request.id);
  write_member(json, "model_name", request.model);
  write_member(json, "model_version", request.version);
  if (!request.request_id.empty()) {
    write_member(json, "request_id", request.request_id);
  }
  if (request.parent_id != 0) {
    write_member(json, "parent_id", request.parent_id);
  }
  json.EndObject();
}

void write_moment(CheckedWriter& json, const RecordedEvent& event) {
  write_key(json, "timestamps");
  json.StartArray();
  json.StartObject();
  write_member(json, "name", event.name());
  write_member(json, "ns", event.timestamp_ns);
  json.EndObject();
  json.EndArray();
}

void write_tensor(CheckedWriter& json, const RecordedEvent& event) {
  write_member(json, "activity", activity_name(event.activity));
  write_key(json, "tensor");
  json.StartObject();
  write_member(json, "name", event.tensor->name);
  write_member(json, "data", tensor_text(*event.tensor));
  write_member(json, "shape", dims_text(*event.tensor));
  write_member(json, "dtype", data_type_name(event.tensor->datatype));
  json.EndObject();
}

}  // namespace

std::string file_text(const Record& record) {
  CheckedBuffer buffer;
  std::string text;
  auto add = [&](auto&& write) {
    buffer.Clear();
    CheckedWriter json(buffer);
    write(json);
    if (!text.empty()) text.push_back(',');
    text.append(buffer.GetString(), buffer.GetSize());
  };
  for (const RecordedRequest& request : record.requests) {
    add([&](CheckedWriter& json) { write_request(json, request); });
    for (const RecordedEvent& event : request.events) {
      add([&](CheckedWriter& json) {
        json.StartObject();
        write_member(json, "id", request.id);
        event.tensor != nullptr ? write_tensor(json, event) : write_moment(json, event);
        json.EndObject();
      });
    }
  }
  return text;
}

}  // namespace atl::tracing
