#include "frontends/openai/completion_call.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "atoll/core/guarded.h"
#include "frontends/openai/model_role.h"

namespace atl::frontends::openai {
namespace {

constexpr std::string_view kEventStreamType = "text/event-stream; charset=utf-8";
constexpr HttpHeader kStreamHeaders[] = {{"Cache-Control", "no-cache"}};
/// Of /v1/completions, where the client names no number.
constexpr int64_t kCompletionTokens = 16;

/// The elements of a BYTES output, joined. Errors: INTERNAL its bytes are not its elements.
Result<std::string> joined_texts(const OutputTensor& output) {
  if (output.buffer.kind == MemoryKind::kGpu)
    return internal_error("the output '", output.name, "' is in memory of a GPU");
  ATOLL_RETURN_IF_ERROR(wait_until_ready(output.buffer));
  std::string_view rest(static_cast<const char*>(output.buffer.data), output.buffer.size_bytes);
  std::string text;
  while (!rest.empty()) {
    uint32_t size = 0;
    if (rest.size() < sizeof size) return internal_error("the output '", output.name, "' is cut");
    std::memcpy(&size, rest.data(), sizeof size);
    rest.remove_prefix(sizeof size);
    if (rest.size() < size) return internal_error("the output '", output.name, "' is cut");
    text += rest.substr(0, size);
    rest.remove_prefix(size);
  }
  return text;
}

/// The first element of an output of numbers; 0: it has none.
uint64_t first_number(const OutputTensor& output) noexcept {
  const uint32_t size = data_type_size_bytes(output.datatype);
  if (output.buffer.kind == MemoryKind::kGpu || (size != 4 && size != 8) || output.buffer.size_bytes < size)
    return 0;
  uint64_t number = 0;  // little-endian, as all tensors are
  std::memcpy(&number, output.buffer.data, size);
  return number;
}

}  // namespace

/// One answer to one prompt.
class CompletionCall::Choice final : public InnerRequest {
 public:
  Choice(CompletionCall& owner, uint32_t number, const std::vector<std::string>& stops)
      : index(number), filter(stops), call_(owner) {}
  virtual ~Choice() = default;

  const uint32_t index;
  TextFilter filter;
  std::string text;  ///< of a call that does not stream
  std::string reason;
  uint64_t input_tokens = 0, output_tokens = 0;
  bool is_open = false;  ///< its stream has begun

 private:
  void on_response(Response* response, uint32_t) noexcept override {
    if (response == nullptr || filter.is_stopped() || call_.has_failed()) return;
    if (!response->error.ok()) return call_.fail(error_of(response->error, request.retry_after_ms));
    Status status = guarded("reading the model's answer", [&] { return read(*response); });
    if (!status.ok()) return call_.fail(error_of(status));
    // The model may go on for long behind the end that the client sees.
    if (filter.is_stopped()) request.cancellation.cancel();
  }
  Status read(const Response& response) {
    std::string piece;
    for (const OutputTensor& output : response.outputs) {
      if (output.name == kTextOutput || output.name == kFinishReason) {
        Result<std::string> found = joined_texts(output);
        if (!found.ok()) return std::move(found).status();
        (output.name == kTextOutput ? piece : reason) = std::move(found).value();
      } else if (output.name == kInputTokens) {
        input_tokens = first_number(output);
      } else if (output.name == kOutputTokens) {
        output_tokens += first_number(output);
      }
    }
    call_.add(*this, piece);
    return {};
  }
  void on_end() noexcept override {
    CompletionCall& call = call_;
    Status status = guarded("writing the answer's end", [&] {
      call.close(*this);
      return Status();
    });
    if (!status.ok()) call.fail(error_of(status));
    call.part_done();  // this may be gone
  }

