/// How a C++ author writes a plugin: a class and one line.
///
///     class Hello final : public atl::Plugin {
///      public:
///       explicit Hello(atl::Host& host) : host_(host) {}
///       atl::Status start() override { host_.log().info("hello"); return {}; }
///      private:
///       atl::Host& host_;
///     };
///     ATOLL_PLUGIN(Hello, {.name = "examples/hello", .version = "1.0.0", .license = "Apache-2.0",
///                          .help = "Says hello."});
///
/// What the plugin provides, needs and takes as options stands in that line too (services.h,
/// option_table.h):
///
///     .provides = {atl::provide<atl::Backend>(), atl::provide<atl::MetricSource, &Hello::counters>()},
///     .needs = {atl::need<atl::ModelCatalog>(), atl::optional<atl::Tracing>(), atl::many<atl::Memory>()},
///     .options = kOptions
///
/// and so does the function that checks its options beyond their types (option_check.h):
///
///     .check = &check_options
///
/// The life of an instance: the check of options, the constructor, init(), start(), drain(),
/// stop(), the destructor. The server calls all of them on the control thread, one at a time, and
/// the whole control plane waits for them, so they should return within milliseconds; long work
/// goes to host.workers(). A step that still runs after 1 s is named in the log. A constructor or
/// function that throws is reported as a failure of that step, with the exception's text.
///
/// What another plugin gives you in a call lies in that plugin's file, and is gone when the file is
/// unloaded: texts (literals too), functions, and whatever has virtual functions or a deleter
/// (`std::function`, `std::unique_ptr`, `std::shared_ptr`). To keep it beyond the call, copy plain
/// data out of it, or hold what keeps the giver there: the Service that it came from, or a Pass of
/// its gate. docs/plugin-guide.md has the whole rule.
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

/// The base of every plugin's class. The constructor takes the Host& (host.h), which is valid until
/// the destructor has returned. The constructor should do no work that can fail, because it has no
/// result; init() has. The destructor runs after stop(); for an instance that was never started,
/// without it.
///
/// Each function has a default that does nothing, so a plugin overrides only what it needs. None of
/// them is called on the request path.
class Plugin {
 public:
  Plugin() = default;
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  virtual ~Plugin() = default;

  /// Work that can fail and needs no other service, such as reading the options. Runs right after
  /// the constructor, as part of `create`. On failure the object is destroyed, and the start or
  /// reload is refused with the message.
  virtual Status init() { return {}; }
  /// The providers of all required needs are active. Here the plugin finds its services, starts
  /// threads and opens sockets. When start() has succeeded, the server publishes the plugin's
  /// services, and calls may come on any thread. On failure the function undoes what it did,
  /// because neither drain() nor stop() follow.
  virtual Status start() { return {}; }
  /// New work is over: the services are withdrawn and the host's gate is closed. The function
  /// begins to finish what the instance holds, and returns. The server stops the instance when its
  /// gate is empty, nobody holds its services, and its tasks are done.
  /// \param deadline_ns  on Host::clock(); work that lasts longer may be cut off: a server that ends
  /// does not wait for it
  virtual void drain(int64_t /*deadline_ns*/) {}
  /// Undoes start(): ends subscriptions, joins threads, closes sockets, lets go of services. When
  /// the function returns, no thread runs the plugin's code any more.
  virtual void stop() {}
  /// What the instance still holds, for people: "2 requests of resnet50". Asked for when a drain
  /// takes long, and shown in the log. Empty: nothing.
  virtual std::string holding() { return {}; }
};

/// What ATOLL_PLUGIN takes, by the members' names. All of it is a constant; texts are literals.
template <class T>
struct PluginDescription {
  /// "role/name", as the manifest's `use` has it. The file is ROLE/NAME.so.
  const char* name;
  /// The plugin's own version: "1.0.0".
  const char* version;
  /// The SPDX identifier of its license: "Apache-2.0".
  const char* license;
  /// One sentence that says what the plugin does.
  const char* help;
  /// ATOLL_PLUGIN_RESIDENT, _SINGLETON and _UNTRIED, joined by | (abi/plugin.h).
  uint32_t flags = 0;
  /// Rows of provide() (services.h).
  ProvidedServices<T> provides = {};
  /// Rows of need(), optional() and many() (services.h).
  NeededServices needs = {};
  /// An OptionTable (option_table.h), which is a constant of static storage.
  std::span<const atoll_option_v1> options = {};
  /// Reports what is wrong with options, beyond what their table says; null: nothing can be.
  /// `create` begins with it, so the constructor and init() see only options that it has passed.
  void (*check)(OptionCheck&) = nullptr;
};

namespace plugin_detail {

/// The functions of the descriptor (abi/plugin.h), over a plugin's class. They turn exceptions into
/// failures, because no exception may cross into the kernel.
template <class T, const PluginDescription<T>& kDescription>
struct Shims {
  /// The check of options, the constructor and init().
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
  /// All problems that the check reports, as one failure.
  static Status checked(const Options& options) {
    if (kDescription.check == nullptr) return {};
    ProblemLines problems(options);
    kDescription.check(problems);
    return problems.status();
  }
  /// The check for the server, which shows each problem at its place in the manifest.
  static void check(atoll_option_check* raw) {
    if (kDescription.check == nullptr) return;
    auto& options = *reinterpret_cast<OptionCheck*>(raw);
    Status status = guarded("check", [&] { kDescription.check(options); });
    if (!status.ok()) options.report({}, {}, status.text());
  }
  /// What create() has given the kernel is a Plugin*.
  static Plugin& plugin(void* self) { return *static_cast<Plugin*>(self); }
  static atoll_status* start(void* self) {
    return guarded("start", [&] { return plugin(self).start(); }).release();
  }
  // What these throw the server catches and logs: they have nothing to report it with.
  static void drain(void* self, int64_t deadline_ns) { plugin(self).drain(deadline_ns); }
  static void stop(void* self) { plugin(self).stop(); }
  /// The virtual destructor of Plugin.
  static void destroy(void* self) { delete &plugin(self); }
  /// The service with this id, or null.
  static void* query(void* self, const char* id) {
    void* found = nullptr;
    auto& provider = static_cast<T&>(plugin(self));
    (void)guarded("query", [&] { found = kDescription.provides.find(provider, id); }).ok();
    return found;
  }
  /// Copies what fits into `capacity` bytes, the NUL included.
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

/// The constant that is exported.
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

/// Defines the one exported symbol of a plugin's file. Stands once in a file, outside of any
/// function. The second argument is a braced PluginDescription<Class>:
///
///     ATOLL_PLUGIN(Hello, {.name = "examples/hello", .version = "1.0.0", .license = "Apache-2.0",
///                          .help = "Says hello.", .options = kOptions, .check = &check_options});
///
/// The symbol is a constant: the kernel reads all of it before any code of the file runs.
#define ATOLL_PLUGIN(Class, ...)                                                                        \
  namespace {                                                                                           \
  constexpr ::atl::PluginDescription<Class> atoll_plugin_description __VA_ARGS__;                       \
  }                                                                                                     \
  extern "C" __attribute__((visibility("default"))) constinit const atoll_plugin_v1_t atoll_plugin_v1 = \
      ::atl::plugin_detail::describe<Class, atoll_plugin_description>()
