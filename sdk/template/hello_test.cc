/// The plugin on a host without a server.
#include <gtest/gtest.h>

#include "atoll/core/events.h"
#include "atoll/testing/plugin_runner.h"

namespace {

atl::ModelStateChanged ready(std::string_view model) {
  atl::ModelStateChanged event;
  event.key_text = std::string_view(atl::cat(model, "/1"));
  event.model = model;
  event.version = 1;
  event.state = atl::ModelStateChanged::State::kReady;
  return event;
}

TEST(Hello, GreetsAndLogsModels) {
  atl::test::FakeHost host("hi");
  atl::test::PluginRunner plugin(host);
  ASSERT_TRUE(plugin.set("greeting", "good day").create_and_start().ok());
  EXPECT_TRUE(host.log().contains("good day from hi"));
  host.events().publish(ready("resnet50"));
  host.run_until_idle();
  EXPECT_TRUE(host.log().contains("model 'resnet50' version 1 is READY"));
}

TEST(Hello, SaysNothingAfterItsStop) {
  atl::test::FakeHost host("hi");
  atl::test::PluginRunner plugin(host);
  ASSERT_TRUE(plugin.create_and_start().ok());
  plugin.stop();
  host.events().publish(ready("resnet50"));
  host.run_until_idle();
  EXPECT_FALSE(host.log().contains("resnet50"));
}

}  // namespace
