/// The service of interop.proto on this transport: calls of all four kinds.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontends/common/grpc/deflate_message.h"
#include "frontends/common/grpc/inflate_message.h"
#include "frontends/grpc_nghttp2/transport/server.h"
#include "interop.pb.h"

namespace atl::frontends::grpc_nghttp2::interop {

/// What the service has seen. [any]
struct Counters {
  std::atomic<int> open_calls{0};
  std::atomic<int> gone_calls{0};  ///< whose client was not there any more
  std::atomic<int> messages{0};    ///< that came
  std::atomic<int> compressed_answers{0};
};

/// A message that frees itself when it was sent.
class Reply final : public OutgoingMessage {
 public:
  static Reply& make(const google::protobuf::MessageLite& from, MessageEncoding encoding,
                     Counters& counters) {
    auto* reply = new Reply;
    const size_t bytes = from.ByteSizeLong();
    uint8_t* const to = reply->begin(bytes);
    from.SerializeWithCachedSizesToArray(to);
    reply->add({to, bytes});
    reply->end();
    const uint8_t prefix[kPrefixBytes] = {};
    if (encoding == MessageEncoding::kIdentity || !reply->compressed_.append(prefix, kPrefixBytes))
      return *reply;
    const auto form = encoding == MessageEncoding::kGzip ? DeflateForm::kGzip : DeflateForm::kZlib;
    const iovec content{to, bytes};
    if (!deflate_message({&content, 1}, form, &reply->compressed_)) return *reply;
    reply->replace({reply->compressed_.data(), reply->compressed_.size()}, true);
    ++counters.compressed_answers;
    return *reply;
  }
  virtual ~Reply() = default;

 private:
  Reply() = default;
  void on_sent() noexcept override { delete this; }
  BodyBuffer compressed_;
};

/// The bytes of a message, without its compression.
inline Result<std::string> opened(const Message& message) {
  std::string text(message.bytes.begin(), message.bytes.end());
  if (!message.compressed) return text;
  struct Target final : InflateTarget {
    uint8_t* add(size_t bytes) override {
      content.resize(content.size() + bytes);
      return reinterpret_cast<uint8_t*>(content.data() + content.size() - bytes);
    }
    std::string content;
  } target;
  size_t unused = 0;
  const ByteSpan from = message.bytes;
  ATOLL_RETURN_IF_ERROR(inflate_message({&from, 1}, 64u << 20, nullptr, nullptr, target, &unused));
  target.content.resize(target.content.size() - unused);
  return std::move(target.content);
}

/// One call of any method; frees itself. Of its connection's thread.
class InteropCall final : public Call, private Timer {
 public:
  InteropCall(CallStream& stream, std::string_view method, Counters& counters)
      : stream_(&stream), method_(method), counters_(counters), ticket_(stream.take_ticket()) {
    ++counters_.open_calls;
    stream.attach(*this);
    for (MessageEncoding encoding : {MessageEncoding::kGzip, MessageEncoding::kDeflate}) {
      if (encoding_ == MessageEncoding::kIdentity && stream.headers().accepts(encoding)) encoding_ = encoding;
    }
    stream.writer().set_encoding(encoding_);
    // The transport sends no metadata of calls' own before the first message: both come back at the end.
    for (const char* name : {"x-grpc-test-echo-initial", "x-grpc-test-echo-trailing-bin"}) {
      const std::string_view value = stream.metadata().find(name);
      if (!value.empty()) stream.writer().add_trailer(name, value);
    }
  }
  virtual ~InteropCall() { --counters_.open_calls; }

  void start() {
    if (!std::exchange(reading_, true)) stream_->read_next();
  }
  void on_message(Message message) noexcept override {
    reading_ = false;
    ++counters_.messages;
    const Result<std::string> text = opened(message);
    if (!text.ok()) return finish(3, text.status().message());
    if (method_ == "EmptyCall") return answer(grpc::testing::Empty(), false);
    if (method_ == "UnaryCall") return unary(text.value(), message.compressed);
    if (method_ == "StreamingInputCall") return input(text.value(), message.compressed);
    output(text.value());
  }
  void on_half_close() noexcept override {
    half_closed_ = true;
    if (method_ == "StreamingInputCall") {
      grpc::testing::StreamingInputCallResponse sum;
      sum.set_aggregated_payload_size(static_cast<int32_t>(sum_));
      return answer(sum, false);
    }
    if (waiting_.empty()) finish(0, {});
  }
  void on_gone() noexcept override {
    ++counters_.gone_calls;
    Timer::unset();
    delete this;
  }

 private:
  struct Waiting {
    int32_t size;
    int64_t after_ns;
    bool compressed;
  };

