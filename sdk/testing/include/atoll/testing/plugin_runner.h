/// Runs a plugin through its descriptor, as the server does, in a unit test that compiles the plugin in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/plugin.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/option_table.h"

extern "C" const atoll_plugin_v1_t atoll_plugin_v1;

namespace atl::test {

/// One instance of the plugin that is linked into the test. Steps that were begun are undone at the end.
///
///     PluginRunner plugin(host);
///     ASSERT_TRUE(plugin.set("temperature", "0.5").create_and_start().ok());
///
/// Options are those of the plugin's table, with its defaults, as in the server.
class PluginRunner {
 public:
  explicit PluginRunner(FakeHost& host) : host_(host) {}
  PluginRunner(const PluginRunner&) = delete;
  PluginRunner& operator=(const PluginRunner&) = delete;
  ~PluginRunner() {
    stop();
    if (self_ != nullptr) atoll_plugin_v1.destroy(self_);
  }

  /// A value as text, as a manifest has it; create() checks it as the server would. Strings, durations and
  /// sizes stand bare ("30s"), lists and maps as in TOML. Typed values may be set in the host's options
  /// instead, where they are not checked.
  PluginRunner& set(std::string_view key, std::string_view text) {
    texts_[std::string(key)] = text;
    return *this;
  }

  /// Errors: as create() of the plugin; before it is called INVALID_ARGUMENT with everything that is wrong
  /// with the options, in the server's words: "plugin.test.temperature: found float 2000, expected number,
  /// 0.001..1000". What the plugin's own check says is a failure of create().
  Status create() noexcept {
    ATOLL_RETURN_IF_ERROR(apply_option_table({atoll_plugin_v1.options, atoll_plugin_v1.options_count}, texts_,
                                             host_.options(), cat("plugin.", host_.instance_name())));
    return Status::take(
        atoll_plugin_v1.create(reinterpret_cast<atoll_host*>(static_cast<Host*>(&host_)), &self_));
  }
  Status start() noexcept {
    Status status = Status::take(atoll_plugin_v1.start(self_));
    started_ = status.ok();
    return status;
  }
  Status create_and_start() noexcept {
    ATOLL_RETURN_IF_ERROR(create());
    return start();
  }
  /// Closes the host's gate first, as the server does.
  void drain(int64_t deadline_ns) noexcept {
    host_.gate().close();
    atoll_plugin_v1.drain(self_, deadline_ns);
  }
  void stop() noexcept {
    if (started_) atoll_plugin_v1.stop(self_);
    started_ = false;
  }
  /// Null if the plugin does not provide it.
  template <class Interface>
  Interface* query() noexcept {
    return static_cast<Interface*>(
        atoll_plugin_v1.query(self_, std::string(Interface::kInterfaceId).c_str()));
  }

 private:
  FakeHost& host_;
  OptionTexts texts_;
  void* self_ = nullptr;
  bool started_ = false;
};

}  // namespace atl::test
