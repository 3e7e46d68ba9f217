#include "frontends/openai/request/other_requests.h"

#include <span>
#include <utility>

#include "atoll/core/text.h"
#include "frontends/openai/request/body.h"
#include "frontends/openai/request/completion_parser.h"
#include "frontends/openai/request/sampling.h"
#include "frontends/openai/request/tools.h"

namespace atl::frontends::openai {
namespace {

/// A text, or the `text` of an object.
bool read_document(const CheckedValue& value, std::vector<std::string>& documents) {
  const CheckedValue* text = &value;
  if (value.IsObject()) {
    const auto member = value.FindMember("text");
    if (member == value.MemberEnd()) return false;
    text = &member->value;
  }
  if (!text->IsString()) return false;
  documents.emplace_back(text_of(*text));
  return true;
}

void read_documents(Fields& fields, std::vector<std::string>& documents) {
  const CheckedValue* const list = fields.find("documents");
  const auto refuse = [&] {
    fields.fail(
        wrong_field("documents", cat("'documents' has to be a list of 1 to ", kDocumentsMax, " texts.")));
  };
  if (list == nullptr || !list->IsArray() || list->Empty() || list->Size() > kDocumentsMax) return refuse();
  for (const CheckedValue& one : list->GetArray()) {
    if (!read_document(one, documents)) return refuse();
  }
}

/// What all readers here do: the object in the body, its model, what `read` takes of it, and how many other fields it has.
template <class Request, class Read>
std::variant<Request, ApiError> read_request(std::string_view body, std::span<const std::string_view> known,
                                             Read&& read) {
  CheckedDocument document;
  if (auto failure = parse_body(body, document)) return std::move(*failure);
  Fields fields(document);
  Request request;
  request.model = read_model(fields);
  read(fields, request);
  request.unknown_fields = count_unknown(document, known);
  if (fields.failure()) return std::move(*fields.failure());
  return request;
}

}  // namespace

std::variant<RerankRequest, ApiError> read_rerank(std::string_view body) {
  constexpr std::string_view kKnown[] = {"model",
                                         "query",
                                         "documents",
                                         "top_n",
                                         "return_documents",
                                         "user",
                                         "truncate_prompt_tokens",
                                         "max_tokens_per_doc"};
  return read_request<RerankRequest>(body, kKnown, [](Fields& fields, RerankRequest& request) {
    request.query = fields.text("query");
    if (!fields.has("query")) fields.fail(wrong_field("query", "'query' is missing."));
    read_documents(fields, request.documents);
    request.top_n = fields.integer("top_n", 0, kMostTokens).value_or(0);
    request.return_documents = fields.flag("return_documents", true);
  });
}

std::variant<ClassifyRequest, ApiError> read_classify(std::string_view body) {
  constexpr std::string_view kKnown[] = {"model", "input", "user", "truncate_prompt_tokens"};
  return read_request<ClassifyRequest>(body, kKnown, [](Fields& fields, ClassifyRequest& request) {
    request.texts = read_prompts(fields, "input", kDocumentsMax);
  });
}

std::variant<GenerationRequest, ApiError> read_tokenize(std::string_view body) {
  constexpr std::string_view kKnown[] = {"model",
                                         "prompt",
                                         "content",
                                         "messages",
                                         "tools",
                                         "chat_template",
                                         "reasoning_effort",
                                         "chat_template_kwargs",
                                         "tool_choice",
                                         "add_special_tokens",
                                         "add_generation_prompt",
                                         "continue_final_message",
                                         "return_token_strs"};
  return read_request<GenerationRequest>(body, kKnown, [](Fields& fields, GenerationRequest& request) {
    request.is_chat = fields.has("messages");
    if (request.is_chat) {
      read_chat(fields, request);
      read_tools(fields, request);
    } else {
      const char* const name = fields.has("content") ? "content" : "prompt";
      if (!fields.has(name)) fields.fail(wrong_field("prompt", "'prompt' or 'messages' is missing."));
      request.prompts = {{std::string(fields.text(name)), {}, false}};
    }
  });
}

std::variant<GenerationRequest, ApiError> read_detokenize(std::string_view body) {
  constexpr std::string_view kKnown[] = {"model", "tokens"};
  return read_request<GenerationRequest>(body, kKnown, [](Fields& fields, GenerationRequest& request) {
    Prompt& prompt = request.prompts.emplace_back();
    prompt.has_ids = true;
    const CheckedValue* const tokens = fields.find("tokens");
    if (tokens == nullptr || !tokens->IsArray() || (!tokens->Empty() && !read_ids(*tokens, prompt.ids)))
      fields.fail(
          wrong_field("tokens", "'tokens' has to be a list of token ids: integers from 0 to 2147483647."));
  });
}

}  // namespace atl::frontends::openai
