/// Calls to a cluster's API.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "atoll/core/status.h"
#include "atoll/lib/http_request.h"
#include "launchers/kubernetes/watch_event.h"

namespace atl::launchers {

struct ApiCall {
  std::string method = "GET";
  std::string path;  ///< with the query: "/api/v1/..."
  std::string body = {};
  size_t answer_bytes_max = size_t{64} << 20;
  int64_t timeout_ns = 0;  ///< shorter than that of all calls; 0: that
};

/// All functions are called, and call back, on one executor. Once stop() was called nothing is called back any more.
class ClusterCalls {
 public:
  using Done = std::function<void(Result<HttpAnswer>)>;
  using OnEvent = std::function<void(WatchEvent)>;

  /// \param done  gets an answer of any status, with the header of kRetryAfter
  virtual void call(ApiCall call, Done done) = 0;
  /// Another watch takes the place of the one before, of which nothing is heard any more.
  /// \param done  the watch is over; it was, if the status is 200, ended by the cluster
  virtual void watch(std::string path, OnEvent on_event, Done done) = 0;
  /// Nothing is heard of the watch any more, not even its end.
  virtual void end_watch() = 0;

 protected:
  ~ClusterCalls() = default;
};

}  // namespace atl::launchers
