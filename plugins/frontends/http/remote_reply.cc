#include "frontends/http/remote_reply.h"

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <limits>

#include "atoll/core/text.h"
#include "frontends/common/management/remote_server.h"

namespace atl::frontends::http {
namespace {

namespace beast = boost::beast;
using BeastText = beast::string_view;
using ErrorCode = beast::error_code;

constexpr uint32_t kMostHeadBytes = 64 * 1024;
constexpr uint32_t kMostInterim = 100;  ///< answers before the answer

std::string_view view(BeastText text) noexcept { return {text.data(), text.size()}; }

}  // namespace

class RemoteReplyParser::Beast final : public beast::http::basic_parser<false> {
 public:
  explicit Beast(RemoteReplyUser& user) : user_(user) {
    eager(true);
    header_limit(kMostHeadBytes);
    body_limit(std::numeric_limits<uint64_t>::max());
  }
  virtual ~Beast() = default;

  /// "100 Continue" and the like come before the answer.
  bool is_interim() const noexcept { return head_.http_status < 200; }

 private:
  void on_request_impl(beast::http::verb, BeastText, BeastText, int, ErrorCode&) override {}
  void on_response_impl(int status, BeastText reason, int, ErrorCode& error) override {
    error = {};
    head_.http_status = status;
    head_.reason = view(reason);
  }
  void on_field_impl(beast::http::field, BeastText name, BeastText value, ErrorCode& error) override {
    error = {};
    const std::string_view line_name = view(name);
    if (!is_passed_on(line_name)) return;
    head_.headers.append(line_name).append(": ").append(view(value)).append("\r\n");
  }
  void on_header_impl(ErrorCode& error) override {
    error = {};
    if (is_interim()) return;
    if (is_done()) {
      head_.content_length = 0;
    } else if (content_length()) {
      head_.content_length = *content_length();
    }
    user_.on_reply_head(head_);
  }
  void on_body_init_impl(const boost::optional<uint64_t>&, ErrorCode& error) override { error = {}; }
  size_t on_body_impl(BeastText body, ErrorCode& error) override {
    error = {};
    if (!user_.on_reply_body(view(body))) error = beast::http::error::body_limit;
    return body.size();
  }
  void on_chunk_header_impl(uint64_t, BeastText, ErrorCode& error) override { error = {}; }
  size_t on_chunk_body_impl(uint64_t, BeastText body, ErrorCode& error) override {
    return on_body_impl(body, error);
  }
  void on_finish_impl(ErrorCode& error) override { error = {}; }

  RemoteReplyUser& user_;
  RemoteReplyHead head_;
};

RemoteReplyParser::RemoteReplyParser(RemoteReplyUser& user)
    : user_(user), beast_(std::make_unique<Beast>(user)) {}
RemoteReplyParser::~RemoteReplyParser() = default;

RemoteReplyParser::Step RemoteReplyParser::parse(std::string_view bytes, size_t* consumed) {
  *consumed = 0;
  while (*consumed < bytes.size()) {
    if (beast_->is_done() && beast_->is_interim()) {
      if (++interim_ > kMostInterim) return Step::kRefused;
      beast_ = std::make_unique<Beast>(user_);
    }
    if (beast_->is_done()) break;
    ErrorCode error;
    const std::string_view left = bytes.substr(*consumed);
    *consumed += beast_->put(boost::asio::const_buffer(left.data(), left.size()), error);
    if (error == beast::http::error::need_more) return Step::kNeedMore;
    if (error) return Step::kRefused;
  }
  return beast_->is_done() && !beast_->is_interim() ? Step::kComplete : Step::kNeedMore;
}

bool RemoteReplyParser::end() {
  if (!beast_->got_some()) return false;
  ErrorCode error;
  beast_->put_eof(error);
  return !error && beast_->is_done();
}

bool RemoteReplyParser::keeps_alive() const { return beast_->keep_alive(); }
bool RemoteReplyParser::has_begun() const { return beast_->got_some(); }

}  // namespace atl::frontends::http
