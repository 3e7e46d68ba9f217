/// Another plugin as the server has it: what a unit test needs of it is asked for by interfaces alone.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include "atoll/core/plugin.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/option_table.h"

namespace atl::test {

/// One started instance. Failures end the test program. Libraries stay open, as those of resident plugins do.
class LoadedPlugin {
 public:
  LoadedPlugin(FakeHost& host, const char* file, const OptionTexts& options) {
    void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    plugin_ = static_cast<const atoll_plugin_v1_t*>(library == nullptr ? nullptr
                                                                       : dlsym(library, ATOLL_PLUGIN_SYMBOL));
    require(plugin_ == nullptr ? unavailable(file, ": ", dlerror()) : Status());
    require(
        apply_option_table({plugin_->options, plugin_->options_count}, options, host.options(), "plugin"));
    require(Status::take(plugin_->create(reinterpret_cast<atoll_host*>(static_cast<Host*>(&host)), &self_)));
    require(Status::take(plugin_->start(self_)));
  }
  LoadedPlugin(const LoadedPlugin&) = delete;
  LoadedPlugin& operator=(const LoadedPlugin&) = delete;
  ~LoadedPlugin() {
    plugin_->stop(self_);
    plugin_->destroy(self_);
  }

  template <class Interface>
  Interface& query() noexcept {
    return *static_cast<Interface*>(plugin_->query(self_, std::string(Interface::kInterfaceId).c_str()));
  }

 private:
  static void require(const Status& status) {
    if (status.ok()) return;
    ADD_FAILURE() << status.text();
    std::abort();
  }
  const atoll_plugin_v1_t* plugin_ = nullptr;
  void* self_ = nullptr;
};

}  // namespace atl::test
