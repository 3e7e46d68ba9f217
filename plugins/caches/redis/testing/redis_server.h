/// A real redis-server of a test's own, on the loopback.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "atoll/core/text.h"

namespace atl::caches {

/// Nothing is written to disk. Gone with the object.
class RedisServer {
 public:
  /// \param arguments  further ones \param port  0: one that is free
  explicit RedisServer(std::vector<std::string> arguments = {}, int port = 0, bool tls = false)
      : arguments_(std::move(arguments)), port_(port), tls_(tls) {
    start();
  }
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;
  ~RedisServer() { kill(); }

  int port() const noexcept { return port_; }
  /// Begins again, empty, on the same port.
  void start() {
    const bool is_fixed = port_ != 0;
    for (int attempt = 0; attempt < 20; ++attempt) {
      if (!is_fixed) port_ = free_port();
      if (try_start()) return;
    }
    ADD_FAILURE() << "redis-server does not start on port " << port_ << ": " << output_;
  }
  /// At once, as by a crash.
  void kill() noexcept {
    if (process_ == 0) return;
    ::kill(process_, SIGKILL);
    (void)::waitpid(process_, nullptr, 0);
    process_ = 0;
  }
  /// It keeps its connections and does nothing, until resume().
  void pause() noexcept {
    ::kill(process_, SIGSTOP);
    (void)::waitpid(process_, nullptr, WUNTRACED);
  }
  void resume() noexcept { ::kill(process_, SIGCONT); }

 private:
  static int free_port() {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    (void)::bind(listener, reinterpret_cast<sockaddr*>(&address), size);
    (void)::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
    ::close(listener);
    return ntohs(address.sin_port);
  }
  /// False: it ended before it could be used, since somebody else has the port.
  bool try_start() {
    int output[2];
    if (::pipe2(output, O_CLOEXEC) != 0) return false;
    std::vector<std::string> words = {"redis-server",
                                      "--bind",
                                      "127.0.0.1",
                                      "--save",
                                      "",
                                      "--daemonize",
                                      "no",
                                      tls_ ? "--tls-port" : "--port",
                                      cat(port_)};
    if (tls_) words.insert(words.end(), {"--port", "0"});
    words.insert(words.end(), arguments_.begin(), arguments_.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
    const int error = ::posix_spawnp(&process_, argv[0], &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(output[1]);
    output_.clear();
    bool is_ready = false;
    char bytes[4096];
    ssize_t got = 0;
    while (error == 0 && !is_ready && (got = ::read(output[0], bytes, sizeof bytes)) > 0) {
      output_.append(bytes, static_cast<size_t>(got));
      is_ready = output_.find("Ready to accept connections") != std::string::npos;
    }
    ::close(output[0]);
    if (error != 0) process_ = 0;
    if (!is_ready) kill();
    return is_ready;
  }

  const std::vector<std::string> arguments_;
  int port_;
  const bool tls_;
  pid_t process_ = 0;
  std::string output_;
};

}  // namespace atl::caches
