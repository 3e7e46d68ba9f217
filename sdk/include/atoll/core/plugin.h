/// How a C++ author writes a plugin: a class and one line.
///
///     class Hello final : public atl::Plugin {
///      public:
///       explicit Hello(atl::Host& host) : host_(host) {}
///       atl::Status start() noexcept override { host_.log().info("hello"); return {}; }
///      private:
///       atl::Host& host_;
///     };
///     ATOLL_PLUGIN(Hello, {.name = "examples/hello", .version = "1.0.0", .license = "Apache-2.0",
///                          .help = "Says hello."});
///
/// What it provides, needs and takes as options stands in that line too (services.h, option_table.h):
///
///     .provides = {atl::provide<atl::Backend>(), atl::provide<atl::MetricSource, &Hello::counters>()},
///     .needs = {atl::need<atl::ModelCatalog>(), atl::optional<atl::Tracing>(), atl::many<atl::Memory>()},
///     .options = kOptions
///
/// and what its options have to be beyond their types as a function (option_check.h):
///
///     .check = &check_options
///
/// All functions run on the control thread, one at a time, and should return within milliseconds; long work
/// goes to host.workers(). A constructor or function that throws is reported as a failure of that step,
/// naming the exception.
///
/// What another plugin gives you in a call lies in its file, and is gone when that is unloaded: texts (literals
/// too), functions, whatever has virtual functions or a deleter (`std::function`, `std::unique_ptr`,
/// `std::shared_ptr`). To keep it beyond the call, copy plain data out of it, or hold what keeps the giver
/// there: the Service that it came from, or a Pass of its gate. docs/plugin-guide.md has the rule whole.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "atoll/abi/plugin.h"
#include "atoll/core/guarded.h"
#include "atoll/core/host.h"
#include "atoll/core/option_check.h"
#include "atoll/core/option_table.h"
#include "atoll/core/services.h"
#include "atoll/core/status.h"

namespace atl {

class Plugin {
 public:
  Plugin() = default;
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  virtual ~Plugin() = default;

  /// Work that can fail and needs no other service. Runs right after construction, as part of `create`.
  virtual Status init() { return {}; }
  /// Every required need is active: resolve services, start threads, open sockets. On failure undo what was
  /// done.
  virtual Status start() { return {}; }
  /// New work is over: begin to finish what is held and return. The host's gate is closed already.
  virtual void drain(int64_t /*deadline_ns*/) {}
  /// Undo start: join threads, let go of services.
  virtual void stop() {}
  /// What is still held, for a drain that overran: "2 requests of resnet50".
  virtual std::string holding() { return {}; }
};

/// What ATOLL_PLUGIN takes; the option table must be a constant of static storage.
template <class T>
struct PluginDescription {
  const char* name;
  const char* version;
  const char* license;
  const char* help;
  uint32_t flags = 0;
  ProvidedServices<T> provides = {};
  NeededServices needs = {};
  std::span<const atoll_option_v1> options = {};
  /// Reports what is wrong with options, beyond what their table says; null: nothing can be. `create` begins
  /// with it, so the constructor and init() see only options that it has passed.
  void (*check)(OptionCheck&) = nullptr;
};

namespace plugin_detail {

template <class T, const PluginDescription<T>& kDescription>
struct Shims {
  static atoll_status* create(atoll_host* raw, void** self) {
    auto& host = *reinterpret_cast<Host*>(raw);
    return guarded("create",
                   [&]() -> Status {
                     ATOLL_RETURN_IF_ERROR(checked(host.options()));
                     auto plugin = std::make_unique<T>(host);
                     ATOLL_RETURN_IF_ERROR(plugin->init());
                     *self = static_cast<Plugin*>(plugin.release());
                     return {};
                   })
        .release();
  }
  static Status checked(const Options& options) {
    if (kDescription.check == nullptr) return {};
    ProblemLines problems(options);
    kDescription.check(problems);
    return problems.status();
  }
  static void check(atoll_option_check* raw) {
    if (kDescription.check == nullptr) return;
    auto& options = *reinterpret_cast<OptionCheck*>(raw);
    Status status = guarded("check", [&] { kDescription.check(options); });
    if (!status.ok()) options.report({}, {}, status.text());
  }
  static Plugin& plugin(void* self) { return *static_cast<Plugin*>(self); }
  static atoll_status* start(void* self) {
    return guarded("start", [&] { return plugin(self).start(); }).release();
  }
  // What these throw the server catches and logs: they have nothing to say it with.
  static void drain(void* self, int64_t deadline_ns) { plugin(self).drain(deadline_ns); }
  static void stop(void* self) { plugin(self).stop(); }
  static void destroy(void* self) { delete &plugin(self); }
  static void* query(void* self, const char* id) {
    void* found = nullptr;
    auto& provider = static_cast<T&>(plugin(self));
    (void)guarded("query", [&] { found = kDescription.provides.find(provider, id); }).ok();
    return found;
  }
  static uint32_t holding(void* self, char* text, uint32_t capacity) {
    std::string held;
    (void)guarded("holding", [&] { held = plugin(self).holding(); }).ok();
    if (capacity == 0) return 0;
    auto size = static_cast<uint32_t>(held.size() < capacity ? held.size() : capacity - 1);
    std::memcpy(text, held.data(), size);
    text[size] = '\0';
    return size;
  }
};

template <class T, const PluginDescription<T>& kDescription>
constexpr atoll_plugin_v1_t describe() {
  using Shims = plugin_detail::Shims<T, kDescription>;
  const auto& d = kDescription;
  return {ATOLL_PLUGIN_MAGIC,
          sizeof(atoll_plugin_v1_t),
          ATOLL_ABI_MAJOR,
          ATOLL_ABI_MINOR,
          d.flags,
          ATOLL_BUILD_TAG,
          d.name,
          d.version,
          d.license,
          d.help,
          d.provides.rows(),
          d.needs.rows(),
          d.options.data(),
          static_cast<uint32_t>(d.provides.size()),
          static_cast<uint32_t>(d.needs.size()),
          static_cast<uint32_t>(d.options.size()),
          0,
          &Shims::create,
          &Shims::start,
          &Shims::drain,
          &Shims::stop,
          &Shims::destroy,
          &Shims::query,
          &Shims::holding,
          &Shims::check};
}

}  // namespace plugin_detail
}  // namespace atl

/// Defines the one exported symbol. The second argument is a braced PluginDescription<Class>.
#define ATOLL_PLUGIN(Class, ...)                                                                        \
  namespace {                                                                                           \
  constexpr ::atl::PluginDescription<Class> atoll_plugin_description __VA_ARGS__;                       \
  }                                                                                                     \
  extern "C" __attribute__((visibility("default"))) constinit const atoll_plugin_v1_t atoll_plugin_v1 = \
      ::atl::plugin_detail::describe<Class, atoll_plugin_description>()
