/// One connection to a Redis server.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <concepts>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/core/text.h"
#include "caches/redis/protocol.h"
#include "caches/redis/settings.h"

namespace atl::caches {

/// What went wrong, as the metrics name it.
enum class RedisFailure : uint32_t {
  kConnection = 0,   ///< it could not be made, or broke
  kTimeout = 1,      ///< no reply in time
  kProtocol = 2,     ///< not Redis' protocol, or not what may be replied
  kRefused = 3,      ///< Redis replied with an error
  kUnavailable = 4,  ///< nothing was tried: the circuit breaker is open, or no connection is made yet
};
inline constexpr std::array<std::string_view, 5> kRedisFailureNames = {"connection", "timeout", "protocol",
                                                                       "refused", "unavailable"};

/// Made, authenticated, used, and gone when anything fails: for another attempt there is another one. Commands are
/// sent one after the other without waiting for replies, which come in their order. All functions on the thread of
/// its io_context.
class RedisConnection : public std::enable_shared_from_this<RedisConnection> {
 public:
  class Owner {
   public:
    virtual void on_ready(RedisConnection& connection) noexcept = 0;
    /// Once, unless close() was called. No command of it has a reply to come any more.
    virtual void on_failure(RedisConnection& connection, RedisFailure failure,
                            const Status& why) noexcept = 0;

   protected:
    ~Owner() = default;
  };
  /// \param reply  null: there will be none; its text may be taken
  using Handler = std::function<void(RedisReply*)>;

  /// \param tls  null: the connection is plain. Both outlive it.
  RedisConnection(boost::asio::io_context& io, boost::asio::ssl::context* tls, const RedisSettings& settings,
                  Owner& owner);
  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;

  void open();
  /// Commands that wait for a reply are told that there is none.
  void close() noexcept;
  bool is_ready() const noexcept { return ready_; }
  /// Of a connection that is ready.
  void send(RedisCommand command, Handler handler);

 private:
  using Socket = boost::asio::ip::tcp::socket;
  using Error = boost::system::error_code;
  static constexpr size_t kReadBytes = size_t{64} << 10;

  template <class Use>
  void with_stream(Use&& use) {
    tls_ == nullptr ? use(socket_) : use(*tls_);
  }
  /// What runs when an operation has ended, unless the connection is closed by then.
  template <class Then>
  auto then(const char* what, Then&& next) {
    return [ self = shared_from_this(), what, next = std::forward<Then>(next) ](
               const Error& error, auto&&... values) requires std::invocable < const std::decay_t<Then>
    &, decltype(values)... > {
      if (self->closed_) return;
      if (error) return self->fail(RedisFailure::kConnection, cat(what, ": ", error.message()));
      next(std::forward<decltype(values)>(values)...);
    };
  }
  void begin_tls();
  void authenticate();
  void await_ok(RedisCommand command, bool is_last);
  void write();
  void read();
  void take(RedisReply& reply);
  void fail(RedisFailure failure, std::string why) noexcept;

  const RedisSettings& settings_;
  Owner& owner_;
  boost::asio::ip::tcp::resolver resolver_;
  Socket socket_;
  std::unique_ptr<boost::asio::ssl::stream<Socket&>> tls_;  ///< null: plain
  boost::asio::steady_timer timer_;                         ///< until it is ready
  ReplyReader replies_;
  std::vector<char> read_;
  std::vector<RedisCommand> waiting_;  ///< to be written
  std::vector<RedisCommand> writing_;
  std::deque<Handler> handlers_;  ///< of what was sent, or will be
  bool ready_ = false;
  bool closed_ = false;
};

}  // namespace atl::caches
