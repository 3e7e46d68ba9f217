#include "backends/llamacpp/config_completion.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "backends/llamacpp/requests/tensor_names.h"

namespace atl::llamacpp {
namespace {

constexpr int32_t kEmbeddingBatch = 32;
constexpr int64_t kAny = -1;

struct TensorRule {
  std::string_view name;
  DataType type;
  int64_t dim = 1;
  bool optional = true;  ///< of inputs
  bool chat = false;     ///< only where there is a chat template
};

constexpr TensorRule kGenerationInputs[] = {{.name = kTextInput, .type = DataType::kBytes},
                                            {.name = kMessages, .type = DataType::kBytes, .chat = true},
                                            {.name = kChatOptions, .type = DataType::kBytes, .chat = true},
                                            {.name = kTokenIds, .type = DataType::kInt32, .dim = kAny},
                                            {.name = kStream, .type = DataType::kBool},
                                            {.name = kSamplingParameters, .type = DataType::kBytes},
                                            {.name = kExcludeInput, .type = DataType::kBool},
                                            {.name = kReturnFinishReason, .type = DataType::kBool},
                                            {.name = kReturnInputTokens, .type = DataType::kBool},
                                            {.name = kReturnOutputTokens, .type = DataType::kBool},
                                            {.name = kReturnLogprobs, .type = DataType::kBool}};
constexpr TensorRule kGenerationOutputs[] = {{.name = kTextOutput, .type = DataType::kBytes},
                                             {.name = kFinishReason, .type = DataType::kBytes},
                                             {.name = kInputTokens, .type = DataType::kUint32},
                                             {.name = kOutputTokens, .type = DataType::kUint32},
                                             {.name = kCachedTokens, .type = DataType::kUint32},
                                             {.name = kLogprobs, .type = DataType::kBytes},
                                             {.name = kPromptTokenIds, .type = DataType::kInt32, .dim = kAny},
                                             {.name = kPromptText, .type = DataType::kBytes}};
constexpr TensorRule kEmbeddingInputs[] = {{.name = kTextInput, .type = DataType::kBytes, .optional = false}};
constexpr TensorRule kRerankInputs[] = {
    {.name = kQuery, .type = DataType::kBytes, .optional = false},
    {.name = kDocuments, .type = DataType::kBytes, .dim = kAny, .optional = false}};
constexpr TensorRule kRerankOutputs[] = {{.name = kScores, .type = DataType::kFp32, .dim = kAny},
                                         {.name = kInputTokens, .type = DataType::kUint32}};

struct Rules {
  std::vector<TensorRule> inputs, outputs;
};

Rules rules_of(const GgufFacts& facts, Pooling pooling) {
  if (pooling == Pooling::kRank)
    return {{std::begin(kRerankInputs), std::end(kRerankInputs)},
            {std::begin(kRerankOutputs), std::end(kRerankOutputs)}};
  if (pooling != Pooling::kNone) {
    return {{std::begin(kEmbeddingInputs), std::end(kEmbeddingInputs)},
            {{.name = kEmbedding, .type = DataType::kFp32, .dim = facts.embedding_size},
             {.name = kInputTokens, .type = DataType::kUint32}}};
  }
  Rules rules{{std::begin(kGenerationInputs), std::end(kGenerationInputs)},
              {std::begin(kGenerationOutputs), std::end(kGenerationOutputs)}};
  if (!facts.has_chat_template) std::erase_if(rules.inputs, [](const TensorRule& rule) { return rule.chat; });
  return rules;
}

template <class Tensor>
void fill(const TensorRule& rule, Tensor& tensor) {
  tensor.set_name(std::string(rule.name));
  tensor.set_data_type(static_cast<inference::DataType>(rule.type));
  tensor.add_dims(rule.dim);
}

void show(inference::ModelConfig& config, const std::string& key, const std::string& value) {
  (*config.mutable_parameters())[key].set_string_value(value);
}

Status check_tensors(const ModelDescription& model, std::string_view kind, std::span<const TensorRule> rules,
                     std::span<const TensorSpec> tensors) {
  for (const TensorSpec& tensor : tensors) {
    const auto rule = std::find_if(rules.begin(), rules.end(),
                                   [&](const TensorRule& one) { return one.name == tensor.name; });
    if (rule == rules.end()) {
      std::string known;
      for (const TensorRule& one : rules) known += cat(known.empty() ? "" : ", ", one.name);
      return invalid_argument("model '", model.name, "': ", kind, " '", tensor.name,
                              "' is not known to this backend, expected some of ", known);
    }
    if (tensor.datatype != rule->type) {
      return invalid_argument("model '", model.name, "': ", kind, " '", tensor.name, "' has type ",
                              data_type_name(tensor.datatype), ", expected ", data_type_name(rule->type));
    }
    if (tensor.dims != std::vector<int64_t>{rule->dim} || tensor.has_reshape) {
      return invalid_argument("model '", model.name, "': ", kind, " '", tensor.name, "' has dims ",
                              shape_text(tensor.dims), tensor.has_reshape ? " and a reshape" : "",
                              ", expected [", rule->dim, "]");
    }
  }
  return {};
}

}  // namespace

void complete_llama_config(inference::ModelConfig& config, const GgufFacts& facts, Pooling pooling) {
  const Rules rules = rules_of(facts, pooling);
  if (config.input().empty()) {
    for (const TensorRule& rule : rules.inputs) {
      inference::ModelInput& input = *config.add_input();
      fill(rule, input);
      input.set_optional(rule.optional);
    }
  }
  if (config.output().empty()) {
    for (const TensorRule& rule : rules.outputs) fill(rule, *config.add_output());
  }
  if (pooling == Pooling::kNone) {
    config.mutable_model_transaction_policy()->set_decoupled(true);
  } else if (pooling != Pooling::kRank && config.max_batch_size() == 0) {
    config.set_max_batch_size(kEmbeddingBatch);
    if (!config.has_dynamic_batching()) config.mutable_dynamic_batching();
  }
  show(config, "gguf_description", facts.description);
  show(config, "gguf_context_length", std::to_string(facts.context_tokens));
  show(config, "gguf_embedding_size", std::to_string(facts.embedding_size));
  show(config, "gguf_vocabulary_size", std::to_string(facts.vocabulary_size));
  show(config, "gguf_chat_template", facts.has_chat_template ? "true" : "false");
}

Status check_llama_config(const ModelDescription& model, const GgufFacts& facts, Pooling pooling) {
  const Rules rules = rules_of(facts, pooling);
  ATOLL_RETURN_IF_ERROR(check_tensors(model, "input", rules.inputs, model.inputs));
  ATOLL_RETURN_IF_ERROR(check_tensors(model, "output", rules.outputs, model.outputs));
  const bool generates = pooling == Pooling::kNone;
  if (generates && !model.decoupled) {
    return invalid_argument(
        "model '", model.name,
        "' is not decoupled, expected model_transaction_policy { decoupled: true }, because it "
        "answers in pieces");
  }
  if (!generates && model.decoupled)
    return invalid_argument("model '", model.name, "' is decoupled, and gives one answer to a request");
  if ((generates || pooling == Pooling::kRank) && model.max_batch_size != 0) {
    return invalid_argument("model '", model.name, "' has max_batch_size ", model.max_batch_size,
                            ", expected 0: the backend computes requests together by itself");
  }
  return {};
}

}  // namespace atl::llamacpp
