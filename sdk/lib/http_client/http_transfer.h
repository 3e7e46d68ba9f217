/// One call in libcurl's hands.
#pragma once

#include <curl/curl.h>

#include "atoll/core/status.h"
#include "atoll/lib/http_request.h"

namespace atl {

/// Longest time that a thread waits in libcurl without looking around. It is woken earlier.
inline constexpr int kCurlPollMs = 1'000;

/// libcurl, set up once a process. Errors: INTERNAL it cannot be.
Status set_up_curl() noexcept;

class HttpTransfer {
 public:
  /// \param request  outlives the transfer
  explicit HttpTransfer(const HttpRequest& request) noexcept : request_(request) {}
  HttpTransfer(const HttpTransfer&) = delete;
  HttpTransfer& operator=(const HttpTransfer&) = delete;
  ~HttpTransfer();

  /// \returns the handle, to be driven; null: libcurl gives none
  CURL* prepare();
  /// What became of it. \param code  libcurl's of the transfer that is over
  Result<HttpAnswer> finish(CURLcode code);

 private:
  /// Says whom a server of https has to be trusted by.
  void trust();
  /// Connects to the URL's server as to one of another name.
  void rename(const std::string& name);
  /// Shows it the client's certificate, if there is one.
  void identify();
  /// Status and headers, as far as they are known by now.
  void read_head();
  bool is_given_up() const noexcept;
  static size_t receive(char* bytes, size_t size, size_t count, void* transfer);
  static int look(void* transfer, curl_off_t, curl_off_t, curl_off_t, curl_off_t);

  const HttpRequest& request_;
  HttpAnswer answer_;
  CURL* curl_ = nullptr;
  curl_slist* headers_ = nullptr;
  curl_slist* connect_to_ = nullptr;
  bool has_head_ = false;  ///< the answer's body has begun
  bool is_refused_ = false;
  char failure_[CURL_ERROR_SIZE] = "";
};

}  // namespace atl
