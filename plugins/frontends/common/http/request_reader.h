/// Reads one request after the other from the bytes of a connection. Knows no socket, so that tests and
/// fuzzers drive it with bytes of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "frontends/common/call/body_buffer.h"
#include "frontends/common/http/head_scanner.h"
#include "frontends/common/http/input_buffer.h"
#include "frontends/common/http/request_head.h"
#include "frontends/common/http/request_parser.h"

namespace atl::frontends::http {

/// Use: give bytes to space() and received(); call read_head() until it says kComplete, decide about the
/// body, call read_body() until it says kComplete, use head() and the body, call next(). Not thread safe.
class RequestReader {
 public:
  using Step = RequestParser::Step;

  /// \param limit  most bytes of a body
  explicit RequestReader(uint64_t limit, const HeadLimits& head_limits = {})
      : limit_(limit), scanner_(head_limits) {}

  // --- bytes in ---
  /// Where received bytes belong now: in the body itself if its length is known and nothing is before them.
  /// Never empty before the request is complete; while it is being answered, empty when enough is waiting.
  std::span<char> space();
  void received(size_t count) noexcept;

  // --- a request out ---
  /// \returns kRefused also for a body that is announced to be over the limit.
  Step read_head();
  /// \param keep  false: the body is read over.
  Step read_body(bool keep);
  /// Valid from kComplete of read_head() to release_head().
  const RequestHead& head() const noexcept { return head_; }
  RequestHead& head() noexcept { return head_; }
  /// Sets head().caller and head().identity; borrowed as long as the head.
  void identify(std::string_view caller, CallerIdentityPtr identity) noexcept {
    head_.caller = caller;
    head_.identity = std::move(identity);
  }
  BodyBuffer& body() noexcept { return body_; }
  /// Nothing looks at the head any more.
  void release_head() noexcept;
  /// Ready for the next request.
  void next() noexcept;

  /// Whether nothing of the request has come yet.
  bool idle() const noexcept { return input_.empty(); }
  /// Whether the body, or its first bytes, have come with the head.
  bool has_body_bytes() const noexcept { return !input_.empty(); }
  bool wants_body() const noexcept { return head_.chunked || body_left_ != 0; }
  uint64_t received_bytes() const noexcept { return received_bytes_; }  ///< since it was made
  const RequestRefusal& refusal() const noexcept { return refusal_; }

 private:
  Step refuse(int http_status, std::string text);

  const uint64_t limit_;
  InputBuffer input_;
  HeadScanner scanner_;
  RequestParser parser_;
  RequestHead head_;
  BodyBuffer body_;
  uint64_t body_left_ = 0;  ///< of a body with a known length
  uint64_t received_bytes_ = 0;
  bool keep_body_ = false;
  bool direct_ = false;  ///< received() is about bytes in the body
  RequestRefusal refusal_;
};

}  // namespace atl::frontends::http
