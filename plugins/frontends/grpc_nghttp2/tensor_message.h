/// A message that goes out with tensors in the memory that the backend filled.
#pragma once

#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "frontends/common/call/output_memory.h"
#include "frontends/common/codec/v2_infer_response.h"
#include "frontends/grpc_nghttp2/compressible_message.h"

namespace atl::frontends::grpc_nghttp2 {

class TensorMessage : public CompressibleMessage {
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
    if (compress(encoding)) drop_tensors();
    return {};
  }
  void free_tensors() noexcept {
    drop_tensors();
    free_compressed();
  }

 protected:
  ~TensorMessage() { free_tensors(); }

 private:
  void drop_tensors() noexcept {
    for (void* tensor : tensors_) free_output_block(tensor);
    tensors_.clear();
  }
  static Status no_memory() { return make_status(Code::kResourceExhausted, "no memory for the answer"); }
  static void* take(OutputTensor& tensor, ByteSpan bytes) noexcept {
    if (tensor.sink_data == reinterpret_cast<uint64_t>(bytes.data())) return take_output_memory(tensor);
    // Not what the backend was given: a classification in the response's arena.
    void* copy = std::malloc(bytes.size());
    if (copy != nullptr) std::memcpy(copy, bytes.data(), bytes.size());
    return copy;
  }

  std::vector<void*> tensors_;  ///< memory that is being sent
};

}  // namespace atl::frontends::grpc_nghttp2
