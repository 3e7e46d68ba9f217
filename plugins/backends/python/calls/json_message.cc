#include "backends/python/calls/json_message.h"

#include <cstring>
#include <utility>

#include "backends/python/calls/response_reader.h"

namespace atl::python {

Status send_work_json(Worker& worker, MessageType type, std::string_view json) {
  Result<const Block*> block = worker.blocks().allocate(json.size());
  if (!block.ok()) return std::move(block).status();
  std::memcpy((*block)->payload, json.data(), json.size());
  RingMessage message;
  message.type = type;
  message.slab = (*block)->slab;
  message.offset = (*block)->offset;
  message.size_bytes = json.size();
  const bool is_sent = worker.send_work(message);
  worker.blocks().give_back(*block, is_sent);
  return is_sent ? Status() : unavailable("worker '", worker.name(), "' takes no messages");
}

Result<nlohmann::json> read_json(const WorkerMemory& memory, const RingMessage& message,
                                 uint64_t size_bytes) {
  PayloadView payload;
  if (!payload_of(memory, message, payload)) return invalid_argument("found a message without its JSON");
  nlohmann::json object = nlohmann::json::parse(payload.text(size_bytes), nullptr, false);
  if (!object.is_object()) return invalid_argument("found a message that is no JSON object");
  return object;
}

std::string text_in(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Status error_in(const nlohmann::json& object) {
  const auto found = object.find("error");
  if (found == object.end() || found->is_null()) return {};
  const auto code = object.find("code");
  const bool has_code = code != object.end() && code->is_number_unsigned();
  return Status(has_code ? code_of(code->get<uint32_t>()) : Code::kInternal,
                found->is_string() ? found->get<std::string>() : found->dump());
}

}  // namespace atl::python
