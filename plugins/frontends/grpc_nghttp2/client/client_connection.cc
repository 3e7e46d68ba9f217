#include "frontends/grpc_nghttp2/client/client_connection.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "frontends/common/management/remote_server.h"
#include "frontends/grpc_nghttp2/client/request_headers.h"
#include "frontends/grpc_nghttp2/transport/encrypt_queue.h"

namespace atl::frontends::grpc_nghttp2 {
namespace {

constexpr int64_t kConnectTimeoutNs = 20 * kNsPerSecond;
/// Bytes that another server may send ahead, of a call and of all.
constexpr uint32_t kCallWindow = 4u << 20;
constexpr int32_t kConnectionWindow = 64 << 20;
constexpr uint32_t kMaxFrameBytes = 1u << 20;

ssize_t read_stream_data(nghttp2_session*, int32_t, uint8_t* to, size_t length, uint32_t* flags,
                         nghttp2_data_source* source, void*) {
  return static_cast<ClientStream*>(source->ptr)->read_data(to, length, flags);
}

}  // namespace

ClientConnection::ClientConnection(ClientContext& context, HostPort server,
                                   std::shared_ptr<const RemoteTls> rules)
    : context_(context), server_(std::move(server)), rules_(std::move(rules)), out_(context.frames) {}

ClientConnection::~ClientConnection() {
  if (lost_.ok()) lost_ = unavailable("the connection to ", server_.text(), " was given up");
  for (const auto& [id, stream] : std::exchange(streams_, {})) stream->on_lost(lost_);
  nghttp2_session_del(session_);
  tls_.reset();
  if (fd_ < 0) return;
  context_.loop.forget(fd_, *this);
  ::close(fd_);
}

Status ClientConnection::open(const nghttp2_session_callbacks* callbacks) noexcept {
  nghttp2_option* options = nullptr;
  if (nghttp2_option_new(&options) == 0) nghttp2_option_set_no_auto_window_update(options, 1);
  if (options == nullptr || nghttp2_session_client_new2(&session_, callbacks, this, options) != 0) {
    session_ = nullptr;
  }
  nghttp2_option_del(options);
  if (session_ == nullptr) {
    return make_status(Code::kResourceExhausted, "no memory for an HTTP/2 session");
  }
  const nghttp2_settings_entry entries[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                                            {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kCallWindow},
                                            {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, kMaxFrameBytes}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, entries, std::size(entries));
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
  context_.loop.set(connect_limit_, context_.loop.now_ns() + kConnectTimeoutNs);
  lookup_.start(context_.frontend, context_.loop, server_, *this);
  return {};
}

void ClientConnection::connect(const SocketAddress& address) noexcept {
  fd_ = begin_connection(address).release();
  if (fd_ < 0) return lose(std::strerror(errno));
  if (Status status = context_.loop.watch(fd_, EPOLLIN | EPOLLOUT, *this); !status.ok()) {
    lose(status.message());
  }
}

void ClientConnection::on_connected() noexcept {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) return lose(std::strerror(error));
  if (rules_ != nullptr) return begin_tls();
  on_opened();
}

void ClientConnection::on_opened() noexcept {
  is_connected_ = true;
  connect_limit_.unset();
  if (tls_ == nullptr) context_.loop.rewatch(fd_, EPOLLIN, *this);
  output();
}

Result<std::shared_ptr<ClientStream>> ClientConnection::begin(const ClientRequest& request,
                                                              ClientCall& call) noexcept {
  if (!lost_.ok()) return lost_.clone();
  if (!takes_calls()) return unavailable("the connection to ", server_.text(), " takes no more calls");
  const std::string authority = server_.text();
  const RequestHeaders headers(request, {rules_ == nullptr ? "http" : "https", authority},
                               context_.loop.now_ns());
  auto stream = std::make_shared<ClientStream>(*this, call);
  nghttp2_data_provider data{};
  data.source.ptr = stream.get();
  data.read_callback = &read_stream_data;
  const int32_t id = nghttp2_submit_request(session_, nullptr, headers.fields().data(),
                                            headers.fields().size(), &data, stream.get());
  if (id < 0) return unavailable("the call to ", authority, " cannot be made: ", nghttp2_strerror(id));
  stream->start(id);
  streams_.emplace(id, stream);
  output();
  return stream;
}

