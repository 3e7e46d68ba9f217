#include "frontends/openai/calls/question_call.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "atoll/core/guarded.h"

namespace atl::frontends::openai {

class QuestionCall::Item final : public InnerRequest {
 public:
  explicit Item(QuestionCall& call) : call_(call) {}
  virtual ~Item() = default;

  ModelAnswer answer;

 private:
  void on_response(Response* response, uint32_t) noexcept override {
    if (response == nullptr || call_.has_failed()) return;
    if (!response->error.ok()) return call_.fail_with(response->error, request.retry_after_ms);
    Status status = guarded("reading the model's answer", [&] { return read(*response); });
    if (!status.ok()) call_.fail(error_of(status));
  }
  Status read(const Response& response) {
    for (const OutputTensor& output : response.outputs) {
      if (output.name == call_.tokens_name_) {
        answer.input_tokens = first_number(output);
        continue;
      }
      Status status;
      if (output.datatype == DataType::kBytes) {
        status = append(texts_in(output), answer.texts);
      } else if (output.datatype == DataType::kFp32 || output.datatype == DataType::kFp64) {
        status = append(floats_in(output), answer.numbers);
      } else {
        status = append(integers_in(output), answer.integers);
      }
      ATOLL_RETURN_IF_ERROR(std::move(status));
    }
    return {};
  }
  template <class T>
  static Status append(Result<std::vector<T>> found, std::vector<T>& all) {
    if (!found.ok()) return std::move(found).status();
    std::move(found.value().begin(), found.value().end(), std::back_inserter(all));
    return {};
  }
  void on_end() noexcept override { call_.part_done(); }

  QuestionCall& call_;
};

QuestionCall::QuestionCall(OpenAiContext& context, HttpExchange& exchange, Question question, Write write,
                           CallOrigin head, FoundModel model, Pass pass)
    : GroupCall(context, exchange, std::move(head), std::move(model), std::move(pass)),
      question_(std::move(question)),
      write_(std::move(write)) {}

QuestionCall::~QuestionCall() = default;

void QuestionCall::start(OpenAiContext& context, HttpExchange& exchange, Question question, Write write,
                         CallOrigin head, FoundModel model, Pass pass) {
  auto* const call = new QuestionCall(context, exchange, std::move(question), std::move(write),
                                      std::move(head), std::move(model), std::move(pass));
  call->run(call->items_, [call] { call->make_items(); });
}

void QuestionCall::make_items() {
  tokens_name_ = profile().own_name(kInputTokens);
  const auto add = [&]() -> Request& {
    Request& inner = items_.emplace_back(std::make_unique<Item>(*this))->request;
    for (const std::string_view name : question_.wanted) add_wanted(inner, name);
    return inner;
  };
  if (!question_.documents.empty()) {
    std::string documents;
    for (const std::string& one : question_.documents) documents += encoded(one);
    texts_ = {encoded(question_.query), std::move(documents)};
    Request& inner = add();
    add_text(inner, kQuery, texts_[0]);
    add_text(inner, kDocuments, texts_[1], question_.documents.size());
    add_flag(inner, kReturnInputTokens, true);
    return;
  }
  const bool has_messages = !question_.messages.empty() && model().has_input(kMessages);
  texts_ = {encoded(question_.messages), encoded(question_.chat_options)};
  for (const Prompt& prompt : question_.prompts) texts_.push_back(encoded(has_messages ? "" : prompt.text));
  for (size_t i = 0; i < question_.prompts.size(); ++i) {
    Request& inner = add();
    add_prompt(inner, question_.prompts[i], texts_[2 + i]);
    if (!question_.messages.empty()) add_text(inner, kMessages, texts_[0]);
    if (!question_.chat_options.empty()) add_text(inner, kChatOptions, texts_[1]);
    add_flag(inner, kReturnInputTokens, true);
  }
}

void QuestionCall::finish(const ApiError* failure) noexcept {
  if (failure != nullptr) return answer_error(exchange(), *failure, question_.errors);
  Result<std::string> json = guarded("writing the answer", [&]() -> Result<std::string> {
    std::vector<ModelAnswer> answers;
    for (const std::unique_ptr<Item>& item : items_) answers.push_back(std::move(item->answer));
    return write_(answers);
  });
  if (!json.ok()) return answer_error(exchange(), error_of(json.status()), question_.errors);
  exchange().answer({.content_type = kJsonType}, std::move(json).value());
}

}  // namespace atl::frontends::openai
