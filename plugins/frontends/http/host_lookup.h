/// Addresses of hosts by their names, for a thread that is not to wait for them.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "atoll/core/host_port.h"
#include "atoll/core/status.h"
#include "frontends/common/loop/event_loop.h"
#include "frontends/common/sockets/socket_address.h"

namespace atl::frontends::http {

/// Everything on the loop's thread, but for the waiting, which happens on a thread of its own from the first name
/// on.
class HostLookup final : private Posted {
 public:
  using Found = std::function<void(const Result<SocketAddress>&)>;

  explicit HostLookup(EventLoop& loop) noexcept : loop_(loop) {}
  HostLookup(const HostLookup&) = delete;
  HostLookup& operator=(const HostLookup&) = delete;
  /// Waits for the system's answer to the present question. Others are not answered any more.
  ~HostLookup();

  /// The address that the text itself is; nothing: it is a name.
  static std::optional<SocketAddress> read_address(const HostPort& server);
  /// Asks the system, which may take seconds. \param found  gets the first address, later. Errors: UNAVAILABLE.
  void find(const HostPort& server, Found found);

 private:
  struct Question {
    HostPort server;
    Found found;
    Result<SocketAddress> answer = SocketAddress();
  };

  void run() noexcept;
  void on_posted() noexcept override;

  EventLoop& loop_;
  std::mutex mutex_;
  std::condition_variable asked_;
  std::deque<Question> questions_;
  std::vector<Question> answered_;
  bool is_posted_ = false;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace atl::frontends::http
