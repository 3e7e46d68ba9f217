#include "backends/llamacpp/generation_instance.h"

#include <exception>
#include <utility>

#include "backends/llamacpp/requests/request_answer.h"

namespace atl::llamacpp {
namespace {

/// Requests with equal scopes share what was computed of equal beginnings. How fast a beginning is answered would tell one client what
/// another one has asked.
std::string scope_of(const Request& request, bool shares) {
  if (shares) return {};
  return request.tenant.empty() ? cat("caller ", request.caller) : cat("tenant ", request.tenant);
}

}  // namespace

GenerationInstance::GenerationInstance(const LlamaModelParts& parts, std::unique_ptr<LlamaEngine> engine,
                                       InferenceReporter* reporter)
    : parts_(parts),
      engine_(std::move(engine)),
      reporter_(reporter),
      reader_(*parts.file, parts.name, parts.settings.context_tokens, parts.outputs),
      loop_(*engine_, *parts.file, parts.clock,
            {.model = parts.name,
             .context_tokens = parts.settings.context_tokens,
             .queue_max = parts.settings.queue_max,
             .inter_token_target_us = parts.settings.inter_token_target_us},
            *parts.counts) {}

Status GenerationInstance::start(const InstanceSpec& spec) {
  return loop_.start(parts_.executors, cat("llm ", spec.name), spec.placement());
}

Status GenerationInstance::execute(const Batch& batch) noexcept {
  for (Request* request : batch.requests) begin(*request);
  return {};
}

void GenerationInstance::begin(Request& request) noexcept try {
  const int64_t start_ns = parts_.clock.now_ns();
  Result<PromptRequest> prompt = reader_.read(request);
  if (!prompt.ok()) return fail(request, std::move(prompt).status());
  if (prompt->asks != PromptRequest::Asks::kAnswer) return answer_prompt(request, *prompt, start_ns);
  if (Status status = submit(request, *prompt); !status.ok()) fail(request, std::move(status));
} catch (const std::exception& error) {
  fail(request, make_status(Code::kResourceExhausted, "the request could not be read: ", error.what()));
}

Status GenerationInstance::submit(Request& request, const PromptRequest& prompt) {
  auto generation = std::make_unique<Generation>();
  generation->tokens = prompt.tokens;
  generation->prompt_tokens = static_cast<int32_t>(prompt.tokens.size());
  generation->options = prompt.options;
  generation->scope = scope_of(request, parts_.settings.shares_prefixes);
  ATOLL_RETURN_IF_ERROR(add_grammar(*generation));
  auto answer =
      std::make_unique<RequestAnswer>(request, prompt, *parts_.file, reporter_, parts_.clock.now_ns());
  generation->port = std::move(answer);
  // Refused: the request is still this function's, and the answer object forgets it.
  return loop_.submit(generation);
}

Status GenerationInstance::add_grammar(Generation& generation) const {
  std::string text = generation.options.grammar;
  if (!generation.options.json_schema.empty()) {
    Result<std::string> converted = parts_.file->grammar_of_schema(generation.options.json_schema);
    if (!converted.ok()) return std::move(converted).status();
    text = std::move(*converted);
  }
  if (text.empty()) return {};
  Result<std::unique_ptr<TokenGrammar>> grammar = parts_.file->grammar(text);
  if (!grammar.ok()) return std::move(grammar).status();
  generation.grammar = std::move(grammar).value();
  return {};
}

void GenerationInstance::answer_prompt(Request& request, const PromptRequest& prompt,
                                       int64_t start_ns) noexcept {
  PromptRequest shown = prompt;
  if (shown.asks == PromptRequest::Asks::kText && shown.text.empty()) {
    Result<std::string> text = parts_.file->detokenize(shown.tokens);
    if (!text.ok()) return fail(request, std::move(text).status());
    shown.text = std::move(text).value();
  }
  ResponseSink* const sink = request.sink;
  Response* const response = sink->new_response();
  if (Status filled = RequestAnswer::answer_prompt(request, shown, *response); !filled.ok()) {
    sink->discard(response);
    return fail(request, std::move(filled));
  }
  if (reporter_ != nullptr) {
    ExecutionTimes times{start_ns, start_ns, parts_.clock.now_ns(), 0};
    times.execute_end_ns = times.compute_end_ns;
    reporter_->report_request(request, true, times);
    reporter_->report_batch(request.batch_weight(), times);
  }
  (void)request.release().ok();
  response->send(kFinal);
}

void GenerationInstance::fail(Request& request, Status failure) noexcept {
  if (reporter_ != nullptr) reporter_->report_request(request, false, {});
  fail_request(request, std::move(failure));
}

}  // namespace atl::llamacpp
