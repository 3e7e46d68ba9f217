#include "backends/llamacpp/probe/try_file.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "backends/llamacpp/engine/llama_engine.h"
#include "backends/llamacpp/engine/llama_model_file.h"

namespace atl::llamacpp {
namespace {

constexpr std::string_view kSampleText = "Hello, World! 123 \xC3\xA9\xE4\xBD\xA0\xF0\x9F\x99\x82\n\t<|x|>";
constexpr const char* kSampleChat =
    R"([{"role":"user","content":"Hello"},{"role":"assistant","content":"Hi"},{"role":"user","content":"Who?"}])";
constexpr size_t kSampleTokens = 24;

Status try_vocabulary(const LlamaModelFile& file) {
  for (Token token = 0; token < file.size(); ++token) {
    (void)file.piece(token, true);
    (void)file.piece(token, false);
  }
  for (const bool special : {true, false}) {
    Result<std::vector<Token>> tokens = file.tokenize(kSampleText, special, special);
    if (!tokens.ok()) return std::move(tokens).status();
    for (const Token token : *tokens) {
      if (token < 0 || token >= file.size())
        return invalid_argument("its tokenizer gives token ", token, ", which is not in its vocabulary of ",
                                file.size());
    }
    Result<std::string> text = file.detokenize(*tokens);
    if (!text.ok()) return std::move(text).status();
  }
  return {};
}

/// The sample as tokens, or any tokens where it has none.
std::vector<Token> sample_of(const LlamaModelFile& file) {
  Result<std::vector<Token>> tokens = file.tokenize(kSampleText, true, true);
  std::vector<Token> sample = tokens.ok() ? std::move(tokens).value() : std::vector<Token>();
  if (sample.empty()) sample.push_back(0);
  while (sample.size() < kSampleTokens)
    sample.push_back(static_cast<Token>(sample.size() % static_cast<size_t>(file.size())));
  sample.resize(kSampleTokens);
  return sample;
}

Status try_embedding(LlamaEngine& engine, const std::vector<Token>& sample) {
  std::vector<StepToken> step;
  for (size_t i = 0; i < sample.size(); ++i) step.push_back({sample[i], static_cast<int32_t>(i), 0, true});
  if (engine.decode(step) != StepEnd::kDone) return invalid_argument("its tokens could not be computed");
  if (engine.embedding(0).empty()) return invalid_argument("it gives no embedding");
  return {};
}

Status try_generation(LlamaEngine& engine, const std::vector<Token>& sample) {
  std::vector<StepToken> step;
  for (int32_t sequence = 0; sequence < 2; ++sequence) {
    for (size_t i = 0; i < sample.size(); ++i)
      step.push_back({sample[i], static_cast<int32_t>(i), sequence, i + 1 == sample.size()});
  }
  if (engine.decode(step) != StepEnd::kDone) return invalid_argument("its tokens could not be computed");
  const std::span<const float> logits = engine.logits(step.size() - 1);
  if (logits.empty() || std::none_of(logits.begin(), logits.end(), [](float x) { return std::isfinite(x); }))
    return invalid_argument("what it computes is no number");
  const auto next = static_cast<Token>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  const StepToken one{next, static_cast<int32_t>(sample.size()), 1, true};
  if (engine.decode({&one, 1}) != StepEnd::kDone)
    return invalid_argument("its next token could not be computed");
  return {};
}

}  // namespace

Result<GgufFacts> try_file(const LlamaApi& api, const std::string& path, const std::string& adapter) {
  auto file = LlamaModelFile::load(api, path, {.checks_weights = true, .maps_file = false});
  if (!file.ok()) return std::move(file).status();
  const GgufFacts& facts = (*file)->facts();
  if (!facts.unserved.empty()) return facts;
  ATOLL_RETURN_IF_ERROR(try_vocabulary(**file));
  // A template that fails for the sample may want other messages; what matters is that it ends.
  if (facts.has_chat_template) (void)(*file)->render_chat(kSampleChat, "{}").ok();
  std::unique_ptr<LoraAdapter> loaded;
  if (!adapter.empty()) {
    auto lora = LoraAdapter::load(**file, adapter);
    if (!lora.ok()) return std::move(lora).status();
    loaded = std::move(lora).value();
  }
  auto engine = LlamaEngine::create(
      **file,
      {.sequences = 2, .memory_tokens = 256, .step_tokens = 64, .threads = 1, .pooling = facts.pooling},
      loaded.get());
  if (!engine.ok()) return std::move(engine).status();
  const std::vector<Token> sample = sample_of(**file);
  ATOLL_RETURN_IF_ERROR(facts.pooling == Pooling::kNone ? try_generation(**engine, sample)
                                                        : try_embedding(**engine, sample));
  return facts;
}

}  // namespace atl::llamacpp
