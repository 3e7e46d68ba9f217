/// How many tokens the responses of one request have taken.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "atoll/request/request.h"
#include "atoll/request/request_admission.h"

namespace atl::models {

/// Reads responses as atoll/request/request_admission.h says. Of one request, so one call at a time.
class TokenCounter {
 public:
  /// Takes the parameters about tokens out of the response. \returns what the response adds
  TokenUse take(Response& response) noexcept {
    TokenUse use;
    if (take_parameters(response, use)) return use;
    for (const OutputTensor& output : response.outputs) {
      if (output.name == "num_output_tokens") use.generated += sum_of(output);
      if (output.name != "num_input_tokens") continue;
      const uint64_t prompt = std::max(prompt_, sum_of(output));
      use.prompt += prompt - prompt_;
      prompt_ = prompt;
    }
    return use;
  }

 private:
  /// Larger numbers are a defect of the model; nobody is charged for that.
  static constexpr uint64_t kTokensMax = uint64_t{1} << 32;

  static uint64_t plausible(int64_t count) noexcept {
    return count < 0 || static_cast<uint64_t>(count) > kTokensMax ? 0 : static_cast<uint64_t>(count);
  }
  static bool take_parameters(Response& response, TokenUse& use) noexcept {
    uint32_t kept = 0;
    for (const Parameter& parameter : response.parameters) {
      const bool is_prompt = parameter.key == kPromptTokensUsed;
      if (parameter.type == ParameterType::kInt && (is_prompt || parameter.key == kGeneratedTokensUsed)) {
        (is_prompt ? use.prompt : use.generated) += plausible(parameter.int_value);
      } else {
        response.parameters[kept++] = parameter;
      }
    }
    const bool has_some = kept != response.parameters.size();
    response.parameters.truncate(kept);
    return has_some;
  }
  /// 0: it is of a type or in a place where nobody looks for numbers.
  static uint64_t sum_of(const OutputTensor& output) noexcept {
    const Buffer& buffer = output.buffer;
    if (buffer.kind == MemoryKind::kGpu || buffer.ready_after != nullptr || buffer.data == nullptr) return 0;
    switch (output.datatype) {
      case DataType::kInt32:
        return sum<int32_t>(buffer);
      case DataType::kUint32:
        return sum<uint32_t>(buffer);
      case DataType::kInt64:
      case DataType::kUint64:
        return sum<int64_t>(buffer);
      default:
        return 0;
    }
  }
  template <class Number>
  static uint64_t sum(const Buffer& buffer) noexcept {
    uint64_t total = 0;
    for (uint64_t at = 0; at + sizeof(Number) <= buffer.size_bytes; at += sizeof(Number)) {
      Number value = 0;
      std::memcpy(&value, static_cast<const std::byte*>(buffer.data) + at, sizeof value);
      total += plausible(static_cast<int64_t>(value));
    }
    return std::min(total, kTokensMax);
  }

  uint64_t prompt_ = 0;  ///< of the outputs until now
};

}  // namespace atl::models
