#include "frontends/common/http/request_parser.h"

#include <boost/beast/http/basic_parser.hpp>
#include <limits>
#include <optional>
#include <utility>

#include "atoll/core/text.h"
#include "frontends/common/http/head_scanner.h"
#include "frontends/common/http/messages.h"

namespace atl::frontends::http {
namespace {

namespace beast_http = boost::beast::http;
using beast_http::field;
using boost::beast::error_code;

std::string_view view(boost::beast::string_view text) noexcept { return {text.data(), text.size()}; }

bool is_digits(std::string_view text) noexcept {
  if (text.empty()) return false;
  for (char c : text) {
    if (c < '0' || c > '9') return false;
  }
  return true;
}

/// Whether what is there of a chunk's head can become one.
bool may_be_chunk_head(std::string_view head, bool after_chunk) noexcept {
  if (after_chunk) {
    const std::string_view line_end = std::string_view("\r\n").substr(0, head.size());
    if (!head.starts_with(line_end)) return false;
    head.remove_prefix(line_end.size());
  }
  const size_t digits = head.find_first_not_of("0123456789abcdefABCDEF");
  if (digits == std::string_view::npos) return true;
  return digits > 0 && std::string_view(";\r \t").find(head[digits]) != std::string_view::npos;
}

}  // namespace

/// The parser of one request. Beast calls the on_..._impl functions.
class RequestParser::Beast {
 public:
  class Parser final : public beast_http::basic_parser<true> {
   public:
    explicit Parser(Beast& owner) : owner_(owner) {
      eager(true);
      header_limit(kMaxHeadBytes);
      // Without a limit at all this version takes every length for too large.
      body_limit(std::numeric_limits<uint64_t>::max());
    }

   private:
    void on_request_impl(beast_http::verb, boost::beast::string_view method, boost::beast::string_view target,
                         int version, error_code&) override {
      RequestHead& head = *owner_.head;
      head.method = view(method);
      head.target = view(target);
      head.path = head.target.substr(0, head.target.find('?'));
      head.version = version;
    }
    void on_response_impl(int, boost::beast::string_view, int, error_code&) override {}
    void on_field_impl(field name, boost::beast::string_view name_text, boost::beast::string_view value,
                       error_code& error) override {
      if (owner_.head == nullptr) return;  // a trailer: nothing here looks at those
      if (!owner_.add_field(name, view(name_text), view(value))) error = beast_http::error::bad_field;
    }
    void on_header_impl(error_code&) override {}
    void on_body_init_impl(boost::optional<std::uint64_t> const&, error_code&) override {}
    std::size_t on_body_impl(boost::beast::string_view body, error_code&) override { return body.size(); }
    void on_chunk_header_impl(std::uint64_t size, boost::beast::string_view, error_code& error) override {
      if (!owner_.begin_chunk(size)) error = beast_http::error::body_limit;
    }
    std::size_t on_chunk_body_impl(std::uint64_t, boost::beast::string_view data,
                                   error_code& error) override {
      if (!owner_.add_data(view(data))) error = beast_http::error::body_limit;
      return data.size();
    }
    void on_finish_impl(error_code&) override {}

    Beast& owner_;
  };

  void begin(RequestHead& to) {
    parser.emplace(*this);
    head = &to;
    refusal = {};
    body_bytes = 0;
    chunk_left = 0;
    chunks = 0;
  }

  bool refuse(int http_status, std::string text) {
    refusal = {http_status, std::move(text)};
    return false;
  }

  bool add_field(field name, std::string_view name_text, std::string_view value) {
    head->fields.push_back({name_text, value});
    switch (name) {
      case field::content_length:
        if (!is_digits(value)) return refuse(400, cat("Content-Length is '", value, "', expected a number"));
        return once(name_text);
      case field::transfer_encoding:
        if (!boost::beast::iequals({value.data(), value.size()}, "chunked")) {
          return refuse(400, cat("Transfer-Encoding is '", value, "', expected chunked"));
        }
        return once(name_text);
      case field::host:
        return once(name_text);
      case field::content_encoding:
        head->content_encoding = value;
        return once(name_text);
      case field::accept_encoding:
        if (head->accept_encoding.empty()) head->accept_encoding = value;
        return true;
      case field::expect:
        if (!boost::beast::iequals({value.data(), value.size()}, "100-continue")) {
          return refuse(417, cat("Expect is '", value, "', expected 100-continue"));
        }
        head->expects_continue = true;
        return once(name_text);
      case field::unknown:
        return add_unknown_field(name_text, value);
      default:
        return true;
    }
  }
  bool add_unknown_field(std::string_view name, std::string_view value) {
    const boost::beast::string_view text(name.data(), name.size());
    if (boost::beast::iequals(text, "Inference-Header-Content-Length")) {
      head->has_json_length = true;
      head->json_length = value;
      return once(name);
    }
    if (boost::beast::iequals(text, "traceparent")) head->traceparent = value;
    if (boost::beast::iequals(text, "endpoint-load-metrics-format")) head->load_format = value;
    if (boost::beast::iequals(text, "tracestate")) head->tracestate = value;
    return true;
  }
  bool once(std::string_view name) {
    const boost::beast::string_view text(name.data(), name.size());
    for (size_t i = 0; i + 1 < head->fields.size(); ++i) {
      const std::string_view other = head->fields[i].name;
      if (boost::beast::iequals(text, {other.data(), other.size()})) {
        return refuse(400, cat("header '", name, "' is given more than once"));
      }
    }
    return true;
  }

