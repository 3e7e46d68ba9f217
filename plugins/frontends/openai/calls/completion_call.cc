#include "frontends/openai/calls/completion_call.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "atoll/core/guarded.h"
#include "frontends/openai/answer/answer_text.h"
#include "frontends/openai/answer/new_id.h"
#include "frontends/openai/calls/outputs.h"

namespace atl::frontends::openai {
namespace {

constexpr std::string_view kEventStreamType = "text/event-stream; charset=utf-8";
constexpr HttpHeader kStreamHeaders[] = {{"Cache-Control", "no-cache"}};
/// Of /v1/completions, where the client names no number.
constexpr int64_t kCompletionTokens = 16;
/// Room for the events of one piece, so that they are not copied while they grow.
constexpr size_t kEventBytes = 320;

/// How the calls of tools stand in the answer; nothing: there are none.
std::optional<ToolParser::Options> tool_options(const GenerationRequest& request,
                                                const ModelProfile& profile) {
  const ToolUse& tools = request.tools;
  ToolParser::Options options{profile.tool_syntax(), tools.names, !tools.is_parallel};
  switch (tools.choice) {
    case ToolUse::Choice::kNone:
      return std::nullopt;
    case ToolUse::Choice::kAuto:
      break;
    case ToolUse::Choice::kRequired:
      options.syntax = ToolSyntax::kList;
      break;
    case ToolUse::Choice::kNamed:
      options.syntax = ToolSyntax::kArguments;
  }
  return options;
}

}  // namespace

/// One answer to one prompt.
class CompletionCall::Choice final : public InnerRequest {
 public:
  Choice(CompletionCall& owner, uint32_t number, AnswerText::Options options)
      : index(number), text(std::move(options)), call_(owner) {
    call_.counts_->waiting.fetch_add(1, std::memory_order_relaxed);
  }
  virtual ~Choice() { leave(); }

  const uint32_t index;
  AnswerText text;
  AnswerChoice answer;
  uint64_t input_tokens = 0, output_tokens = 0, cached_tokens = 0;
  bool is_open = false;  ///< its stream has begun

 private:
  void on_response(Response* response, uint32_t) noexcept override {
    if (response == nullptr || text.is_complete() || call_.has_failed()) return;
    if (!response->error.ok()) return call_.fail_with(response->error, request.retry_after_ms);
    Status status = guarded("reading the model's answer", [&] { return read(*response); });
    if (!status.ok()) return call_.fail(error_of(status));
    // The model may go on for long behind the end that the client sees.
    if (text.is_complete()) request.cancellation.cancel();
  }
  Status read(const Response& response) {
    const OutputNames& names = call_.names_;
    const uint64_t tokens_before = output_tokens;
    std::string piece;
    std::vector<TokenLogprob> tokens;
    for (const OutputTensor& output : response.outputs) {
      if (output.name == names.text || output.name == names.reason) {
        Result<std::string> found = joined_texts(output);
        if (!found.ok()) return std::move(found).status();
        (output.name == names.text ? piece : answer.finish_reason) = std::move(found).value();
      } else if (output.name == names.input_tokens) {
        input_tokens = first_number(output);
      } else if (output.name == names.output_tokens) {
        output_tokens += first_number(output);
      } else if (output.name == names.cached_tokens) {
        cached_tokens = first_number(output);
      } else if (output.name == names.logprobs) {
        Result<std::string> json = joined_texts(output);
        if (!json.ok()) return std::move(json).status();
        if (json.value().empty()) continue;
        Result<std::vector<TokenLogprob>> found = read_logprobs(json.value());
        if (!found.ok()) return std::move(found).status();
        tokens = std::move(found).value();
      }
    }
    if (!piece.empty()) count(output_tokens - tokens_before);
    text.add(piece, std::move(tokens));
    call_.take(*this);
    return {};
  }
  /// A piece of text has come. \param tokens  that it has; 0: not known
  void count(uint64_t tokens) noexcept {
    TextCounts& counts = *call_.counts_;
    const int64_t now_ns = call_.context().host.clock().now_ns();
    if (last_ns_ == 0) {
      counts.first_token.add(now_ns - call_.begin_ns_);
      counts.waiting.fetch_sub(1, std::memory_order_relaxed);
      counts.running.fetch_add(1, std::memory_order_relaxed);
    } else {
      counts.between.add(now_ns - last_ns_, tokens == 0 ? 1 : tokens);
    }
    last_ns_ = now_ns;
  }
  /// It is no longer waiting or running.
  void leave() noexcept {
    if (!std::exchange(is_counted_, false)) return;
    (last_ns_ == 0 ? call_.counts_->waiting : call_.counts_->running).fetch_sub(1, std::memory_order_relaxed);
  }
  void on_end() noexcept override {
    leave();
    CompletionCall& call = call_;
    Status status = guarded("writing the answer's end", [&] {
      call.close(*this);
      return Status();
    });
    if (!status.ok()) call.fail(error_of(status));
    call.part_done();  // this may be gone
  }

