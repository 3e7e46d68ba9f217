#include "backends/llamacpp/requests/request_answer.h"

#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include "atoll/backend/bytes.h"
#include "atoll/backend/token_use.h"
#include "atoll/backend/values.h"
#include "atoll/lib/json_writer.h"
#include "backends/llamacpp/requests/tensor_names.h"

namespace atl::llamacpp {
namespace {

constexpr int64_t kOne[] = {1};

Status wrong_memory(std::string_view name) {
  return internal_error("output '", name, "': found a buffer in GPU memory, expected CPU memory");
}

Status add_text(Response& response, std::string_view name, std::string_view text) {
  const std::string_view texts[] = {text};
  OutputTensor& output = response.add_output(name, DataType::kBytes, kOne);
  ATOLL_RETURN_IF_ERROR(response.allocate(output, backends::encoded_size_bytes(texts)));
  if (!backends::is_host_memory(output.buffer.kind)) return wrong_memory(name);
  return backends::encode_texts(texts, output.buffer);
}

template <class T>
Status add_values(Response& response, std::string_view name, std::span<const int64_t> shape,
                  std::span<const T> values) {
  OutputTensor& output = response.add_output(name, backends::data_type_of<T>(), shape);
  ATOLL_RETURN_IF_ERROR(response.allocate(output, values.size_bytes()));
  if (!backends::is_host_memory(output.buffer.kind)) return wrong_memory(name);
  if (!values.empty()) std::memcpy(output.buffer.data, values.data(), values.size_bytes());
  return {};
}

Status add_count(Response& response, std::string_view name, uint32_t count) {
  return add_values(response, name, kOne, std::span<const uint32_t>(&count, 1));
}

std::string_view text_of(FinishReason reason) noexcept {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    default:
      return "";
  }
}

void write_token(CheckedWriter& writer, const TokenVocabulary& vocabulary, Token token, float logprob) {
  const std::string bytes = vocabulary.piece(token, true);
  write_member(writer, "token", bytes);
  write_member(writer, "id", token);
  // JSON has no infinity; a token that may not come is as unlikely as a number can say.
  write_member(writer, "logprob", std::isfinite(logprob) ? static_cast<double>(logprob) : -9999.0);
  write_array(writer, "bytes", bytes, [&](char byte) { writer.Uint(static_cast<uint8_t>(byte)); });
}

}  // namespace

RequestAnswer::RequestAnswer(Request& request, const PromptRequest& prompt, const TokenVocabulary& vocabulary,
                             InferenceReporter* reporter, int64_t now_ns)
    : request_(&request),
      sink_(request.sink),
      vocabulary_(vocabulary),
      reporter_(reporter),
      prompt_text_(prompt.repeats_prompt ? prompt.text : std::string()),
      prompt_tokens_(static_cast<uint32_t>(prompt.tokens.size())),
      counts_tokens_(backends::counts_tokens(request)),
      streams_(prompt.streams),
      names_outputs_(prompt.names_outputs),
      returns_finish_reason_(prompt.returns_finish_reason),
      returns_input_tokens_(prompt.returns_input_tokens),
      returns_output_tokens_(prompt.returns_output_tokens),
      returns_logprobs_(prompt.options.logprobs.has_value()) {
  times_.execute_start_ns = times_.compute_start_ns = now_ns;
}

Status RequestAnswer::ended(int64_t now_ns) const noexcept {
  if (request_ == nullptr || request_->cancelled()) return Status(Code::kCancelled, {});
  const int64_t deadline_ns = request_->times.deadline_ns;
  if (deadline_ns != 0 && now_ns > deadline_ns)
    return make_status(Code::kDeadlineExceeded, "the answer was not complete at its deadline");
  return {};
}

bool RequestAnswer::wants(std::string_view output, bool flag) const noexcept {
  return (flag || names_outputs_) && request_->find_output(output) != nullptr;
}