  /// Whether the message is compressed as its sender says.
  bool is_as_said(const grpc::testing::BoolValue& said, bool has_said, bool compressed) {
    if (!has_said || said.value() == compressed) return true;
    finish(3, "the message is compressed otherwise than expect_compressed says");
    return false;
  }
  void unary(const std::string& text, bool compressed) {
    grpc::testing::SimpleRequest request;
    if (!request.ParseFromString(text)) return finish(13, "not a SimpleRequest");
    if (!is_as_said(request.expect_compressed(), request.has_expect_compressed(), compressed)) return;
    if (request.response_status().code() != 0) {
      return finish(request.response_status().code(), request.response_status().message());
    }
    grpc::testing::SimpleResponse response;
    response.mutable_payload()->mutable_body()->assign(static_cast<size_t>(request.response_size()), '\0');
    answer(response, request.response_compressed().value());
  }
  void input(const std::string& text, bool compressed) {
    grpc::testing::StreamingInputCallRequest request;
    if (!request.ParseFromString(text)) return finish(13, "not a StreamingInputCallRequest");
    if (!is_as_said(request.expect_compressed(), request.has_expect_compressed(), compressed)) return;
    sum_ += request.payload().body().size();
    start();
  }
  void output(const std::string& text) {
    grpc::testing::StreamingOutputCallRequest request;
    if (!request.ParseFromString(text)) return finish(13, "not a StreamingOutputCallRequest");
    if (request.response_status().code() != 0) {
      return finish(request.response_status().code(), request.response_status().message());
    }
    for (const auto& one : request.response_parameters()) {
      waiting_.push_back({one.size(), int64_t{one.interval_us()} * 1000, one.compressed().value()});
    }
    half_closed_ = half_closed_ || method_ == "StreamingOutputCall";
    send_waiting();
  }
  void send_waiting() {
    while (!waiting_.empty()) {
      const Waiting next = waiting_.front();
      if (next.after_ns > 0) {
        waiting_.front().after_ns = 0;
        return stream_->loop().set(*this, stream_->loop().now_ns() + next.after_ns);
      }
      waiting_.pop_front();
      grpc::testing::StreamingOutputCallResponse response;
      response.mutable_payload()->mutable_body()->assign(static_cast<size_t>(next.size), '\0');
      stream_->send(Reply::make(response, chosen(next.compressed), counters_));
    }
    if (half_closed_) return finish(0, {});
    start();
  }
  void on_time() noexcept override { send_waiting(); }

  MessageEncoding chosen(bool compressed) const {
    return compressed ? encoding_ : MessageEncoding::kIdentity;
  }
  void answer(const google::protobuf::MessageLite& message, bool compressed) {
    CallStream& stream = *stream_;
    stream.send(Reply::make(message, chosen(compressed), counters_));
    finish(0, {});
  }
  void finish(int code, std::string_view text) {
    stream_->finish(code, text);
    delete this;
  }

  CallStream* const stream_;
  const std::string_view method_;
  Counters& counters_;
  CallTicket ticket_;
  MessageEncoding encoding_ = MessageEncoding::kIdentity;
  std::deque<Waiting> waiting_;
  uint64_t sum_ = 0;
  bool reading_ = false;
  bool half_closed_ = false;
};

class InteropMethod final : public Method {
 public:
  InteropMethod(std::string_view name, bool reads, Counters& counters) : name_(name), counters_(counters) {
    reads_several = reads;
    max_message_bytes = 16u << 20;
  }
  virtual ~InteropMethod() = default;
  void begin(CallStream& stream, Message message) noexcept override {
    auto* call = new InteropCall(stream, name_, counters_);
    if (reads_several) {
      call->start();
    } else if (!message.refused.ok()) {
      delete call;
      stream.finish(8, message.refused.message());
    } else {
      call->on_message(std::move(message));
    }
  }
  std::string_view name() const noexcept { return name_; }

 private:
  const std::string_view name_;
  Counters& counters_;
};

class InteropService final : public Application {
 public:
  virtual ~InteropService() = default;
  std::unique_ptr<MethodFinder> make_methods(ServingThread&) override {
    return std::make_unique<Finder>(counters);
  }
  Counters counters;

 private:
  class Finder final : public MethodFinder {
   public:
    explicit Finder(Counters& counters) {
      for (std::string_view name : {"EmptyCall", "UnaryCall", "StreamingOutputCall"}) {
        methods_.push_back(std::make_unique<InteropMethod>(name, false, counters));
      }
      for (std::string_view name : {"StreamingInputCall", "FullDuplexCall"}) {
        methods_.push_back(std::make_unique<InteropMethod>(name, true, counters));
      }
    }
    virtual ~Finder() = default;
    Method* find(std::string_view path) noexcept override {
      constexpr std::string_view kService = "/grpc.testing.TestService/";
      if (!path.starts_with(kService)) return nullptr;
      path.remove_prefix(kService.size());
      for (const auto& method : methods_) {
        if (method->name() == path) return method.get();
      }
      return nullptr;
    }

   private:
    std::vector<std::unique_ptr<InteropMethod>> methods_;
  };
};

}  // namespace atl::frontends::grpc_nghttp2::interop
