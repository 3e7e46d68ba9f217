#include "frontends/common/grpc/inflate_message.h"

#include <zlib.h>

#include <algorithm>

namespace atl::frontends {
namespace {

constexpr size_t kFirstPieceBytes = 16 * 1024;
constexpr size_t kLargestPieceBytes = 1024 * 1024;
/// zlib's window and header code: 15 bits, header of gzip or zlib as found.
constexpr int kAnyWindowBits = 15 + 32;

/// A zlib stream that ends with its scope.
struct Inflater {
  Inflater() { ready = inflateInit2(&stream, kAnyWindowBits) == Z_OK; }
  ~Inflater() {
    if (ready) inflateEnd(&stream);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream stream{};
  bool ready = false;
};

/// The content in pieces that grow, so that small messages stay small.
class Pieces {
 public:
  Pieces(uint64_t max_bytes, RequestCharge* charge, InflateTarget& to)
      : max_bytes_(max_bytes), charge_(charge), to_(to) {}

  /// Room for more content. False: the limit is reached and one byte more was there, or the memory was refused.
  bool make_room(z_stream* stream) {
    if (total_ > max_bytes_) return false;
    const uint64_t left = max_bytes_ - total_ + 1;  // one more, to see that there is more
    next_bytes_ = std::min(next_bytes_ * 2, kLargestPieceBytes);
    const size_t size = static_cast<size_t>(std::min<uint64_t>(next_bytes_, left));
    if (charge_ != nullptr) refused_ = charge_->add(size);
    if (!refused_.ok()) return false;
    stream->next_out = to_.add(size);
    if (stream->next_out == nullptr) {
      refused_ = make_status(Code::kResourceExhausted, "no memory to decompress a message");
      return false;
    }
    stream->avail_out = static_cast<uInt>(size);
    total_ += size;
    return true;
  }
  uint64_t written(size_t unused) const { return total_ - unused; }
  Status take_refusal() { return std::move(refused_); }

 private:
  const uint64_t max_bytes_;
  RequestCharge* charge_;
  InflateTarget& to_;
  Status refused_;
  uint64_t total_ = 0;
  size_t next_bytes_ = kFirstPieceBytes / 2;
};

Status damaged(const z_stream& stream) {
  return invalid_argument("the compressed message is damaged: ",
                          stream.msg == nullptr ? "it is not complete" : stream.msg);
}

}  // namespace

Status inflate_message(std::span<const ByteSpan> from, uint64_t max_bytes, bool* is_larger,
                       RequestCharge* charge, InflateTarget& to, size_t* unused) noexcept {
  Inflater inflater;
  if (!inflater.ready) return make_status(Code::kResourceExhausted, "no memory to decompress a message");
  z_stream& stream = inflater.stream;
  Pieces pieces(max_bytes, charge, to);
  int result = Z_OK;
  for (const ByteSpan slice : from) {
    if (slice.empty()) continue;
    if (result == Z_STREAM_END)
      return invalid_argument("the compressed message is damaged: bytes follow its end");
    stream.next_in = const_cast<Bytef*>(slice.data());
    stream.avail_in = static_cast<uInt>(slice.size());
    do {
      if (stream.avail_out == 0 && !pieces.make_room(&stream)) break;
      result = inflate(&stream, Z_NO_FLUSH);
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) return damaged(stream);
    } while (result != Z_STREAM_END && (stream.avail_in != 0 || stream.avail_out == 0));
    ATOLL_RETURN_IF_ERROR(pieces.take_refusal());
    if (pieces.written(stream.avail_out) > max_bytes) {
      if (is_larger != nullptr) *is_larger = true;
      return make_status(Code::kResourceExhausted, "Received message larger than max (more than ", max_bytes,
                         " bytes after decompression vs. ", max_bytes, ")");
    }
    if (result == Z_STREAM_END && stream.avail_in != 0) {
      return invalid_argument("the compressed message is damaged: bytes follow its end");
    }
  }
  if (result != Z_STREAM_END) return damaged(stream);
  *unused = stream.avail_out;
  return {};
}

}  // namespace atl::frontends
