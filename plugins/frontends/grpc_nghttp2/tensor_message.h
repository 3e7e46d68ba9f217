/// A message that goes out with tensors in the memory that the backend filled.
#pragma once

#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "frontends/common/grpc/deflate_message.h"
#include "frontends/common/output_memory.h"
#include "frontends/common/v2_infer_response.h"
#include "frontends/grpc_nghttp2/transport/call_stream.h"
#include "frontends/grpc_nghttp2/transport/outgoing_message.h"

namespace atl::frontends::grpc_nghttp2 {

class TensorMessage : public OutgoingMessage {
 public:
  TensorMessage() noexcept = default;
  TensorMessage(const TensorMessage&) = delete;
  TensorMessage& operator=(const TensorMessage&) = delete;

  /// \tparam From  V2InferResponse or V2StreamMessage; its large tensors give their memory away
  /// \param encoding  of the message, unless that makes it no smaller
  /// Errors: RESOURCE_EXHAUSTED no memory.
  template <class From>
  Status write(From& from, MessageEncoding encoding) noexcept {
    uint8_t* const head = begin(from.head_bytes());
    if (head == nullptr) return no_memory();
    for (const V2ResponsePart& part : from.write(head)) {
      if (part.tensor == nullptr) {
        add(part.bytes);
        continue;
      }
      void* const memory = take(const_cast<OutputTensor&>(*part.tensor), part.bytes);
      if (memory == nullptr) return no_memory();
      tensors_.push_back(memory);
      add({static_cast<const uint8_t*>(memory), part.bytes.size()});
    }
    end();
    if (encoding != MessageEncoding::kIdentity) compress(encoding);
    return {};
  }
  void free_tensors() noexcept {
    for (void* tensor : tensors_) free_output_block(tensor);
    tensors_.clear();
    compressed_ = {};
  }

 protected:
  ~TensorMessage() { free_tensors(); }

 private:
  static Status no_memory() { return make_status(Code::kResourceExhausted, "no memory for the answer"); }
  static void* take(OutputTensor& tensor, ByteSpan bytes) noexcept {
    if (tensor.sink_data == reinterpret_cast<uint64_t>(bytes.data())) return take_output_memory(tensor);
    // Not what the backend was given: a classification in the response's arena.
    void* copy = std::malloc(bytes.size());
    if (copy != nullptr) std::memcpy(copy, bytes.data(), bytes.size());
    return copy;
  }

  void compress(MessageEncoding encoding) noexcept {
    const auto form = encoding == MessageEncoding::kGzip ? DeflateForm::kGzip : DeflateForm::kZlib;
    BodyBuffer compressed;
    const uint8_t prefix[kPrefixBytes] = {};
    if (!compressed.append(prefix, kPrefixBytes)) return;
    // The first piece begins with the prefix.
    std::vector<iovec> content(pieces().begin(), pieces().end());
    content[0].iov_base = static_cast<uint8_t*>(content[0].iov_base) + kPrefixBytes;
    content[0].iov_len -= kPrefixBytes;
    if (!deflate_message(content, form, &compressed)) return;
    free_tensors();
    compressed_ = std::move(compressed);
    replace({compressed_.data(), compressed_.size()}, true);
  }

  std::vector<void*> tensors_;  ///< memory that is being sent
  BodyBuffer compressed_;       ///< the same
};

}  // namespace atl::frontends::grpc_nghttp2
