// What TLS costs a request in this process, counted by callgrind: a request of 600 bytes is decrypted and an answer of 400 is encrypted,
// by the server's TlsChannel, or by OpenSSL on the socket with nothing around it. The client's end is not counted.
//
//     valgrind --tool=callgrind --collect-atstart=no --callgrind-out-file=/dev/null tls_instructions channel|bare COUNT CERTIFICATE KEY
//
// valgrind prints the instructions of all COUNT requests behind "Collected".
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <valgrind/callgrind.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include "atoll/testing/fake_clock.h"
#include "frontends/common/tls/tls_channel.h"

namespace {

using namespace atl::frontends;  // NOLINT

constexpr size_t kRequestBytes = 600, kAnswerBytes = 400;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "tls_instructions: %s\n", what);
  ERR_print_errors_fp(stderr);
  std::exit(1);
}

std::string read_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// One end of the connection.
class End {
 public:
  End() = default;
  End(const End&) = delete;
  End& operator=(const End&) = delete;
  virtual ~End() = default;
  virtual bool shake_hands() = 0;
  virtual size_t read(char* to, size_t size) = 0;
  virtual bool write(std::string_view bytes) = 0;
};

class BareEnd final : public End {
 public:
  BareEnd(int fd, SSL_CTX* context, bool is_server) : ssl_(SSL_new(context)) {
    SSL_set_fd(ssl_.get(), fd);
    is_server ? SSL_set_accept_state(ssl_.get()) : SSL_set_connect_state(ssl_.get());
  }
  ~BareEnd() override = default;
  bool shake_hands() override { return SSL_do_handshake(ssl_.get()) == 1; }
  size_t read(char* to, size_t size) override {
    ERR_clear_error();
    size_t got = 0;
    return SSL_read_ex(ssl_.get(), to, size, &got) == 1 ? got : 0;
  }
  bool write(std::string_view bytes) override {
    size_t written = 0;
    return SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written) == 1;
  }

 private:
  OpensslPtr<SSL> ssl_;
};

class ChannelEnd final : public End {
 public:
  ChannelEnd(int fd, const TlsContext& context)
      : thread_(loop_), channel_(TlsChannel::make(fd, context.accept(), thread_)) {
    if (channel_ == nullptr) fail("no memory");
  }
  ~ChannelEnd() override = default;
  bool shake_hands() override {
    return channel_->is_open() || (channel_->shake_hands() && channel_->is_open());
  }
  // As frontends/common/http/client/client_socket.cc does it.
  size_t read(char* to, size_t size) override {
    const std::span<uint8_t> room(reinterpret_cast<uint8_t*>(to), size);
    size_t count = channel_->read(room);
    if (count == 0 && channel_->receive()) count = channel_->read(room);
    channel_->keep_rest();
    return count;
  }
  bool write(std::string_view bytes) override {
    const iovec pieces[] = {
        {const_cast<char*>(bytes.data()), bytes.size() / 2},
        {const_cast<char*>(bytes.data()) + bytes.size() / 2, bytes.size() - bytes.size() / 2}};
    size_t taken = 0;
    return channel_->send() >= 0 && channel_->encrypt(pieces, &taken) && taken == bytes.size() &&
           channel_->send() >= 0 && !channel_->has_unsent();
  }

 private:
  atl::test::FakeClock clock_;
  EventLoop loop_{clock_};
  TlsThread thread_;
  std::unique_ptr<TlsChannel> channel_;
};

/// As that of tls_echo.cc.
OpensslPtr<SSL_CTX> bare_context(const char* certificate, const char* key) {
  OpensslPtr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()));
  if (context == nullptr || SSL_CTX_use_certificate_chain_file(context.get(), certificate) != 1 ||
      SSL_CTX_use_PrivateKey_file(context.get(), key, SSL_FILETYPE_PEM) != 1)
    fail("cannot use the certificate");
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(context.get(), 1);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  return context;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view kind = argc == 5 ? argv[1] : "";
  if (kind != "channel" && kind != "bare") {
    std::fprintf(stderr, "usage: tls_instructions channel|bare COUNT CERTIFICATE KEY\n");
    return 2;
  }
  (void)std::signal(SIGPIPE, SIG_IGN);
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets) != 0) fail("no sockets");
  const OpensslPtr<SSL_CTX> bare = bare_context(argv[3], argv[4]);
  const OpensslPtr<SSL_CTX> of_client(SSL_CTX_new(TLS_client_method()));
  atl::Result<TlsContext> of_channel =
      TlsContext::make({.server_cert = read_file(argv[3]), .server_key = read_file(argv[4]), .root_cert = {}},
                       TlsProtocol::kHttp1);
  if (!of_channel.ok()) fail("cannot use the certificate");
  BareEnd client(sockets[0], of_client.get(), false);
  std::unique_ptr<End> server;
  if (kind == "bare")
    server = std::make_unique<BareEnd>(sockets[1], bare.get(), true);
  else
    server = std::make_unique<ChannelEnd>(sockets[1], *of_channel);
  for (int i = 0; !(static_cast<int>(client.shake_hands()) & static_cast<int>(server->shake_hands())); ++i) {
    if (i == 100) fail("no handshake");
  }
  const std::string request(kRequestBytes, 'r'), answer(kAnswerBytes, 'a');
  std::array<char, 65536> room;
  const int count = std::atoi(argv[2]);
  size_t bytes = 0;
  for (int i = 0; i < count; ++i) {
    if (!client.write(request)) fail("the client cannot send");
    CALLGRIND_TOGGLE_COLLECT;
    const size_t got = server->read(room.data(), room.size());
    const bool is_sent = server->write(answer);
    CALLGRIND_TOGGLE_COLLECT;
    if (got != kRequestBytes || !is_sent) fail("the server has not answered");
    bytes += client.read(room.data(), room.size());
  }
  if (bytes != count * kAnswerBytes) fail("an answer is missing");
  std::printf("%d requests\n", count);
  return 0;
}
