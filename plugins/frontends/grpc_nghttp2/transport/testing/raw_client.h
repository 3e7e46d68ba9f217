/// HTTP/2 by hand: the client's end of a connection, on which any frames are sent.
#pragma once

#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace atl::frontends::grpc_nghttp2 {

using Fields = std::vector<std::pair<std::string, std::string>>;

struct Frame {
  uint8_t type = 0;
  uint8_t flags = 0;
  int32_t stream = 0;
  std::string payload;
};

/// What the server has sent on one stream.
struct Answer {
  std::vector<Fields> headers;  ///< each list of them
  std::string data;
  std::vector<size_t> data_frames;  ///< their sizes
  bool ended = false;
  int reset = -1;  ///< the code of RST_STREAM

  std::string field(std::string_view name) const {
    for (const Fields& list : headers) {
      for (const auto& [key, value] : list) {
        if (key == name) return value;
      }
    }
    return "(none)";
  }
};

/// A message with its prefix.
inline std::string prefixed(std::string_view bytes, char flag = 0) {
  std::string text(1, flag);
  for (int i = 3; i >= 0; --i) text.push_back(static_cast<char>(bytes.size() >> (8 * i) & 0xFF));
  return text.append(bytes);
}

class RawClient {
 public:
  /// \param fd  becomes the client's; does not block
  explicit RawClient(int fd) : fd_(fd) {
    nghttp2_hd_deflate_new(&deflater_, 4096);
    nghttp2_hd_inflate_new(&inflater_);
  }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  ~RawClient() {
    if (fd_ >= 0) ::close(fd_);
    nghttp2_hd_deflate_del(deflater_);
    nghttp2_hd_inflate_del(inflater_);
  }
  void hang_up() {
    ::close(fd_);
    fd_ = -1;
  }

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0) return;  // the server has closed, or takes no more
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  static std::string frame(uint8_t type, uint8_t flags, int32_t stream, std::string_view payload = {}) {
    std::string bytes;
    for (int i = 2; i >= 0; --i) bytes.push_back(static_cast<char>(payload.size() >> (8 * i) & 0xFF));
    bytes.push_back(static_cast<char>(type));
    bytes.push_back(static_cast<char>(flags));
    return bytes.append(number(static_cast<uint32_t>(stream))).append(payload);
  }
  static std::string number(uint32_t value) {
    std::string bytes;
    for (int i = 3; i >= 0; --i) bytes.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
    return bytes;
  }
  void preface(std::string_view settings = {}) {
    send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    send(frame(NGHTTP2_SETTINGS, 0, 0, settings));
  }
  std::string block(const Fields& fields) {
    std::vector<nghttp2_nv> values;
    for (const auto& [name, value] : fields) {
      values.push_back({reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
                        reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(),
                        value.size(), NGHTTP2_NV_FLAG_NONE});
    }
    std::string bytes(nghttp2_hd_deflate_bound(deflater_, values.data(), values.size()), '\0');
    const ssize_t size = nghttp2_hd_deflate_hd(deflater_, reinterpret_cast<uint8_t*>(bytes.data()),
                                               bytes.size(), values.data(), values.size());
    EXPECT_GE(size, 0);
    bytes.resize(static_cast<size_t>(size));
    return bytes;
  }
  void headers(int32_t stream, const Fields& fields, bool end_stream = false) {
    const uint8_t flags = NGHTTP2_FLAG_END_HEADERS | (end_stream ? NGHTTP2_FLAG_END_STREAM : 0);
    send(frame(NGHTTP2_HEADERS, static_cast<uint8_t>(flags), stream, block(fields)));
  }
  static Fields call(const std::string& path, const Fields& more = {}) {
    Fields fields = {{":method", "POST"},    {":scheme", "http"}, {":path", path},
                     {":authority", "test"}, {"te", "trailers"},  {"content-type", "application/grpc"}};
    fields.insert(fields.end(), more.begin(), more.end());
    return fields;
  }
  void data(int32_t stream, std::string_view bytes, bool end_stream = false) {
    send(frame(NGHTTP2_DATA, end_stream ? NGHTTP2_FLAG_END_STREAM : 0, stream, bytes));
  }
  void reset(int32_t stream, uint32_t code) { send(frame(NGHTTP2_RST_STREAM, 0, stream, number(code))); }
  void go_away(uint32_t code) { send(frame(NGHTTP2_GOAWAY, 0, 0, number(0) + number(code))); }
  void window(int32_t stream, uint32_t more) { send(frame(NGHTTP2_WINDOW_UPDATE, 0, stream, number(more))); }

  /// Takes in what is there. Windows are not given back unless asked for.
  void read() {
    char buffer[65536];
    for (;;) {
      const ssize_t got = ::recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
      if (got == 0) closed = true;
      if (got <= 0) break;
      received_.append(buffer, static_cast<size_t>(got));
    }
    while (received_.size() >= 9) {
      const auto* bytes = reinterpret_cast<const uint8_t*>(received_.data());
      const size_t length = size_t{bytes[0]} << 16 | size_t{bytes[1]} << 8 | bytes[2];
      if (received_.size() < 9 + length) break;
      const int32_t stream = (bytes[5] & 0x7F) << 24 | bytes[6] << 16 | bytes[7] << 8 | bytes[8];
      take({bytes[3], bytes[4], stream, received_.substr(9, length)});
      received_.erase(0, 9 + length);
    }
  }
  /// Takes so many bytes from the socket and looks at none.
  void read_some(size_t bytes) {
    std::string taken(bytes, 0);
    (void)!::recv(fd_, taken.data(), bytes, MSG_DONTWAIT);
  }
  size_t count(uint8_t type) const {
    size_t found = 0;
    for (const Frame& one : frames) found += one.type == type ? 1 : 0;
    return found;
  }

  std::vector<Frame> frames;
  std::map<int32_t, Answer> answers;
  bool closed = false;
  int goaway = -1;  ///< the code of the last one
  std::string goaway_text;

 private:
  void take(Frame one) {
    Answer& answer = answers[one.stream];
    const auto* payload = reinterpret_cast<const uint8_t*>(one.payload.data());
    auto number_at = [payload](size_t at) {
      return payload[at] << 24 | payload[at + 1] << 16 | payload[at + 2] << 8 | payload[at + 3];
    };
    switch (one.type) {
      case NGHTTP2_HEADERS:
        answer.headers.push_back(fields_of(one.payload));
        break;
      case NGHTTP2_DATA:
        answer.data += one.payload;
        answer.data_frames.push_back(one.payload.size());
        break;
      case NGHTTP2_RST_STREAM:
        answer.reset = number_at(0);
        break;
      case NGHTTP2_GOAWAY:
        goaway = number_at(4);
        goaway_text = one.payload.substr(8);
        break;
      default:
        break;
    }
    const bool may_end = one.type == NGHTTP2_HEADERS || one.type == NGHTTP2_DATA;
    if (may_end && (one.flags & NGHTTP2_FLAG_END_STREAM) != 0) answer.ended = true;
    frames.push_back(std::move(one));
  }
  Fields fields_of(std::string_view bytes) {
    Fields fields;
    const auto* at = reinterpret_cast<const uint8_t*>(bytes.data());
    size_t left = bytes.size();
    for (;;) {
      nghttp2_nv value{};
      int flags = 0;
      const ssize_t taken = nghttp2_hd_inflate_hd2(inflater_, &value, &flags, at, left, 1);
      EXPECT_GE(taken, 0);
      if (taken < 0) break;
      at += taken;
      left -= static_cast<size_t>(taken);
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
        fields.emplace_back(std::string(reinterpret_cast<char*>(value.name), value.namelen),
                            std::string(reinterpret_cast<char*>(value.value), value.valuelen));
      }
      if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) {
        nghttp2_hd_inflate_end_headers(inflater_);
        break;
      }
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) == 0 && left == 0) break;
    }
    return fields;
  }

  int fd_;
  std::string received_;
  nghttp2_hd_deflater* deflater_ = nullptr;
  nghttp2_hd_inflater* inflater_ = nullptr;
};

}  // namespace atl::frontends::grpc_nghttp2
