#include "http_transfer.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <utility>

#include "atoll/core/clock.h"
#include "trusted_certificates.h"

namespace atl {
namespace {

struct CurlTextDeleter {
  void operator()(char* text) const noexcept { curl_free(text); }
};
using CurlText = std::unique_ptr<char, CurlTextDeleter>;

constexpr std::string_view kPlain = "http://";

/// A text that outlives the transfer, as an option takes it.
curl_blob blob_of(const std::string& text) noexcept {
  return {const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
}

/// How messages name the server: HOST:PORT, with the scheme if it is not http.
std::string_view server_of(std::string_view url) {
  if (url.starts_with(kPlain)) url.remove_prefix(kPlain.size());
  const size_t scheme = url.find("://");
  return url.substr(0, url.find('/', scheme == std::string_view::npos ? 0 : scheme + 3));
}

}  // namespace

std::string percent_encode(const std::string& text) {
  const CurlText encoded(curl_easy_escape(nullptr, text.data(), static_cast<int>(text.size())));
  return encoded == nullptr ? std::string() : std::string(encoded.get());
}

std::string percent_decode(std::string_view text) {
  if (text.empty()) return {};  // libcurl takes a size of 0 for a text that ends somewhere
  int size = 0;
  const CurlText plain(curl_easy_unescape(nullptr, text.data(), static_cast<int>(text.size()), &size));
  return plain == nullptr ? std::string() : std::string(plain.get(), static_cast<size_t>(size));
}

bool is_http_url(const std::string& url) {
  CURLU* const parsed = curl_url();
  const CURLUcode code = curl_url_set(parsed, CURLUPART_URL, url.c_str(), 0);
  curl_url_cleanup(parsed);
  return code == CURLUE_OK && (url.starts_with(kPlain) || url.starts_with("https://"));
}

Status set_up_curl() noexcept {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_ALL);
  return code == CURLE_OK ? Status() : internal_error("libcurl: ", curl_easy_strerror(code));
}

HttpTransfer::~HttpTransfer() {
  curl_easy_cleanup(curl_);
  curl_slist_free_all(headers_);
  curl_slist_free_all(connect_to_);
}

size_t HttpTransfer::receive(char* bytes, size_t size, size_t count, void* transfer) {
  auto& self = *static_cast<HttpTransfer*>(transfer);
  std::string& body = self.answer_.body;
  if (!std::exchange(self.has_head_, true) && self.request_.on_head != nullptr) {
    self.read_head();
    self.is_refused_ = !self.request_.on_head(self.answer_);
  }
  if (self.is_refused_ || self.is_given_up()) return 0;
  if (body.size() + size * count > self.request_.answer_bytes_max) return 0;
  body.append(bytes, size * count);
  if (self.request_.on_body != nullptr) self.request_.on_body(body);
  return size * count;
}

int HttpTransfer::look(void* transfer, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<HttpTransfer*>(transfer)->is_given_up() ? 1 : 0;
}

bool HttpTransfer::is_given_up() const noexcept {
  return request_.given_up != nullptr && request_.given_up->load(std::memory_order_acquire);
}

void HttpTransfer::read_head() {
  long status = 0;
  curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status);
  answer_.status = static_cast<int>(status);
  answer_.headers.clear();
  for (const std::string& name : request_.answer_headers) {
    curl_header* header = nullptr;
    const bool is_there = curl_easy_header(curl_, name.c_str(), 0, CURLH_HEADER, -1, &header) == CURLHE_OK;
    answer_.headers.emplace_back(is_there ? header->value : "");
  }
}

void HttpTransfer::identify() {
  if (!request_.cert_text.empty()) {
    const curl_blob certificate = blob_of(request_.cert_text), key = blob_of(request_.key_text);
    curl_easy_setopt(curl_, CURLOPT_SSLCERT_BLOB, &certificate);
    curl_easy_setopt(curl_, CURLOPT_SSLKEY_BLOB, &key);
    return;
  }
  if (request_.cert_file.empty()) return;
  curl_easy_setopt(curl_, CURLOPT_SSLCERT, request_.cert_file.c_str());
  curl_easy_setopt(curl_, CURLOPT_SSLKEY,
                   (request_.key_file.empty() ? request_.cert_file : request_.key_file).c_str());
}

// libcurl verifies the name of the URL, so that has the name, and the connection goes to where the URL has said.
void HttpTransfer::rename(const std::string& name) {
  CURLU* const url = curl_url();
  char *host = nullptr, *port = nullptr, *renamed = nullptr;
  const bool is_parsed = curl_url_set(url, CURLUPART_URL, request_.url.c_str(), 0) == CURLUE_OK &&
                         curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
                         curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
                         curl_url_set(url, CURLUPART_HOST, name.c_str(), 0) == CURLUE_OK &&
                         curl_url_get(url, CURLUPART_URL, &renamed, 0) == CURLUE_OK;
  if (is_parsed) {
    curl_easy_setopt(curl_, CURLOPT_URL, renamed);
    connect_to_ = curl_slist_append(nullptr, cat("::", host, ":", port).c_str());
    curl_easy_setopt(curl_, CURLOPT_CONNECT_TO, connect_to_);
  }
  for (char* text : {host, port, renamed}) curl_free(text);
  curl_url_cleanup(url);
}

