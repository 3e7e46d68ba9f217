#include "atoll/lib/http_caller.h"

#include "http_transfer.h"

namespace atl {
HttpCaller::~HttpCaller() { curl_multi_cleanup(multi_); }

Status HttpCaller::open() {
  ATOLL_RETURN_IF_ERROR(set_up_curl());
  if (multi_ == nullptr) multi_ = curl_multi_init();
  return multi_ == nullptr ? internal_error("libcurl gives no handle") : Status();
}

void HttpCaller::interrupt(bool refuse) noexcept {
  refuses_.store(refuse, std::memory_order_release);
  if (refuse) curl_multi_wakeup(multi_);
}

Result<HttpAnswer> HttpCaller::call(const HttpRequest& request, int interrupt) noexcept {
  HttpTransfer transfer(request);
  CURL* const curl = transfer.prepare();
  if (curl == nullptr || curl_multi_add_handle(multi_, curl) != CURLM_OK)
    return internal_error("libcurl gives no handle");
  curl_waitfd given_up{interrupt, CURL_WAIT_POLLIN, 0};
  int running = 1;
  while (running != 0 && !refuses_.load(std::memory_order_acquire) &&
         (given_up.revents & CURL_WAIT_POLLIN) == 0) {
    if (curl_multi_perform(multi_, &running) != CURLM_OK) break;
    if (running != 0) curl_multi_poll(multi_, &given_up, interrupt < 0 ? 0 : 1, kCurlPollMs, nullptr);
  }
  CURLcode code = CURLE_ABORTED_BY_CALLBACK;
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg == CURLMSG_DONE) code = message->data.result;
  }
  curl_multi_remove_handle(multi_, curl);
  return transfer.finish(code);
}

}  // namespace atl
