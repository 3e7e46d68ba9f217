#include "frontends/common/grpc/deflate_message.h"

#include <zlib.h>

#include <algorithm>

namespace atl::frontends {
namespace {

constexpr int kWindowBits = 15;
constexpr int kGzipHeader = 16;
constexpr int kMemoryLevel = 8;

struct Deflater {
  explicit Deflater(DeflateForm form) {
    const int bits = kWindowBits + (form == DeflateForm::kGzip ? kGzipHeader : 0);
    ready = deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, bits, kMemoryLevel, Z_DEFAULT_STRATEGY) == Z_OK;
  }
  ~Deflater() {
    if (ready) deflateEnd(&stream);
  }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;
  z_stream stream{};
  bool ready = false;
};

}  // namespace

bool deflate_message(std::span<const iovec> parts, DeflateForm form, BodyBuffer* to) noexcept {
  uint64_t bytes = 0;
  for (const iovec& part : parts) bytes += part.iov_len;
  // Room for one byte less: what does not fit is not worth it.
  if (bytes < 2 || bytes > UINT32_MAX || !to->reserve(to->size() + bytes - 1)) return false;
  Deflater deflater(form);
  if (!deflater.ready) return false;
  z_stream& stream = deflater.stream;
  stream.next_out = to->space();
  stream.avail_out = static_cast<uInt>(bytes - 1);
  for (size_t i = 0; i < parts.size(); ++i) {
    stream.next_in = static_cast<Bytef*>(parts[i].iov_base);
    stream.avail_in = static_cast<uInt>(parts[i].iov_len);
    const bool is_last = i + 1 == parts.size();
    const int result = deflate(&stream, is_last ? Z_FINISH : Z_NO_FLUSH);
    if (stream.avail_in != 0 || (is_last && result != Z_STREAM_END)) return false;
  }
  to->advance(bytes - 1 - stream.avail_out);
  return true;
}

}  // namespace atl::frontends
