#include "backends/llamacpp/embedding_instance.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "atoll/backend/bytes.h"
#include "atoll/backend/token_use.h"
#include "backends/llamacpp/requests/tensor_names.h"

namespace atl::llamacpp {
namespace {

/// As clients of OpenAI's API expect them: of length 1.
void normalise(std::vector<float>& vector) {
  double sum = 0;
  for (const float x : vector) sum += static_cast<double>(x) * x;
  if (sum <= 0) return;
  const auto scale = static_cast<float>(1 / std::sqrt(sum));
  for (float& x : vector) x *= scale;
}

}  // namespace

EmbeddingInstance::EmbeddingInstance(const LlamaModelParts& parts, std::unique_ptr<LlamaEngine> engine,
                                     InferenceReporter* reporter)
    : parts_(parts), engine_(std::move(engine)), responder_(reporter) {}

Status EmbeddingInstance::execute(const Batch& batch) noexcept {
  ExecutionTimes times;
  times.execute_start_ns = parts_.clock.now_ns();
  responder_.begin(batch);
  texts_.clear();
  for (uint32_t i = 0; i < responder_.size(); ++i) read(i);
  times.compute_start_ns = parts_.clock.now_ns();
  compute();
  times.compute_end_ns = parts_.clock.now_ns();
  for (uint32_t i = 0; i < responder_.size(); ++i) {
    if (!responder_.failed(i)) answer(i);
  }
  times.execute_end_ns = parts_.clock.now_ns();
  responder_.finish(times);
  return {};
}

Result<std::vector<std::vector<Token>>> EmbeddingInstance::tokens_of(Request& request) const {
  std::vector<std::vector<Token>> all;
  const bool ranks = parts_.settings.pooling == Pooling::kRank;
  Result<std::vector<std::string>> texts = backends::input_texts(request, ranks ? kDocuments : kTextInput);
  if (!texts.ok()) return std::move(texts).status();
  std::string query;
  if (ranks) {
    Result<std::vector<std::string>> queries = backends::input_texts(request, kQuery);
    if (!queries.ok()) return std::move(queries).status();
    if (queries->size() != 1)
      return invalid_argument("input 'query' has ", queries->size(), " elements, expected 1");
    query = std::move(queries->front());
  }
  for (const std::string& text : *texts) {
    // A reranker sees both texts with a separator between, which the tokenizer puts at their ends.
    Result<std::vector<Token>> tokens = parts_.file->tokenize(ranks ? query : text, true, false);
    if (tokens.ok() && ranks) {
      Result<std::vector<Token>> document = parts_.file->tokenize(text, true, false);
      if (!document.ok()) return std::move(document).status();
      // The second beginning is left out.
      const bool begins = !document->empty() && !tokens->empty() && document->front() == tokens->front();
      tokens->insert(tokens->end(), document->begin() + (begins ? 1 : 0), document->end());
    }
    if (!tokens.ok()) return std::move(tokens).status();
    if (tokens->empty()) return invalid_argument("found an empty text, expected one with at least one token");
    if (static_cast<int64_t>(tokens->size()) > parts_.settings.context_tokens) {
      return invalid_argument("model '", parts_.name, "': the text has ", tokens->size(),
                              " tokens, expected at most ", parts_.settings.context_tokens,
                              " (parameter context_length)");
    }
    all.push_back(std::move(tokens).value());
  }
  return all;
}

void EmbeddingInstance::read(uint32_t index) try {
  Result<std::vector<std::vector<Token>>> all = tokens_of(responder_.request(index));
  if (!all.ok()) return responder_.fail(index, std::move(all).status());
  for (std::vector<Token>& tokens : *all) texts_.push_back({index, std::move(tokens), {}});
} catch (const std::exception& error) {
  responder_.fail(index,
                  make_status(Code::kResourceExhausted, "the request could not be read: ", error.what()));
}

void EmbeddingInstance::compute() {
  for (size_t begin = 0; begin < texts_.size();) {
    size_t end = begin, tokens = 0;
    while (end < texts_.size() && end - begin < static_cast<size_t>(engine_->sequences())) {
      tokens += texts_[end].tokens.size();
      if (tokens > static_cast<size_t>(engine_->step_tokens_max()) && end != begin) break;
      ++end;
    }
    const std::span<EmbeddedText> some(texts_.data() + begin, end - begin);
    if (Status status = compute_step(some); !status.ok()) {
      for (const EmbeddedText& text : some) {
        if (!responder_.failed(text.request)) responder_.fail(text.request, status.clone());
      }
    }
    begin = end;
  }
}

Status EmbeddingInstance::compute_step(std::span<EmbeddedText> texts) {
  engine_->clear();
  std::vector<StepToken> step;
  for (size_t i = 0; i < texts.size(); ++i) {
    for (size_t at = 0; at < texts[i].tokens.size(); ++at)
      step.push_back({texts[i].tokens[at], static_cast<int32_t>(at), static_cast<int32_t>(i), true});
  }
  if (engine_->decode(step) != StepEnd::kDone)
    return internal_error("model '", parts_.name, "': llama.cpp could not compute the embedding");
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::span<const float> vector = engine_->embedding(static_cast<int32_t>(i));
    if (vector.empty()) return internal_error("model '", parts_.name, "': llama.cpp gave no embedding");
    texts[i].vector.assign(vector.begin(), vector.end());
    if (parts_.settings.pooling != Pooling::kRank) normalise(texts[i].vector);
  }
  return {};
}

void EmbeddingInstance::add_vectors(uint32_t index, const RequestedOutput& wanted,
                                    std::span<const EmbeddedText*> texts) {
  const bool ranks = parts_.settings.pooling == Pooling::kRank;
  std::vector<float> values;
  for (const EmbeddedText* text : texts) {
    if (ranks) {
      values.push_back(text->vector.front());
    } else {
      values.insert(values.end(), text->vector.begin(), text->vector.end());
    }
  }
  std::vector<int64_t> shape;
  if (responder_.request(index).batch_size != 0 || ranks) shape.push_back(static_cast<int64_t>(texts.size()));
  if (!ranks) shape.push_back(parts_.file->facts().embedding_size);
  responder_.add_values<float>(index, wanted, shape, values);
}

void EmbeddingInstance::answer(uint32_t index) {
  std::vector<const EmbeddedText*> texts;
  uint64_t tokens = 0;
  for (const EmbeddedText& text : texts_) {
    if (text.request != index) continue;
    texts.push_back(&text);
    tokens += text.tokens.size();
  }
  if (backends::counts_tokens(responder_.request(index)))
    backends::add_token_use(responder_.response(index), {tokens, 0});
  for (const RequestedOutput& wanted : responder_.request(index).outputs) {
    if (wanted.name == kEmbedding || wanted.name == kScores) add_vectors(index, wanted, texts);
    if (wanted.name != kInputTokens || responder_.failed(index)) continue;
    std::vector<uint32_t> counts;
    for (const EmbeddedText* text : texts) counts.push_back(static_cast<uint32_t>(text->tokens.size()));
    std::vector<int64_t> shape;
    if (responder_.request(index).batch_size != 0) shape.push_back(static_cast<int64_t>(counts.size()));
    shape.push_back(1);
    if (responder_.request(index).batch_size == 0 && counts.size() != 1) {
      uint32_t sum = 0;
      for (const uint32_t count : counts) sum += count;
      counts.assign(1, sum);
    }
    responder_.add_values<uint32_t>(index, wanted, shape, counts);
  }
}

}  // namespace atl::llamacpp
