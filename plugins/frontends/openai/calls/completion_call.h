/// One call that a language model answers: a chat, a completion, or what another API makes of them.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/openai/answer/answer_format.h"
#include "frontends/openai/calls/group_call.h"
#include "frontends/openai/calls/stream_pings.h"
#include "frontends/openai/request/generation_request.h"

namespace atl::frontends::openai {

class CompletionCall final : public GroupCall, private PingedStream {
 public:
  /// Answers the exchange, now or later. [any]
  /// \param model  of role kChat or kCompletion, which refusal() has nothing against
  /// \param format  of the API that was called
  static void start(OpenAiContext& context, HttpExchange& exchange, GenerationRequest request,
                    std::unique_ptr<AnswerFormat> format, CallOrigin head, FoundModel model, Pass pass);
  /// Why the model cannot do what is asked; nothing: it can.
  static std::optional<ApiError> refusal(const GenerationRequest& request, const FoundModel& model);

 private:
  class Choice;
  /// The model's names of the outputs that are read.
  struct OutputNames {
    std::string_view text, reason, input_tokens, output_tokens, cached_tokens, logprobs;
  };

  CompletionCall(OpenAiContext& context, HttpExchange& exchange, GenerationRequest request,
                 std::unique_ptr<AnswerFormat> format, CallOrigin head, FoundModel model, Pass pass);
  virtual ~CompletionCall();

  void make_choices();
  void add_inputs(Request& inner, size_t prompt, uint32_t choice);
  /// What has become ready of a choice. [model]
  void take(Choice& choice);
  /// Nothing more comes of a choice.
  void close(Choice& choice);
  // With the mutex held:
  /// Appends the events of what is ready.
  void write_events(Choice& choice, std::string& events);
  /// To the client of a stream.
  void send(std::string events);
  void ping(int64_t silent_since_ns) noexcept override;
  void finish(const ApiError* failure) noexcept override;
  /// Adds what the call has used to the model's counts, also if it has failed or its client has gone.
  Usage count_usage() noexcept;
  void write_end(const ApiError* failure, const Usage& usage, std::string& last);

  const GenerationRequest request_;
  const std::unique_ptr<AnswerFormat> format_;
  OutputNames names_;
  const int64_t begin_ns_;  ///< of the call, by the host's clock
  const std::shared_ptr<TextCounts> counts_;
  std::vector<std::string> prompts_;     ///< encoded; inputs of the choices point there
  std::vector<std::string> sampling_;    ///< likewise, by choice of a prompt
  std::string messages_, chat_options_;  ///< likewise
  std::vector<std::unique_ptr<Choice>> choices_;
  std::mutex mutex_;    ///< guards what follows, the format and the order of what is written
  bool begun_ = false;  ///< the stream
  int64_t written_ns_;  ///< when something was written last
};

}  // namespace atl::frontends::openai
