#include "frontends/grpc_nghttp2/transport/frames/frame_tracker.h"

#include <nghttp2/nghttp2.h>

namespace atl::frontends::grpc_nghttp2 {
namespace {

using HeadBytes = std::span<const uint8_t, FrameTracker::kHeadBytes>;

bool has_plain_data(HeadBytes head) noexcept {
  return head[3] == NGHTTP2_DATA && (head[4] & NGHTTP2_FLAG_PADDED) == 0;
}

}  // namespace

void FrameTracker::pass(std::span<const uint8_t> bytes) noexcept {
  heads_.scan(bytes, [this](const uint8_t* head, uint32_t length) {
    begin_frame(std::span<const uint8_t, kHeadBytes>(head, kHeadBytes), length);
  });
}

void FrameTracker::begin_frame(std::span<const uint8_t, kHeadBytes> head, uint32_t length) noexcept {
  is_data_ = has_plain_data(head);
  if (!is_data_) return;
  const int32_t stream = frame_stream(head.data());
  if (last_ != 0) sender(last_).next = stream;
  last_ = stream;
  sender(stream).bytes = length;
}

size_t FrameTracker::streams_end(size_t count, std::span<const uint8_t> bytes) const noexcept {
  if (heads_.is_in_head()) return 0;
  size_t at = heads_.left();
  while (count != 0 && at + kHeadBytes <= bytes.size()) {
    const HeadBytes head = bytes.subspan(at).first<kHeadBytes>();
    if (head[3] == NGHTTP2_DATA && (head[4] & NGHTTP2_FLAG_END_STREAM) != 0) --count;
    at += kHeadBytes + frame_length(head.data());
  }
  return count == 0 && at < bytes.size() ? at : 0;
}

FrameTracker::Place FrameTracker::first_data(std::span<const uint8_t> bytes) const noexcept {
  if (heads_.is_in_head()) return {};
  if (is_data_ && heads_.left() != 0) return {last_, 0};
  size_t at = heads_.left();
  while (at + kHeadBytes <= bytes.size()) {
    const HeadBytes head = bytes.subspan(at).first<kHeadBytes>();
    at += kHeadBytes;
    if (has_plain_data(head)) return {frame_stream(head.data()), at};
    at += frame_length(head.data());
  }
  return {};
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
  return has_plain_data(head) && frame_length(head.data()) == data.bytes &&
         frame_stream(head.data()) == data.stream;
}

}  // namespace atl::frontends::grpc_nghttp2
