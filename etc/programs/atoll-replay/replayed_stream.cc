#include "replayed_stream.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <utility>

#include "atoll/core/text.h"
#include "v2_message.h"

namespace atl::replay {

/// The library's side of the call. Lives until OnDone(), which the hold keeps off while requests may be added.
class ReplayedStream::Reactor final
    : public grpc::ClientBidiReactor<inference::ModelInferRequest, inference::ModelStreamInferResponse> {
 public:
  explicit Reactor(std::shared_ptr<ReplayedStream> stream) : stream_(std::move(stream)) {}
  virtual ~Reactor() = default;

  void begin() {
    AddHold();
    StartRead(&answer_);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return release();
    stream_->on_answer(answer_);
    StartRead(&answer_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return release();
    stream_->on_written();
  }
  void OnDone(const grpc::Status& status) override {
    stream_->on_done(status);
    delete this;
  }
  /// No further write is started from outside.
  void release() {
    if (!is_released_.exchange(true)) RemoveHold();
  }

 private:
  const std::shared_ptr<ReplayedStream> stream_;
  inference::ModelStreamInferResponse answer_;
  std::atomic<bool> is_released_{false};
};

namespace {

/// Ids that are in the order of their numbers.
std::string id_text(uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "%020llu", static_cast<unsigned long long>(number));
  return text;
}

/// Whether the answer is the last one of its request; if it does not say so, one of a model with one answer is.
bool is_final(const inference::ModelInferResponse& answer, bool decoupled) {
  const auto flag = answer.parameters().find("triton_final_response");
  return flag == answer.parameters().end() ? !decoupled : flag->second.bool_param();
}

}  // namespace

void add_headers(const std::vector<std::string>& headers, grpc::ClientContext* context) {
  for (const std::string& header : headers) {
    const size_t colon = header.find(':');
    std::string name = header.substr(0, colon);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const size_t value = header.find_first_not_of(' ', colon + 1);
    context->AddMetadata(name, value == std::string::npos ? std::string() : header.substr(value));
  }
}

Status status_of(const grpc::Status& status) {
  return status.ok() ? Status() : Status(static_cast<Code>(status.error_code()), status.error_message());
}

std::shared_ptr<ReplayedStream> ReplayedStream::begin(inference::GRPCInferenceService::Stub& stub,
                                                      const std::vector<std::string>& headers,
                                                      std::function<void()> ended) {
  const std::shared_ptr<ReplayedStream> stream(new ReplayedStream);
  stream->ended_ = std::move(ended);
  add_headers(headers, &stream->context_);
  stream->reactor_ = new Reactor(stream);
  stub.async()->ModelStreamInfer(&stream->context_, stream->reactor_);
  stream->reactor_->begin();
  return stream;
}

void ReplayedStream::send(inference::ModelInferRequest request, bool decoupled, const SendOptions& options,
                          Sender::Done done) {
  std::unique_lock lock(mutex_);
  if (is_over_) {
    lock.unlock();
    return done({unavailable("the stream has ended"), {}});
  }
  const std::string id = id_text(++last_id_);
  request.set_id(id);
  // Else nobody says when a model that answers any number of times has ended.
  if (decoupled) (*request.mutable_parameters())["triton_enable_empty_final_response"].set_bool_param(true);
  Waiting& waiting = waiting_[id];
  waiting.decoupled = decoupled;
  waiting.done = std::move(done);
  waiting.alarm = std::make_unique<grpc::Alarm>();
  waiting.alarm->Set(std::chrono::system_clock::now() + std::chrono::nanoseconds(options.timeout_ns),
                     [self = shared_from_this(), id](bool is_due) {
                       if (is_due) self->on_late(id);
                     });
  writes_ended_ = writes_ended_ || options.ends_stream;
  unwritten_.push_back(std::move(request));
  if (unwritten_.size() == 1) write_next();
}

void ReplayedStream::write_next() {
  if (!unwritten_.empty()) {
    reactor_->StartWrite(&unwritten_.front());
  } else if (writes_ended_) {
    reactor_->StartWritesDone();
    reactor_->release();
  }
}

void ReplayedStream::on_written() {
  std::scoped_lock lock(mutex_);
  unwritten_.pop_front();
  write_next();
}

void ReplayedStream::on_answer(const inference::ModelStreamInferResponse& answer) {
  std::unique_lock lock(mutex_);
  const inference::ModelInferResponse& response = answer.infer_response();
  auto found = waiting_.find(response.id());
  // A failure without an id is the first one's that waits.
  if (found == waiting_.end() && response.id().empty() && !answer.error_message().empty())
    found = waiting_.begin();
  if (found == waiting_.end()) return;  // it came too late
  Waiting& waiting = found->second;
  const bool is_last = is_final(response, waiting.decoupled);
  if (!answer.error_message().empty()) {
    recording::v1::Response failure;
    failure.set_code(static_cast<uint32_t>(Code::kUnknown));
    failure.set_message(answer.error_message());
    waiting.outcome.responses.push_back(std::move(failure));
  } else if (!(is_last && waiting.decoupled && response.outputs().empty())) {
    waiting.outcome.responses.push_back(read_v2_response(response));
  }
  if (is_last) finish(lock, std::string(found->first), {});
}

void ReplayedStream::on_late(const std::string& id) {
  std::unique_lock lock(mutex_);
  if (waiting_.find(id) == waiting_.end()) return;
  // A stream has no way to cancel one of its requests; who was the only one takes the stream along.
  const bool cancels = waiting_.size() == 1;
  finish(lock, id, Status(Code::kDeadlineExceeded, "it was not answered in time"));
  if (cancels) context_.TryCancel();
}

void ReplayedStream::finish(std::unique_lock<std::mutex>& lock, const std::string& id, Status failure) {
  auto node = waiting_.extract(id);
  lock.unlock();
  Waiting& waiting = node.mapped();
  waiting.outcome.failure = std::move(failure);
  waiting.done(std::move(waiting.outcome));
}

void ReplayedStream::on_done(const grpc::Status& status) {
  std::unique_lock lock(mutex_);
  is_over_ = true;
  while (!waiting_.empty()) {
    const auto first = waiting_.begin();
    // A server that does not say which answer is the last one ends the stream behind it.
    Status failure = first->second.decoupled ? status_of(status)
                     : status.ok() ? unavailable("the server has ended the stream without an answer")
                                   : status_of(status);
    finish(lock, std::string(first->first), std::move(failure));
    lock.lock();
  }
  lock.unlock();
  ended_();
}

}  // namespace atl::replay
