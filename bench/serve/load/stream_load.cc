// Load over ModelStreamInfer: N calls on one connection, each with M requests in flight, for a number of
// seconds. The client is no gRPC library, so that it costs little beside the server. The log has a line for
// each answered request in the form of h2load's; the summary goes to stdout as JSON.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "stream_session.h"

namespace {

using Clock = std::chrono::steady_clock;

/// How long answers may take after the time is over.
constexpr auto kDrainTime = std::chrono::seconds(10);

struct Options {
  uint16_t port = 0;
  std::string path = "/inference.GRPCInferenceService/ModelStreamInfer";
  std::string message_file;
  std::string log_file;
  int streams = 1;
  int in_flight = 1;
  double seconds = 1;
};

[[noreturn]] void fail_with_errno(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

int connect_to(uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) fail_with_errno("no socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    fail_with_errno("cannot connect");
  }
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

/// Sends what fits; the rest stays in `pending`.
void send_pending(int socket, std::string& pending) {
  if (pending.empty()) return;
  const ssize_t sent = ::send(socket, pending.data(), pending.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) {
    pending.erase(0, static_cast<size_t>(sent));
  } else if (errno != EAGAIN && errno != EINTR) {
    fail_with_errno("cannot send");
  }
}

/// Waits for the socket and passes on what came or may go, until the deadline at the latest.
void turn(bench::StreamSession& session, int socket, std::string& pending, Clock::time_point deadline) {
  if (!session.collect(&pending)) return;
  send_pending(socket, pending);
  pollfd events{socket, static_cast<short>(POLLIN | (pending.empty() ? 0 : POLLOUT)), 0};
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  if (::poll(&events, 1, static_cast<int>(std::max<int64_t>(0, left.count())) + 1) <= 0) return;
  if ((events.revents & (POLLIN | POLLHUP | POLLERR)) == 0) return;
  std::array<uint8_t, 256 * 1024> received;
  const ssize_t size = ::recv(socket, received.data(), received.size(), MSG_DONTWAIT);
  if (size == 0) throw std::runtime_error("the server closed the connection");
  if (size < 0 && errno != EAGAIN && errno != EINTR) fail_with_errno("cannot receive");
  if (size > 0) session.receive(received.data(), static_cast<size_t>(size));
}

/// Requests until the time is over, then the answers that are due. Servers do not get to see a cancelled
/// call.
void drive(bench::StreamSession& session, int socket, double seconds) {
  std::string pending;
  auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  while (Clock::now() < deadline && session.failure().empty()) turn(session, socket, pending, deadline);
  session.stop();
  deadline = Clock::now() + kDrainTime;
  while (!session.over() && session.failure().empty()) {
    if (Clock::now() >= deadline) throw std::runtime_error("answers are missing");
    turn(session, socket, pending, deadline);
  }
  if (!session.failure().empty()) throw std::runtime_error(session.failure());
}

void write_log(const std::string& file, const bench::StreamSession& session) {
  std::ofstream log(file);
  for (const bench::Completion& completion : session.completions()) {
    log << completion.start_us << "\t200\t" << completion.latency_us << '\n';
  }
  if (!log.flush()) throw std::runtime_error("cannot write " + file);
}

std::string read_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + name);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

int run(const Options& options) {
  const std::string message = read_file(options.message_file);
  const int socket = connect_to(options.port);
  bench::StreamSession session("127.0.0.1:" + std::to_string(options.port), options.path, message,
                               options.streams, options.in_flight);
  drive(session, socket, options.seconds);
  ::close(socket);
  write_log(options.log_file, session);
  std::printf("{\"completed\": %zu, \"answer_bytes\": %zu}\n", session.completions().size(),
              session.answer().size());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Sends one message over and over on N streams of one connection to 127.0.0.1.");
  app.add_option("--port", options.port)->required();
  app.add_option("--path", options.path);
  app.add_option("--message", options.message_file, "one gRPC message with its head of five bytes")
      ->required();
  app.add_option("--log", options.log_file, "where the log goes")->required();
  app.add_option("--streams", options.streams)->check(CLI::Range(1, 10000));
  app.add_option("--in-flight", options.in_flight, "requests without an answer on each stream")
      ->check(CLI::Range(1, 10000));
  app.add_option("--seconds", options.seconds)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stream_load: %s\n", error.what());
    return 1;
  }
}
