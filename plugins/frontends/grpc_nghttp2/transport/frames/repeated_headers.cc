#include "frontends/grpc_nghttp2/transport/frames/repeated_headers.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>

namespace atl::frontends::grpc_nghttp2 {
namespace {

/// POST, http and "/", by their places in the table that everybody has (RFC 7541, A).
constexpr uint8_t kRequest[] = {0x83, 0x86, 0x84};
/// What nghttp2 wants of a request besides, or holds its data against.
bool is_needed(std::string_view name) noexcept {
  return name == ":authority" || name == "host" || name == "content-length";
}

/// A number that has so many bits of its first byte (RFC 7541, 5.1). False: it is cut, or too large to be true.
bool read_number(int bits, std::span<const uint8_t>* bytes, size_t* number) noexcept {
  const size_t most = (size_t{1} << bits) - 1;
  if (bytes->empty()) return false;
  *number = bytes->front() & most;
  *bytes = bytes->subspan(1);
  if (*number < most) return true;
  for (int shift = 0; shift <= 14 && !bytes->empty(); shift += 7) {
    const uint8_t byte = bytes->front();
    *bytes = bytes->subspan(1);
    *number += size_t{byte & 0x7Fu} << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

bool skip_text(std::span<const uint8_t>* bytes) noexcept {
  size_t length = 0;
  if (!read_number(7, bytes, &length) || length > bytes->size()) return false;
  *bytes = bytes->subspan(length);
  return true;
}

/// A field that leaves the table as it is (RFC 7541, 6). False: it does not, or is cut.
bool skip_stable_field(std::span<const uint8_t>* bytes) noexcept {
  constexpr uint8_t kPlace = 0x80;
  constexpr uint8_t kTableChanges = 0x60;
  const uint8_t form = bytes->front();
  size_t place = 0;
  if ((form & kPlace) != 0) return read_number(7, bytes, &place);
  if ((form & kTableChanges) != 0 || !read_number(4, bytes, &place)) return false;
  return (place != 0 || skip_text(bytes)) && skip_text(bytes);
}

bool is_stable(std::span<const uint8_t> block) noexcept {
  while (!block.empty()) {
    if (!skip_stable_field(&block)) return false;
  }
  return true;
}

}  // namespace

RepeatedHeaders::Seen RepeatedHeaders::look(std::span<const uint8_t> frame) {
  const std::span<const uint8_t> block = frame.subspan(kFrameHeadBytes);
  const bool is_plain = frame[3] == NGHTTP2_HEADERS && frame[4] == NGHTTP2_FLAG_END_HEADERS;
  if (is_plain && is_known(block)) return Seen::kRepeated;
  forget();
  if (!is_plain || block.size() > kMostBytes || !is_stable(block)) return Seen::kOther;
  block_.assign(block.begin(), block.end());
  untold_ = block_;
  needed_.clear();
  return Seen::kStable;
}

void RepeatedHeaders::on_field(std::string_view name, std::string_view value) {
  const std::span<const uint8_t> from = untold_;
  if (from.empty() || !skip_stable_field(&untold_)) return;
  if (is_needed(name))
    needed_.insert(needed_.end(), from.begin(), from.end() - static_cast<ptrdiff_t>(untold_.size()));
  if (name == ":path") path_ = value;
}

void RepeatedHeaders::keep(const CallHeaders& headers) {
  is_known_ = untold_.empty() && needed_.size() <= kMostNeededBytes;
  if (is_known_) headers_ = headers;
}

std::span<const uint8_t> RepeatedHeaders::shorten(std::span<const uint8_t> frame,
                                                  ShortFrame* to) const noexcept {
  const size_t length = std::size(kRequest) + needed_.size();
  auto end = std::copy_n(frame.begin(), kFrameHeadBytes, to->begin());
  end = std::copy(std::begin(kRequest), std::end(kRequest), end);
  std::copy(needed_.begin(), needed_.end(), end);
  write_frame_length(length, to->data());
  return std::span<const uint8_t>(*to).first(kFrameHeadBytes + length);
}

}  // namespace atl::frontends::grpc_nghttp2
