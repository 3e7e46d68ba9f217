// HTTP/1.1 of the floor: heads are searched for their end and length, bodies are sent back as they lie.
#include <string>

#include "content_length.h"
#include "floor_connection.h"

namespace bench {
namespace {

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
