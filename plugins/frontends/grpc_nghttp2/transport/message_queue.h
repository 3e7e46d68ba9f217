/// The messages that one call sends, on their way into frames.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "frontends/grpc_nghttp2/transport/outgoing_message.h"
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
    bool is_copied = true;  ///< else take() is owed
    bool is_last = false;   ///< nothing is left behind it
  };
  /// What the next frame has; of a message that is not copied the bytes are only announced.
  Frame fill(uint8_t* to, size_t length) noexcept {
    size_t filled = 0;
    while (first_ != nullptr && filled < length) {
      if (!first_->is_copied()) {
        if (filled != 0) return {filled, true, false};  // the next frame is its own
        filled = static_cast<size_t>(std::min<uint64_t>(length, cursor_.left()));
        frame_pending_ = true;
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
  /// The data of a frame that was not copied: calls `take(message, bytes)` for its pieces.
  template <class Take>
  void take(size_t length, Take take) {
    progress_bytes_ += length;
    while (length != 0) {
      const std::span<const uint8_t> bytes = cursor_.take(length);
      length -= bytes.size();
      take(*first_, bytes);
    }
    frame_pending_ = false;
    if (cursor_.left() == 0 || dropped_) pop();
  }

  /// Lets go of all, but for a frame that was announced.
  void drop() noexcept {
    if (!frame_pending_) {
      while (first_ != nullptr) pop();
      return;
    }
    // A frame that has begun is to be finished.
    dropped_ = true;
    OutgoingMessage* message = std::exchange(first_->next, nullptr);
    last_ = first_;
    while (message != nullptr) std::exchange(message, message->next)->let_go();
  }
  /// There is no stream any more, and no frame is finished.
  void clear() noexcept {
    frame_pending_ = false;
    drop();
    progress_bytes_ = 0;
  }

 private:
  void pop() noexcept {
    OutgoingMessage* done = std::exchange(first_, first_->next);
    dropped_ = false;
    progress_bytes_ += StallWatch::kProgressBytes;
    if (first_ != nullptr) cursor_.start(*first_);
    done->let_go();
  }

  OutgoingMessage* first_ = nullptr;
  OutgoingMessage* last_ = nullptr;
  MessageCursor cursor_;  ///< in the first one
  uint64_t progress_bytes_ = 0;
  bool frame_pending_ = false;  ///< of the first message, which was announced and not taken yet
  bool dropped_ = false;        ///< the first message, behind that frame
};

}  // namespace atl::frontends::grpc_nghttp2
