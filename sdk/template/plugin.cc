/// A plugin to copy: greets, and logs every change of a model's state.
#include "atoll/core/plugin.h"

#include "atoll/core/events.h"
#include "atoll/models/model.h"

namespace {

class Hello final : public atl::Plugin {
 public:
  explicit Hello(atl::Host& host) : host_(host), changes_(OnChange{host.log()}) {}
  atl::Status start() override {
    host_.log().info(host_.options().get_string("greeting"), " from ", host_.instance_name());
    return changes_.open(host_.events());
  }
  void stop() override { changes_.reset(); }

 private:
  struct OnChange {
    atl::Log& log;
    void operator()(const atl::ModelStateChanged& event) const {
      log.info("model '", event.model.view(), "' version ", event.version, " is ",
               atl::model_state_name(event.state));
    }
  };
  atl::Host& host_;
  atl::Subscription<atl::ModelStateChanged, OnChange> changes_;
};

constexpr atl::OptionTable kOptions{
    atl::option_string("greeting", "hello").help("What to say at start."),
};

}  // namespace

ATOLL_PLUGIN(Hello, {.name = "examples/hello",
                     .version = "1.0.0",
                     .license = "Apache-2.0",
                     .help = "Greets, and logs every change of a model's state.",
                     .options = kOptions});
