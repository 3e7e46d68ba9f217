/// One call of /v1/embeddings.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/openai/calls/group_call.h"
#include "frontends/openai/request/embedding_request.h"

namespace atl::frontends::openai {

class EmbeddingCall final : public GroupCall {
 public:
  /// Answers the exchange, now or later. Each text is a request of its own, which the model's scheduler may batch. [any]
  /// \param model  of role kEmbedding
  static void start(OpenAiContext& context, HttpExchange& exchange, EmbeddingRequest request, CallOrigin head,
                    FoundModel model, Pass pass);

 private:
  class Item;

  EmbeddingCall(OpenAiContext& context, HttpExchange& exchange, EmbeddingRequest request, CallOrigin head,
                FoundModel model, Pass pass);
  virtual ~EmbeddingCall();

  void make_items();
  void finish(const ApiError* failure) noexcept override;

  const EmbeddingRequest request_;
  std::vector<std::string> texts_;  ///< encoded; inputs point there
  std::vector<std::unique_ptr<Item>> items_;
  std::string_view embedding_name_, tokens_name_;  ///< of outputs, as the model has them
};

}  // namespace atl::frontends::openai
