/// Bodies of the calls that generate no text: /v1/rerank, /v1/classify, /tokenize and /detokenize.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "frontends/openai/api_error.h"
#include "frontends/openai/request/generation_request.h"

namespace atl::frontends::openai {

struct RerankRequest {
  std::string model;
  std::string query;
  std::vector<std::string> documents;
  int64_t top_n = 0;  ///< 0: all
  bool return_documents = true;
  uint32_t unknown_fields = 0;
};
inline constexpr uint32_t kDocumentsMax = 1'024;

struct ClassifyRequest {
  std::string model;
  std::vector<Prompt> texts;
  uint32_t unknown_fields = 0;
};

std::variant<RerankRequest, ApiError> read_rerank(std::string_view body);
std::variant<ClassifyRequest, ApiError> read_classify(std::string_view body);
/// A prompt, or the messages of a chat with what its template is told.
std::variant<GenerationRequest, ApiError> read_tokenize(std::string_view body);
/// A prompt of token ids.
std::variant<GenerationRequest, ApiError> read_detokenize(std::string_view body);

}  // namespace atl::frontends::openai
