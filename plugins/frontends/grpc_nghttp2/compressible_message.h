/// A message that goes out compressed, where that makes it smaller.
#pragma once

#include <new>
#include <string>
#include <utility>
#include <vector>

#include "frontends/common/grpc/deflate_message.h"
#include "frontends/grpc_nghttp2/transport/call_stream.h"
#include "frontends/grpc_nghttp2/transport/outgoing_message.h"

namespace atl::frontends::grpc_nghttp2 {

class CompressibleMessage : public OutgoingMessage {
 protected:
  ~CompressibleMessage() = default;

  /// After end(). \returns whether it was compressed: what was added is not needed any more then
  bool compress(MessageEncoding encoding) noexcept {
    if (encoding == MessageEncoding::kIdentity) return false;
    const auto form = encoding == MessageEncoding::kGzip ? DeflateForm::kGzip : DeflateForm::kZlib;
    BodyBuffer compressed;
    const uint8_t prefix[kPrefixBytes] = {};
    if (!compressed.append(prefix, kPrefixBytes)) return false;
    // The first piece begins with the prefix.
    std::vector<iovec> content(pieces().begin(), pieces().end());
    content[0].iov_base = static_cast<uint8_t*>(content[0].iov_base) + kPrefixBytes;
    content[0].iov_len -= kPrefixBytes;
    if (!deflate_message(content, form, &compressed)) return false;
    compressed_ = std::move(compressed);
    replace({compressed_.data(), compressed_.size()}, true);
    return true;
  }
  void free_compressed() noexcept { compressed_ = {}; }

 private:
  BodyBuffer compressed_;  ///< that is being sent
};

/// Bytes in a text of their own.
class TextMessage : public CompressibleMessage {
 protected:
  /// Throws std::bad_alloc.
  TextMessage(std::string content, MessageEncoding encoding) : content_(std::move(content)) {
    if (begin(0) == nullptr) throw std::bad_alloc();
    add({reinterpret_cast<const uint8_t*>(content_.data()), content_.size()});
    end();
    if (compress(encoding)) content_ = std::string();
  }
  ~TextMessage() = default;

 private:
  std::string content_;
};

}  // namespace atl::frontends::grpc_nghttp2
