#include "frontends/http/management/shared_memory_json.h"

#include <limits>
#include <map>

#include "frontends/common/json/json_text.h"
#include "frontends/http/management/base64.h"
#include "frontends/http/management/json_body.h"

namespace atl::frontends::http {
namespace {

/// Of a cudaIpcMemHandle_t.
constexpr size_t kHandleBytes = 64;

Status require(JsonObject object, std::string_view name, JsonElement* value) noexcept {
  if (find_member(object, name, value)) return {};
  return invalid_argument("Shared memory register request has no '", name, "' field");
}

Status read_required_uint(JsonObject object, std::string_view name, uint64_t* number) noexcept {
  JsonElement value;
  ATOLL_RETURN_IF_ERROR(require(object, name, &value));
  return read_uint(name, value, number);
}

Status read_handle(JsonElement value, std::string* handle) noexcept {
  JsonObject object;
  ATOLL_RETURN_IF_ERROR(read_object("raw_handle", value, &object));
  ATOLL_RETURN_IF_ERROR(check_members(object));
  JsonElement encoded;
  if (!find_member(object, "b64", &encoded)) return missing_member("b64");
  std::string_view text;
  ATOLL_RETURN_IF_ERROR(read_string("b64", encoded, &text));
  if (!decode_base64(text, handle) || handle->size() != kHandleBytes) {
    return invalid_argument("'raw_handle' must be a valid base64 encoded cudaIpcMemHandle_t");
  }
  return {};
}

/// Calls `write` for every region, by name.
template <class Regions, class Write>
std::string regions_json(const Regions& regions, Write&& write) {
  std::map<std::string_view, const typename Regions::mapped_type*> ordered;
  for (const auto& [name, region] : regions) ordered.emplace(name, &region);
  return json_text([&](JsonWriter& writer) {
    write_array(writer, ordered, [&](const auto& entry) {
      writer.StartObject();
      write_member(writer, "name", entry.second->name());
      write(writer, *entry.second);
      writer.EndObject();
    });
  });
}

}  // namespace

Status read_system_register(std::string_view body,
                            inference::SystemSharedMemoryRegisterRequest* request) noexcept {
  JsonBody json;
  ATOLL_RETURN_IF_ERROR(json.parse(body));
  JsonElement key;
  ATOLL_RETURN_IF_ERROR(require(json.object(), "key", &key));
  std::string_view text;
  ATOLL_RETURN_IF_ERROR(read_string("key", key, &text));
  uint64_t byte_size = 0;
  ATOLL_RETURN_IF_ERROR(read_required_uint(json.object(), "byte_size", &byte_size));
  uint64_t offset = 0;
  if (JsonElement value; find_member(json.object(), "offset", &value)) {
    ATOLL_RETURN_IF_ERROR(read_uint("offset", value, &offset));
  }
  request->set_key(std::string(text));
  request->set_offset(offset);
  request->set_byte_size(byte_size);
  return {};
}

Status read_cuda_register(std::string_view body,
                          inference::CudaSharedMemoryRegisterRequest* request) noexcept {
  JsonBody json;
  ATOLL_RETURN_IF_ERROR(json.parse(body));
  JsonElement handle;
  ATOLL_RETURN_IF_ERROR(require(json.object(), "raw_handle", &handle));
  uint64_t byte_size = 0;
  ATOLL_RETURN_IF_ERROR(read_required_uint(json.object(), "byte_size", &byte_size));
  uint64_t device_id = 0;
  ATOLL_RETURN_IF_ERROR(read_required_uint(json.object(), "device_id", &device_id));
  if (device_id > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return wrong_kind("device_id", JsonKind::kUint);
  }
  ATOLL_RETURN_IF_ERROR(read_handle(handle, request->mutable_raw_handle()));
  request->set_device_id(static_cast<int64_t>(device_id));
  request->set_byte_size(byte_size);
  return {};
}

std::string system_regions_json(const inference::SystemSharedMemoryStatusResponse& status) {
  return regions_json(status.regions(), [](JsonWriter& writer, const auto& region) {
    write_member(writer, "key", region.key());
    write_member(writer, "offset", region.offset());
    write_member(writer, "byte_size", region.byte_size());
  });
}

std::string cuda_regions_json(const inference::CudaSharedMemoryStatusResponse& status) {
  return regions_json(status.regions(), [](JsonWriter& writer, const auto& region) {
    write_member(writer, "device_id", region.device_id());
    write_member(writer, "byte_size", region.byte_size());
  });
}

}  // namespace atl::frontends::http
