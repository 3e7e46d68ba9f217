// One source for all fixture plugins that are really plugins. Compile definitions say what one is:
//   FIXTURE_NAME "fixtures/provider"      FIXTURE_BUILD 1       FIXTURE_FLAGS 0
//   FIXTURE_PROVIDES provide<Probe>().minor(2)                 FIXTURE_NEEDS need<Probe>().minor(1)
//   FIXTURE_FIND, FIXTURE_FIND_MANY        acquires the first need, or all its providers, when it starts
//   FIXTURE_TELLER                         logs the server's state
//   FIXTURE_REQUIRED                       has an option that has to be given
//   FIXTURE_FOLLOWS                        goes on with another size, unless it is above 5
//   FIXTURE_STUCK                          holds a pass through its own gate for ever
#include "fixture.h"

#include <atomic>
#include <cstdlib>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "atoll/core/events.h"
#include "atoll/core/options_follower.h"
#include "atoll/core/plugin.h"

#ifndef FIXTURE_BUILD
#define FIXTURE_BUILD 1
#endif
#ifndef FIXTURE_FLAGS
#define FIXTURE_FLAGS 0
#endif
#ifndef FIXTURE_PROVIDES
#define FIXTURE_PROVIDES
#endif
#ifndef FIXTURE_NEEDS
#define FIXTURE_NEEDS
#endif

namespace {

#if defined(FIXTURE_FOLLOWS)
using Follower = atl::OptionsFollower;
#else
struct Follower {};
#endif

class FixturePlugin final : public atl::Plugin, public atl::fixture::CycleB, public Follower {
 public:
  explicit FixturePlugin(atl::Host& host)
      : host_(host),
        replaces_(host.replaces_running_instance()),
        changed_(CountChanges{&changes_}),
        size_(host.options().get_int("size")) {
    if (host_.options().get_string("throw") == "create") throw std::runtime_error("as told");
  }

  atl::Status init() override { return step("create"); }

  atl::Status start() override {
    if (host_.options().get_string("fail_unless") != "atoll") return atl::unavailable("told to fail");
    if (host_.options().get_string("throw") == "start") throw std::runtime_error("as told");
    ATOLL_RETURN_IF_ERROR(changed_.open(host_.events()));
#if defined(FIXTURE_TELLER)
    ATOLL_RETURN_IF_ERROR(server_state_.open(host_.events(), {16, atl::Overflow::kDropOldest}));
#endif
    atl::Status status = acquire();
    if (status.ok()) {
      auto executor = host_.executors().create("fixture", {});
      if (executor.ok()) {
        executor_ = std::move(executor).value();
        // A thread with a timer does not end: footprints before and after have it.
        executor_->post_at(host_.clock().now_ns() + 3600 * atl::kNsPerSecond, atl::make_task([] {}));
      }
      status = executor.ok() ? step("start") : std::move(executor).status();
    }
    if (!status.ok()) stop();
    return status;
  }

  void drain(int64_t) override {
    if (host_.options().get_string("throw") == "drain") throw std::runtime_error("as told");
    if (!host_.options().get_bool("stubborn")) let_go();
  }

  void stop() override {
    if (host_.options().get_string("crash") == "stop") std::abort();
    executor_.reset();
    let_go();
    changed_.reset();
#if defined(FIXTURE_TELLER)
    server_state_.reset();
#endif
    if (host_.options().get_string("throw") == "stop") throw std::runtime_error("as told");
  }

  std::string holding() override {
#if defined(FIXTURE_STUCK)
    return "1 request that never ends";
#else
    return {};
#endif
  }

  int64_t build() const noexcept override { return FIXTURE_BUILD; }
  int64_t size() const noexcept override { return size_.load(); }
#if defined(FIXTURE_FOLLOWS)
  bool can_follow(const atl::Options& next) noexcept override { return next.get_int("size") <= 5; }
  void follow(const atl::Options& next) noexcept override { size_.store(next.get_int("size")); }
#endif
  int64_t held() const noexcept override { return static_cast<int64_t>(services_.size()); }
  void let_go() noexcept override { services_.clear(); }
  int64_t acquire_all() noexcept override {
    for (const atl::ServiceInfo& info : host_.registry().list(Probe::kInterfaceId)) {
      auto service = host_.registry().find<atl::fixture::Probe>(info.instance);
      if (service.ok()) services_.push_back(std::move(service).value());
    }
    return held();
  }
  int64_t changes() const noexcept override { return changes_.load(); }
  bool replaced_running_instance() const noexcept override { return replaces_; }

 private:
  atl::Status step(std::string_view name) {
    auto* faults = reinterpret_cast<atl::fixture::Faults*>(host_.options().get_int("faults"));
    if (faults != nullptr && faults->fails_now()) return atl::unavailable("the fault injector says so");
    if (host_.options().get_string("fail") == name) return atl::unavailable("told to fail");
    return {};
  }

  atl::Status acquire() {
#if defined(FIXTURE_STUCK)
    for_ever_ = new atl::Pass(host_.gate());
#endif
#if defined(FIXTURE_FIND)
    auto service = host_.registry().find<atl::fixture::Probe>();
    if (!service.ok()) return std::move(service).status();
    services_.push_back(std::move(service).value());
#elif defined(FIXTURE_FIND_MANY)
    acquire_all();
#endif
    return {};
  }

  atl::Host& host_;
  const bool replaces_;
  std::atomic<int64_t> changes_{0};
  struct CountChanges {
    std::atomic<int64_t>* count;
    void operator()(const atl::ServiceChanged&) const { count->fetch_add(1); }
  };
  atl::Subscription<atl::ServiceChanged, CountChanges> changed_;
  std::atomic<int64_t> size_;
  std::vector<atl::Service<atl::fixture::Probe>> services_;
  atl::SerialExecutorPtr executor_;
#if defined(FIXTURE_TELLER)
  struct TellState {
    atl::Log* log;
    void operator()(const atl::ServerStateChanged& event) const {
      log->info("server state ", static_cast<uint32_t>(event.state), " generation ", event.generation);
    }
  };
  atl::Subscription<atl::ServerStateChanged, TellState> server_state_{TellState { &host_.log() }};
#endif
#if defined(FIXTURE_STUCK)
  atl::Pass* for_ever_ = nullptr;
#endif
};

constexpr auto fail_unless() {
#if defined(FIXTURE_REQUIRED)
  return atl::option_string("fail_unless").required();
#else
  return atl::option_string("fail_unless", "atoll");
#endif
}

constexpr atl::OptionTable kOptions{
    atl::option_string("fail", "").choices("|create|start").help("the step that fails"),
    atl::option_string("throw", "").choices("|create|start|drain|stop").help("the step that throws"),
    atl::option_string("crash", "").choices("|stop").help("the step that ends the process"),
    fail_unless().help("a start with another word than 'atoll' fails"),
    atl::option_int("size", 1).range(1, 10).help("a number"),
    atl::option_int("faults", 0).help("address of the fault injector"),
    atl::option_bool("stubborn", false).help("keeps services while draining"),
};
using namespace atl::fixture;  // the definitions name its interfaces
using atl::many, atl::need, atl::provide, atl::OptionsFollower;

}  // namespace

ATOLL_PLUGIN(FixturePlugin, {.name = FIXTURE_NAME,
                             .version = "1.0.0",
                             .license = "Apache-2.0",
                             .help = "A fixture of the lifecycle tests.",
                             .flags = FIXTURE_FLAGS,
                             .provides = {FIXTURE_PROVIDES},
                             .needs = {FIXTURE_NEEDS},
                             .options = kOptions});
