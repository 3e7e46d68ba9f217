/// From a connection's queue into TLS.
#pragma once

#include "frontends/common/tls/tls_channel.h"
#include "frontends/grpc_nghttp2/transport/out_queue.h"

namespace atl::frontends::grpc_nghttp2 {

/// As TlsChannel::encrypt(), what is at the front of the queue.
inline bool encrypt(TlsChannel& tls, OutQueue& from) noexcept {
  iovec pieces[TlsChannel::kMostPieces];
  size_t taken = 0;
  const bool able = tls.encrypt({pieces, from.gather(pieces)}, &taken);
  from.written(taken);
  return able;
}

}  // namespace atl::frontends::grpc_nghttp2