std::string RequestAnswer::logprobs_json(const AnswerPiece& piece) const {
  CheckedBuffer buffer;
  CheckedWriter writer(buffer);
  write_array(writer, piece.logprobs, [&](const TokenLogprobs& one) {
    write_object(writer, [&] {
      write_token(writer, vocabulary_, one.token, one.logprob);
      write_array(writer, "top", one.top, [&](const TokenProbability& other) {
        write_object(writer, [&] { write_token(writer, vocabulary_, other.token, other.logprob); });
      });
    });
  });
  return {buffer.GetString(), buffer.GetSize()};
}

Status RequestAnswer::fill(Response& response, const AnswerPiece& piece) {
  if (request_->find_output(kTextOutput) != nullptr)
    ATOLL_RETURN_IF_ERROR(add_text(response, kTextOutput, cat(std::exchange(prompt_text_, {}), piece.text)));
  if (wants(kFinishReason, returns_finish_reason_))
    ATOLL_RETURN_IF_ERROR(add_text(response, kFinishReason, text_of(piece.finish)));
  if (wants(kInputTokens, returns_input_tokens_))
    ATOLL_RETURN_IF_ERROR(add_count(response, kInputTokens, prompt_tokens_));
  if (wants(kOutputTokens, returns_output_tokens_))
    ATOLL_RETURN_IF_ERROR(add_count(response, kOutputTokens, piece.tokens));
  // Who wants to know how long the prompt was wants to know what of it was there already.
  if (wants(kCachedTokens, returns_input_tokens_))
    ATOLL_RETURN_IF_ERROR(add_count(response, kCachedTokens, piece.cached_tokens));
  if (wants(kLogprobs, returns_logprobs_) && returns_logprobs_)
    ATOLL_RETURN_IF_ERROR(add_text(response, kLogprobs, logprobs_json(piece)));
  return {};
}

Status RequestAnswer::answer_prompt(Request& request, const PromptRequest& prompt, Response& response) {
  if (request.find_output(kPromptText) != nullptr) return add_text(response, kPromptText, prompt.text);
  const int64_t shape[] = {static_cast<int64_t>(prompt.tokens.size())};
  return add_values(response, kPromptTokenIds, shape, std::span<const int32_t>(prompt.tokens));
}

/// What the response has taken, for who counts tokens.
void RequestAnswer::charge(Response& response, uint32_t generated) noexcept {
  if (!counts_tokens_) return;
  backends::add_token_use(response, {std::exchange(uncharged_prompt_, 0), generated});
}

void RequestAnswer::send(AnswerPiece piece, int64_t now_ns) noexcept {
  // It has failed already; ended() says so to the loop.
  if (request_ == nullptr) return;
  const bool is_last = piece.finish != FinishReason::kNone;
  Response* response = sink_->new_response();
  Status filled = fill(*response, piece);
  if (!filled.ok()) {
    sink_->discard(response);
    return fail(std::move(filled), piece.tokens, now_ns);
  }
  charge(*response, piece.tokens);
  if (!is_last) return response->send(0);
  // Statistics first, so that who has the answer is counted.
  release(Status(), now_ns);
  response->send(kFinal);
}

void RequestAnswer::fail(Status failure, uint32_t tokens, int64_t now_ns) noexcept {
  if (request_ == nullptr) return;
  release(failure, now_ns);
  Response* response = sink_->new_response();
  charge(*response, tokens);
  response->send_error(std::move(failure), kFinal);
}

/// Reports and releases the request. Its sink outlives it until the final response.
void RequestAnswer::release(const Status& end, int64_t now_ns) noexcept {
  Request& request = *std::exchange(request_, nullptr);
  if (reporter_ != nullptr) {
    times_.compute_end_ns = times_.execute_end_ns = now_ns;
    if (end.ok()) {
      reporter_->report_request(request, true, times_);
      reporter_->report_batch(request.batch_weight(), times_);
    } else if (end.code() == Code::kCancelled) {
      reporter_->report_failure(request, FailureReason::kCanceled);
    } else {
      reporter_->report_request(request, false, times_);
    }
  }
  (void)request.release().ok();
}

}  // namespace atl::llamacpp
