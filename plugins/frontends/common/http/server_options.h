/// How an HttpServer listens and what it takes of clients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "atoll/core/clock.h"
#include "atoll/core/host.h"
#include "frontends/common/access/access_check.h"
#include "frontends/common/call/request_budgets.h"
#include "frontends/common/http/cors.h"
#include "frontends/common/http/head_scanner.h"
#include "frontends/common/sockets/connection_limit.h"
#include "frontends/common/sockets/listen_address.h"
#include "frontends/common/tls/tls_listener.h"

namespace atl::frontends::http {

class Application;

struct ServerOptions {
  std::string name;         ///< in messages: "HTTP"
  std::string thread_name;  ///< which gets a number behind it: "http-"
  ListenAddress address;
  uint32_t threads = 1;
  uint32_t max_connections = 0;
  uint32_t descriptor_share = kRequestShare;  ///< of connection_limit.h
  HeadLimits head{};
  uint64_t max_body_bytes = 0;
  int too_large_status = 413;     ///< of the answer to a larger body
  int64_t header_timeout_ns = 0;  ///< for a head, from its first byte on
  int64_t idle_timeout_ns = 0;  ///< without a request; and the time for progress_bytes of a body or an answer
  /// Bytes that a client must send or take for more time; SIZE_MAX: a whole body, a whole answer.
  size_t progress_bytes = 16 * 1024;
  /// How long a server that is replaced waits for requests on connections that are idle; 0: it closes all
  /// connections that are not being answered.
  int64_t leave_grace_ns = 5 * kNsPerSecond;
  /// At the limit connections make room on which a part of a request has come. Else only idle ones do.
  bool unfinished_make_room = false;
  CorsPolicy cors{};
  bool open_after_startup = false;  ///< clients are refused until the models of the start are decided
};

/// What everything in a server may use.
struct ServerContext {
  Host& host;
  Application& application;
  const ServerOptions options;
  const AccessPoint& access;
  const RequestBudgets* request_memory = nullptr;  ///< null: nothing bounds what requests take
  TlsListener* tls = nullptr;                      ///< null: connections have none
  std::function<void(int port)> opened = {};       ///< told once clients can connect, on any thread
};

}  // namespace atl::frontends::http
