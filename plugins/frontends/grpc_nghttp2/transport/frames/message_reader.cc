#include "frontends/grpc_nghttp2/transport/frames/message_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace atl::frontends::grpc_nghttp2 {
namespace {

/// The first memory of a message that comes in pieces. It doubles as bytes come: memory that is only announced
/// is not taken.
constexpr size_t kFirstBytes = size_t{64} << 10;

std::string_view hex_of(uint8_t byte, char (&text)[5]) noexcept {
  constexpr std::string_view kHex = "0123456789abcdef";
  text[0] = '0';
  text[1] = 'x';
  text[2] = kHex[byte >> 4];
  text[3] = kHex[byte & 15];
  return {text, 4};
}

}  // namespace

Status MessageReader::judge_prefix(const MessageLimits& limits) noexcept {
  if (prefix_[0] > 1) {
    char text[5];
    return internal_error("Bad GRPC frame type ", hex_of(prefix_[0], text));
  }
  if (prefix_[0] == 1 && !limits.has_encoding) {
    return internal_error("Compression bit set but no encoding configured");
  }
  if (length() > limits.max_bytes) {
    return make_status(Code::kResourceExhausted, "Received message larger than max (", length(), " vs. ",
                       limits.max_bytes, ")");
  }
  return {};
}

Status MessageReader::make_room(const MessageLimits& limits, BufferPool& buffers) noexcept {
  const size_t wanted = length();
  if (buffer_.capacity() == 0) buffer_ = buffers.take();
  const bool is_full = buffer_.space_bytes() == 0;
  const size_t most = is_full ? std::max(kFirstBytes, buffer_.size() * 2) : buffer_.capacity();
  const size_t room = std::min(wanted, most);
  if (wanted > kUncountedBytes && limits.budgets != nullptr) {
    charge_.set_source(*limits.budgets);
    ATOLL_RETURN_IF_ERROR(charge_.cover(room));
  }
  if (buffer_.reserve(room)) return {};
  return make_status(Code::kResourceExhausted, "no memory for a message of ", wanted, " bytes");
}

Status MessageReader::keep(std::span<const uint8_t>* bytes, const MessageLimits& limits,
                           BufferPool& buffers) noexcept {
  const size_t wanted = length();
  if (refused_.ok()) {
    refused_ = make_room(limits, buffers);
    if (!refused_.ok() && !limits.reads_refused) return std::exchange(refused_, {});
  }
  if (!refused_.ok()) {
    const size_t skipped = std::min<size_t>(wanted - buffer_.size() - skipped_bytes_, bytes->size());
    skipped_bytes_ += skipped;
    *bytes = bytes->subspan(skipped);
    return {};
  }
  const size_t taken = std::min({wanted - buffer_.size(), bytes->size(), buffer_.space_bytes()});
  if (bytes->data() != buffer_.space()) std::memcpy(buffer_.space(), bytes->data(), taken);
  buffer_.advance(taken);
  *bytes = bytes->subspan(taken);
  return {};
}

MessageRoom MessageReader::room(const MessageLimits& limits, BufferPool& buffers) noexcept {
  if (prefix_bytes_ < kPrefixBytes || buffer_.size() == 0 || !refused_.ok()) return {};
  // What is refused here is so again when it is read.
  if (buffer_.space_bytes() == 0 && !make_room(limits, buffers).ok()) return {};
  const size_t left = length() - buffer_.size();
  return {{buffer_.space(), std::min(left, buffer_.space_bytes())}, left};
}

Result<bool> MessageReader::read(std::span<const uint8_t>* bytes, const ChunkRef& chunk,
                                 const MessageLimits& limits, BufferPool& buffers,
                                 Message* message) noexcept {
  if (prefix_bytes_ < kPrefixBytes) {
    const size_t taken = std::min(kPrefixBytes - prefix_bytes_, bytes->size());
    std::copy_n(bytes->begin(), taken, prefix_ + prefix_bytes_);
    prefix_bytes_ += taken;
    *bytes = bytes->subspan(taken);
    if (prefix_bytes_ < kPrefixBytes) return false;
    ATOLL_RETURN_IF_ERROR(judge_prefix(limits));
  }
  const size_t wanted = length();
  if (buffer_.size() == 0 && bytes->size() >= wanted && (chunk != nullptr || wanted == 0)) {
    message->bytes = bytes->first(wanted);
    message->chunk = wanted == 0 ? nullptr : chunk;
    *bytes = bytes->subspan(wanted);
  } else {
    while (buffer_.size() + skipped_bytes_ < wanted && !bytes->empty()) {
      ATOLL_RETURN_IF_ERROR(keep(bytes, limits, buffers));
    }
    if (buffer_.size() + skipped_bytes_ < wanted) return false;
    skipped_bytes_ = 0;
    message->refused = std::exchange(refused_, {});
    message->buffer = std::move(buffer_);
    message->bytes = message->buffer.bytes();
    message->charge = std::move(charge_);
  }
  message->compressed = prefix_[0] == 1;
  prefix_bytes_ = 0;
  return true;
}

void MessageReader::reset(BufferPool& buffers) noexcept {
  prefix_bytes_ = 0;
  skipped_bytes_ = 0;
  refused_ = {};
  charge_.release();
  if (buffer_.capacity() != 0) buffers.give(std::exchange(buffer_, BodyBuffer()));
}

}  // namespace atl::frontends::grpc_nghttp2
