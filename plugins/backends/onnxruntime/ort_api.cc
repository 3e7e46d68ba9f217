#include "backends/onnxruntime/ort_api.h"

#include <algorithm>
#include <string>
#include <string_view>

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
  if (*text != '\0') {
    line.resize(std::min(line.rfind(' '), line.size()));  // whole words only
    line.append(" ...");
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

/// "/build/core/graph/model.cc:181": a place in a source.
bool is_source_place(std::string_view word) {
  const size_t colon = word.rfind(':');
  if (!word.starts_with('/') || colon == std::string_view::npos) return false;
  constexpr std::string_view kEndings[] = {".cc", ".h", ".cpp", ".hpp", ".cu", ".cuh"};
  const std::string_view file = word.substr(0, colon);
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [file](std::string_view ending) { return file.ends_with(ending); });
}

/// Of places in ONNX Runtime's sources the file remains: how the machine that built it is laid out is
/// nobody's business.
std::string without_build_paths(std::string_view line) {
  std::string out;
  while (!line.empty()) {
    const size_t blank = std::min(line.find(' '), line.size());
    std::string_view word = line.substr(0, blank);
    line.remove_prefix(std::min(blank + 1, line.size()));
    if (is_source_place(word)) word.remove_prefix(word.rfind('/') + 1);
    out += cat(out.empty() ? "" : " ", word);
  }
  return out;
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

}  // namespace

Status check(OrtStatus* failure) noexcept {
  if (failure == nullptr) return {};
  Status status(code_of(api().GetErrorCode(failure)),
                without_build_paths(one_line(api().GetErrorMessage(failure))));
  api().ReleaseStatus(failure);
  return status;
}

}  // namespace atl::ort
