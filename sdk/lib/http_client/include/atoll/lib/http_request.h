/// What is asked of an HTTP server, and what it answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace atl {

struct HttpRequest {
  std::string url = {};                           ///< whole: http://HOST:PORT/PATH or https://...
  std::string method = "GET";                     ///< of HTTP
  std::vector<std::string> headers = {};          ///< each "NAME: VALUE"
  std::string body = {};                          ///< empty: none
  std::string content_type = "application/json";  ///< of the body, if there is one
  int64_t timeout_ns = 0;                         ///< of the whole call; 0: none
  size_t answer_bytes_max = size_t{4} << 20;      ///< of the answer's body, as far as it is kept
  std::string answer_header = {};  ///< name of a header that the answer is to keep; empty: none
  bool uses_proxy = false;         ///< whether proxies that the environment names are used
  std::string ca_file = {};        ///< certificates to trust, PEM; empty: SSL_CERT_FILE, or the system's
  std::string cert_file = {};      ///< certificate that is shown to an https server, PEM; empty: none
  std::string key_file = {};       ///< its private key, PEM; empty: it is in cert_file
  /// Called as more of the answer's body has come. May take away what it has read: the rest stays for the next time.
  /// Runs where the call is worked on, and must not throw. Null: the whole body is kept.
  std::function<void(std::string& body)> on_body = {};
};

struct HttpAnswer {
  int status = 0;  ///< of HTTP, such as 200
  std::string body;
  std::string header;  ///< the value of HttpRequest::answer_header; empty: it did not come
};

/// A part of a URL's path or query, with percent codes for all but letters, digits and "-._~".
std::string percent_encode(const std::string& text);
/// The text without percent codes. Empty: a code is damaged.
std::string percent_decode(std::string_view text);
/// Whether calls can go to it: it begins with http:// or https:// and names a host.
bool is_http_url(const std::string& url);

}  // namespace atl
