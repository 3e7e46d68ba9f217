/// How failures read in the repository index and in load results.
#pragma once

#include <string>

#include "atoll/core/status.h"

namespace atl::models {

/// "Invalid argument", "Not found", "Unsupported": a code as the index spells it.
inline std::string code_words(Code code) {
  if (code == Code::kUnimplemented) return "Unsupported";
  std::string words(code_name(code));
  for (size_t i = 1; i < words.size(); ++i) {
    words[i] = words[i] == '_' ? ' ' : static_cast<char>(words[i] - 'A' + 'a');
  }
  return words;
}

/// "Internal: onnx runtime error ...": the reason of a version that failed to load.
inline std::string failure_reason(const Status& status) {
  return cat(code_words(status.code()), ": ", status.text());
}

}  // namespace atl::models
