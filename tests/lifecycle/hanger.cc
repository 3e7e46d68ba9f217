// A plugin one step of which does not return, as its option says.
#include <unistd.h>

#include <string_view>

#include "atoll/core/events.h"
#include "atoll/core/plugin.h"

namespace {

[[noreturn]] void hang() {
  while (true) ::pause();
}

class Hanger final : public atl::Plugin {
 public:
  explicit Hanger(atl::Host& host) : host_(host) {}
  ~Hanger() override { hang_in("destroy"); }

  atl::Status init() override {
    hang_in("create");
    return {};
  }
  atl::Status start() override {
    hang_in("start");
    if (is("task")) host_.post_control(atl::make_task([] { hang(); }));
    if (!is("event")) return {};
    return state_.open(host_.events());
  }
  void drain(int64_t) override { hang_in("drain"); }
  void stop() override {
    state_.reset();
    hang_in("stop");
  }

 private:
  struct OnState {
    void operator()(const atl::ServerStateChanged& event) const {
      if (event.state == atl::ServerStateChanged::State::kActive) hang();
    }
  };
  bool is(std::string_view step) const { return host_.options().get_string("step") == step; }
  void hang_in(std::string_view step) const {
    if (is(step)) hang();
  }

  atl::Host& host_;
  atl::Subscription<atl::ServerStateChanged, OnState> state_{OnState{}};
};

constexpr atl::OptionTable kOptions{atl::option_string("step", "")
                                        .choices("|create|start|drain|stop|destroy|task|event")
                                        .help("which one does not return")};

}  // namespace

ATOLL_PLUGIN(Hanger, {.name = "fixtures/hanger",
                      .version = "1.0.0",
                      .license = "Apache-2.0",
                      .help = "A fixture of the lifecycle tests that hangs.",
                      .flags = ATOLL_PLUGIN_UNTRIED,  // or a trial would hang in its stead
                      .options = kOptions});
