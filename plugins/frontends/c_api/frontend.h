/// The plugin: an option and services in, the server's side of Triton's C API out.
#pragma once

#include <optional>
#include <string>

#include "atoll/core/plugin.h"
#include "frontends/c_api/in_process_server.h"

namespace atl::frontends::c_api {

class CApiFrontend final : public Plugin {
 public:
  explicit CApiFrontend(Host& host) : host_(host) {}

  Status init() override {
    server_.emplace(host_, host_.options().get_string("server_name"));
    return {};
  }
  Status start() override {
    Status status = server_->open();
    if (!status.ok()) server_->close();
    return status;
  }
  void stop() override { server_->close(); }
  std::string holding() override {
    const int64_t calls = host_.gate().count();
    return calls == 0 ? std::string() : cat(calls, calls == 1 ? " call" : " calls");
  }

  InProcessServer& server() noexcept { return *server_; }

 private:
  Host& host_;
  std::optional<InProcessServer> server_;
};

}  // namespace atl::frontends::c_api
