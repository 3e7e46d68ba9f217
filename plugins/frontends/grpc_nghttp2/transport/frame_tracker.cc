#include "frontends/grpc_nghttp2/transport/frame_tracker.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>

namespace atl::frontends::grpc_nghttp2 {
namespace {

uint32_t length_of(const FrameTracker::Head& head) noexcept {
  return uint32_t{head[0]} << 16 | uint32_t{head[1]} << 8 | head[2];
}

int32_t stream_of(const FrameTracker::Head& head) noexcept {
  return static_cast<int32_t>(uint32_t{head[5] & 0x7Fu} << 24 | uint32_t{head[6]} << 16 |
                              uint32_t{head[7]} << 8 | head[8]);
}

bool has_plain_data(const FrameTracker::Head& head) noexcept {
  return head[3] == NGHTTP2_DATA && (head[4] & NGHTTP2_FLAG_PADDED) == 0;
}

}  // namespace

void FrameTracker::pass(std::span<const uint8_t> bytes) noexcept {
  while (!bytes.empty()) {
    if (left_ != 0) {
      const size_t taken = std::min<size_t>(left_, bytes.size());
      left_ -= static_cast<uint32_t>(taken);
      bytes = bytes.subspan(taken);
      continue;
    }
    const size_t taken = std::min(kHeadBytes - head_bytes_, bytes.size());
    std::copy_n(bytes.begin(), taken, head_.begin() + static_cast<ptrdiff_t>(head_bytes_));
    head_bytes_ += taken;
    bytes = bytes.subspan(taken);
    if (head_bytes_ == kHeadBytes) begin_frame();
  }
}

void FrameTracker::begin_frame() noexcept {
  head_bytes_ = 0;
  left_ = length_of(head_);
  is_data_ = has_plain_data(head_);
  if (!is_data_) return;
  const int32_t stream = stream_of(head_);
  if (last_ != 0) sender(last_).next = stream;
  last_ = stream;
  sender(stream).bytes = left_;
}

const FrameTracker::Sender* FrameTracker::find(int32_t stream) const noexcept {
  for (const Sender& sender : senders_) {
    if (sender.stream == stream) return &sender;
  }
  return nullptr;
}

FrameTracker::Sender& FrameTracker::sender(int32_t stream) noexcept {
  if (const Sender* known = find(stream)) return const_cast<Sender&>(*known);
  Sender& replaced = senders_[oldest_++ % senders_.size()];
  replaced = {stream, 0, 0};
  return replaced;
}

FrameTracker::Data FrameTracker::after(int32_t stream) const noexcept {
  const Sender* before = stream == 0 ? nullptr : find(stream);
  const Sender* next = before == nullptr || before->next == 0 ? nullptr : find(before->next);
  return next == nullptr ? Data{} : Data{next->stream, next->bytes};
}

bool FrameTracker::is_of(const Head& head, Data data) noexcept {
  return has_plain_data(head) && length_of(head) == data.bytes && stream_of(head) == data.stream;
}

}  // namespace atl::frontends::grpc_nghttp2
