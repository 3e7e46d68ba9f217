#include "message.h"

#include "error.h"

using atl::triton::any_null;
using atl::triton::null_argument;

TRITONSERVER_Error* atl::triton::give_config(const std::string& json, uint32_t version,
                                             TRITONSERVER_Message** message) noexcept {
  *message = nullptr;
  if (version != 1) {
    return invalid_argument("model configuration version ", version,
                            " not supported, supported versions are: 1");
  }
  return guarded([&]() -> TRITONSERVER_Error* {
    *message = new TRITONSERVER_Message{json, false};
    return nullptr;
  });
}

TRITONSERVER_Error* TRITONSERVER_MessageNewFromSerializedJson(TRITONSERVER_Message** message,
                                                              const char* base, size_t byte_size) {
  if (message == nullptr || (base == nullptr && byte_size != 0)) return null_argument(__func__);
  *message = nullptr;
  return atl::triton::guarded([&]() -> TRITONSERVER_Error* {
    *message = new TRITONSERVER_Message{byte_size == 0 ? std::string() : std::string(base, byte_size), false};
    return nullptr;
  });
}

TRITONSERVER_Error* TRITONSERVER_MessageDelete(TRITONSERVER_Message* message) {
  if (message == nullptr) return null_argument(__func__);
  if (message->lent) return atl::triton::invalid_argument("the message is borrowed, and not to be deleted");
  delete message;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MessageSerializeToJson(TRITONSERVER_Message* message, const char** base,
                                                        size_t* byte_size) {
  if (any_null(message, base, byte_size)) return null_argument(__func__);
  *base = message->json.data();
  *byte_size = message->json.size();
  return nullptr;
}
