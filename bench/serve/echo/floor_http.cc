// HTTP/1.1 of the floor: heads are searched for their end and length, bodies are sent back as they lie.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>

#include "floor_connection.h"

namespace bench {
namespace {

/// Of the head; 0 without one.
size_t content_length(std::string_view head) {
  constexpr std::string_view kName = "\r\ncontent-length:";
  const auto same = [](char left, char right) {
    return std::tolower(static_cast<unsigned char>(left)) == right;
  };
  auto at = std::search(head.begin(), head.end(), kName.begin(), kName.end(), same);
  if (at == head.end()) return 0;
  at = std::find_if(at + kName.size(), head.end(), [](char c) { return c != ' '; });
  size_t length = 0;
  std::from_chars(&*at, head.data() + head.size(), length);
  return length;
}

/// A request has to fit in a chunk.
class FloorHttp final : public FloorConnection {
 public:
  using FloorConnection::FloorConnection;

 private:
  size_t take(std::string_view bytes, bool& good) override {
    size_t taken = 0;
    while (take_one(bytes.substr(taken), taken, good)) {
    }
    return taken;
  }

  bool take_one(std::string_view bytes, size_t& taken, bool& good) {
    if (wanted_ == 0) {
      const size_t end = bytes.find("\r\n\r\n");
      if (end == std::string_view::npos) return false;
      head_ = end + 4;
      wanted_ = head_ + content_length(bytes.substr(0, head_));
    }
    good = wanted_ <= kChunkBytes;
    if (!good || bytes.size() < wanted_) return false;
    Piece body{bytes.substr(head_, wanted_ - head_), chunk()};
    write_small("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: " +
                std::to_string(body.bytes.size()) + "\r\n\r\n");
    write(copies_ ? copied({body}) : std::move(body));
    taken += wanted_;
    wanted_ = 0;
    return true;
  }

  size_t head_ = 0;
  size_t wanted_ = 0;  // bytes of the request under way, with its head; 0: not known yet
};

}  // namespace

std::unique_ptr<FloorConnection> make_floor_http(int socket, bool copies) {
  return std::make_unique<FloorHttp>(socket, copies);
}

}  // namespace bench
