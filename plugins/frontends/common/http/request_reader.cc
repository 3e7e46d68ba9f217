#include "frontends/common/http/request_reader.h"

#include <algorithm>
#include <utility>

#include "frontends/common/http/messages.h"

namespace atl::frontends::http {
namespace {

constexpr size_t kReadBytes = 16 * 1024;  ///< room for one reading
constexpr size_t kKeptBytes = 32 * 1024;  ///< memory that an idle connection may keep
constexpr size_t kLeastBytes = 1024;      ///< less room than this is not worth a reading
/// Room behind a head: the longest head of a chunk fits.
constexpr size_t kBodyRoomBytes = kMaxChunkHeadBytes + kLeastBytes;

}  // namespace

std::span<char> RequestReader::space() {
  direct_ = keep_body_ && body_left_ != 0 && input_.empty();
  if (direct_) {
    const size_t count = static_cast<size_t>(std::min<uint64_t>(body_left_, body_.space_bytes()));
    return {reinterpret_cast<char*>(body_.space()), count};
  }
  if (!input_.make_room(kLeastBytes)) {
    // A complete head was given room behind it, so only bytes that wait for the next request can fill that.
    if (!head_.method.empty()) return {};
    input_.grow(kReadBytes);
  }
  return {input_.space(), input_.space_bytes()};
}

void RequestReader::received(size_t count) noexcept {
  received_bytes_ += count;
  if (direct_) {
    body_.advance(count);
    body_left_ -= count;
  } else {
    input_.advance(count);
  }
}

RequestReader::Step RequestReader::read_head() {
  switch (scanner_.scan(input_.bytes())) {
    case HeadScanner::Result::kNeedMore:
      return Step::kNeedMore;
    case HeadScanner::Result::kRefused:
      refusal_ = scanner_.refusal();
      return Step::kRefused;
    default:
      break;
  }
  // Views into the head must hold while the body is read behind it.
  input_.grow(kBodyRoomBytes);
  if (!parser_.parse_head(input_.bytes().substr(0, scanner_.head_bytes()), head_)) {
    refusal_ = parser_.refusal();
    return Step::kRefused;
  }
  if (head_.content_length > limit_) {
    return refuse(413, messages::body_too_large(head_.content_length, limit_));
  }
  input_.pin(scanner_.head_bytes());
  body_left_ = head_.content_length;
  return Step::kComplete;
}

RequestReader::Step RequestReader::read_body(bool keep) {
  keep_body_ = keep;
  if (head_.chunked) {
    size_t consumed = 0;
    const Step step = parser_.parse_chunks(input_.bytes(), keep ? &body_ : nullptr, limit_, &consumed);
    input_.consume(consumed);
    if (step == Step::kRefused) refusal_ = parser_.refusal();
    if (step == Step::kComplete && keep && !body_.reserve(1))
      return refuse(503, "no memory for the request's body");
    return step;
  }
  if (keep && !body_.reserve(static_cast<size_t>(std::max<uint64_t>(head_.content_length, 1)))) {
    return refuse(503, "no memory for the request's body");
  }
  const size_t here = static_cast<size_t>(std::min<uint64_t>(body_left_, input_.bytes().size()));
  if (here != 0) {
    if (keep) body_.append(input_.bytes().data(), here);
    body_left_ -= here;
    input_.consume(here);
  }
  return body_left_ == 0 ? Step::kComplete : Step::kNeedMore;
}

void RequestReader::release_head() noexcept { input_.unpin(); }

void RequestReader::next() noexcept {
  input_.unpin();
  input_.shrink(kKeptBytes);
  scanner_.reset();
  head_.reset();
  body_.clear();
  body_left_ = 0;
  keep_body_ = direct_ = false;
  refusal_ = {};
}

RequestReader::Step RequestReader::refuse(int http_status, std::string text) {
  refusal_ = {http_status, std::move(text)};
  return Step::kRefused;
}

}  // namespace atl::frontends::http
