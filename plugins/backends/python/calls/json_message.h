/// Messages whose payload is JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "atoll/core/status.h"
#include "backends/python/process/worker.h"

namespace atl::python {

/// As text: what is not UTF-8 is replaced.
inline std::string dump_json(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Writes the text for the worker and sends it on the work ring. Errors: RESOURCE_EXHAUSTED, UNAVAILABLE.
Status send_work_json(Worker& worker, MessageType type, std::string_view json);

/// The object in a message of the worker, or in the first size_bytes of it. Errors: INVALID_ARGUMENT it is none.
Result<nlohmann::json> read_json(const WorkerMemory& memory, const RingMessage& message,
                                 uint64_t size_bytes = UINT64_MAX);

/// A member as text; empty if it is missing or none.
std::string text_in(const nlohmann::json& object, const char* key);

/// The failure that a message says by `error` and perhaps `code`; OK: it says none.
Status error_in(const nlohmann::json& object);

}  // namespace atl::python
