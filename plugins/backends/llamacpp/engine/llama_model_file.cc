#include "backends/llamacpp/engine/llama_model_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <exception>
#include <limits>
#include <utility>

#include "backends/llamacpp/library/llama_library.h"

namespace atl::llamacpp {
namespace {

/// A text of the other library, freed by it.
std::string take_text(const LlamaApi& api, char* text) {
  std::string copy = text == nullptr ? "" : text;
  api.atoll_llamacpp_free(text);
  return copy;
}

int64_t number_of(const std::string& text, int64_t otherwise) {
  int64_t number = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

class LlamaGrammar final : public TokenGrammar {
 public:
  LlamaGrammar(const LlamaApi& api, llama_sampler* sampler) : api_(api), sampler_(sampler) {}
  ~LlamaGrammar() override { api_.llama_sampler_free(sampler_); }
  LlamaGrammar(const LlamaGrammar&) = delete;
  LlamaGrammar& operator=(const LlamaGrammar&) = delete;

  bool allows(Token token) noexcept override try {
    llama_token_data one{token, 1, 0};
    llama_token_data_array array{&one, 1, -1, false};
    api_.llama_sampler_apply(sampler_, &array);
    return std::isfinite(one.logit);
  } catch (const std::exception&) {
    return false;
  }
  void mask(std::span<float> logits) noexcept override try {
    all_.resize(logits.size());
    for (size_t i = 0; i < all_.size(); ++i) all_[i] = {static_cast<Token>(i), logits[i], 0};
    llama_token_data_array array{all_.data(), all_.size(), -1, false};
    api_.llama_sampler_apply(sampler_, &array);
    for (size_t i = 0; i < array.size; ++i)
      logits[static_cast<size_t>(array.data[i].id)] = array.data[i].logit;
  } catch (const std::exception&) {
    for (float& logit : logits) logit = -std::numeric_limits<float>::infinity();
  }
  bool accept(Token token) noexcept override try {
    api_.llama_sampler_accept(sampler_, token);
    return true;
  } catch (const std::exception&) {
    return false;
  }

 private:
  const LlamaApi& api_;
  llama_sampler* sampler_;
  std::vector<llama_token_data> all_;
};

}  // namespace

Result<std::unique_ptr<LlamaModelFile>> LlamaModelFile::load(const LlamaApi& api, const std::string& path,
                                                             const FileUse& use) noexcept try {
  llama_model_params params = api.llama_model_default_params();
  params.n_gpu_layers = 0;
  params.load_mode = use.maps_file ? LLAMA_LOAD_MODE_MMAP : LLAMA_LOAD_MODE_NONE;
  params.check_tensors = use.checks_weights;
  (void)take_llama_reason();
  llama_model* const model = api.llama_model_load_from_file(path.c_str(), params);
  const std::string reason = take_llama_reason();
  if (model == nullptr) {
    return invalid_argument("model file '", path, "': llama.cpp cannot read it", reason.empty() ? "" : ": ",
                            reason);
  }
  return std::unique_ptr<LlamaModelFile>(new LlamaModelFile(api, model));
} catch (const std::exception& error) {
  return invalid_argument("model file '", path, "': llama.cpp cannot read it: ", error.what());
}

LlamaModelFile::LlamaModelFile(const LlamaApi& api, llama_model* model)
    : api_(api), model_(model), vocabulary_(api.llama_model_get_vocab(model)) {
  read_facts_of_file();
  find_ends();
}

LlamaModelFile::~LlamaModelFile() {
  if (chat_ != nullptr) api_.atoll_llamacpp_chat_close(chat_);
  api_.llama_model_free(model_);
}

std::string LlamaModelFile::metadata(const std::string& key) const {
  char value[256];
  const int32_t size = api_.llama_model_meta_val_str(model_, key.c_str(), value, sizeof value);
  return size < 0 ? std::string() : std::string(value);
}

void LlamaModelFile::read_facts_of_file() {
  char description[128] = {};
  api_.llama_model_desc(model_, description, sizeof description);
  facts_.description = description;
  facts_.architecture = metadata("general.architecture");
  facts_.context_tokens = std::max(1, api_.llama_model_n_ctx_train(model_));
  facts_.embedding_size = api_.llama_model_n_embd_out(model_);
  facts_.vocabulary_size = api_.llama_vocab_n_tokens(vocabulary_);
  facts_.has_chat_template = api_.llama_model_chat_template(model_, nullptr) != nullptr;
  facts_.weights_bytes = api_.llama_model_size(model_);
  const int64_t pooling = number_of(metadata(cat(facts_.architecture, ".pooling_type")), 0);
  if (pooling > 0 && pooling <= static_cast<int64_t>(Pooling::kRank))
    facts_.pooling = static_cast<Pooling>(pooling);
  const int64_t width = api_.llama_model_n_embd(model_);
  const int64_t heads =
      std::max<int64_t>(1, number_of(metadata(cat(facts_.architecture, ".attention.head_count")), 1));
  const int64_t kv_heads = number_of(metadata(cat(facts_.architecture, ".attention.head_count_kv")), heads);
  const int64_t head = number_of(metadata(cat(facts_.architecture, ".attention.key_length")), width / heads);
  constexpr int64_t kKeyAndValue = 2, kHalfPrecision = 2;
  const int64_t layers = api_.llama_model_n_layer(model_);
  facts_.memory_bytes_per_token =
      static_cast<uint64_t>(std::max<int64_t>(0, layers * kv_heads * head * kKeyAndValue * kHalfPrecision));
  if (api_.llama_vocab_type(vocabulary_) == LLAMA_VOCAB_TYPE_NONE || facts_.vocabulary_size <= 0) {
    facts_.unserved = "it has no vocabulary";
  } else if (api_.llama_model_has_encoder(model_)) {
    facts_.unserved = "it has an encoder and a decoder, expected a decoder or an encoder alone";
  } else if (api_.llama_model_is_diffusion(model_)) {
    facts_.unserved = "it generates by diffusion, expected one token after the other";
  }
}

void LlamaModelFile::find_ends() {
  for (Token token = 0; token < facts_.vocabulary_size; ++token) {
    if (api_.llama_vocab_is_eog(vocabulary_, token)) ends_.push_back(token);
  }
}

Result<std::vector<Token>> LlamaModelFile::tokenize(std::string_view text, bool add_special,
                                                    bool parse_special) const noexcept try {
  if (text.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max() / 2))
    return invalid_argument("the prompt has ", text.size(), " bytes, expected less than 1 GiB");
  // A token has at least one byte, mostly more; some are added at the ends.
  std::vector<Token> tokens(text.size() / 2 + 16);
  const auto length = static_cast<int32_t>(text.size());
  int32_t count = api_.llama_tokenize(vocabulary_, text.data(), length, tokens.data(),
                                      static_cast<int32_t>(tokens.size()), add_special, parse_special);
  if (count == std::numeric_limits<int32_t>::min()) return invalid_argument("the prompt has too many tokens");
  if (count < 0) {
    tokens.resize(static_cast<size_t>(-count));
    count = api_.llama_tokenize(vocabulary_, text.data(), length, tokens.data(), -count, add_special,
                                parse_special);
  }
  if (count < 0) return internal_error("llama.cpp's tokenizer says two lengths of one text");
  tokens.resize(static_cast<size_t>(count));
  return tokens;
} catch (const std::exception& error) {
  return invalid_argument("the prompt cannot be made into tokens: ", error.what());
}

std::string LlamaModelFile::piece(Token token, bool special) const noexcept try {
  std::string text(64, '\0');
  int32_t size = api_.llama_token_to_piece(vocabulary_, token, text.data(), static_cast<int32_t>(text.size()),
                                           0, special);
  if (size < 0) {
    text.resize(static_cast<size_t>(-size));
    size = api_.llama_token_to_piece(vocabulary_, token, text.data(), static_cast<int32_t>(text.size()), 0,
                                     special);
  }
  text.resize(static_cast<size_t>(std::max(0, size)));
  return text;
} catch (const std::exception&) {
  return {};
}

bool LlamaModelFile::is_end(Token token) const noexcept {
  return std::binary_search(ends_.begin(), ends_.end(), token);
}

Result<std::string> LlamaModelFile::detokenize(std::span<const Token> tokens) const noexcept try {
  std::string text(tokens.size() * 8 + 16, '\0');
  const auto count = static_cast<int32_t>(tokens.size());
  int32_t size = api_.llama_detokenize(vocabulary_, tokens.data(), count, text.data(),
                                       static_cast<int32_t>(text.size()), false, true);
  if (size < 0) {
    text.resize(static_cast<size_t>(-size));
    size = api_.llama_detokenize(vocabulary_, tokens.data(), count, text.data(),
                                 static_cast<int32_t>(text.size()), false, true);
  }
  if (size < 0) return internal_error("llama.cpp's tokenizer says two lengths of one text");
  text.resize(static_cast<size_t>(size));
  return text;
} catch (const std::exception& error) {
  return internal_error("the tokens cannot be made into a text: ", error.what());
}

Result<std::string> LlamaModelFile::render_chat(const std::string& messages,
                                                const std::string& options) const noexcept {
  if (!facts_.has_chat_template) {
    return make_status(Code::kFailedPrecondition,
                       "the model's file has no chat template, so it takes text_input and no messages");
  }
  std::lock_guard lock(chat_use_);
  char* error = nullptr;
  if (chat_ == nullptr) chat_ = api_.atoll_llamacpp_chat_open(model_, "", &error);
  if (chat_ == nullptr)
    return invalid_argument("the chat template of the model's file: ", take_text(api_, error));
  char* const prompt = api_.atoll_llamacpp_chat_render(chat_, messages.c_str(), options.c_str(), &error);
  if (prompt == nullptr) return invalid_argument("the chat template: ", take_text(api_, error));
  return take_text(api_, prompt);
}

Result<std::unique_ptr<TokenGrammar>> LlamaModelFile::grammar(const std::string& gbnf) const noexcept try {
  (void)take_llama_reason();
  llama_sampler* const sampler = api_.llama_sampler_init_grammar(vocabulary_, gbnf.c_str(), "root");
  const std::string reason = take_llama_reason();
  if (sampler == nullptr) {
    return invalid_argument("sampling_parameters: field 'grammar': found no GBNF grammar with a rule root",
                            reason.empty() ? "" : ": ", reason);
  }
  return std::unique_ptr<TokenGrammar>(new LlamaGrammar(api_, sampler));
} catch (const std::exception& error) {
  return invalid_argument("sampling_parameters: field 'grammar': ", error.what());
}

Result<std::string> LlamaModelFile::grammar_of_schema(const std::string& schema) const noexcept {
  char* error = nullptr;
  char* const text = api_.atoll_llamacpp_grammar_of_schema(schema.c_str(), &error);
  if (text == nullptr)
    return invalid_argument("sampling_parameters: field 'json_schema': ", take_text(api_, error));
  return take_text(api_, text);
}

}  // namespace atl::llamacpp
