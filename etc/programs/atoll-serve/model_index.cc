#include "model_index.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "atoll/core/clock.h"
#include "atoll/lib/http_caller.h"

namespace atl::serve {
namespace {

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

Result<std::optional<std::vector<IndexedModel>>> ask_index(const std::string& address,
                                                           const std::string& tls_cert, int interrupt) {
  using Answer = std::optional<std::vector<IndexedModel>>;
  HttpCaller caller;
  ATOLL_RETURN_IF_ERROR(caller.open());
  Result<HttpAnswer> found =
      caller.call({.url = cat(tls_cert.empty() ? "http://" : "https://", address, "/v2/repository/index"),
                   .method = "POST",
                   .body = "{}",
                   .timeout_ns = 30 * kNsPerSecond,
                   .answer_bytes_max = size_t{64} << 20,
                   .ca_file = tls_cert,
                   .any_name = true},
                  interrupt);
  if (!found.ok()) {
    const bool is_absent =  // not yet there, or no longer
        found.status().code() == Code::kUnavailable || found.status().code() == Code::kCancelled;
    return is_absent ? Result<Answer>(Answer())
                     : make_status(Code::kFailedPrecondition, found.status().message());
  }
  if (found->status == 503) return Answer();  // it starts
  if (found->status != 200)
    return make_status(Code::kFailedPrecondition, "it answers with status ", found->status);
  auto index = read_index(found->body);
  if (!index.ok()) return std::move(index).status();
  return Answer(std::move(index).value());
}

}  // namespace atl::serve
