/// One call of /v1/completions or /v1/chat/completions.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/openai/answers.h"
#include "frontends/openai/group_call.h"
#include "frontends/openai/request_parser.h"
#include "frontends/openai/text_filter.h"

namespace atl::frontends::openai {

class CompletionCall final : public GroupCall {
 public:
  /// Answers the exchange, now or later. [any]
  /// \param model  of role kText
  static void start(OpenAiContext& context, HttpExchange& exchange, CompletionRequest request,
                    CallOrigin head, ModelRef model, Pass pass);
  /// Why the model cannot do what is asked; nothing: it can.
  static std::optional<ApiError> refusal(const CompletionRequest& request, const ModelInfo& model);

 private:
  class Choice;

  CompletionCall(OpenAiContext& context, HttpExchange& exchange, CompletionRequest request, CallOrigin head,
                 ModelRef model, Pass pass);
  virtual ~CompletionCall();

  void make_choices();
  /// A further part of a choice. Takes no text after the choice's end. [model]
  void add(Choice& choice, std::string_view text);
  /// Nothing more comes of a choice.
  void close(Choice& choice);
  /// To the client of a stream. With the mutex held.
  void send(Choice& choice, std::string_view text);
  void finish(const ApiError* failure) noexcept override;

  const CompletionRequest request_;
  AnswerHead answer_;
  std::vector<std::string> prompts_;   ///< encoded; inputs of the choices point there
  std::vector<std::string> sampling_;  ///< likewise, by choice of a prompt
  std::string messages_;               ///< likewise
  std::vector<std::unique_ptr<Choice>> choices_;
  std::mutex mutex_;    ///< guards begun_ and the order of what is written
  bool begun_ = false;  ///< the stream
};

}  // namespace atl::frontends::openai
