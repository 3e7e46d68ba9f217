/// One message of a ModelStreamInfer call on its way to the client.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "frontends/grpc_nghttp2/forwarded_message.h"
#include "frontends/grpc_nghttp2/tensor_message.h"
#include "frontends/grpc_nghttp2/transport/message.h"

namespace atl::frontends::grpc_nghttp2 {

class InferStream;

/// Made by whoever has the answer; when it is written it goes to the thread's pool, if it is small.
class StreamAnswer final : public TensorMessage {
 public:
  virtual ~StreamAnswer() = default;

  /// The message as another server has sent it. Errors: RESOURCE_EXHAUSTED no memory.
  Status forward(Message message, MessageEncoding encoding) noexcept {
    forwarded_ = std::move(message);
    ATOLL_RETURN_IF_ERROR(forward_answer(&forwarded_, this));
    if (compress(encoding)) forwarded_ = {};
    return {};
  }

  /// Ready for the next one.
  void clear() noexcept {
    free_tensors();
    forwarded_ = {};
    stream = nullptr;
  }

  InferStream* stream = nullptr;  ///< told when it is written; it is there till then

 private:
  void on_sent() noexcept override;

  Message forwarded_;
};

/// As StreamRules keeps answers.
class StreamMessage {
 public:
  /// \param used  one that may be used again; null: it is made
  StreamAnswer& make(std::unique_ptr<StreamAnswer> used = nullptr) {
    answer_ = used != nullptr ? std::move(used) : std::make_unique<StreamAnswer>();
    return *answer_;
  }
  std::unique_ptr<StreamAnswer> take() noexcept { return std::move(answer_); }
  StreamAnswer& answer() noexcept { return *answer_; }
  uint64_t Length() const noexcept { return answer_ == nullptr ? 0 : answer_->total_bytes(); }
  void Swap(StreamMessage* other) noexcept { answer_.swap(other->answer_); }
  void Clear() noexcept { answer_.reset(); }

 private:
  std::unique_ptr<StreamAnswer> answer_;
};

}  // namespace atl::frontends::grpc_nghttp2
