/// The messages that one call sends, on their way into frames.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "frontends/grpc_nghttp2/transport/out_queue.h"
#include "frontends/grpc_nghttp2/transport/stall_watch.h"

namespace atl::frontends::grpc_nghttp2 {

/// Holds each message until its last byte is in a frame, which is made in one go: next(), then take(). Not thread
/// safe.
class MessageQueue {
 public:
  MessageQueue() noexcept = default;
  MessageQueue(const MessageQueue&) = delete;
  MessageQueue& operator=(const MessageQueue&) = delete;

  /// For a StallWatch: about what is in frames since clear(); a whole message, however small, is progress.
  uint64_t progress_bytes() const noexcept { return progress_bytes_; }
  bool empty() const noexcept { return first_ == nullptr; }
  /// The next message is written from where it lies.
  bool sends_large() const noexcept { return first_ != nullptr && !first_->is_copied(); }

  void push(OutgoingMessage& message) noexcept {
    message.hold();
    message.next = nullptr;
    if (first_ == nullptr) {
      first_ = &message;
      cursor_.start(message);
    } else {
      last_->next = &message;
    }
    last_ = &message;
  }

  struct Frame {
    size_t bytes = 0;
    bool is_last = false;  ///< nothing is left behind it
  };
  /// What the next frame has: of one message that is written from where it lies, or of any that are copied.
  Frame next(size_t most) const noexcept {
    if (first_ == nullptr) return {0, true};
    const OutgoingMessage* last = first_;
    uint64_t bytes = cursor_.left();
    while (last->is_copied() && bytes < most && last->next != nullptr && last->next->is_copied()) {
      last = last->next;
      bytes += last->total_bytes();
    }
    const auto taken = static_cast<size_t>(std::min<uint64_t>(bytes, most));
    return {taken, taken == bytes && last->next == nullptr};
  }
  /// Puts its bytes into the queue. False: there is no memory.
  bool take(size_t length, OutQueue* to) {
    progress_bytes_ += length;
    while (length != 0) {
      const std::span<const uint8_t> bytes = cursor_.take(length);
      length -= bytes.size();
      if (!first_->is_copied()) {
        to->append(*first_, bytes);
      } else if (!to->append(bytes)) {
        return false;
      }
      if (cursor_.left() == 0) pop();
    }
    return true;
  }

  /// Lets go of all. What is in frames is held there.
  void drop() noexcept {
    while (first_ != nullptr) pop();
  }
  /// There is no stream any more.
  void clear() noexcept {
    drop();
    progress_bytes_ = 0;
  }

 private:
  void pop() noexcept {
    OutgoingMessage* done = std::exchange(first_, first_->next);
    progress_bytes_ += StallWatch::kProgressBytes;
    if (first_ != nullptr) cursor_.start(*first_);
    done->let_go();
  }

  OutgoingMessage* first_ = nullptr;
  OutgoingMessage* last_ = nullptr;
  MessageCursor cursor_;  ///< in the first one
  uint64_t progress_bytes_ = 0;
};

}  // namespace atl::frontends::grpc_nghttp2
