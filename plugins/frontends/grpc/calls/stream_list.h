/// The open streams of a completion queue: who owns them, and how they are ended when the server stops.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "atoll/core/status.h"

namespace atl::frontends::grpc_frontend {

class InferStream;

/// Locked when a stream begins and ends, not for its messages. [any]
class StreamList {
 public:
  void add(std::shared_ptr<InferStream> stream);
  /// The stream is over; its memory goes before this returns, unless end_all() is just using it.
  void remove(InferStream& stream) noexcept;
  bool empty() const noexcept;
  /// Ends every stream there is, as InferStream::shut_down().
  void end_all(const Status& status) noexcept;

 private:
  mutable std::mutex mutex_;
  std::set<std::shared_ptr<InferStream>> streams_;
};

}  // namespace atl::frontends::grpc_frontend
