#include <nghttp2/nghttp2.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "atoll/testing/fake_clock.h"
#include "frontends/grpc_nghttp2/transport/memory_pool.h"
#include "frontends/grpc_nghttp2/transport/session/session.h"
#include "request_path.h"

namespace atl::bench {
namespace {

using namespace atl::frontends;
using namespace atl::frontends::grpc_nghttp2;

/// The same again for each call, of which there is one at a time.
class Answer final : public OutgoingMessage {
 public:
  explicit Answer(size_t bytes) {
    uint8_t* const head = begin(bytes);
    std::memset(head, 1, bytes);
    add({head, bytes});
    end();
  }

 private:
  void on_sent() noexcept override {}
};

void append_number(std::string* to, uint32_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) to->push_back(static_cast<char>(value >> (8 * i) & 0xFF));
}

std::string frame(uint8_t type, uint8_t flags, uint32_t stream, std::string_view payload) {
  std::string bytes;
  append_number(&bytes, static_cast<uint32_t>(payload.size()), 3);
  bytes.push_back(static_cast<char>(type));
  bytes.push_back(static_cast<char>(flags));
  append_number(&bytes, stream, 4);
  return bytes.append(payload);
}

/// gRPC over HTTP/2 from the bytes that a socket brought to those that it is to take, without what is served.
class Http2Path final : public Path, private MethodFinder, private Method, private SessionOwner {
 public:
  Http2Path() {
    max_message_bytes = 1 << 20;
    if (!rules_.open().ok() || !session_.open().ok()) throw std::runtime_error("no HTTP/2 session");
    constexpr uint32_t kWindow = 1u << 30;
    std::string settings("\0\4", 2);
    append_number(&settings, kWindow, 4);
    std::string window;
    append_number(&window, kWindow, 4);
    give("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(NGHTTP2_SETTINGS, 0, 0, settings) +
         frame(NGHTTP2_WINDOW_UPDATE, 0, 0, window));
    // The second list has nothing but indices, and so have all that follow.
    nghttp2_hd_deflater* deflater = nullptr;
    nghttp2_hd_deflate_new(&deflater, 4096);
    request_ = request(block(deflater));
    run();
    request_ = request(block(deflater));
    nghttp2_hd_deflate_del(deflater);
  }

  size_t run() override {
    for (const size_t at : {size_t{5}, data_at_ + 5}) put_stream(at);
    stream_ += 2;
    return give(request_);
  }

 private:
  static std::string block(nghttp2_hd_deflater* deflater) {
    std::vector<nghttp2_nv> fields;
    const std::pair<std::string, std::string> kFields[] = {
        {":method", "POST"},
        {":scheme", "http"},
        {":path", "/inference.GRPCInferenceService/ModelInfer"},
        {":authority", "127.0.0.1:8001"},
        {"te", "trailers"},
        {"content-type", "application/grpc"},
        {"user-agent", "grpc-python/1.62.1 grpc-c/39.0.0 (linux; chttp2)"},
        {"grpc-accept-encoding", "identity, deflate, gzip"}};
    for (const auto& [name, value] : kFields) {
      fields.push_back({reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
                        reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(),
                        value.size(), NGHTTP2_NV_FLAG_NONE});
    }
    std::string bytes(nghttp2_hd_deflate_bound(deflater, fields.data(), fields.size()), '\0');
    const ssize_t size = nghttp2_hd_deflate_hd(deflater, reinterpret_cast<uint8_t*>(bytes.data()),
                                               bytes.size(), fields.data(), fields.size());
    if (size < 0) throw std::runtime_error("headers cannot be written");
    bytes.resize(static_cast<size_t>(size));
    return bytes;
  }
  std::string request(std::string_view block) {
    const std::string message = grpc_message();
    std::string prefixed(1, '\0');
    append_number(&prefixed, static_cast<uint32_t>(message.size()), 4);
    const std::string headers = frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 0, block);
    data_at_ = headers.size();
    return headers + frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 0, prefixed + message);
  }
  void put_stream(size_t at) noexcept {
    for (size_t i = 0; i < 4; ++i) request_[at + i] = static_cast<char>(stream_ >> (8 * (3 - i)) & 0xFF);
  }
  /// \returns bytes of the answer
  size_t give(std::string_view bytes) {
    const std::span<uint8_t> room = receive_.room();
    std::memcpy(room.data(), bytes.data(), bytes.size());
    const std::span<const uint8_t> came = room.first(bytes.size());
    if (session_.receive(came, receive_.filled(came.size())) != static_cast<ssize_t>(came.size())) return 0;
    session_.write(&out_);
    iovec pieces[8];
    out_.gather(pieces);
    const size_t written = out_.bytes();
    out_.written(written);
    return written;
  }
  grpc_nghttp2::Method* find(std::string_view) noexcept override { return this; }
  void begin(CallStream& stream, Message) noexcept override { stream.answer(answer_); }
  void on_output() noexcept override {}
  std::string peer() const override { return {}; }

  test::FakeClock clock_;
  MemoryPool memory_;
  EventLoop loop_{clock_};
  SessionRules rules_;
  SessionSettings settings_;
  BufferPool buffers_;
  StreamPool streams_;
  ReceiveBuffer receive_;
  SessionContext context_{loop_, rules_, *this, settings_, buffers_, streams_, nullptr, memory_.nghttp2()};
  Answer answer_{120};
  OutQueue out_{context_.frames};
  Session session_{context_, *this};
  std::string request_;
  size_t data_at_ = 0;
  uint32_t stream_ = 1;
};

}  // namespace

std::unique_ptr<Path> http2_path() { return std::make_unique<Http2Path>(); }

}  // namespace atl::bench