  bool begin_chunk(uint64_t size) {
    if (size == 0) return true;
    if (++chunks > kMaxChunks) return refuse(400, messages::too_many_chunks(kMaxChunks));
    if (size > limit - body_bytes) return refuse(413, messages::chunked_body_too_large(limit));
    body_bytes += size;
    chunk_left = size;
    return true;
  }
  bool add_data(std::string_view data) {
    chunk_left -= data.size();
    if (body == nullptr || body->append(data.data(), data.size())) return true;
    return refuse(503, "no memory for the request's body");
  }

  /// \param rest  of a chunk's head what is there; a client is not waited for if that can never become one
  Step need_more(std::string_view rest) {
    if (may_be_chunk_head(rest, chunks > 0)) return Step::kNeedMore;
    refuse(400, "cannot read the chunked body: bad chunk");
    return Step::kRefused;
  }

  std::optional<Parser> parser;
  RequestHead* head = nullptr;  ///< null once the head is complete
  RequestRefusal refusal;
  BodyBuffer* body = nullptr;
  uint64_t limit = 0;
  uint64_t body_bytes = 0;  ///< announced by the chunks so far
  uint64_t chunk_left = 0;  ///< of the present chunk
  uint32_t chunks = 0;
};

RequestParser::RequestParser() : beast_(std::make_unique<Beast>()) {}
RequestParser::~RequestParser() = default;

bool RequestParser::parse_head(std::string_view block, RequestHead& head) {
  beast_->begin(head);
  error_code error;
  size_t consumed = 0;
  // A part at a time, so that the parser is not given the body's first bytes as well.
  beast_->parser->eager(false);
  while (!error && consumed < block.size() && !beast_->parser->is_header_done()) {
    consumed += beast_->parser->put({block.data() + consumed, block.size() - consumed}, error);
  }
  beast_->parser->eager(true);
  beast_->head = nullptr;
  if (beast_->refusal.http_status != 0) return false;
  if (error || !beast_->parser->is_header_done()) {
    return beast_->refuse(400, cat("cannot read the request's head: ",
                                   error ? error.message() : std::string("it is not complete")));
  }
  head.chunked = beast_->parser->chunked();
  if (head.chunked && head.version < 11) {
    return beast_->refuse(400, "Transfer-Encoding is not allowed in HTTP/1.0");
  }
  head.keep_alive = beast_->parser->keep_alive();
  head.content_length = beast_->parser->content_length().value_or(0);
  return true;
}

RequestParser::Step RequestParser::parse_chunks(std::string_view bytes, BodyBuffer* body, uint64_t limit,
                                                size_t* consumed) {
  *consumed = 0;
  beast_->body = body;
  beast_->limit = limit;
  // What can follow outside of a chunk's data takes 5 bytes at least, and the parser relies on having them.
  if (beast_->chunk_left == 0 && bytes.size() < 5) return beast_->need_more(bytes);
  error_code error;
  *consumed = beast_->parser->put({bytes.data(), bytes.size()}, error);
  if (beast_->refusal.http_status != 0) return Step::kRefused;
  if (error && error != beast_http::error::need_more) {
    beast_->refuse(400, cat("cannot read the chunked body: ", error.message()));
    return Step::kRefused;
  }
  if (beast_->parser->is_done()) return Step::kComplete;
  if (beast_->chunk_left == 0 && bytes.size() - *consumed >= kMaxChunkHeadBytes) {
    beast_->refuse(400, cat("a chunk's head takes more than ", kMaxChunkHeadBytes, " bytes"));
    return Step::kRefused;
  }
  return beast_->chunk_left == 0 ? beast_->need_more(bytes.substr(*consumed)) : Step::kNeedMore;
}

const RequestRefusal& RequestParser::refusal() const noexcept { return beast_->refusal; }

}  // namespace atl::frontends::http
