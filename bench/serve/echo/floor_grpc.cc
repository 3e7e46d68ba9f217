// HTTP/2 of the floor: frames are told apart and nothing else. What a client says in HEADERS is not read, so no HPACK is
// needed; the answer's are literals. A message is sent back when its stream has ended, from where it was received.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "floor_connection.h"

namespace bench {
namespace {

using namespace std::string_view_literals;

enum FrameType : uint8_t {
  kData,
  kHeaders,
  kPriority,
  kReset,
  kSettings,
  kPush,
  kPing,
  kGoAway,
  kWindowUpdate
};
constexpr uint8_t kEndStream = 0x1, kAck = 0x1, kEndHeaders = 0x4, kPadded = 0x8;
constexpr size_t kHeadBytes = 9;
constexpr uint32_t kMostFrameBytes = 16384;
constexpr int64_t kFirstWindow = 65535;
constexpr uint32_t kMostWindow = 0x7fffffff;
/// After so much was received the client may send as much again.
constexpr uint32_t kWindowStep = 256U << 20;
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// `:status: 200` from the static table, and `content-type: application/grpc` with its name from there.
constexpr std::string_view kAnswerHead =
    "\x88\x0f\x10\x10"
    "application/grpc"sv;
/// `grpc-status: 0`.
constexpr std::string_view kTrailer =
    "\x00\x0bgrpc-status\x01"
    "0"sv;

uint32_t number(std::string_view bytes) {
  uint32_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<uint8_t>(byte);
  return value;
}

std::string big_endian(uint32_t value, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) text += static_cast<char>(value >> shift);
  return text;
}

std::string frame_head(size_t size, uint8_t type, uint8_t flags, uint32_t stream) {
  return big_endian(static_cast<uint32_t>(size), 3) + static_cast<char>(type) + static_cast<char>(flags) +
         big_endian(stream, 4);
}

std::string frame(uint8_t type, uint8_t flags, uint32_t stream, std::string_view payload) {
  return frame_head(payload.size(), type, flags, stream).append(payload);
}

class FloorGrpc final : public FloorConnection {
 public:
  FloorGrpc(int socket, bool copies) : FloorConnection(socket, copies) {
    const std::string settings =
        big_endian(4, 2) + big_endian(kMostWindow, 4) + big_endian(3, 2) + big_endian(1000, 4);
    write_small(frame(kSettings, 0, 0, settings));
    write_small(frame(kWindowUpdate, 0, 0, big_endian(kMostWindow - kFirstWindow, 4)));
  }

 private:
  struct Stream {
    std::vector<Piece> pieces;
    int64_t window = 0;
  };
  /// A message to send back, as far as it was not yet.
  struct Answer {
    uint32_t stream;
    std::vector<Piece> pieces;
    size_t next = 0;
    int64_t window;
    bool begun = false;
  };

  size_t take(std::string_view bytes, bool& good) override {
    size_t taken = 0;
    if (!greeted_) {
      if (bytes.size() < kPreface.size()) return 0;
      good = bytes.starts_with(kPreface);
      if (!good) return 0;
      greeted_ = true;
      taken = kPreface.size();
    }
    while (bytes.size() - taken >= kHeadBytes) {
      const std::string_view head = bytes.substr(taken, kHeadBytes);
      const size_t size = number(head.substr(0, 3));
      good = size <= kMostFrameBytes;
      if (!good || bytes.size() - taken < kHeadBytes + size) break;
      on_frame(static_cast<uint8_t>(head[3]), static_cast<uint8_t>(head[4]),
               number(head.substr(5)) & kMostWindow, bytes.substr(taken + kHeadBytes, size));
      taken += kHeadBytes + size;
    }
    send_answers();
    return taken;
  }

  void on_frame(uint8_t type, uint8_t flags, uint32_t id, std::string_view payload) {
    switch (type) {
      case kHeaders:
        streams_[id].window += first_window_;
        break;
      case kData:
        on_data(flags, id, payload);
        break;
      case kReset:
        streams_.erase(id);
        std::erase_if(answers_, [&](const Answer& answer) { return answer.stream == id; });
        break;
      case kSettings:
        if (!(flags & kAck)) on_settings(payload);
        break;
      case kPing:
        if (!(flags & kAck)) write_small(frame(kPing, kAck, 0, payload));
        break;
      case kWindowUpdate:
        on_window_update(id, number(payload));
        break;
      default:
        break;
    }
  }

  void on_data(uint8_t flags, uint32_t id, std::string_view payload) {
    received_ += static_cast<uint32_t>(payload.size());
    if (received_ >= kWindowStep) {
      write_small(frame(kWindowUpdate, 0, 0, big_endian(received_, 4)));
      received_ = 0;
    }
    const auto found = streams_.find(id);
    if (found == streams_.end()) return;
    if (flags & kPadded) {
      payload.remove_suffix(static_cast<uint8_t>(payload[0]));
      payload.remove_prefix(1);
    }
    if (!payload.empty()) found->second.pieces.push_back({payload, chunk()});
    if (!(flags & kEndStream)) return;
    Answer answer{id, std::move(found->second.pieces), 0, found->second.window};
    if (copies_) answer.pieces = {copied(answer.pieces)};
    answers_.push_back(std::move(answer));
    streams_.erase(found);
  }

  void on_settings(std::string_view payload) {
    for (; payload.size() >= 6; payload.remove_prefix(6)) {
      if (number(payload.substr(0, 2)) != 4) continue;
      const int64_t change = number(payload.substr(2, 4)) - first_window_;
      first_window_ += change;
      for (auto& [_, stream] : streams_) stream.window += change;
      for (Answer& answer : answers_) answer.window += change;
    }
    write_small(frame(kSettings, kAck, 0, {}));
  }

  void on_window_update(uint32_t id, uint32_t more) {
    if (id == 0) window_ += more;
    if (const auto found = streams_.find(id); found != streams_.end()) found->second.window += more;
    for (Answer& answer : answers_)
      if (answer.stream == id) answer.window += more;
  }

  /// As far as the client's windows allow. One answer after the other.
  void send_answers() {
    while (!answers_.empty()) {
      Answer& answer = answers_.front();
      if (!answer.begun) write_small(frame(kHeaders, kEndHeaders, answer.stream, kAnswerHead));
      answer.begun = true;
      for (; answer.next < answer.pieces.size(); ++answer.next) {
        Piece& piece = answer.pieces[answer.next];
        while (!piece.bytes.empty()) {
          const int64_t may = std::min({window_, answer.window, int64_t{kMostFrameBytes}});
          if (may <= 0) return;
          const std::string_view part = piece.bytes.substr(0, static_cast<size_t>(may));
          write_small(frame_head(part.size(), kData, 0, answer.stream));
          write({part, piece.chunk});
          piece.bytes.remove_prefix(part.size());
          window_ -= static_cast<int64_t>(part.size());
          answer.window -= static_cast<int64_t>(part.size());
        }
      }
      write_small(frame(kHeaders, kEndHeaders | kEndStream, answer.stream, kTrailer));
      answers_.pop_front();
    }
  }

  bool greeted_ = false;
  uint32_t received_ = 0;
  int64_t first_window_ = kFirstWindow;  // of the client's streams
  int64_t window_ = kFirstWindow;        // of the connection, in its direction
  std::map<uint32_t, Stream> streams_;   // whose messages are not whole yet
  std::deque<Answer> answers_;
};

}  // namespace

std::unique_ptr<FloorConnection> make_floor_grpc(int socket, bool copies) {
  return std::make_unique<FloorGrpc>(socket, copies);
}

}  // namespace bench
