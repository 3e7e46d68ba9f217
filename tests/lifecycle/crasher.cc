// A plugin that does what no plugin should, as its options say.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>

#include "atoll/core/plugin.h"

namespace {

/// Never inlined, and with work behind the call, so that the compiler makes no loop of it.
[[gnu::noinline]] int deeper(int depth) {
  volatile char room[4096];
  room[static_cast<unsigned>(depth) % sizeof room] = 1;
  return depth < 0 ? 0 : deeper(depth + 1) + room[0];
}

[[gnu::noinline]] void refuse() { throw std::runtime_error("no licence"); }

pthread_spinlock_t never_unlocked;
std::atomic<bool> begun;

/// A thread that is in the code of the C library from its first instruction on, and looks at this plugin's memory without end.
void leave_one_outside() {
  pthread_spin_init(&never_unlocked, PTHREAD_PROCESS_PRIVATE);
  pthread_spin_lock(&never_unlocked);
  auto* lock = reinterpret_cast<void* (*)(void*)>(reinterpret_cast<void*>(&pthread_spin_lock));
  pthread_t thread;
  if (pthread_create(&thread, nullptr, lock, const_cast<int*>(&never_unlocked)) == 0) pthread_detach(thread);
}

/// A thread that is in this plugin's code, when this returns.
void leave_one_inside() {
  begun.store(false);
  std::thread([] {
    begun.store(true);
    while (true) ::usleep(100);
  }).detach();
  while (!begun.load()) std::this_thread::yield();
}

class Crasher final : public atl::Plugin {
 public:
  explicit Crasher(atl::Host& host) : host_(host) {}

  atl::Status init() override {
    leave_a_mark();
    harm("create");
    if (does("ask_create")) (void)host_.options().get_int("nosuch");
    return {};
  }
  atl::Status start() override {
    if (does("ask_start")) (void)host_.options().get_string("nosuch");
    harm("start");
    if (does("thread")) {
      std::thread([] { throw std::runtime_error("from a thread"); }).join();
    }
    if (does("left")) leave_one_inside();
    if (does("looks")) leave_one_outside();
    if (!does("stack")) return {};
    auto executor = host_.executors().create("deep", {});
    if (!executor.ok()) return std::move(executor).status();
    executor_ = std::move(executor).value();
    executor_->post(atl::make_task([] { (void)deeper(0); }));
    return {};
  }
  void drain(int64_t) override {
    harm("drain");
    if (does("complain")) host_.log().error("what I was doing has failed, for I am draining");
  }
  void stop() override {
    harm("stop");
    executor_.reset();
  }
  ~Crasher() override { harm("destroy"); }

 private:
  void harm(std::string_view step) const {
    if (host_.options().get_string("step") != step) return;
    volatile uintptr_t nowhere = 16;
    if (does("segv")) *reinterpret_cast<volatile int*>(nowhere) = 1;
    if (does("abort")) ::abort();
    if (does("terminate")) []() noexcept { refuse(); }();
    if (does("throw")) refuse();
    if (does("says_why")) {
      ::fputs("crasher: the licence has run out\n", stderr);
      ::abort();
    }
    if (does("exit")) ::exit(3);
    if (does("exit_at_once")) ::_exit(0);
    if (does("hang")) std::promise<void>().get_future().wait();
  }
  /// A line for each instance that is made, with what a trial changes.
  void leave_a_mark() const {
    const atl::Options& options = host_.options();
    if (options.get_string("mark").empty()) return;
    std::ofstream(options.get_string("mark"), std::ios::app)
        << options.get_string("address") << ' ' << options.get_string("state") << '\n';
  }
  bool does(std::string_view what) const { return host_.options().get_string("crash") == what; }

  atl::Host& host_;
  atl::SerialExecutorPtr executor_;
};

constexpr atl::OptionTable kOptions{
    atl::option_string("crash", "")
        .choices(
            "|complain|ask_create|ask_start|segv|abort|terminate|thread|left|looks|stack|throw|says_why|exit|"
            "exit_at_once|hang")
        .help("what it does"),
    atl::option_string("step", "start")
        .choices("create|start|drain|stop|destroy")
        .help("in which step it does what ends or holds a process"),
    atl::option_string("mark", "").help("a file to which each instance adds a line"),
    atl::option_string("address", "127.0.0.1:8000").listens().help("where it would listen"),
    atl::option_string("state", "/nowhere/state").state().help("where it would keep something")};

}  // namespace

#ifndef CRASHER_NAME
#define CRASHER_NAME "fixtures/crasher"
#define CRASHER_FLAGS 0
#endif
ATOLL_PLUGIN(Crasher, {.name = CRASHER_NAME,
                       .version = "1.0.0",
                       .license = "Apache-2.0",
                       .help = "A fixture of the lifecycle tests that crashes.",
                       .flags = CRASHER_FLAGS,
                       .options = kOptions});
