/// What is asked of an HTTP server, and what it answers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace atl {

struct HttpAnswer {
  int status = 0;  ///< of HTTP, such as 200
  std::string body;
  /// Values of the headers that the request asked to be told, in its order; empty: the answer has no such header.
  std::vector<std::string> headers = {};
};

struct HttpRequest {
  std::string url = {};                           ///< whole: http://HOST:PORT/PATH or https://...
  std::string method = "GET";                     ///< of HTTP
  std::vector<std::string> headers = {};          ///< each "NAME: VALUE"
  std::string body = {};                          ///< empty: none
  std::string content_type = "application/json";  ///< of the body, if there is one
  int64_t timeout_ns = 0;                         ///< of the whole call; 0: none
  int64_t silence_ns = 0;  ///< longest time without a connection, or without a byte; 0: any
  size_t answer_bytes_max = size_t{4} << 20;  ///< of the answer's body, as far as it is kept
  bool uses_proxy = false;                    ///< whether proxies that the environment names are used
  std::string ca_file = {};    ///< certificates to trust, PEM; empty: SSL_CERT_FILE, or the system's
  std::string cert_file = {};  ///< certificate that is shown to an https server, PEM; empty: none
  std::string key_file = {};   ///< its private key, PEM; empty: it is in cert_file
  std::string ca_text = {};    ///< the certificates themselves, in place of ca_file
  std::string cert_text = {};  ///< likewise the certificate, in place of cert_file
  std::string key_text = {};   ///< likewise its key, in place of key_file; never empty with cert_text
  /// The name that an https server's certificate has to be for; empty: the host of the URL.
  std::string server_name = {};
  /// Whoever has a trusted certificate is the server, whatever its name: where that is the server's own one.
  bool any_name = false;
  /// Called as more of the answer's body has come. May take away what it has read: the rest stays for the next time.
  /// Runs where the call is worked on, and must not throw. Null: the whole body is kept.
  std::function<void(std::string& body)> on_body = {};
  /// Called before the first byte of a body, with status and headers. Runs where on_body does. False: the call is given up,
  /// CANCELLED.
  std::function<bool(const HttpAnswer& head)> on_head = {};
  std::vector<std::string> answer_headers = {};  ///< names of headers that the answer is to tell
  /// Set by anyone, also by on_body: the call is given up within about a second, CANCELLED. Null: never.
  std::shared_ptr<const std::atomic<bool>> given_up = {};
};

/// A part of a URL's path or query, with percent codes for all but letters, digits and "-._~".
std::string percent_encode(const std::string& text);
/// The text without percent codes. Empty: a code is damaged.
std::string percent_decode(std::string_view text);
/// Whether calls can go to it: it begins with http:// or https:// and names a host.
bool is_http_url(const std::string& url);

}  // namespace atl
