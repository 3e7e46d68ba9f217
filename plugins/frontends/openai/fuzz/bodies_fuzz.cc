// Any bytes as the body of each call, and as what a model says in an answer that may call tools. The first byte chooses. What a
// request makes for the model has to be JSON, and a text has to have the same parts however it is cut.
#include <cstdlib>
#include <string>
#include <variant>
#include <vector>

#include "atoll/lib/checked_document.h"
#include "frontends/openai/answer/answer_text.h"
#include "frontends/openai/request/completion_parser.h"
#include "frontends/openai/request/embedding_request.h"
#include "frontends/openai/request/messages_request.h"
#include "frontends/openai/request/other_requests.h"
#include "frontends/openai/request/responses_request.h"
#include "fuzz_target.h"

namespace {

using namespace atl::frontends::openai;  // NOLINT

void expect_json(const std::string& text) {
  atl::CheckedDocument document;
  document.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  if (document.HasParseError()) std::abort();
}

void check(const GenerationRequest& request) {
  if (request.model.empty() || request.prompts.empty()) std::abort();
  expect_json(request.sampling_json(1));
  expect_json(object_of(request.chat_options));
  if (request.is_chat) expect_json(request.messages);
}

void read_body(unsigned kind, std::string_view body) {
  const auto generation = [](const std::variant<GenerationRequest, ApiError>& read) {
    if (const auto* request = std::get_if<GenerationRequest>(&read)) check(*request);
  };
  switch (kind) {
    case 0:
      return generation(read_completion(body, true));
    case 1:
      return generation(read_completion(body, false));
    case 2:
      return generation(read_message(body, false));
    case 3:
      return generation(read_tokenize(body));
    case 4: {
      const auto read = read_responses(body);
      if (const auto* request = std::get_if<ResponsesRequest>(&read)) check(request->chat);
      return;
    }
    case 5:
      return (void)read_detokenize(body);
    case 6:
      return (void)read_rerank(body);
    case 7:
      return (void)read_classify(body);
    default:
      return (void)read_embedding(body);
  }
}

/// Texts as they are, calls with their names and arguments between bytes that no text has.
std::string parts_of(std::string_view text, ToolSyntax syntax, size_t piece) {
  AnswerText answer({{"STOP", "<tool_call>x"}, false, ToolParser::Options{syntax, {"f"}, false}});
  for (size_t at = 0; at < text.size(); at += piece) answer.add(text.substr(at, piece), {});
  answer.finish();
  std::string all;
  bool is_call = false;
  for (const AnswerPart& part : answer.parts()) {
    if (part.kind == AnswerPart::Kind::kCall || (part.kind == AnswerPart::Kind::kText && is_call))
      all += '\0';
    is_call = part.kind != AnswerPart::Kind::kText;
    all += part.text;
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const unsigned kind = data[0] % 14;
  if (kind < 9) {
    read_body(kind, rest);
    return 0;
  }
  const auto syntax = static_cast<ToolSyntax>(kind - 9);
  const std::string whole = parts_of(rest, syntax, rest.size() + 1);
  if (parts_of(rest, syntax, 1) != whole || parts_of(rest, syntax, 3) != whole) std::abort();
  return 0;
}
