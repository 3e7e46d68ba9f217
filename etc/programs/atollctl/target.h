/// The server that commands go to, over HTTP.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "atoll/core/status.h"
#include "atoll/lib/http_request.h"

namespace atl::ctl {

struct Answer {
  int status = 0;  ///< of HTTP
  nlohmann::json body;
};

/// Interface, so that tests need no server.
class Target {
 public:
  Target() = default;
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  virtual ~Target() = default;
  /// \param body  null: none
  /// Errors: UNAVAILABLE there is no server, or it speaks something else.
  virtual Result<Answer> call(const char* method, const std::string& path, const nlohmann::json& body) = 0;
  /// The same with events on the way. \param on_event  gets each; the last one is the answer's body
  virtual Result<Answer> follow(const std::string& path, const nlohmann::json& body,
                                const std::function<void(const nlohmann::json&)>& on_event) = 0;
};

struct TargetSettings {
  std::string url = "http://127.0.0.1:8000";
  std::string header;     ///< "NAME: VALUE", sent along; empty: none
  std::string token;      ///< credential, sent along; empty: none
  std::string ca_file;    ///< certificates that are trusted, PEM; empty: the system's
  std::string cert_file;  ///< certificate that is shown to the server, PEM; empty: none
  std::string key_file;   ///< its private key; empty: it is in cert_file
  long timeout_s = 0;     ///< of a call; 0: none
};

class HttpTarget final : public Target {
 public:
  explicit HttpTarget(TargetSettings settings) : settings_(std::move(settings)) {}
  ~HttpTarget() override = default;
  Result<Answer> call(const char* method, const std::string& path, const nlohmann::json& body) override;
  Result<Answer> follow(const std::string& path, const nlohmann::json& body,
                        const std::function<void(const nlohmann::json&)>& on_event) override;

 private:
  Result<Answer> perform(HttpRequest request, const std::string& path, const nlohmann::json& body);
  const TargetSettings settings_;
};

}  // namespace atl::ctl
