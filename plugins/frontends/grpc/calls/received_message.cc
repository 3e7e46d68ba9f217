#include "frontends/grpc/calls/received_message.h"

#include <utility>

#include "frontends/common/grpc/inflate_message.h"

namespace atl::frontends::grpc_frontend {
namespace {

/// More slices than this are joined if they have fewer bytes on the average than that.
constexpr size_t kMostSmallSlices = 64;
constexpr size_t kSmallSliceBytes = 1024;

}  // namespace

Result<bool> ReceivedMessage::open_small(uint64_t max_bytes) noexcept {
  return open_small_message(
      [this](uint64_t most, bool* is_larger) { return open_message(&bytes_, most, is_larger, charge_); },
      max_bytes, charge_);
}

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
      return internal_error("the request's bytes cannot be read: ", dumped.error_message());
    }
  }
  // What came in pieces of a few bytes would take more for the pieces than for what is in them.
  if (slices_.size() > kMostSmallSlices && bytes_.Length() / slices_.size() < kSmallSliceBytes) {
    slices_.clear();
    slices_.emplace_back();
    if (!bytes_.DumpToSingleSlice(&slices_.front()).ok()) {
      return make_status(Code::kResourceExhausted, "no memory to join the request's bytes");
    }
    bytes_.Clear();
  }
  for (const grpc::Slice& slice : slices_) spans_.emplace_back(slice.begin(), slice.size());
  return {};
}

grpc::ByteBuffer ReceivedMessage::opened_bytes() const {
  return bytes_.Length() != 0 ? bytes_ : grpc::ByteBuffer(slices_.data(), slices_.size());
}

void ReceivedMessage::clear() noexcept {
  message_.reset();
  spans_.clear();
  slices_.clear();
  bytes_.Clear();
}

}  // namespace atl::frontends::grpc_frontend
