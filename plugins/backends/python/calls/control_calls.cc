#include "backends/python/calls/control_calls.h"

#include <charconv>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "backends/python/calls/json_message.h"
#include "backends/python/calls/response_reader.h"

namespace atl::python {
namespace {

using Files = std::vector<ModelControlParameter>;

/// [path, offset in the payload, size] each.
Status read_files(const nlohmann::json& object, const PayloadView& payload, Files& files) {
  const auto found = object.find("files");
  if (found == object.end() || found->is_null()) return {};
  if (!found->is_array()) return invalid_argument("found files that are no list");
  for (const nlohmann::json& file : *found) {
    if (!file.is_array() || file.size() != 3 || !file[0].is_string() || !file[1].is_number_unsigned() ||
        !file[2].is_number_unsigned()) {
      return invalid_argument("found a file that is not [path, offset, size]");
    }
    ModelControlParameter parameter;
    parameter.key = file[0].get<std::string>();
    if (!parameter.key.starts_with("file:")) parameter.key.insert(0, "file:");
    parameter.type = ParameterType::kBytes;
    const auto size = file[2].get<uint64_t>();
    if (size > payload.size_bytes()) return invalid_argument("found a file outside of its memory");
    parameter.text.resize(size);
    if (!payload.read_array(file[1].get<uint64_t>(), std::span(parameter.text))) {
      return invalid_argument("found a file outside of its memory");
    }
    files.push_back(std::move(parameter));
  }
  return {};
}

template <class Call>
void ask_control(ServerLink& server, const std::shared_ptr<Replies>& replies, uint64_t id, Call&& call) {
  auto pass = std::make_shared<Pass>(server.gate());
  auto done = [replies, id, pass](Status status) { replies->send(id, 0, status); };
  if (!*pass || !server.with_control([&](ModelControl& control) { call(control, done); })) {
    replies->send(id, 0, unavailable("no plugin provides ", ModelControl::kInterfaceId));
  }
}

void answer_ready(const nlohmann::json& object, ServerLink& server, Replies& replies, uint64_t id) {
  const std::string model = text_in(object, "name"), version = text_in(object, "version");
  int64_t number = ModelCatalog::kLatest;
  if (!version.empty()) {
    const char* end = version.data() + version.size();
    const auto [rest, error] = std::from_chars(version.data(), end, number);
    if (error != std::errc() || rest != end) {
      return replies.send(
          id, 0,
          invalid_argument("failed to get model version from specified version string '", version, "'"));
    }
  }
  Result<HeldModel> held = server.acquire(model, number);
  replies.send(id, held.ok() && held->model->ready() ? 1 : 0);
}

}  // namespace

void Replies::send(uint64_t id, uint64_t value, const Status& failure) {
  std::lock_guard lock(mutex_);
  if (worker_ == nullptr) return;
  RingMessage message;
  message.type = MessageType::kReply;
  message.id = id;
  message.value = value;
  const Block* block = nullptr;
  if (!failure.ok()) {
    const std::string json =
        dump_json({{"error", std::string(failure.message())}, {"code", triton_code_of(failure.code())}});
    Result<const Block*> made = worker_->blocks().allocate(json.size());
    if (!made.ok())
      return worker_->kill(
          cat("is killed because an answer cannot be handed to it: ", made.status().message()));
    block = *made;
    std::memcpy(block->payload, json.data(), json.size());
    message.slab = block->slab;
    message.offset = block->offset;
    message.size_bytes = json.size();
  }
  worker_->send_side(message, block);
}

Status take_control_call(const WorkerMemory& memory, const RingMessage& message, ServerLink& server,
                         const std::shared_ptr<Replies>& replies) {
  const bool is_load = message.type == MessageType::kLoadModel;
  Result<nlohmann::json> object = read_json(memory, message, is_load ? message.value : UINT64_MAX);
  PayloadView payload;
  (void)payload_of(memory, message, payload);
  Files parameters;
  Status status = object.ok() ? Status() : std::move(object).status();
  if (status.ok() && is_load) status = read_files(*object, payload, parameters);
  release_payload(memory, message);
  ATOLL_RETURN_IF_ERROR(std::move(status));
  if (message.type == MessageType::kModelReady) {
    answer_ready(*object, server, *replies, message.id);
    return {};
  }
  std::string model = text_in(*object, "name");
  if (is_load) {
    if (std::string config = text_in(*object, "config"); !config.empty()) {
      ModelControlParameter& parameter = parameters.emplace_back();
      parameter.key = "config";
      parameter.text = std::move(config);
    }
    ask_control(server, replies, message.id, [&](ModelControl& control, auto done) {
      control.load(std::move(model), std::move(parameters), std::move(done));
    });
    return {};
  }
  const auto dependents = object->find("unload_dependents");
  ModelControlParameter with_dependents;
  with_dependents.key = "unload_dependents";
  with_dependents.type = ParameterType::kBool;
  with_dependents.bool_value =
      dependents != object->end() && dependents->is_boolean() && dependents->get<bool>();
  parameters.push_back(std::move(with_dependents));
  ask_control(server, replies, message.id, [&](ModelControl& control, auto done) {
    control.unload(std::move(model), std::move(parameters), std::move(done));
  });
  return {};
}

}  // namespace atl::python