  CompletionCall& call_;
  int64_t last_ns_ = 0;     ///< when the last piece came; 0: none has
  bool is_counted_ = true;  ///< among those that wait or run
};

CompletionCall::CompletionCall(OpenAiContext& context, HttpExchange& exchange, GenerationRequest request,
                               std::unique_ptr<AnswerFormat> format, CallOrigin head, FoundModel model,
                               Pass pass)
    : GroupCall(context, exchange, std::move(head), std::move(model), std::move(pass)),
      request_(std::move(request)),
      format_(std::move(format)),
      begin_ns_(context.host.clock().now_ns()),
      counts_(context.metrics.of(this->model().info().name)),
      written_ns_(begin_ns_) {}

CompletionCall::~CompletionCall() = default;

std::optional<ApiError> CompletionCall::refusal(const GenerationRequest& request, const FoundModel& model) {
  const auto refuse = [&](std::string_view field, std::string_view kind, std::string_view tensor) {
    return not_served(field, cat("The model '", request.model, "' has no ", kind, " '", tensor,
                                 "', so it cannot follow '", field, "'."));
  };
  if (!model.has_input(kSamplingParameters)) {
    const auto refuse_sampling = [&](std::string_view field) {
      return refuse(field, "input", kSamplingParameters);
    };
    if (const PassedField* field = GenerationRequest::first_to_follow(request.sampling); field != nullptr)
      return refuse_sampling(field->name == "json_schema" || field->name == "grammar"
                                 ? std::string_view(request.format_field)
                                 : field->name);
    if (request.seed) return refuse_sampling("seed");
    if (request.max_tokens) return refuse_sampling(request.max_tokens_field);
    if (request.logprobs) return refuse_sampling("logprobs");
    if (!request.tools.schema.empty()) return refuse_sampling("tool_choice");
  }
  if (request.logprobs && !model.has_output(kLogprobs)) return refuse("logprobs", "output", kLogprobs);
  if (!request.prompts.empty() && request.prompts[0].has_ids && !model.has_input(kTokenIds))
    return refuse("prompt", "input", kTokenIds);
  if (model.has_input(kChatOptions)) return std::nullopt;
  // Where this plugin makes the text of a chat it knows how to end it.
  const bool makes_text = !model.has_input(kMessages);
  for (const PassedField& option : request.chat_options) {
    const bool is_end = option.name == "add_generation_prompt" || option.name == "continue_final_message";
    if (!option.is_default && !(is_end && makes_text)) return refuse(option.name, "input", kChatOptions);
  }
  return std::nullopt;
}

void CompletionCall::start(OpenAiContext& context, HttpExchange& exchange, GenerationRequest request,
                           std::unique_ptr<AnswerFormat> format, CallOrigin head, FoundModel model,
                           Pass pass) {
  if (!request.is_chat && !request.max_tokens && model.has_input(kSamplingParameters))
    request.max_tokens = kCompletionTokens;
  // Marks of these two are special tokens, which models leave out of their texts unless they are told not to.
  const ToolSyntax syntax = model.profile->tool_syntax();
  const bool has_special_marks = syntax == ToolSyntax::kLlama3 || syntax == ToolSyntax::kMistral;
  if (request.tools.choice == ToolUse::Choice::kAuto && has_special_marks &&
      std::none_of(request.sampling.begin(), request.sampling.end(),
                   [](const PassedField& field) { return field.name == "skip_special_tokens"; }))
    request.sampling.push_back({"skip_special_tokens", "false"});
  auto* const call = new CompletionCall(context, exchange, std::move(request), std::move(format),
                                        std::move(head), std::move(model), std::move(pass));
  call->run(call->choices_, [call] {
    call->make_choices();
    if (call->request_.stream) call->context().pings.add(*call);
  });
}

void CompletionCall::make_choices() {
  const ModelProfile& names = profile();
  names_ = {names.own_name(kTextOutput),   names.own_name(kFinishReason), names.own_name(kInputTokens),
            names.own_name(kOutputTokens), names.own_name(kCachedTokens), names.own_name(kLogprobs)};
  const bool has_messages = request_.is_chat && model().has_input(kMessages);
  // Messages stand in the place of the text.
  for (const Prompt& prompt : request_.prompts) prompts_.push_back(encoded(has_messages ? "" : prompt.text));
  for (uint32_t i = 0; i < request_.n; ++i) sampling_.push_back(encoded(request_.sampling_json(i)));
  messages_ = encoded(request_.messages);
  chat_options_ = encoded(object_of(request_.chat_options));
  for (size_t prompt = 0; prompt < prompts_.size(); ++prompt) {
    for (uint32_t i = 0; i < request_.n; ++i) {
      AnswerText::Options options{request_.stops, request_.includes_stop, tool_options(request_, names)};
      Choice& choice = *choices_.emplace_back(
          std::make_unique<Choice>(*this, static_cast<uint32_t>(choices_.size()), std::move(options)));
      add_inputs(choice.request, prompt, i);
    }
  }
}

void CompletionCall::add_inputs(Request& inner, size_t prompt, uint32_t choice) {
  add_prompt(inner, request_.prompts[prompt], prompts_[prompt]);
  if (request_.is_chat) add_text(inner, kMessages, messages_);
  if (!request_.chat_options.empty()) add_text(inner, kChatOptions, chat_options_);
  add_text(inner, kSamplingParameters, sampling_[choice]);
  add_flag(inner, kStream, request_.stream);
  for (const std::string_view name :
       {kExcludeInput, kReturnInputTokens, kReturnOutputTokens, kReturnFinishReason})
    add_flag(inner, name, true);
  for (const std::string_view name : {kTextOutput, kFinishReason, kInputTokens, kOutputTokens, kCachedTokens})
    add_wanted(inner, name);
  if (!request_.logprobs) return;
  add_flag(inner, kReturnLogprobs, true);
  add_wanted(inner, kLogprobs);
}

void CompletionCall::take(Choice& choice) {
  if (!request_.stream) {
    std::string none;
    return write_events(choice, none);
  }
  std::lock_guard lock(mutex_);
  std::string events;
  events.reserve(kEventBytes);
  if (!std::exchange(choice.is_open, true))
    format_->open(choice.index, {choice.input_tokens, 0, choice.cached_tokens}, events);
  write_events(choice, events);
  send(std::move(events));
}

void CompletionCall::write_events(Choice& choice, std::string& events) {
  AnswerChoice& answer = choice.answer;
  for (AnswerPart& part : choice.text.parts()) {
    switch (part.kind) {
      case AnswerPart::Kind::kText:
        if (request_.stream) {
          format_->text(choice.index, part.text, choice.text.take_tokens(), events);
        } else {
          answer.text += part.text;
        }
        break;
      case AnswerPart::Kind::kCall:
        answer.calls.push_back({new_id("call_"), std::move(part.text), {}});
        if (request_.stream) format_->call(choice.index, part.call, answer.calls.back(), events);
        break;
      case AnswerPart::Kind::kArguments:
        if (request_.stream) {
          format_->arguments(choice.index, part.call, part.text, events);
        } else {
          answer.calls.back().arguments += part.text;
        }
    }
  }
  choice.text.parts().clear();
  // Of a stream the rest goes out with the next text, or with the end.
  if (request_.stream) return;
  std::vector<TokenLogprob> tokens = choice.text.take_tokens();
  std::move(tokens.begin(), tokens.end(), std::back_inserter(answer.tokens));
}

void CompletionCall::send(std::string events) {
  if (!std::exchange(begun_, true))
    exchange().begin({.content_type = kEventStreamType, .headers = kStreamHeaders});
  if (events.empty()) return;
  written_ns_ = context().host.clock().now_ns();
  // If the client has gone or is too slow, the exchange is cancelled, and the requests with it.
  (void)exchange().write(std::move(events)).ok();
}

void CompletionCall::ping(int64_t silent_since_ns) noexcept {
  std::lock_guard lock(mutex_);
  if (written_ns_ > silent_since_ns || has_failed()) return;
  (void)guarded("writing a ping", [&] {
    send(format_->ping());
    return Status();
  }).ok();
}

void CompletionCall::close(Choice& choice) {
  if (has_failed()) return;
  // A model that was told to stop may end as if it had said everything.
  if (!choice.text.is_complete() && exchange().cancellation().cancelled())
    return fail_with(Status(Code::kCancelled, "The request was cancelled."));
  AnswerChoice& answer = choice.answer;
  choice.text.finish();
  answer.stop = choice.text.stop();
  if (choice.text.is_complete()) {
    answer.finish_reason = "stop";
  } else if (answer.finish_reason.empty() || answer.finish_reason == "null") {
    const bool is_full =
        request_.max_tokens && choice.output_tokens >= static_cast<uint64_t>(*request_.max_tokens);
    answer.finish_reason = is_full ? "length" : "stop";
  }
  counts_->request.add(context().host.clock().now_ns() - begin_ns_);
  if (choice.text.calls() != 0 && answer.finish_reason == "stop") answer.finish_reason = "tool_calls";
  if (!request_.stream) {
    std::string none;
    return write_events(choice, none);
  }
  std::lock_guard lock(mutex_);
  std::string events;
  if (!std::exchange(choice.is_open, true))
    format_->open(choice.index, {choice.input_tokens, 0, choice.cached_tokens}, events);
  write_events(choice, events);
  answer.tokens = choice.text.take_tokens();
  format_->close(choice.index, answer, events);
  send(std::move(events));
}

void CompletionCall::finish(const ApiError* failure) noexcept {
  context().pings.remove(*this);
  const Usage usage = count_usage();
  if (failure != nullptr && !begun_) return answer_error(exchange(), *failure, format_->error_json());
  std::string last;
  Status written = guarded("writing the answer", [&] {
    write_end(failure, usage, last);
    return Status();
  });
  if (begun_) {
    if (written.ok()) (void)exchange().write(std::move(last)).ok();
    exchange().end();
  } else if (!written.ok()) {
    answer_error(exchange(), error_of(written), format_->error_json());
  } else {
    exchange().answer({.content_type = kJsonType}, std::move(last));
  }
}

Usage CompletionCall::count_usage() noexcept {
  Usage usage;
  for (size_t i = 0; i < choices_.size(); ++i) {
    // The choices of a prompt have it in common.
    if (i % request_.n == 0) {
      usage.prompt_tokens += choices_[i]->input_tokens;
      usage.cached_tokens += choices_[i]->cached_tokens;
    }
    usage.completion_tokens += choices_[i]->output_tokens;
  }
  counts_->prompt_tokens.fetch_add(usage.prompt_tokens, std::memory_order_relaxed);
  counts_->cached_tokens.fetch_add(usage.cached_tokens, std::memory_order_relaxed);
  counts_->generated_tokens.fetch_add(usage.completion_tokens, std::memory_order_relaxed);
  return usage;
}

void CompletionCall::write_end(const ApiError* failure, const Usage& usage, std::string& last) {
  if (failure != nullptr) return format_->failure(*failure, last);
  std::vector<AnswerChoice> answers;
  for (const std::unique_ptr<Choice>& choice : choices_) answers.push_back(std::move(choice->answer));
  if (request_.stream) {
    format_->end(answers, usage, last);
  } else {
    last = format_->whole(answers, usage);
  }
}

}  // namespace atl::frontends::openai
