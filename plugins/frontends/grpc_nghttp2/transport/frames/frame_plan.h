/// What one call of the system is to read: the data of large messages to where they are to be.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "frontends/common/call/body_buffer.h"
#include "frontends/grpc_nghttp2/transport/frames/frame_tracker.h"
#include "frontends/grpc_nghttp2/transport/message_room.h"

namespace atl::frontends::grpc_nghttp2 {

/// The frames that are foretold, and ordinary room behind them. One that does not come as foretold costs a
/// copy of what was read after it, and the next plan is a short one. Not thread safe.
class FramePlan {
 public:
  static constexpr size_t kMostFrames = 16;
  static constexpr size_t kMostPieces = 2 * kMostFrames + 2;

  /// \param room  room(stream) gives the stream's MessageRoom
  /// \returns whether it is worth while
  template <class Room>
  bool make(const FrameTracker& tracker, Room room) noexcept {
    begin();
    FrameTracker::Data data = tracker.rest();
    if (data.bytes == 0 && !tracker.at_head()) return false;
    bool more = data.bytes == 0 || add(data, false, room(data.stream));
    data.stream = tracker.last_stream();
    for (size_t i = 0; more && i < depth_; ++i) {
      data = tracker.after(data.stream);
      more = data.stream != 0 && add(data, true, room(data.stream));
    }
    return bytes_ >= kLeastBytes;
  }
  /// Room for what comes after the frames.
  void add_rest(std::span<uint8_t> rest) noexcept {
    rest_ = rest;
    iovecs_[iovec_count_++] = {rest.data(), rest.size()};
  }
  std::span<const iovec> pieces() const noexcept { return {iovecs_.data(), iovec_count_}; }
  size_t bytes() const noexcept { return bytes_ + rest_.size(); }

  /// So many bytes were read: use(bytes, is_rest) is given them in their order, until it returns false.
  /// `is_rest` tells of those that lie in add_rest()'s room. \returns false: it did, or there was no memory
  template <class Use>
  bool take(size_t bytes, Use use) noexcept {
    for (size_t i = 0; i < frame_count_ && bytes != 0; ++i) {
      const Frame& frame = frames_[i];
      if (frame.has_head) {
        if (bytes >= FrameTracker::kHeadBytes && !FrameTracker::is_of(frame.head, frame.data)) {
          depth_ = 1;
          return spill(i, bytes) && use(spilled_.bytes(), false);
        }
        const size_t size = std::min(bytes, FrameTracker::kHeadBytes);
        bytes -= size;
        if (!use(std::span<const uint8_t>(frame.head).first(size), false)) return false;
      }
      const size_t size = std::min(bytes, frame.to.size());
      bytes -= size;
      if (size != 0 && !use(std::span<const uint8_t>(frame.to).first(size), false)) return false;
    }
    depth_ = std::min(depth_ * 2, kMostFrames);
    return bytes == 0 || use(rest_.first(bytes), true);
  }

 private:
  /// Less is not worth the trouble.
  static constexpr size_t kLeastBytes = 4096;
  struct Frame {
    FrameTracker::Data data;  ///< as its head is to tell
    bool has_head;
    FrameTracker::Head head;
    std::span<uint8_t> to;
  };

  void begin() noexcept;
  /// \returns false: there is no room, or not for all of it
  bool add(FrameTracker::Data data, bool has_head, MessageRoom room) noexcept;
  /// Copies what was read from the frame on, as its place may be another's now.
  bool spill(size_t first_frame, size_t bytes) noexcept;

  std::array<Frame, kMostFrames + 1> frames_;
  size_t frame_count_ = 0;
  std::array<iovec, kMostPieces> iovecs_;
  size_t iovec_count_ = 0;
  std::span<uint8_t> rest_;
  size_t bytes_ = 0;  ///< without the rest
  size_t depth_ = 1;  ///< frames that are foretold
  BodyBuffer spilled_;
};

}  // namespace atl::frontends::grpc_nghttp2
