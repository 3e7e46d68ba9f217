/// The messages that one call sends, on their way into frames.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "frontends/grpc_nghttp2/transport/out_queue.h"
#include "frontends/grpc_nghttp2/transport/stall_watch.h"

namespace atl::frontends::grpc_nghttp2 {

/// Holds each message until its last byte is in a frame. Not thread safe.
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
    bool is_copied = true;  ///< else take() is owed at once
    bool is_last = false;   ///< nothing is left behind it
  };
  /// What the next frame has; of a message that is not copied the bytes are only announced.
  Frame fill(uint8_t* to, size_t length) noexcept {
    size_t filled = 0;
    while (first_ != nullptr && filled < length) {
      if (!first_->is_copied()) {
        if (filled != 0) return {filled, true, false};  // the next frame is its own
        filled = static_cast<size_t>(std::min<uint64_t>(length, cursor_.left()));
        return {filled, false, filled == cursor_.left() && first_->next == nullptr};
      }
      const std::span<const uint8_t> bytes = cursor_.take(length - filled);
      std::memcpy(to + filled, bytes.data(), bytes.size());
      progress_bytes_ += bytes.size();
      filled += bytes.size();
      if (cursor_.left() == 0) pop();
    }
    return {filled, true, first_ == nullptr};
  }
  /// Puts the data of a frame that was not copied into the queue.
  void take(size_t length, OutQueue* to) {
    progress_bytes_ += length;
    while (length != 0) {
      const std::span<const uint8_t> bytes = cursor_.take(length);
      length -= bytes.size();
      to->append(*first_, bytes);
    }
    if (cursor_.left() == 0) pop();
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
