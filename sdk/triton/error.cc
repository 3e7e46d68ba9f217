#include "error.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "atoll/triton/status.h"

namespace atl::triton {
namespace {

TRITONSERVER_Error no_memory{TRITONSERVER_ERROR_UNAVAILABLE, "out of memory", true};

}  // namespace

TRITONSERVER_Error* out_of_memory() noexcept { return &no_memory; }

// One block: the error, then its text.
TRITONSERVER_Error* new_error(TRITONSERVER_Error_Code code, std::string_view message) noexcept {
  void* block = std::malloc(sizeof(TRITONSERVER_Error) + message.size() + 1);
  if (block == nullptr) return out_of_memory();
  char* text = static_cast<char*>(block) + sizeof(TRITONSERVER_Error);
  std::memcpy(text, message.data(), message.size());
  text[message.size()] = '\0';
  return new (block) TRITONSERVER_Error{code, text, false};
}

TRITONSERVER_Error* new_error(const Status& status) noexcept {
  return new_error(error_code_of(status.code()), status.message());
}

TRITONSERVER_Error* null_argument(const char* function) noexcept {
  return invalid_argument(function, ": an argument that is needed is null");
}

}  // namespace atl::triton

TRITONSERVER_Error* TRITONSERVER_ErrorNew(TRITONSERVER_Error_Code code, const char* msg) {
  return atl::triton::new_error(code, msg == nullptr ? "" : msg);
}

void TRITONSERVER_ErrorDelete(TRITONSERVER_Error* error) {
  if (error != nullptr && !error->fixed) std::free(error);
}

TRITONSERVER_Error_Code TRITONSERVER_ErrorCode(TRITONSERVER_Error* error) {
  return error == nullptr ? TRITONSERVER_ERROR_UNKNOWN : error->code;
}

const char* TRITONSERVER_ErrorCodeString(TRITONSERVER_Error* error) {
  // CANCELLED has no name in Triton either.
  static constexpr const char* kNames[] = {"Unknown",     "Internal",    "Not found",     "Invalid argument",
                                           "Unavailable", "Unsupported", "Already exists"};
  const auto code = static_cast<uint32_t>(TRITONSERVER_ErrorCode(error));
  return error == nullptr || code >= sizeof kNames / sizeof *kNames ? "<invalid code>" : kNames[code];
}

const char* TRITONSERVER_ErrorMessage(TRITONSERVER_Error* error) {
  return error == nullptr ? "" : error->message;
}
