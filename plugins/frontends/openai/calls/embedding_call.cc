#include "frontends/openai/calls/embedding_call.h"

#include <cmath>
#include <utility>

#include "atoll/core/guarded.h"
#include "frontends/openai/answer/answers.h"
#include "frontends/openai/calls/outputs.h"

namespace atl::frontends::openai {
namespace {

/// The first `dimensions`, with a length of 1 again.
void cut(std::vector<float>& values, size_t dimensions) {
  if (dimensions == 0 || dimensions >= values.size()) return;
  values.resize(dimensions);
  double sum = 0;
  for (float value : values) sum += double{value} * value;
  if (sum <= 0) return;
  const double length = std::sqrt(sum);
  for (float& value : values) value = static_cast<float>(value / length);
}

}  // namespace

class EmbeddingCall::Item final : public InnerRequest {
 public:
  explicit Item(EmbeddingCall& call) : call_(call) {}
  virtual ~Item() = default;

  std::vector<float> values;
  uint64_t tokens = 0;

 private:
  void on_response(Response* response, uint32_t) noexcept override {
    if (response == nullptr || call_.has_failed()) return;
    if (!response->error.ok()) return call_.fail_with(response->error, request.retry_after_ms);
    Status status = guarded("reading the embedding", [&] { return read(*response); });
    if (!status.ok()) call_.fail(error_of(status));
  }
  Status read(const Response& response) {
    for (const OutputTensor& output : response.outputs) {
      if (output.name == call_.embedding_name_) {
        Result<std::vector<float>> found = floats_in(output);
        if (!found.ok()) return std::move(found).status();
        values = std::move(found).value();
      } else if (output.name == call_.tokens_name_) {
        tokens = first_number(output);
      }
    }
    return {};
  }
  void on_end() noexcept override { call_.part_done(); }

  EmbeddingCall& call_;
};

EmbeddingCall::EmbeddingCall(OpenAiContext& context, HttpExchange& exchange, EmbeddingRequest request,
                             CallOrigin head, FoundModel model, Pass pass)
    : GroupCall(context, exchange, std::move(head), std::move(model), std::move(pass)),
      request_(std::move(request)) {}

EmbeddingCall::~EmbeddingCall() = default;

void EmbeddingCall::start(OpenAiContext& context, HttpExchange& exchange, EmbeddingRequest request,
                          CallOrigin head, FoundModel model, Pass pass) {
  auto* const call = new EmbeddingCall(context, exchange, std::move(request), std::move(head),
                                       std::move(model), std::move(pass));
  call->run(call->items_, [call] { call->make_items(); });
}

void EmbeddingCall::make_items() {
  embedding_name_ = profile().own_name(kEmbedding);
  tokens_name_ = profile().own_name(kInputTokens);
  for (const Prompt& text : request_.texts) texts_.push_back(encoded(text.text));
  for (size_t i = 0; i < texts_.size(); ++i) {
    Request& inner = items_.emplace_back(std::make_unique<Item>(*this))->request;
    add_prompt(inner, request_.texts[i], texts_[i]);
    add_flag(inner, kReturnInputTokens, true);
    add_wanted(inner, kEmbedding);
    add_wanted(inner, kInputTokens);
  }
}

void EmbeddingCall::finish(const ApiError* failure) noexcept {
  if (failure != nullptr) return answer_error(exchange(), *failure);
  const auto dimensions = static_cast<size_t>(request_.dimensions);
  for (const std::unique_ptr<Item>& item : items_) {
    if (dimensions > item->values.size()) {
      return answer_error(
          exchange(), wrong_field("dimensions", cat("'dimensions' has to be at most ", item->values.size(),
                                                    ", which this model has.")));
    }
  }
  Result<std::string> json = guarded("writing the embeddings", [&]() -> Result<std::string> {
    std::vector<std::vector<float>> embeddings;
    uint64_t tokens = 0;
    for (const std::unique_ptr<Item>& item : items_) {
      cut(item->values, dimensions);
      embeddings.push_back(std::move(item->values));
      tokens += item->tokens;
    }
    return embeddings_json(request_.model, embeddings, request_.is_base64, tokens);
  });
  if (!json.ok()) return answer_error(exchange(), error_of(json.status()));
  exchange().answer({.content_type = kJsonType}, std::move(json).value());
}

}  // namespace atl::frontends::openai
