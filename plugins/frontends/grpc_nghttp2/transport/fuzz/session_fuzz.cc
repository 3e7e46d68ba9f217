// Any bytes as what a client sends on one connection, cut into pieces, between methods that answer at once, later,
// or never, and a socket that takes what it likes. The first byte seeds all that happens beside. If the second is
// odd the rest is what comes behind the preface; else it says which frames come, so that more of them are whole:
//   0xF0 + method, flags, n, n bytes     headers of a new call, and more headers, as they are encoded
//   0xE0, flags, n, n bytes              a message of the newest call
//   type, flags, stream, n, n bytes      any frame
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "atoll/testing/fake_clock.h"
#include "atoll/testing/fake_request_memory.h"
#include "atoll/testing/followed_fake.h"
#include "atoll/testing/random.h"
#include "frontends/grpc_nghttp2/transport/frames/receive_buffer.h"
#include "frontends/grpc_nghttp2/transport/session/session.h"
#include "fuzz_target.h"

namespace {

using namespace atl;                           // NOLINT
using namespace atl::frontends;                // NOLINT
using namespace atl::frontends::grpc_nghttp2;  // NOLINT

void check(bool holds) {
  if (!holds) std::abort();
}

int64_t live_messages = 0;

/// Frees itself when it was sent, and is missed if it is not.
class Text final : public OutgoingMessage {
 public:
  static Text& make(std::span<const uint8_t> bytes, size_t pieces) {
    auto* text = new Text;
    text->begin(0);
    text->bytes_.assign(bytes.begin(), bytes.end());
    const size_t each = bytes.size() / pieces + 1;
    for (size_t at = 0; at < bytes.size(); at += each) {
      text->add(std::span<const uint8_t>(text->bytes_).subspan(at, std::min(each, bytes.size() - at)));
    }
    text->end();
    return *text;
  }
  virtual ~Text() { --live_messages; }

