/// Reading the outputs of responses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/request/tensor.h"

namespace atl::frontends::openai {

/// The elements of a BYTES output, joined. Errors: INTERNAL its bytes are not its elements, or lie on a GPU.
Result<std::string> joined_texts(const OutputTensor& output);
/// The elements of a BYTES output. Errors: as joined_texts().
Result<std::vector<std::string>> texts_in(const OutputTensor& output);
/// The numbers of an output of floating point. Errors: INTERNAL one is not finite, or they lie on a GPU.
Result<std::vector<float>> floats_in(const OutputTensor& output);
/// The numbers of an output of 4 or 8 bytes each. Errors: INTERNAL they lie on a GPU.
Result<std::vector<int64_t>> integers_in(const OutputTensor& output);
/// The first element of an output of numbers; 0: it has none.
uint64_t first_number(const OutputTensor& output) noexcept;

}  // namespace atl::frontends::openai
