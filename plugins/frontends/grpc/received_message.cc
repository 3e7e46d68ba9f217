#include "received_message.h"

namespace atl::frontends::grpc_frontend {

Status ReceivedMessage::parse(Arena& arena) noexcept {
  ATOLL_RETURN_IF_ERROR(read_slices());
  return message_.parse(spans_, arena);
}

Result<int64_t> ReceivedMessage::version(const ServerAccess& server) const noexcept {
  return server.router->version_of(message_.model_name(), message_.model_version());
}

Status ReceivedMessage::read_slices() noexcept {
  slices_.clear();
  spans_.clear();
  slices_.emplace_back();
  // Nearly every small request is one slice, which needs no list.
  if (!bytes_.TrySingleSlice(&slices_.front()).ok()) {
    if (grpc::Status dumped = bytes_.Dump(&slices_); !dumped.ok()) {
      return internal_error("the request's bytes can not be read: ", dumped.error_message());
    }
  }
  for (const grpc::Slice& slice : slices_) spans_.emplace_back(slice.begin(), slice.size());
  return {};
}

void ReceivedMessage::clear() noexcept {
  message_.reset();
  spans_.clear();
  slices_.clear();
  bytes_.Clear();
}

}  // namespace atl::frontends::grpc_frontend