  CompletionCall& call_;
};

CompletionCall::CompletionCall(OpenAiContext& context, HttpExchange& exchange, CompletionRequest request,
                               CallOrigin head, ModelRef model, Pass pass)
    : GroupCall(context, exchange, std::move(head), std::move(model), std::move(pass)),
      request_(std::move(request)),
      answer_{new_id(request_.is_chat ? "chatcmpl-" : "cmpl-"), request_.model,
              context.host.clock().wall_ns() / kNsPerSecond, request_.is_chat} {}

CompletionCall::~CompletionCall() = default;

std::optional<ApiError> CompletionCall::refusal(const CompletionRequest& request, const ModelInfo& model) {
  if (input_of(model, kSamplingParameters) != nullptr) return std::nullopt;
  const auto refuse = [&](std::string_view field) {
    return not_served(field, cat("The model '", request.model, "' has no input '", kSamplingParameters,
                                 "', so it cannot follow '", field, "'."));
  };
  if (const SamplingField* field = request.first_to_follow(); field != nullptr) return refuse(field->name);
  if (request.seed) return refuse("seed");
  if (request.max_tokens) return refuse(request.max_tokens_field);
  return std::nullopt;
}

void CompletionCall::start(OpenAiContext& context, HttpExchange& exchange, CompletionRequest request,
                           CallOrigin head, ModelRef model, Pass pass) {
  if (!request.is_chat && !request.max_tokens && input_of(model->info(), kSamplingParameters) != nullptr)
    request.max_tokens = kCompletionTokens;
  auto* const call = new CompletionCall(context, exchange, std::move(request), std::move(head),
                                        std::move(model), std::move(pass));
  call->run(call->choices_, [call] { call->make_choices(); });
}

void CompletionCall::make_choices() {
  for (const std::string& prompt : request_.prompts) prompts_.push_back(encoded(prompt));
  for (uint32_t i = 0; i < request_.n; ++i) sampling_.push_back(encoded(request_.sampling_json(i)));
  messages_ = encoded(request_.messages);
  const ModelInfo& model = info();
  for (size_t prompt = 0; prompt < prompts_.size(); ++prompt) {
    for (uint32_t i = 0; i < request_.n; ++i) {
      Choice& choice = *choices_.emplace_back(
          std::make_unique<Choice>(*this, static_cast<uint32_t>(choices_.size()), request_.stops));
      Request& inner = choice.request;
      add_text(inner, model, kTextInput, prompts_[prompt]);
      if (request_.is_chat) add_text(inner, model, kMessages, messages_);
      add_text(inner, model, kSamplingParameters, sampling_[i]);
      add_flag(inner, model, kStream, request_.stream);
      add_flag(inner, model, kExcludeInput, true);
      add_flag(inner, model, kReturnInputTokens, true);
      add_flag(inner, model, kReturnOutputTokens, true);
      add_flag(inner, model, kReturnFinishReason, true);
      for (const std::string_view name : {kTextOutput, kFinishReason, kInputTokens, kOutputTokens})
        add_wanted(inner, model, name);
    }
  }
}

void CompletionCall::add(Choice& choice, std::string_view text) {
  const std::string ready = choice.filter.add(text);
  if (!request_.stream) {
    choice.text += ready;
    return;
  }
  std::lock_guard lock(mutex_);
  send(choice, ready);
}

void CompletionCall::send(Choice& choice, std::string_view text) {
  std::string events;
  if (!std::exchange(choice.is_open, true) && answer_.is_chat)
    events += role_event(answer_, choice.index, request_.include_usage);
  if (!text.empty()) events += text_event(answer_, choice.index, text, request_.include_usage);
  if (!std::exchange(begun_, true))
    exchange().begin({.content_type = kEventStreamType, .headers = kStreamHeaders});
  // If the client has gone or is too slow, the exchange is cancelled, and the requests with it.
  if (!events.empty()) (void)exchange().write(std::move(events)).ok();
}

void CompletionCall::close(Choice& choice) {
  if (has_failed()) return;
  const std::string rest = choice.filter.finish();
  if (choice.filter.is_stopped()) {
    choice.reason = "stop";
  } else if (choice.reason.empty() || choice.reason == "null") {
    const bool is_full =
        request_.max_tokens && choice.output_tokens >= static_cast<uint64_t>(*request_.max_tokens);
    choice.reason = is_full ? "length" : "stop";
  }
  if (!request_.stream) {
    choice.text += rest;
    return;
  }
  std::lock_guard lock(mutex_);
  send(choice, rest);
  (void)exchange().write(finish_event(answer_, choice.index, choice.reason, request_.include_usage)).ok();
}

void CompletionCall::finish(const ApiError* failure) noexcept {
  if (failure != nullptr && !begun_) return answer_error(exchange(), *failure);
  std::string last;
  Status written = guarded("writing the answer", [&] {
    Usage usage;
    for (size_t i = 0; i < choices_.size(); ++i) {
      // The choices of a prompt have it in common.
      if (i % request_.n == 0) usage.prompt_tokens += choices_[i]->input_tokens;
      usage.completion_tokens += choices_[i]->output_tokens;
    }
    if (failure != nullptr) {
      last = cat("data: ", failure->json(), "\n\n");
    } else if (request_.stream) {
      if (request_.include_usage) last = usage_event(answer_, usage);
      last += kDoneEvent;
    } else {
      std::vector<FinishedChoice> finished;
      for (const auto& choice : choices_) finished.push_back({std::move(choice->text), choice->reason});
      last = completion_json(answer_, finished, usage);
    }
    return Status();
  });
  if (begun_) {
    if (written.ok()) (void)exchange().write(std::move(last)).ok();
    exchange().end();
  } else if (!written.ok()) {
    answer_error(exchange(), error_of(written));
  } else {
    exchange().answer({.content_type = kJsonType}, std::move(last));
  }
}

}  // namespace atl::frontends::openai
