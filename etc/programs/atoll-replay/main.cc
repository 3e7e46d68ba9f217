// atoll-replay: plays recorded requests against a server.
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/text.h"
#include "atoll/runtime/escape.h"
#include "grpc_sender.h"
#include "http_sender.h"
#include "player.h"
#include "recorded_traffic.h"
#include "replay_options.h"
#include "summary.h"

namespace {

using namespace atl::replay;

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // for the signal handler

/// Names and messages come from files and servers: a terminal gets no control characters.
void say(const std::string& text) {
  std::string shown;
  atl::runtime::append_escaped(shown, text);
  std::cerr << "atoll-replay: " << shown << '\n';
}

/// Latencies of requests that go out later than this say more about this machine than about the server.
constexpr int64_t kLateNs = 100 * atl::kNsPerMs;

int replay(const ReplayOptions& options) {
  RecordedTraffic traffic;
  if (atl::Status opened = traffic.open(options.files); !opened.ok()) {
    say(std::string(opened.message()));
    return kUsage;
  }
  for (const std::string& remark : traffic.remarks()) say(remark);
  const std::unique_ptr<Sender> sender =
      options.protocol == "grpc"
          ? make_grpc_sender({options.url, options.headers, options.tls})
          : std::make_unique<HttpSender>(ReplayTarget{options.url, options.headers, options.tls});
  if (sender == nullptr) {
    say("this program was built without gRPC: --protocol http");
    return kUsage;
  }
  if (atl::Status connected = sender->connect(); !connected.ok()) {
    say(atl::cat("there is no server at ", options.url, ": ", connected.message()));
    return kDifferent;
  }
  const Summary summary = Player(traffic, *sender, options, interrupted, say).play();
  if (summary.latest_ns > kLateNs)
    say(atl::cat("requests went out up to ", summary.latest_ns / atl::kNsPerMs,
                 " ms late: this machine is too slow, or --max-in-flight is reached"));
  options.json ? print_json(std::cout, summary) : print_text(std::cout, summary, options.compares);
  std::cout << std::flush;
  if (interrupted.load()) return kInterrupted;
  return summary.failures == 0 && summary.differences == 0 && std::cout ? kDone : kDifferent;
}

}  // namespace

int main(int argc, char** argv) {
  ReplayOptions options;
  if (const char* token = std::getenv("ATOLL_TOKEN"); token != nullptr) options.token = token;
  int exit_code = 0;
  if (!read_command_line(std::vector<std::string>(argv + 1, argv + argc), std::cout, std::cerr, &options,
                         &exit_code))
    return exit_code;
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted.store(true); };
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  return replay(options);
}
