/// One call of /v1/embeddings.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontends/openai/group_call.h"
#include "frontends/openai/request_parser.h"

namespace atl::frontends::openai {

class EmbeddingCall final : public GroupCall {
 public:
  /// Answers the exchange, now or later. Each text is a request of its own, which the model's scheduler may batch. [any]
  /// \param model  of role kEmbedding
  static void start(OpenAiContext& context, HttpExchange& exchange, EmbeddingRequest request, CallOrigin head,
                    ModelRef model, Pass pass);

 private:
  class Item;

  EmbeddingCall(OpenAiContext& context, HttpExchange& exchange, EmbeddingRequest request, CallOrigin head,
                ModelRef model, Pass pass);
  virtual ~EmbeddingCall();

  void make_items();
  void finish(const ApiError* failure) noexcept override;

  const EmbeddingRequest request_;
  std::vector<std::string> texts_;  ///< encoded; inputs point there
  std::vector<std::unique_ptr<Item>> items_;
};

}  // namespace atl::frontends::openai
