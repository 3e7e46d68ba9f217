#include "frontends/common/http/answer_writer.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace atl::frontends::http {
namespace {

constexpr size_t kMostParts = 256;  ///< of one sendmsg; the system's limit is 1,024
constexpr std::string_view kLastChunk = "0\r\n\r\n";
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

iovec to_iovec(std::string_view bytes) noexcept { return {const_cast<char*>(bytes.data()), bytes.size()}; }

}  // namespace

void AnswerWriter::start(const RequestHead& head, bool keeps_alive) noexcept {
  version_ = head.version;
  no_body_ = head.method == "HEAD";
  keeps_alive_ = keeps_alive;
  was_probed_ = false;
}

bool AnswerWriter::send_continue(ClientBytes& to) noexcept { return to.send_whole(kContinue); }

bool AnswerWriter::probe(ClientBytes& to) noexcept {
  if (std::exchange(was_probed_, true)) return true;
  if (version_ == 11) return send_continue(to);
  // HTTP/1.0 has no such answer. But each of its answers begins alike, and may begin early.
  sent_ahead_ = 1;
  return to.send_whole("H");
}

void AnswerWriter::begin(const ReplyHead& head, std::string_view lines, Framing framing) {
  has_begun_ = true;
  if (framing == Framing::kUntilClosed) keeps_alive_ = false;
  write_reply_head(head, lines, version_, framing, keeps_alive_, &head_);
  part_ = 0;
  parts_.assign(1, to_iovec(std::string_view(head_).substr(std::exchange(sent_ahead_, 0))));
}

void AnswerWriter::begin_stream(const ReplyHead& head, std::string_view lines) {
  const Framing framing = stream_framing();
  is_streaming_ = true;
  body_.begin(framing == Framing::kChunked);
  begin(head, lines, framing);
}

void AnswerWriter::add(std::span<const iovec> body) {
  if (!no_body_) parts_.insert(parts_.end(), body.begin(), body.end());
}

void AnswerWriter::add_text(std::string body) {
  text_ = std::move(body);
  if (!no_body_ && !text_.empty()) parts_.push_back(to_iovec(text_));
}

AnswerWriter::Sent AnswerWriter::send(ClientBytes& to, size_t* bytes) noexcept {
  while (part_ < parts_.size() || to.has_unsent()) {
    const ssize_t sent = to.send({parts_.data() + part_, std::min(parts_.size() - part_, kMostParts)});
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) return Sent::kBroken;
      is_blocked_ = true;
      return Sent::kBlocked;
    }
    auto left = static_cast<size_t>(sent);
    *bytes += left;
    while (part_ < parts_.size() && left >= parts_[part_].iov_len) left -= parts_[part_++].iov_len;
    if (left != 0) {
      parts_[part_].iov_base = static_cast<char*>(parts_[part_].iov_base) + left;
      parts_[part_].iov_len -= left;
    }
  }
  return Sent::kAll;
}

AnswerWriter::Next AnswerWriter::next_of_stream() {
  part_ = 0;
  if (body_.take_batch(&parts_)) return Next::kParts;
  if (!body_.is_ended()) return Next::kNothingYet;
  is_streaming_ = false;
  if (!body_.is_chunked()) return Next::kEnd;
  parts_.push_back(to_iovec(kLastChunk));
  return Next::kParts;
}

}  // namespace atl::frontends::http
