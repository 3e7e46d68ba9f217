#include "frontends/openai/request/embedding_request.h"

#include <utility>

#include "frontends/openai/request/body.h"
#include "frontends/openai/request/sampling.h"

namespace atl::frontends::openai {

std::variant<EmbeddingRequest, ApiError> read_embedding(std::string_view body) {
  constexpr std::string_view kKnown[] = {"model", "input", "encoding_format", "dimensions", "user"};
  CheckedDocument document;
  if (auto failure = parse_body(body, document)) return std::move(*failure);
  Fields fields(document);
  EmbeddingRequest request;
  request.model = read_model(fields);
  request.texts = read_prompts(fields, "input", kTextsMax);
  const std::string_view format = fields.text("encoding_format");
  request.is_base64 = format == "base64";
  if (!request.is_base64 && !format.empty() && format != "float")
    fields.fail(wrong_field("encoding_format", "'encoding_format' has to be float or base64."));
  request.dimensions = fields.integer("dimensions", 1, kMostTokens).value_or(0);
  request.unknown_fields = count_unknown(document, kKnown);
  if (fields.failure()) return std::move(*fields.failure());
  return request;
}

}  // namespace atl::frontends::openai
