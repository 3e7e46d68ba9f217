#include "frontends/common/http/compression.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "atoll/lib/blanks.h"
#include "frontends/common/http/accept_item.h"
#include "frontends/common/http/header_name.h"
#include "frontends/common/http/messages.h"

namespace atl::frontends::http {
namespace {

constexpr size_t kFirstBytes = 16 * 1024;
constexpr int kWindowBits = 15;
constexpr int kDetectFormat = 32;  ///< added to the window bits: gzip or zlib
constexpr int kGzipFormat = 16;    ///< added to the window bits
constexpr int kMemoryLevel = 8;    ///< zlib's default

uInt clamp(size_t bytes) noexcept {
  return static_cast<uInt>(std::min<size_t>(bytes, std::numeric_limits<uInt>::max()));
}

Status no_memory() { return make_status(Code::kResourceExhausted, "no memory to compress or decompress"); }

struct InflateEnd {
  void operator()(z_stream* stream) const noexcept { inflateEnd(stream); }
};
struct DeflateEnd {
  void operator()(z_stream* stream) const noexcept { deflateEnd(stream); }
};

/// Room for more, at most up to the limit and one byte over it, by which too much is noticed.
Status make_room(BodyBuffer* to, uint64_t limit, RequestCharge* charge) noexcept {
  if (to->space_bytes() != 0 && to->capacity() != 0) return {};
  const uint64_t most = limit == std::numeric_limits<uint64_t>::max() ? limit : limit + 1;
  const uint64_t wanted = std::min<uint64_t>(most, std::max<uint64_t>(kFirstBytes, to->capacity() * 2));
  const uint64_t before = to->capacity();
  if (charge != nullptr && wanted > before) ATOLL_RETURN_IF_ERROR(charge->add(wanted - before));
  return to->reserve(wanted) ? Status() : no_memory();
}

Status malformed(const z_stream& stream) {
  return invalid_argument("cannot decompress the request's body: ",
                          stream.msg != nullptr ? stream.msg : "it is cut off");
}

}  // namespace

std::string_view encoding_name(Encoding encoding) noexcept {
  if (encoding == Encoding::kGzip) return "gzip";
  return encoding == Encoding::kDeflate ? "deflate" : "";
}

Result<Encoding> content_encoding(std::string_view value) noexcept {
  value = without_blanks(value);
  if (value.empty() || is_named(value, "identity")) return Encoding::kIdentity;
  if (is_named(value, "gzip")) return Encoding::kGzip;
  if (is_named(value, "deflate")) return Encoding::kDeflate;
  return unimplemented(messages::kUnsupportedCompression);
}

Encoding accepted_encoding(std::string_view value) noexcept {
  Encoding best = Encoding::kIdentity;
  int best_weight = 0;
  AcceptItem item;
  while (next_accept_item(&value, &item)) {
    if (item.weight <= best_weight) continue;
    if (is_named(item.name, "gzip")) {
      best = Encoding::kGzip;
    } else if (is_named(item.name, "deflate")) {
      best = Encoding::kDeflate;
    } else if (is_named(item.name, "identity")) {
      best = Encoding::kIdentity;
    } else {
      continue;
    }
    best_weight = item.weight;
  }
  return best;
}

Status decompress(std::span<const uint8_t> body, uint64_t limit_bytes, BodyBuffer* to,
                  RequestCharge* charge) noexcept {
  to->clear();
  if (body.empty()) return invalid_argument(messages::kNothingToDecompress);
  z_stream stream{};
  if (inflateInit2(&stream, kWindowBits + kDetectFormat) != Z_OK) return no_memory();
  std::unique_ptr<z_stream, InflateEnd> owned(&stream);
  const bool gzip = body[0] == 0x1F;
  bool more_members = true;
  while (more_members) {
    int result = Z_OK;
    while (result != Z_STREAM_END) {
      ATOLL_RETURN_IF_ERROR(make_room(to, limit_bytes, charge));
      stream.next_in = const_cast<Bytef*>(body.data());
      stream.avail_in = clamp(body.size());
      stream.next_out = to->space();
      stream.avail_out = clamp(to->space_bytes());
      const uInt room = stream.avail_out;
      result = inflate(&stream, Z_NO_FLUSH);
      body = body.subspan(static_cast<size_t>(stream.next_in - body.data()));
      to->advance(room - stream.avail_out);
      if (to->size() > limit_bytes) return invalid_argument(messages::decompressed_too_large(limit_bytes));
      if (result == Z_MEM_ERROR) return no_memory();
      if (result != Z_OK && result != Z_STREAM_END) return malformed(stream);
    }
    more_members = gzip && !body.empty();
    if (more_members && inflateReset2(&stream, kWindowBits + kGzipFormat) != Z_OK) return malformed(stream);
  }
  if (!body.empty()) {
    return invalid_argument("cannot decompress the request's body: ", body.size(),
                            " bytes follow the end of the compressed data");
  }
  return to->reserve(1) ? Status() : no_memory();
}

Status compress(Encoding encoding, std::span<const iovec> parts, BodyBuffer* to) noexcept {
  to->clear();
  z_stream stream{};
  const int window_bits = kWindowBits + (encoding == Encoding::kGzip ? kGzipFormat : 0);
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, window_bits, kMemoryLevel, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    return no_memory();
  }
  std::unique_ptr<z_stream, DeflateEnd> owned(&stream);
  const uint64_t no_limit = std::numeric_limits<uint64_t>::max();
  size_t part = 0;
  size_t offset = 0;
  int result = Z_OK;
  while (result != Z_STREAM_END) {
    while (part < parts.size() && offset == parts[part].iov_len) {
      ++part;
      offset = 0;
    }
    ATOLL_RETURN_IF_ERROR(make_room(to, no_limit, nullptr));
    if (part < parts.size()) {
      stream.next_in = static_cast<Bytef*>(parts[part].iov_base) + offset;
      stream.avail_in = clamp(parts[part].iov_len - offset);
    } else {
      stream.avail_in = 0;
    }
    const uInt available = stream.avail_in;
    stream.next_out = to->space();
    stream.avail_out = clamp(to->space_bytes());
    const uInt room = stream.avail_out;
    result = deflate(&stream, part < parts.size() ? Z_NO_FLUSH : Z_FINISH);
    offset += available - stream.avail_in;
    to->advance(room - stream.avail_out);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
      return internal_error("cannot compress the answer: ",
                            stream.msg != nullptr ? stream.msg : "zlib failed");
    }
  }
  return {};
}

}  // namespace atl::frontends::http
