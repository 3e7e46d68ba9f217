#include "ort_api.h"

#include <string>

namespace atl::ort {
namespace {

// ONNX Runtime puts whole graphs into some messages; a client needs the beginning.
constexpr size_t kMaxMessageBytes = 1024;

std::string one_line(const char* text) {
  std::string line;
  for (; *text != '\0' && line.size() < kMaxMessageBytes; ++text) {
    bool blank = *text == ' ' || *text == '\n' || *text == '\r' || *text == '\t';
    if (!blank) {
      line.push_back(*text);
    } else if (!line.empty() && line.back() != ' ') {
      line.push_back(' ');
    }
  }
  if (*text != '\0') line.append("...");
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

Code code_of(OrtErrorCode code) {
  switch (code) {
    case ORT_INVALID_ARGUMENT:
    case ORT_INVALID_GRAPH:
    case ORT_INVALID_PROTOBUF:
      return Code::kInvalidArgument;
    case ORT_NO_SUCHFILE:
    case ORT_NO_MODEL:
      return Code::kNotFound;
    case ORT_NOT_IMPLEMENTED:
      return Code::kUnimplemented;
    default:
      return Code::kInternal;
  }
}

const OrtApi* find_api() noexcept {
  static const OrtApi* const found = OrtGetApiBase()->GetApi(ORT_API_VERSION);
  return found;
}

}  // namespace

const OrtApi& api() noexcept { return *find_api(); }

Status runtime_usable() noexcept {
  if (find_api() != nullptr) return {};
  return make_status(Code::kFailedPrecondition, "ONNX Runtime library: found version ",
                     OrtGetApiBase()->GetVersionString(), ", expected one that offers API level ",
                     ORT_API_VERSION);
}

Status check(OrtStatus* failure) noexcept {
  if (failure == nullptr) return {};
  Status status(code_of(api().GetErrorCode(failure)), one_line(api().GetErrorMessage(failure)));
  api().ReleaseStatus(failure);
  return status;
}

}  // namespace atl::ort
