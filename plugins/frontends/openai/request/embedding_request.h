/// Bodies of /v1/embeddings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "frontends/openai/api_error.h"
#include "frontends/openai/request/generation_request.h"

namespace atl::frontends::openai {

struct EmbeddingRequest {
  std::string model;
  std::vector<Prompt> texts;
  bool is_base64 = false;
  int64_t dimensions = 0;  ///< 0: all that there are
  uint32_t unknown_fields = 0;
};

inline constexpr uint32_t kTextsMax = 2'048;  ///< of one call

std::variant<EmbeddingRequest, ApiError> read_embedding(std::string_view body);

}  // namespace atl::frontends::openai
