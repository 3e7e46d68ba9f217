#include "frontends/grpc/calls/decompress.h"

#include <grpc/byte_buffer.h>
#include <grpc/slice.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <utility>
#include <vector>

#include "frontends/common/grpc/inflate_message.h"

namespace atl::frontends::grpc_frontend {
namespace {

/// gRPC's C++ buffer does not say how it is compressed; its reader knows the C buffer, which does.
class RawBuffer final : public grpc::ProtoBufferReader {
 public:
  explicit RawBuffer(grpc::ByteBuffer* buffer) : ProtoBufferReader(buffer) {}
  grpc_compression_algorithm compression() {
    if (!status().ok()) return GRPC_COMPRESS_NONE;
    return reader()->buffer_in->data.raw.compression;
  }
};

/// The content in slices.
class SliceTarget final : public InflateTarget {
 public:
  uint8_t* add(size_t bytes) override {
    slices_.emplace_back(grpc_slice_malloc(bytes), grpc::Slice::STEAL_REF);
    return const_cast<uint8_t*>(slices_.back().begin());
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

 private:
  std::vector<grpc::Slice> slices_;
};

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
    return internal_error("the request's bytes cannot be read: ", dumped.error_message());
  }
  std::vector<ByteSpan> spans;
  for (const grpc::Slice& slice : slices) spans.emplace_back(slice.begin(), slice.size());
  SliceTarget target;
  size_t unused = 0;
  ATOLL_RETURN_IF_ERROR(inflate_message(spans, max_bytes, is_larger, charge, target, &unused));
  grpc::ByteBuffer content = target.finish(unused);
  message->Swap(&content);
  return {};
}

}  // namespace atl::frontends::grpc_frontend
