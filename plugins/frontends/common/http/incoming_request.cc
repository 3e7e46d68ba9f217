#include "frontends/common/http/incoming_request.h"

#include "frontends/common/codec/error_map.h"
#include "frontends/common/http/serving_thread.h"

namespace atl::frontends::http {
namespace {

/// A body is charged in steps of so many bytes, as it arrives: a client that announces much and sends little
/// keeps nobody out.
constexpr uint64_t kChargeStepBytes = 64 * 1024;
constexpr int kPreflightStatus = 200;

}  // namespace

IncomingRequest::IncomingRequest(ServingThread& worker, RequestReader& reader,
                                 ClientDeadline& deadline) noexcept
    : worker_(worker), reader_(reader), deadline_(deadline) {
  const RequestBudgets* memory = worker.server.request_memory;
  if (memory != nullptr) charge_.set_source(*memory, Code::kUnavailable);
}

void IncomingRequest::begin() noexcept {
  has_begun_ = true;
  answer_lines_.clear();
  first_byte_ns_ = deadline_.now_ns();
  bytes_at_first_ = reader_.received_bytes();
  deadline_.expect_by(first_byte_ns_, worker_.server.options.header_timeout_ns);
}

void IncomingRequest::judge() {
  verdict_.reset();
  const CorsPolicy& cors = worker_.server.options.cors;
  if (cors.is_active() && cors.judge(reader_.head(), &answer_lines_)) {
    verdict_.http_status = kPreflightStatus;
  } else {
    worker_.handler().judge(reader_.head(), verdict_);
  }
}

bool IncomingRequest::is_preflight() const noexcept { return verdict_.http_status == kPreflightStatus; }

void IncomingRequest::begin_body() noexcept {
  const uint64_t length = reader_.head().content_length;
  if (is_refused() || length <= kUncountedBodyBytes) return;
  if (Status status = charge_.check(length); !status.ok()) drop_body(status);
}

bool IncomingRequest::awaits_continue() const noexcept {
  const RequestHead& head = reader_.head();
  return head.expects_continue && head.version == 11 && reader_.wants_body() && !reader_.has_body_bytes();
}

bool IncomingRequest::count_body() noexcept {
  const uint64_t bytes = reader_.body().size();
  if (is_refused() || bytes <= kUncountedBodyBytes) return true;
  const uint64_t rounded = (bytes + kChargeStepBytes - 1) / kChargeStepBytes * kChargeStepBytes;
  Status status = charge_.cover(rounded);
  if (!status.ok()) drop_body(status);
  return status.ok();
}

void IncomingRequest::drop_body(const Status& reason) noexcept {
  verdict_.refuse(http_status(reason.code()), reason.message());
  worker_.handler().on_refused(reader_.head(), verdict_);
  verdict_.extra = cat("Retry-After: ", RequestCharge::kRetryAfterMs / 1000, "\r\n");
  reader_.body() = {};
  charge_.release();
}

void IncomingRequest::complete() noexcept {
  // Most requests come in one piece; the clock is not asked again for those.
  last_byte_ns_ = reader_.received_bytes() == bytes_at_first_ ? first_byte_ns_ : deadline_.now_ns();
}

void IncomingRequest::end() noexcept {
  has_begun_ = false;
  worker_.buffers.give(std::move(reader_.body()));
  charge_.release();
}

}  // namespace atl::frontends::http
