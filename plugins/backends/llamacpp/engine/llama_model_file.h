/// A GGUF file in memory: its weights and its vocabulary.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/llamacpp/engine/gguf_facts.h"
#include "backends/llamacpp/engine/token_engine.h"
#include "backends/llamacpp/library/llama_api.h"

namespace atl::llamacpp {

struct FileUse {
  bool checks_weights = false;  ///< looks at each weight
  bool maps_file = false;  ///< weights stay in the file's pages, so that whoever cuts it off ends the server
};

/// Several contexts may use one at once. [any]
class LlamaModelFile final : public TokenVocabulary {
 public:
  /// Errors: INVALID_ARGUMENT llama.cpp does not read the file, with its reason.
  static Result<std::unique_ptr<LlamaModelFile>> load(const LlamaApi& api, const std::string& path,
                                                      const FileUse& use) noexcept;
  ~LlamaModelFile() override;
  LlamaModelFile(const LlamaModelFile&) = delete;
  LlamaModelFile& operator=(const LlamaModelFile&) = delete;

  const LlamaApi& api() const noexcept { return api_; }
  llama_model* model() const noexcept { return model_; }
  const GgufFacts& facts() const noexcept { return facts_; }
  /// Held while an adapter comes or goes, and while a context is made: llama.cpp keeps a list of a model's adapters that contexts look
  /// into at their beginning.
  std::mutex& changes() const noexcept { return changes_; }

  int32_t size() const noexcept override { return facts_.vocabulary_size; }
  Result<std::vector<Token>> tokenize(std::string_view text, bool add_special,
                                      bool parse_special) const noexcept override;
  std::string piece(Token token, bool special) const noexcept override;
  bool is_end(Token token) const noexcept override;
  std::span<const Token> ends() const noexcept override { return ends_; }

  /// The text of the tokens, with those of control tokens. Errors: INTERNAL.
  Result<std::string> detokenize(std::span<const Token> tokens) const noexcept;
  /// The prompt that the file's template makes of the messages of a chat.
  /// \param options  JSON, as atoll_llamacpp_chat_render() takes it
  /// Errors: FAILED_PRECONDITION the file has no template; INVALID_ARGUMENT the template, or the messages, with the reason.
  Result<std::string> render_chat(const std::string& messages, const std::string& options) const noexcept;
  /// Errors: INVALID_ARGUMENT the text is no grammar.
  Result<std::unique_ptr<TokenGrammar>> grammar(const std::string& gbnf) const noexcept;
  /// Errors: INVALID_ARGUMENT the text is no schema, or one that has no grammar.
  Result<std::string> grammar_of_schema(const std::string& schema) const noexcept;

 private:
  LlamaModelFile(const LlamaApi& api, llama_model* model);
  std::string metadata(const std::string& key) const;
  void read_facts_of_file();
  void find_ends();

  const LlamaApi& api_;
  llama_model* model_;
  const llama_vocab* vocabulary_;
  GgufFacts facts_;
  std::vector<Token> ends_;
  mutable std::mutex changes_;
  mutable std::mutex chat_use_;  ///< guards the following
  mutable atoll_llamacpp_chat* chat_ = nullptr;
};

}  // namespace atl::llamacpp
