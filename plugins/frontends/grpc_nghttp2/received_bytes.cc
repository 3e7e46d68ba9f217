#include "frontends/grpc_nghttp2/received_bytes.h"

#include <algorithm>
#include <utility>

#include "frontends/common/grpc/inflate_message.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

class BufferTarget final : public InflateTarget {
 public:
  uint8_t* add(size_t bytes) override {
    const size_t doubled = buffer.capacity() * 2;
    if (buffer.space_bytes() < bytes && !buffer.reserve(std::max(buffer.size() + bytes, doubled)))
      return nullptr;
    uint8_t* const space = buffer.space();
    buffer.advance(bytes);
    return space;
  }
  BodyBuffer buffer;
};

}  // namespace

Status open_message(Message* message, uint64_t max_bytes, bool* is_larger, RequestCharge* charge) noexcept {
  if (!message->compressed) return {};
  BufferTarget target;
  size_t unused = 0;
  const ByteSpan from = message->bytes;
  ATOLL_RETURN_IF_ERROR(inflate_message({&from, 1}, max_bytes, is_larger, charge, target, &unused));
  const size_t size = target.buffer.size() - unused;
  message->buffer = std::move(target.buffer);
  message->bytes = message->buffer.bytes().first(size);
  message->compressed = false;
  return {};
}

void ReceivedBytes::take(Message received) noexcept {
  message_ = std::move(received);
  *charge_ = std::move(message_.charge);
}

Result<bool> ReceivedBytes::open_small(uint64_t max_bytes) noexcept {
  if (!message_.compressed || !message_.refused.ok()) return true;
  return open_small_message(
      [this](uint64_t most, bool* is_larger) { return open_message(&message_, most, is_larger, charge_); },
      max_bytes, charge_);
}

void ReceivedBytes::give_back(BufferPool& buffers) noexcept {
  message_.chunk.reset();
  message_.bytes = {};
  message_.compressed = false;
  message_.refused = {};
  if (message_.buffer.capacity() != 0) buffers.give(std::exchange(message_.buffer, BodyBuffer()));
}

}  // namespace atl::frontends::grpc_nghttp2
