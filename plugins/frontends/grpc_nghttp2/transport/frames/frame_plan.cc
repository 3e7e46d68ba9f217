#include "frontends/grpc_nghttp2/transport/frames/frame_plan.h"

namespace atl::frontends::grpc_nghttp2 {

void FramePlan::begin() noexcept {
  frame_count_ = 0;
  iovec_count_ = 0;
  bytes_ = 0;
  rest_ = {};
  spilled_ = {};
}

bool FramePlan::add(FrameTracker::Data data, bool has_head, MessageRoom room) noexcept {
  // What is behind those of the same stream that are planned already.
  for (size_t i = 0; i < frame_count_; ++i) {
    if (frames_[i].data.stream == data.stream) room.skip(frames_[i].to.size());
  }
  // A message ends with its last frame, as a rule.
  if (has_head) data.bytes = static_cast<uint32_t>(std::min<uint64_t>(data.bytes, room.left));
  const std::span<uint8_t> to = room.space.first(std::min<size_t>(data.bytes, room.space.size()));
  if (to.empty()) return false;
  Frame& frame = frames_[frame_count_++];
  frame = {data, has_head, {}, to};
  if (has_head) {
    iovecs_[iovec_count_++] = {frame.head.data(), frame.head.size()};
    bytes_ += frame.head.size();
  }
  iovecs_[iovec_count_++] = {to.data(), to.size()};
  bytes_ += to.size();
  return to.size() == data.bytes;
}

bool FramePlan::spill(size_t first_frame, size_t bytes) noexcept {
  spilled_ = {};
  const auto copy = [this, &bytes](const void* from, size_t most) {
    const size_t size = std::min(bytes, most);
    bytes -= size;
    return spilled_.append(from, size);
  };
  for (size_t i = first_frame; i < frame_count_; ++i) {
    const Frame& frame = frames_[i];
    if (frame.has_head && !copy(frame.head.data(), frame.head.size())) return false;
    if (!copy(frame.to.data(), frame.to.size())) return false;
  }
  return copy(rest_.data(), rest_.size());
}

}  // namespace atl::frontends::grpc_nghttp2