void HttpTransfer::trust() {
  if (!request_.ca_text.empty()) {
    const curl_blob certificates = blob_of(request_.ca_text);
    curl_easy_setopt(curl_, CURLOPT_CAINFO_BLOB, &certificates);
    return;
  }
  TrustedCertificates trusted{request_.ca_file, ""};
  if (trusted.file.empty()) {
    trusted = trusted_certificates([](const char* name) { return std::getenv(name); },
                                   [](const char* file) { return ::access(file, R_OK) == 0; });
  }
  if (trusted.file.empty() && trusted.folder.empty()) return;
  // Both, as libcurl would look into its own of what is not set.
  curl_easy_setopt(curl_, CURLOPT_CAINFO, trusted.file.empty() ? nullptr : trusted.file.c_str());
  curl_easy_setopt(curl_, CURLOPT_CAPATH, trusted.folder.empty() ? nullptr : trusted.folder.c_str());
}

CURL* HttpTransfer::prepare() {
  curl_ = curl_easy_init();
  if (curl_ == nullptr) return nullptr;
  curl_easy_setopt(curl_, CURLOPT_URL, request_.url.c_str());
  curl_easy_setopt(curl_, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl_, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  curl_easy_setopt(curl_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl_, CURLOPT_ERRORBUFFER, failure_);
  curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, &receive);
  curl_easy_setopt(curl_, CURLOPT_WRITEDATA, this);
  if (!request_.uses_proxy) curl_easy_setopt(curl_, CURLOPT_PROXY, "");
  if (request_.url.starts_with("https://")) {
    trust();  // which looks for files
    identify();
    if (request_.any_name) curl_easy_setopt(curl_, CURLOPT_SSL_VERIFYHOST, 0L);
    if (!request_.server_name.empty()) rename(request_.server_name);
  }
  if (request_.timeout_ns > 0) {
    const int64_t timeout_ms =
        std::clamp<int64_t>(request_.timeout_ns / kNsPerMs, 1, std::numeric_limits<int32_t>::max());
    curl_easy_setopt(curl_, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout_ms));
  }
  if (request_.silence_ns > 0) {
    const long seconds = static_cast<long>(std::max<int64_t>(request_.silence_ns / kNsPerSecond, 1));
    curl_easy_setopt(curl_, CURLOPT_CONNECTTIMEOUT, seconds);
    curl_easy_setopt(curl_, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl_, CURLOPT_LOW_SPEED_TIME, seconds);
  }
  if (request_.given_up != nullptr) {
    curl_easy_setopt(curl_, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl_, CURLOPT_XFERINFOFUNCTION, &look);
    curl_easy_setopt(curl_, CURLOPT_XFERINFODATA, this);
  }
  for (const std::string& header : request_.headers) headers_ = curl_slist_append(headers_, header.c_str());
  if (!request_.body.empty()) {
    headers_ = curl_slist_append(headers_, ("Content-Type: " + request_.content_type).c_str());
    headers_ = curl_slist_append(headers_, "Expect:");  // else libcurl may wait for a "100 Continue"
    curl_easy_setopt(curl_, CURLOPT_POSTFIELDS, request_.body.data());
    curl_easy_setopt(curl_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
  }
  curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers_);
  return curl_;
}

Result<HttpAnswer> HttpTransfer::finish(CURLcode code) {
  const std::string_view server = server_of(request_.url);
  switch (code) {
    case CURLE_OK:
      break;
    case CURLE_OPERATION_TIMEDOUT:
      return make_status(Code::kDeadlineExceeded, server, " did not answer in ",
                         (request_.timeout_ns > 0 ? request_.timeout_ns : request_.silence_ns) / kNsPerMs,
                         " ms");
    case CURLE_WRITE_ERROR:
      if (is_refused_ || is_given_up())
        return make_status(Code::kCancelled, server, ": the call was given up");
      return make_status(Code::kResourceExhausted, server, " answered more than ", request_.answer_bytes_max,
                         " bytes");
    case CURLE_ABORTED_BY_CALLBACK:
      return make_status(Code::kCancelled, server, ": the call was given up");
    default:
      return unavailable(server, ": ", *failure_ != '\0' ? failure_ : curl_easy_strerror(code));
  }
  read_head();
  return std::move(answer_);
}

}  // namespace atl
