#include "frontends/grpc/decompress.h"

#include <grpc/byte_buffer.h>
#include <grpc/slice.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <zlib.h>

#include <algorithm>
#include <vector>

namespace atl::frontends::grpc_frontend {
namespace {

constexpr size_t kFirstPieceBytes = 16 * 1024;
constexpr size_t kLargestPieceBytes = 1024 * 1024;
/// zlib's window and header code: 15 bits, header of gzip or zlib as found.
constexpr int kWindowBits = 15 + 32;

/// gRPC's C++ buffer does not say how it is compressed; its reader knows the C buffer, which does.
class RawBuffer final : public grpc::ProtoBufferReader {
 public:
  explicit RawBuffer(grpc::ByteBuffer* buffer) : ProtoBufferReader(buffer) {}
  grpc_compression_algorithm compression() {
    if (!status().ok()) return GRPC_COMPRESS_NONE;
    return reader()->buffer_in->data.raw.compression;
  }
};

/// A zlib stream that ends with its scope.
struct Inflater {
  Inflater() { ready = inflateInit2(&stream, kWindowBits) == Z_OK; }
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
  Pieces(uint64_t max_bytes, RequestCharge* charge) : max_bytes_(max_bytes), charge_(charge) {}

  /// Room for more content. False: the limit is reached and one byte more was there, or the charge was
  /// refused.
  bool make_room(z_stream* stream) {
    if (total_ > max_bytes_) return false;
    const uint64_t left = max_bytes_ - total_ + 1;  // one more, to see that there is more
    next_bytes_ = std::min(next_bytes_ * 2, kLargestPieceBytes);
    const size_t size = static_cast<size_t>(std::min<uint64_t>(next_bytes_, left));
    if (charge_ != nullptr) refused_ = charge_->add(size);
    if (!refused_.ok()) return false;
    slices_.emplace_back(grpc_slice_malloc(size), grpc::Slice::STEAL_REF);
    stream->next_out = const_cast<Bytef*>(slices_.back().begin());
    stream->avail_out = static_cast<uInt>(size);
    total_ += size;
    return true;
  }
  /// \param unused  bytes of the last piece that were not written
  grpc::ByteBuffer finish(size_t unused) {
    if (!slices_.empty()) {
      grpc::Slice last = std::move(slices_.back());
      slices_.back() =
          grpc::Slice(grpc_slice_sub(last.c_slice(), 0, last.size() - unused), grpc::Slice::STEAL_REF);
    }
    return grpc::ByteBuffer(slices_.data(), slices_.size());
  }
  uint64_t written(size_t unused) const { return total_ - unused; }
  /// Of the charge.
  Status take_refusal() { return std::move(refused_); }

 private:
  const uint64_t max_bytes_;
  RequestCharge* charge_;
  Status refused_;
  uint64_t total_ = 0;
  size_t next_bytes_ = kFirstPieceBytes / 2;
  std::vector<grpc::Slice> slices_;
};

Status damaged(const z_stream& stream) {
  return invalid_argument("the compressed message is damaged: ",
                          stream.msg == nullptr ? "it is not complete" : stream.msg);
}

Status inflate_slices(std::vector<grpc::Slice>& from, uint64_t max_bytes, bool* is_larger,
                      RequestCharge* charge, grpc::ByteBuffer* to) {
  Inflater inflater;
  if (!inflater.ready) return make_status(Code::kResourceExhausted, "no memory to decompress a message");
  z_stream& stream = inflater.stream;
  Pieces pieces(max_bytes, charge);
  int result = Z_OK;
  for (const grpc::Slice& slice : from) {
    if (slice.size() == 0) continue;
    if (result == Z_STREAM_END)
      return invalid_argument("the compressed message is damaged: bytes follow its end");
    stream.next_in = const_cast<Bytef*>(slice.begin());
    stream.avail_in = static_cast<uInt>(slice.size());
    do {
      if (stream.avail_out == 0 && !pieces.make_room(&stream)) break;
      result = inflate(&stream, Z_NO_FLUSH);
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) return damaged(stream);
    } while (result != Z_STREAM_END && (stream.avail_in != 0 || stream.avail_out == 0));
    ATOLL_RETURN_IF_ERROR(pieces.take_refusal());
    const uint64_t written = pieces.written(stream.avail_out);
    if (written > max_bytes) {
      if (is_larger != nullptr) *is_larger = true;
      return make_status(Code::kResourceExhausted, "Received message larger than max (more than ", max_bytes,
                         " bytes after decompression vs. ", max_bytes, ")");
    }
    if (result == Z_STREAM_END && stream.avail_in != 0) {
      return invalid_argument("the compressed message is damaged: bytes follow its end");
    }
  }
  if (result != Z_STREAM_END) return damaged(stream);
  grpc::ByteBuffer content = pieces.finish(stream.avail_out);
  to->Swap(&content);
  return {};
}

}  // namespace

Status open_message(grpc::ByteBuffer* message, uint64_t max_bytes, bool* is_larger,
                    RequestCharge* charge) noexcept {
  if (!message->Valid()) return {};
  const grpc_compression_algorithm compression = RawBuffer(message).compression();
  if (compression == GRPC_COMPRESS_NONE) return {};
  if (compression != GRPC_COMPRESS_GZIP && compression != GRPC_COMPRESS_DEFLATE) {
    return unimplemented("messages compressed by method ", static_cast<int>(compression),
                         " are not supported, expected gzip or deflate");
  }
  std::vector<grpc::Slice> slices;
  if (grpc::Status dumped = message->Dump(&slices); !dumped.ok()) {
    return internal_error("the request's bytes can not be read: ", dumped.error_message());
  }
  grpc::ByteBuffer content;
  ATOLL_RETURN_IF_ERROR(inflate_slices(slices, max_bytes, is_larger, charge, &content));
  message->Swap(&content);
  return {};
}

}  // namespace atl::frontends::grpc_frontend
