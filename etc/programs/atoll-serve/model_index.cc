#include "model_index.h"

#include <curl/curl.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "atoll/core/text.h"

namespace atl::serve {
namespace {

constexpr size_t kAnswerBytesMax = size_t{64} << 20;
constexpr long kTimeoutMs = 30'000;

struct EasyDeleter {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
};
struct MultiDeleter {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};

size_t receive(const char* data, size_t size, size_t count, void* target) {
  auto& text = *static_cast<std::string*>(target);
  if (text.size() + size * count > kAnswerBytesMax) return 0;
  text.append(data, size * count);
  return size * count;
}

/// \returns CURLE_ABORTED_BY_CALLBACK after an interruption
CURLcode perform(CURL* curl, int interrupt) {
  const std::unique_ptr<CURLM, MultiDeleter> multi(curl_multi_init());
  if (multi == nullptr || curl_multi_add_handle(multi.get(), curl) != CURLM_OK) return CURLE_FAILED_INIT;
  int running = 1;
  bool goes_on = true;
  while (goes_on && running != 0) {
    curl_waitfd signal{interrupt, CURL_WAIT_POLLIN, 0};
    goes_on = curl_multi_perform(multi.get(), &running) == CURLM_OK &&
              (running == 0 || curl_multi_poll(multi.get(), &signal, 1, 1000, nullptr) == CURLM_OK) &&
              (signal.revents & CURL_WAIT_POLLIN) == 0;
  }
  int left = 0;
  const CURLMsg* end = curl_multi_info_read(multi.get(), &left);
  const CURLcode code =
      end != nullptr && end->msg == CURLMSG_DONE ? end->data.result : CURLE_ABORTED_BY_CALLBACK;
  curl_multi_remove_handle(multi.get(), curl);
  return code;
}

struct CurlTextDeleter {
  void operator()(char* text) const { curl_free(text); }
};

std::string text_at(const nlohmann::json& entry, const char* key) {
  const auto found = entry.find(key);
  return found != entry.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

Result<std::vector<IndexedModel>> read_index(std::string_view text) {
  const nlohmann::json index = nlohmann::json::parse(text, nullptr, false);
  if (!index.is_array()) return invalid_argument("the server's index of models is no JSON array");
  std::vector<IndexedModel> models;
  for (const nlohmann::json& entry : index) {
    if (!entry.is_object())
      return invalid_argument("an entry of the server's index of models is no JSON object");
    models.push_back({text_at(entry, "name"), text_at(entry, "version"), text_at(entry, "state"),
                      text_at(entry, "reason")});
  }
  return models;
}

Result<std::optional<std::vector<IndexedModel>>> ask_index(const std::string& address, int interrupt) {
  using Answer = std::optional<std::vector<IndexedModel>>;
  const std::unique_ptr<CURL, EasyDeleter> owned(curl_easy_init());
  CURL* const curl = owned.get();
  if (curl == nullptr) return unavailable("libcurl gives no handle");
  std::string text;
  const std::string url = cat("http://", address, "/v2/repository/index");
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROXY, "");  // of the environment: the server is this machine's
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, "{}");
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, kTimeoutMs);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &receive);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &text);
  const CURLcode code = perform(curl, interrupt);
  // Not yet there, or no longer.
  if (code == CURLE_COULDNT_CONNECT || code == CURLE_ABORTED_BY_CALLBACK) return Answer();
  if (code != CURLE_OK) return Status(Code::kFailedPrecondition, curl_easy_strerror(code));
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  if (status == 503) return Answer();  // it starts
  if (status != 200) return Status(Code::kFailedPrecondition, cat("it answers with status ", status));
  auto index = read_index(text);
  if (!index.ok()) return std::move(index).status();
  return Answer(std::move(index).value());
}

std::string path_text(const std::string& name) {
  const std::unique_ptr<char, CurlTextDeleter> text(
      curl_easy_escape(nullptr, name.data(), static_cast<int>(name.size())));
  return text == nullptr ? std::string() : std::string(text.get());
}

}  // namespace atl::serve
