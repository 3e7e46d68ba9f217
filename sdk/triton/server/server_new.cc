#include <map>

#include "atoll/triton/server_options.h"
#include "atoll/triton/status.h"
#include "error.h"
#include "server/program_server.h"

using namespace atl::triton;

namespace {

/// Every server that this program has made, those that have ended, too.
class Servers {
 public:
  TRITONSERVER_Server* add(std::unique_ptr<ProgramServer> server) {
    std::lock_guard lock(mutex_);
    ProgramServer* added = server.get();
    ProcessLog::get().add(*added);
    servers_.emplace(added, Entry{std::move(server), false});
    return added;
  }
  /// Null: it is no server that the program has made, or it is deleted.
  ProgramServer* find(TRITONSERVER_Server* server) {
    std::lock_guard lock(mutex_);
    auto found = servers_.find(server);
    return found == servers_.end() || found->second.deleted ? nullptr : found->second.server.get();
  }
  /// As find(), and then it is deleted.
  ProgramServer* take(TRITONSERVER_Server* server) {
    std::lock_guard lock(mutex_);
    auto found = servers_.find(server);
    if (found == servers_.end() || found->second.deleted) return nullptr;
    found->second.deleted = true;
    return found->second.server.get();
  }

 private:
  struct Entry {
    std::unique_ptr<ProgramServer> server;
    bool deleted = false;
  };
  std::mutex mutex_;
  std::map<TRITONSERVER_Server*, Entry> servers_;
};

/// Never destroyed: a program may end while it has servers.
Servers& servers() {
  static auto* all = new Servers;
  return *all;
}

TRITONSERVER_Error* not_own(const char* function) {
  return invalid_argument(function, ": found a server that this program has not made, or has deleted");
}

}  // namespace

TRITONSERVER_Error* TRITONSERVER_ServerNew(TRITONSERVER_Server** server,
                                           TRITONSERVER_ServerOptions* options) {
  if (server == nullptr) return null_argument(__func__);
  *server = nullptr;
  if (options == nullptr) return null_argument(__func__);
  return guarded([&]() -> TRITONSERVER_Error* {
    auto embedded = start_embedded(*options);
    if (!embedded.ok()) return to_error(embedded.status());
    auto made = std::make_unique<ProgramServer>(std::move(embedded).value(), options->exit_timeout_s);
    if (atl::Status failed = made->wait_for_models(options->exit_on_error); !failed.ok()) {
      (void)made->stop();
      return to_error(failed);
    }
    *server = servers().add(std::move(made));
    return nullptr;
  });
}

TRITONSERVER_Error* TRITONSERVER_ServerDelete(TRITONSERVER_Server* server) {
  if (server == nullptr) return nullptr;
  ProgramServer* own = servers().take(server);
  if (own == nullptr) return not_own(__func__);
  // What overran is in the log; the server is gone for the caller.
  (void)own->stop();
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerStop(TRITONSERVER_Server* server) {
  if (server == nullptr) return null_argument(__func__);
  ProgramServer* own = servers().find(server);
  if (own == nullptr) return not_own(__func__);
  return guarded([&] { return to_error(own->stop()); });
}

TRITONSERVER_Error* TRITONSERVER_ServerSetExitTimeout(TRITONSERVER_Server* server, unsigned int timeout) {
  if (server == nullptr) return null_argument(__func__);
  ProgramServer* own = servers().find(server);
  if (own == nullptr) return not_own(__func__);
  own->set_exit_timeout(timeout);
  return nullptr;
}
