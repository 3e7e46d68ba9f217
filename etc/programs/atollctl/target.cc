#include "target.h"

#include <curl/curl.h>

#include <memory>
#include <utility>

namespace atl::ctl {
namespace {

constexpr size_t kAnswerBytesMax = size_t{256} << 20;
constexpr std::string_view kEvent = "data: ", kEventEnd = "\n\n";

struct CurlDeleter {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

}  // namespace

std::string escape(const std::string& text) {
  char* escaped = curl_easy_escape(nullptr, text.data(), static_cast<int>(text.size()));
  std::string copy = escaped == nullptr ? std::string() : std::string(escaped);
  curl_free(escaped);
  return copy;
}

/// What has come of one answer.
struct HttpTarget::Transfer {
  std::string text;
  const std::function<void(const nlohmann::json&)>* on_event = nullptr;
  nlohmann::json last;

  static size_t receive(const char* data, size_t size, size_t count, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    const size_t bytes = size * count;
    if (transfer.text.size() + bytes > kAnswerBytesMax) return 0;
    transfer.text.append(data, bytes);
    if (transfer.on_event != nullptr) transfer.take_events();
    return bytes;
  }
  void take_events() {
    for (size_t end; text.starts_with(kEvent) && (end = text.find(kEventEnd)) != std::string::npos;) {
      nlohmann::json event =
          nlohmann::json::parse(text.substr(kEvent.size(), end - kEvent.size()), nullptr, false);
      text.erase(0, end + kEventEnd.size());
      if (event.is_discarded()) continue;
      (*on_event)(event);
      last = std::move(event);
    }
  }
};

Result<Answer> HttpTarget::call(const char* method, const std::string& path, const nlohmann::json& body) {
  Transfer transfer;
  return perform(transfer, method, path, body);
}

Result<Answer> HttpTarget::follow(const std::string& path, const nlohmann::json& body,
                                  const std::function<void(const nlohmann::json&)>& on_event) {
  Transfer transfer;
  transfer.on_event = &on_event;
  return perform(transfer, "POST", path, body);
}

Result<Answer> HttpTarget::perform(Transfer& transfer, const char* method, const std::string& path,
                                   const nlohmann::json& body) {
  const std::unique_ptr<CURL, CurlDeleter> owned(curl_easy_init());
  CURL* const curl = owned.get();
  if (curl == nullptr) return unavailable("libcurl gives no handle");
  const bool has_scheme = settings_.url.find("://") != std::string::npos;
  const std::string url = cat(has_scheme ? "" : "http://", settings_.url, path);
  const std::string sent = body.is_null() ? std::string() : body.dump();
  curl_slist* list = curl_slist_append(nullptr, "Content-Type: application/json");
  list = curl_slist_append(list, "Expect:");  // else libcurl may wait for a "100 Continue"
  if (transfer.on_event != nullptr) list = curl_slist_append(list, "Accept: text/event-stream");
  if (!settings_.header.empty()) list = curl_slist_append(list, settings_.header.c_str());
  const std::unique_ptr<curl_slist, CurlDeleter> headers(list);
  char failure[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, failure);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, settings_.timeout_s);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &Transfer::receive);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  if (!settings_.ca_file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, settings_.ca_file.c_str());
  if (!body.is_null()) {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, sent.data());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(sent.size()));
  }
  if (const CURLcode code = curl_easy_perform(curl); code != CURLE_OK)
    return unavailable(settings_.url, ": ", *failure != '\0' ? failure : curl_easy_strerror(code));
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  Answer answer{static_cast<int>(status), std::move(transfer.last)};
  if (!transfer.text.empty()) answer.body = nlohmann::json::parse(transfer.text, nullptr, false);
  if (answer.body.is_discarded())
    return unavailable(settings_.url, " answers with status ", status, " and something that is no JSON");
  return answer;
}

}  // namespace atl::ctl