// --- the socket ---

void ClientConnection::on_ready(uint32_t events) noexcept {
  const std::shared_ptr<ClientConnection> self = shared_from_this();
  if (!lost_.ok()) return;
  if (!is_connected_) return tls_ == nullptr ? on_connected() : shake_hands();
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read();
  if ((events & EPOLLOUT) != 0) output();
}

void ClientConnection::read() noexcept {
  if (tls_ != nullptr) return read_tls();
  constexpr int kReadsATurn = 4;
  for (int i = 0; i < kReadsATurn && lost_.ok(); ++i) {
    const std::span<uint8_t> room = context_.receive.room();
    const ssize_t got = ::recv(fd_, room.data(), room.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
    if (got <= 0) return lose(got == 0 ? "it has closed the connection" : std::strerror(errno));
    const auto bytes = static_cast<size_t>(got);
    if (!take(room.first(bytes)) || bytes < room.size()) return;
  }
}

bool ClientConnection::take(std::span<const uint8_t> bytes) noexcept {
  chunk_ = context_.receive.filled(bytes.size());
  const ssize_t taken = nghttp2_session_mem_recv(session_, bytes.data(), bytes.size());
  chunk_.reset();
  output();
  if (taken < 0) lose(nghttp2_strerror(static_cast<int>(taken)));
  return taken >= 0;
}

void ClientConnection::on_turn_end() noexcept {
  const std::shared_ptr<ClientConnection> self = shared_from_this();
  if (lost_.ok() && is_connected_) write();
  if (lost_.ok() && is_connected_ && nghttp2_session_want_read(session_) == 0 &&
      nghttp2_session_want_write(session_) == 0) {
    lose("it has sent this server away");
  }
  if (!lost_.ok()) notify_lost();
}

void ClientConnection::write() noexcept {
  if (tls_ != nullptr) return write_tls();
  bool waits = false;
  for (bool more = true; (more || !out_.empty()) && !waits;) {
    if (!fill_queue()) return;
    if (out_.empty()) break;
    more = nghttp2_session_want_write(session_) != 0;
    const ssize_t sent = out_.send(fd_);
    if (sent < 0) return lose(std::strerror(errno));
    waits = sent == 0;
  }
  wait_for_room(waits);
}

bool ClientConnection::fill_queue() noexcept {
  const int failed = nghttp2_session_send(session_);
  if (failed != 0) lose(nghttp2_strerror(failed));
  return failed == 0;
}

void ClientConnection::wait_for_room(bool waits) noexcept {
  if (std::exchange(waits_for_room_, waits) == waits) return;
  context_.loop.rewatch(fd_, waits ? EPOLLIN | EPOLLOUT : EPOLLIN, *this);
}

// --- TLS ---

void ClientConnection::begin_tls() noexcept {
  Result<std::unique_ptr<TlsChannel>> tls = context_.tls.connect(fd_, rules_, server_);
  if (!tls.ok()) return lose(tls.status().message());
  tls_ = std::move(tls).value();
  waits_for_room_ = true;  // as it was watched to connect
  shake_hands();
}

void ClientConnection::shake_hands() noexcept {
  const bool goes_on = tls_->shake_hands();
  if (!goes_on) return lose_tls();
  wait_for_room(tls_->has_unsent());
  if (!tls_->is_open()) return tls_->keep_rest();
  on_opened();
  // The end of the handshake and the first frames may have come together.
  read_decrypted();
}

void ClientConnection::lose_tls() noexcept {
  const std::string why = TlsClients::failure_of(*tls_);
  if (!tls_->failure().empty()) note_remote_tls_failure(context_.frontend.server, server_, why);
  lose(why);
}

void ClientConnection::read_tls() noexcept {
  if (tls_->receive()) return read_decrypted();
  lose_tls();
}

void ClientConnection::read_decrypted() noexcept {
  for (;;) {
    const std::span<uint8_t> room = context_.receive.room();
    const size_t bytes = tls_->read(room);
    if (bytes == 0) break;
    if (!take(room.first(bytes))) return;
  }
  if (tls_->has_ended()) return lose_tls();
  // What could not be encrypted may have waited for this.
  output();
}

// What is encrypted goes first, and nothing more is encrypted while it waits.
void ClientConnection::write_tls() noexcept {
  for (bool able = true;;) {
    if (tls_->send() < 0) return lose(std::strerror(errno));
    if (tls_->has_unsent()) return wait_for_room(true);
    if (!able || !fill_queue() || out_.empty()) break;
    able = encrypt(*tls_, out_);
  }
  if (lost_.ok()) wait_for_room(false);
}

// --- the end ---

void ClientConnection::lose(std::string_view reason) noexcept {
  if (!lost_.ok()) return;
  const bool was = is_connected_;
  lost_ = unavailable(was ? "the connection to " : "no connection to ", server_.text(), ": ", reason);
  connect_limit_.unset();
  lookup_.cancel();
  // Not here: it may be inside something of the session's, or of who begins a call.
  output();
}

void ClientConnection::notify_lost() noexcept {
  if (std::exchange(is_notified_, true)) return;
  tls_.reset();
  if (fd_ >= 0) {
    context_.loop.forget(fd_, *this);
    ::close(std::exchange(fd_, -1));
  }
  // What is in the queue points into messages, which are let go of with it.
  const auto streams = std::exchange(streams_, {});
  for (const auto& [id, stream] : streams) stream->on_lost(lost_);
  out_.clear();
}

// --- nghttp2's callbacks ---

struct ClientCallbacks {
  static ClientConnection& self(void* user) noexcept { return *static_cast<ClientConnection*>(user); }

  static ssize_t send(nghttp2_session*, const uint8_t* data, size_t length, int, void* user) {
    OutQueue& out = self(user).out_;
    if (out.is_full()) return NGHTTP2_ERR_WOULDBLOCK;
    if (!out.append({data, length})) return NGHTTP2_ERR_CALLBACK_FAILURE;
    return static_cast<ssize_t>(length);
  }
  static int send_data(nghttp2_session*, nghttp2_frame* frame, const uint8_t* header, size_t length,
                       nghttp2_data_source*, void* user) {
    constexpr size_t kFrameHeaderBytes = 9;
    OutQueue& out = self(user).out_;
    ClientStream* stream = self(user).find(frame->hd.stream_id);
    if (stream == nullptr || !out.append({header, kFrameHeaderBytes})) return NGHTTP2_ERR_CALLBACK_FAILURE;
    stream->messages().take(length, &out);
    return 0;
  }
  static int begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    ClientStream* stream = self(user).find(frame->hd.stream_id);
    if (stream != nullptr) stream->on_begin_headers();
    return 0;
  }
  static int header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_bytes,
                    const uint8_t* value, size_t value_bytes, uint8_t, void* user) {
    ClientStream* stream = self(user).find(frame->hd.stream_id);
    if (stream != nullptr) {
      stream->on_header({reinterpret_cast<const char*>(name), name_bytes},
                        {reinterpret_cast<const char*>(value), value_bytes});
    }
    return 0;
  }
  static int frame_received(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    const bool may_end = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (!may_end || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    if (ClientStream* stream = self(user).find(frame->hd.stream_id)) stream->on_remote_end();
    return 0;
  }
  static int data_chunk(nghttp2_session* session, uint8_t, int32_t id, const uint8_t* data, size_t length,
                        void* user) {
    ClientConnection& connection = self(user);
    nghttp2_session_consume_connection(session, length);
    if (ClientStream* stream = connection.find(id)) stream->on_data({data, length}, connection.chunk_);
    return 0;
  }
  static int stream_closed(nghttp2_session*, int32_t id, uint32_t error_code, void* user) {
    const auto found = self(user).streams_.extract(id);
    if (!found.empty()) found.mapped()->on_closed(error_code);
    return 0;
  }
};

nghttp2_session_callbacks* make_client_callbacks() noexcept {
  nghttp2_session_callbacks* callbacks = nullptr;
  if (nghttp2_session_callbacks_new(&callbacks) != 0) return nullptr;
  using On = ClientCallbacks;
  nghttp2_session_callbacks_set_send_callback(callbacks, &On::send);
  nghttp2_session_callbacks_set_send_data_callback(callbacks, &On::send_data);
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, &On::begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, &On::header);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &On::frame_received);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &On::data_chunk);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &On::stream_closed);
  return callbacks;
}

}  // namespace atl::frontends::grpc_nghttp2
