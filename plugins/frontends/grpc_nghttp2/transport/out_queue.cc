#include "frontends/grpc_nghttp2/transport/out_queue.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace atl::frontends::grpc_nghttp2 {
namespace {

/// Written bytes in front of others are given up from so many on.
constexpr size_t kCompactedBytes = size_t{64} << 10;
constexpr size_t kDroppedPieces = 256;
/// That one call of the system writes.
constexpr size_t kMostPieces = 64;
/// What is kept for the next ones.
constexpr size_t kKeptPieces = 32;

}  // namespace

bool OutQueue::append(std::span<const uint8_t> bytes) noexcept {
  if (copied_front_ >= kCompactedBytes) {
    const size_t left = copied_.size() - copied_front_;
    if (left != 0) std::memmove(copied_.data(), copied_.data() + copied_front_, left);
    copied_.clear();
    copied_.advance(left);
    copied_front_ = 0;
  }
  if (copied_.capacity() == 0) copied_ = buffers_.take();
  if (!copied_.append(bytes.data(), bytes.size())) return false;
  if (front_ == pieces_.size() || pieces_.back().message != nullptr) add_piece({nullptr, 0, nullptr});
  pieces_.back().size += bytes.size();
  bytes_ += bytes.size();
  return true;
}

void OutQueue::append(OutgoingMessage& message, std::span<const uint8_t> bytes) {
  if (bytes.empty()) return;
  message.hold();
  add_piece({bytes.data(), bytes.size(), &message});
  bytes_ += bytes.size();
}

void OutQueue::add_piece(Piece piece) {
  if (front_ >= kDroppedPieces) {
    pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<ptrdiff_t>(front_));
    front_ = 0;
  }
  pieces_.push_back(piece);
}

size_t OutQueue::gather(std::span<iovec> to) noexcept {
  size_t copied_at = copied_front_;
  size_t count = 0;
  for (size_t i = front_; i < pieces_.size() && count < to.size(); ++i) {
    const Piece& piece = pieces_[i];
    const uint8_t* data = piece.data;
    if (piece.message == nullptr) {
      data = copied_.data() + copied_at;
      copied_at += piece.size;
    }
    to[count++] = {const_cast<uint8_t*>(data), piece.size};
  }
  return count;
}

ssize_t OutQueue::send(int fd) noexcept {
  iovec pieces[kMostPieces];
  msghdr message{};
  message.msg_iov = pieces;
  message.msg_iovlen = gather(pieces);
  constexpr int kFlags = MSG_NOSIGNAL | MSG_DONTWAIT;
  for (;;) {
    // Small answers are one piece, which send() takes with less ado.
    const ssize_t sent = message.msg_iovlen == 1 ? ::send(fd, pieces[0].iov_base, pieces[0].iov_len, kFlags)
                                                 : ::sendmsg(fd, &message, kFlags);
    if (sent >= 0) {
      written(static_cast<uint64_t>(sent));
      return sent;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
    if (errno != EINTR) return -1;
  }
}

void OutQueue::written(uint64_t bytes) noexcept {
  bytes_ -= bytes;
  while (bytes != 0) {
    Piece& piece = pieces_[front_];
    const auto taken = static_cast<size_t>(std::min<uint64_t>(bytes, piece.size));
    if (piece.message == nullptr) {
      copied_front_ += taken;
    } else {
      piece.data += taken;
    }
    piece.size -= taken;
    bytes -= taken;
    if (piece.size == 0) drop_front();
  }
  if (bytes_ == 0) rest();
}

void OutQueue::rest() noexcept {
  pieces_.clear();
  if (pieces_.capacity() > kKeptPieces) pieces_.shrink_to_fit();
  front_ = 0;
  buffers_.give(std::exchange(copied_, BodyBuffer()));
  copied_front_ = 0;
}

void OutQueue::drop_front() noexcept {
  OutgoingMessage* message = pieces_[front_++].message;
  if (message != nullptr) message->let_go();
}

}  // namespace atl::frontends::grpc_nghttp2