 private:
  Text() { ++live_messages; }
  void on_sent() noexcept override { delete this; }
  std::vector<uint8_t> bytes_;
};

/// A call that does something now and then, until its client has gone.
class FuzzCall final : public Call {
 public:
  FuzzCall(CallStream& stream, bool reads_several)
      : stream_(&stream), ticket_(stream.take_ticket()), reads_several_(reads_several) {}
  virtual ~FuzzCall() = default;
  void on_message(Message message) noexcept override {
    check(stream_ != nullptr);
    stream_->send(Text::make(message.bytes, 1));
    kept_ = std::move(message);
  }
  void on_half_close() noexcept override {
    check(stream_ != nullptr);
    end(0);
  }
  void on_gone() noexcept override {
    check(stream_ != nullptr);
    stream_ = nullptr;
  }
  void end(int code) {
    if (CallStream* stream = std::exchange(stream_, nullptr)) stream->finish(code, "the \xC3\xA4nd");
  }
  void act(test::Random& random) {
    if (stream_ == nullptr) {
      ticket_.release();
      return;
    }
    const std::vector<uint8_t> bytes(random.below(20'000), 'b');
    switch (random.below(6)) {
      case 0:
        return end(static_cast<int>(random.below(18)));
      case 1:
        stream_->writer().add_trailer("x-trailer", "value");
        return end(0);
      case 2:
        return std::exchange(stream_, nullptr)->answer(Text::make(bytes, 1 + random.below(3)));
      case 3:
        return stream_->send(Text::make(bytes, 1));
      default:
        if (reads_several_) stream_->read_next();
        return;
    }
  }

 private:
  CallStream* stream_;
  CallTicket ticket_;
  const bool reads_several_;
  Message kept_;
};

enum class Kind : uint8_t { kEcho, kLarge, kRefused, kHeld, kSeveral };
constexpr std::string_view kPaths[] = {"/s/echo", "/s/large", "/s/refused", "/s/held", "/s/several"};

class FuzzMethod final : public Method {
 public:
  void begin(CallStream& stream, Message message) noexcept override {
    check(message.bytes.size() <= max_message_bytes);
    unsigned sum = 0;
    for (const uint8_t byte : message.bytes) sum += byte;
    for (size_t i = 0; i < stream.metadata().size(); ++i) sum += stream.metadata()[i].value.size();
    switch (kind) {
      case Kind::kEcho:
        return stream.answer(Text::make(message.bytes, 1));
      case Kind::kLarge:
        return stream.answer(Text::make(std::vector<uint8_t>(100'000, static_cast<uint8_t>(sum)), 3));
      case Kind::kRefused:
        return stream.finish(3, "no");
      case Kind::kHeld:
      case Kind::kSeveral:
        calls->push_back(std::make_unique<FuzzCall>(stream, reads_several));
        stream.attach(*calls->back());
        if (reads_several) stream.read_next();
    }
  }
  Kind kind = Kind::kEcho;
  std::vector<std::unique_ptr<FuzzCall>>* calls = nullptr;
};

/// What outlives connections.
struct FuzzContext {
  FuzzContext() {
    host.registry().publish<RequestMemory>("provider", memory);
    check(budgets.open().ok() && loop.open().ok() && rules.open().ok());
    settings.max_streams = 8;
    settings.initial_window = 70'000;
    settings.connection_window = 100'000;
    settings.max_frame_bytes = 20'000;
    settings.max_metadata_bytes = 2'000;
    settings.max_metadata_fields = 20;
    settings.max_protocol_errors = 5;
    settings.resets_a_second = 5;
    settings.overhead_a_second = 10;
    settings.inline_budget = 3;
  }
  test::FakeHost host{"frontend"};
  test::FakeRequestMemory memory{400'000};
  RequestBudgets budgets{host};
  test::FakeClock clock;
  EventLoop loop{clock};
  SessionRules rules;
  SessionSettings settings;
  BufferPool buffers;
  StreamPool streams;
  ReceiveBuffer receive;
};

class FuzzConnection final : private SessionOwner, private MethodFinder {
 public:
  FuzzConnection(FuzzContext& all, uint8_t seed) : all_(all), random_(seed) {
    for (size_t i = 0; i < std::size(methods_); ++i) {
      methods_[i].kind = static_cast<Kind>(i);
      methods_[i].max_message_bytes = 30'000;
      methods_[i].reads_several = methods_[i].kind == Kind::kSeveral;
      methods_[i].calls = &calls_;
    }
    session_ = std::make_unique<Session>(context_, static_cast<SessionOwner&>(*this));
    check(session_->open().ok());
    // It skips a client's preface.
    sent_.scan(std::vector<uint8_t>(24), [](const FrameHead&) {});
  }
  virtual ~FuzzConnection() {
    out_.clear();
    session_.reset();
    check(context_.counters.open_calls() == 0);
    check(live_messages == 0);
    calls_.clear();
    check(all_.memory.used_bytes() == 0);
  }

  void run(std::span<const uint8_t> bytes) {
    while (!bytes.empty()) {
      const std::span<uint8_t> room = all_.receive.room();
      const size_t most = random_.below(4) == 0 ? 10 : 2000;
      const size_t count =
          std::min({1 + static_cast<size_t>(random_.below(most)), room.size(), bytes.size()});
      std::copy_n(bytes.begin(), count, room.begin());
      if (!take(room.first(count), all_.receive.filled(count))) return;
      bytes = bytes.subspan(count);
      act();
      if (!write() || session_->is_over()) return;
    }
    for (int i = 0; i < 20 && !session_->is_over(); ++i) {
      act();
      if (!write()) return;
    }
  }

 private:
  void on_output() noexcept override {}
  std::string peer() const override { return "fuzz"; }
  Method* find(std::string_view path) noexcept override {
    const auto* found = std::find(std::begin(kPaths), std::end(kPaths), path);
    return found == std::end(kPaths) ? nullptr : &methods_[found - std::begin(kPaths)];
  }

  bool take(std::span<const uint8_t> bytes, const ChunkRef& held) {
    const ChunkRef chunk = held;
    do {
      const ssize_t taken = session_->receive(bytes, chunk);
      if (taken < 0) {
        (void)write();
        return false;
      }
      check(static_cast<size_t>(taken) <= bytes.size() &&
            (taken != 0 || session_->input().is_paused() || bytes.empty()));
      bytes = bytes.subspan(static_cast<size_t>(taken));
      if (session_->input().is_paused() && !write()) return false;
    } while (!bytes.empty() || session_->input().is_paused());
    check(context_.counters.open_calls() == session_->streams().size());
    check(session_->streams().size() != 0 || session_->limits().held_bytes() == 0);
    (void)session_->input().awaits_headers();
    return true;
  }

  /// The socket takes some of it.
  bool write() {
    for (int i = 0; i < 3; ++i) {
      (void)session_->write(&out_);
      // A message of the tests is at most 100 kB beyond what the queue is to hold.
      check(out_.bytes() <= (uint64_t{512} << 10) + 300'000);
      iovec pieces[8];
      const size_t count = out_.gather(pieces);
      size_t left = random_.below(3) == 0 ? random_.below(500) : SIZE_MAX;
      uint64_t written = 0;
      for (size_t k = 0; k < count && left != 0; ++k) {
        const size_t taken = std::min(left, pieces[k].iov_len);
        sent_.scan({static_cast<const uint8_t*>(pieces[k].iov_base), taken}, [](const FrameHead& frame) {
          check(frame.type <= 9 && frame.length <= 16'384 + 256 * 1024);
        });
        left -= taken;
        written += taken;
      }
      out_.written(written);
      check(!out_.empty() || !sent_.is_inside());
    }
    return !session_->is_over();
  }

  void act() {
    for (const auto& call : calls_) {
      if (random_.below(3) == 0) call->act(random_);
    }
    switch (random_.below(40)) {
      case 0:
        return session_->go_away();
      case 1:
        return session_->finish_going();
      case 2:
        return session_->ping();
      case 3:
      case 4:
        return session_->streams().end_stalled(2);
      case 5:
      case 6:
        all_.clock.advance(static_cast<int64_t>(random_.below(2000)) * kNsPerMs);
        return all_.loop.turn(0);
      default:
        return;
    }
  }

  FuzzContext& all_;
  test::Random random_;
  FuzzMethod methods_[std::size(kPaths)];
  std::vector<std::unique_ptr<FuzzCall>> calls_;
  SessionContext context_{all_.loop,    all_.rules,   *this,         all_.settings,
                          all_.buffers, all_.streams, &all_.budgets, nullptr};
  std::unique_ptr<Session> session_;
  OutQueue out_{all_.buffers};
  FrameScanner sent_;
};

/// The frames that the bytes ask for.
class FrameWriter {
 public:
  explicit FrameWriter(std::span<const uint8_t> bytes) : left_(bytes) {}
  std::vector<uint8_t> all() {
    while (!left_.empty()) {
      const uint8_t type = next();
      const uint8_t flags = next();
      if (type >= 0xF0) {
        stream_ += 2;
        headers(type & 0x0F, flags);
      } else if (type == 0xE0) {
        message(flags);
      } else {
        const uint8_t stream = next();
        const std::span<const uint8_t> payload = piece(next());
        frame(type, flags, stream, payload);
      }
    }
    return std::move(out_);
  }

 private:
  uint8_t next() {
    const std::span<const uint8_t> one = piece(1);
    return one.empty() ? 0 : one[0];
  }
  std::span<const uint8_t> piece(size_t bytes) {
    const std::span<const uint8_t> taken = left_.first(std::min(bytes, left_.size()));
    left_ = left_.subspan(taken.size());
    return taken;
  }
  void headers(uint8_t method, uint8_t flags) {
    std::string block = "\x83\x86";  // POST, http
    auto add = [&block](std::string_view name, std::string_view value) {
      block.append(1, '\0').append(1, static_cast<char>(name.size())).append(name);
      block.append(1, static_cast<char>(value.size())).append(value);
    };
    add(":path", kPaths[method % std::size(kPaths)]);
    add(":authority", "fuzz");
    add("te", "trailers");
    const std::span<const uint8_t> more = piece(next());
    block.append(reinterpret_cast<const char*>(more.data()), more.size());
    frame(NGHTTP2_HEADERS, static_cast<uint8_t>(flags | NGHTTP2_FLAG_END_HEADERS), stream_,
          {reinterpret_cast<const uint8_t*>(block.data()), block.size()});
  }
  void message(uint8_t flags) {
    const std::span<const uint8_t> text = piece(next());
    std::vector<uint8_t> bytes = {0, 0, 0, 0, static_cast<uint8_t>(text.size())};
    bytes.insert(bytes.end(), text.begin(), text.end());
    frame(NGHTTP2_DATA, flags, stream_, bytes);
  }
  void frame(uint8_t type, uint8_t flags, int32_t stream, std::span<const uint8_t> payload) {
    const size_t size = payload.size();
    out_.insert(out_.end(), {static_cast<uint8_t>(size >> 16), static_cast<uint8_t>(size >> 8),
                             static_cast<uint8_t>(size), type, flags, static_cast<uint8_t>(stream >> 24),
                             static_cast<uint8_t>(stream >> 16), static_cast<uint8_t>(stream >> 8),
                             static_cast<uint8_t>(stream)});
    out_.insert(out_.end(), payload.begin(), payload.end());
  }

  std::span<const uint8_t> left_;
  std::vector<uint8_t> out_;
  int32_t stream_ = -1;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  static FuzzContext all;
  constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  std::vector<uint8_t> bytes(kPreface.begin(), kPreface.end());
  const std::span<const uint8_t> rest(data + 2, size - 2);
  if (data[1] % 2 != 0) {
    bytes.insert(bytes.end(), rest.begin(), rest.end());
  } else {
    bytes.insert(bytes.end(), {0, 0, 0, NGHTTP2_SETTINGS, 0, 0, 0, 0, 0});
    bytes.insert(bytes.end(), {0, 0, 0, NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, 0, 0, 0});
    const std::vector<uint8_t> frames = FrameWriter(rest).all();
    bytes.insert(bytes.end(), frames.begin(), frames.end());
  }
  FuzzConnection(all, data[0]).run(bytes);
  return 0;
}
