/// Files that are read again when they have changed, and whenever the manifest is applied (SIGHUP).
///
/// They are looked at, not subscribed to: three stat calls in some seconds follow every link and see any exchange, also
/// of a folder above (as Kubernetes does it) and on network file systems.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "atoll/core/events.h"
#include "atoll/core/executor.h"
#include "atoll/core/host.h"

namespace atl {

class FileWatch {
 public:
  /// \param host      outlives this object
  /// \param paths     relative ones start at the working directory; empty ones are left out
  /// \param interval_ns  between two looks; 0: only the manifest's being applied has them read
  /// \param changed   reads the files; one call at a time, on some thread, also where nothing has changed
  FileWatch(Host& host, std::vector<std::string> paths, int64_t interval_ns, std::function<void()> changed);
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;
  /// `changed` is not called any more when this returns. [control]
  ~FileWatch();

  /// What is there now counts as read. [control] \param thread_name  of the thread that looks
  /// Errors: those of ExecutorFactory::create() and EventBus::subscribe().
  Status start(const std::string& thread_name);

 private:
  struct OnServerState {
    FileWatch& watch;
    void operator()(const ServerStateChanged& event) const noexcept {
      if (event.state == ServerStateChanged::State::kActive) watch.manifest_is_applied();
    }
  };

  /// Reads the files again. The first manifest that is applied is the one that has started this plugin: then the files are read
  /// again only if they have changed since start().
  void manifest_is_applied() noexcept;
  void renew() noexcept;
  /// Where the files are and when they were written; links are followed.
  std::string marks() const;
  void look() noexcept;
  void look_later(int64_t after_ns) noexcept;

  Host& host_;
  const std::vector<std::string> paths_;
  const int64_t interval_ns_;
  const std::function<void()> changed_;
  std::mutex mutex_;                     ///< of renew()
  std::optional<std::string> at_start_;  ///< the marks of start(), until a manifest was applied [control]
  std::string seen_;                     ///< the marks of what was read
  std::string last_seen_;                ///< of the last look
  Subscription<ServerStateChanged, OnServerState> state_changed_{OnServerState{*this}};
  SerialExecutorPtr executor_;  ///< looks
};

}  // namespace atl
