/// What sends recorded requests to a server.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "atoll/core/status.h"
#include "recording.pb.h"

namespace atl::replay {

/// What became of a request that was sent.
struct Outcome {
  Status failure;  ///< not OK: there is no answer, or it is a failure
  std::vector<recording::v1::Response> responses;
};

/// How one request is sent.
struct SendOptions {
  int64_t timeout_ns = 0;     ///< how long its answer is waited for
  bool ends_stream = false;   ///< no further request comes on its stream
  bool names_version = true;  ///< asks for the version that has answered, or for none
};

/// Interface, so that tests need no server.
class Sender {
 public:
  using Done = std::function<void(Outcome)>;

  Sender() = default;
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;
  virtual ~Sender() = default;

  /// Waits until the server says that it is there. Errors: UNAVAILABLE it is not.
  virtual Status connect() = 0;
  /// Returns at once; `done` is called once, maybe before this returns, on a thread of the sender's. Requests of one stream go
  /// out in the order in which they are given. [any]
  virtual void send(recording::v1::Request request, const SendOptions& options, Done done) = 0;
  /// Whether a server gets the requests of one stream in their order by itself. Else one of a sequence waits for the answer to the
  /// one before.
  virtual bool keeps_streams() const noexcept { return false; }
  /// Gives up what is under way; nothing of it is told any more when this has returned.
  virtual void stop() noexcept = 0;
};

/// TLS of connections. Files are PEM.
struct ReplayTls {
  bool is_used = false;
  std::string ca_file = {};    ///< certificates that are trusted; empty: the system's
  std::string cert_file = {};  ///< shown to the server; empty: none
  std::string key_file = {};   ///< empty: the key is in cert_file
};

/// Where it sends to.
struct ReplayTarget {
  std::string host_port;             ///< HOST:PORT
  std::vector<std::string> headers;  ///< each "NAME: VALUE", sent along
  ReplayTls tls = {};
};

}  // namespace atl::replay
