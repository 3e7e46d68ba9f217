/// How a C++ author writes a plugin: a class and one line.
///
///     class Hello final : public atl::Plugin {
///      public:
///       explicit Hello(atl::Host& host) : host_(host) {}
///       atl::Status start() noexcept override { host_.log().info("hello"); return {}; }
///      private:
///       atl::Host& host_;
///     };
///     ATOLL_PLUGIN(Hello, {.name = "examples/hello", .version = "1.0.0", .license = "Apache-2.0", .help =
///     "Says hello."});
///
/// All functions run on the control thread, one at a time, and should return within milliseconds; long work
/// goes to host.workers(). A constructor or function that throws is reported as a failure of that step,
/// naming the exception.
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "atoll/abi/plugin.h"
#include "atoll/host.h"
#include "atoll/option_table.h"
#include "atoll/status.h"

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
  /// The implementation of a provided interface, or null. Use provide() below.
  virtual void* query(std::string_view /*interface_id*/) { return nullptr; }
  /// What is still held, for a drain that overran: "2 requests of resnet50".
  virtual std::string holding() { return {}; }
};

/// Returns `self` as Interface if `id` is its id: `return atl::provide<Backend>(this, id);`
template <class Interface>
void* provide(Interface* self, std::string_view id) noexcept {
  return id == Interface::kInterfaceId ? static_cast<void*>(self) : nullptr;
}

/// What ATOLL_PLUGIN takes; the tables must be constants of static storage.
struct PluginDescription {
  const char* name;
  const char* version;
  const char* license;
  const char* help;
  uint32_t flags = 0;
  std::span<const atoll_provided_v1> provides = {};
  std::span<const atoll_need_v1> needs = {};
  std::span<const atoll_option_v1> options = {};
};

namespace plugin_detail {

/// Runs a step; what it throws becomes an INTERNAL failure.
template <class Step>
Status guarded(const char* what, Step&& step) noexcept {
  try {
    return step();
  } catch (const std::exception& error) {
    return internal_error(what, " threw: ", error.what());
  } catch (...) {
    return internal_error(what, " threw something that is not a std::exception");
  }
}

template <class T>
struct Shims {
  static atoll_status* create(atoll_host* raw, void** self) {
    auto& host = *reinterpret_cast<Host*>(raw);
    return guarded("create",
                   [&]() -> Status {
                     auto plugin = std::make_unique<T>(host);
                     ATOLL_RETURN_IF_ERROR(plugin->init());
                     *self = static_cast<Plugin*>(plugin.release());
                     return {};
                   })
        .release();
  }
  static Plugin& plugin(void* self) { return *static_cast<Plugin*>(self); }
  static atoll_status* start(void* self) {
    return guarded("start", [&] { return plugin(self).start(); }).release();
  }
  static void drain(void* self, int64_t deadline_ns) {
    (void)guarded("drain", [&]() -> Status { return plugin(self).drain(deadline_ns), Status(); }).ok();
  }
  static void stop(void* self) {
    (void)guarded("stop", [&]() -> Status { return plugin(self).stop(), Status(); }).ok();
  }
  static void destroy(void* self) { delete &plugin(self); }
  static void* query(void* self, const char* id) {
    void* found = nullptr;
    (void)guarded("query", [&]() -> Status { return found = plugin(self).query(id), Status(); }).ok();
    return found;
  }
  static uint32_t holding(void* self, char* text, uint32_t capacity) {
    std::string held;
    (void)guarded("holding", [&]() -> Status { return held = plugin(self).holding(), Status(); }).ok();
    if (capacity == 0) return 0;
    auto size = static_cast<uint32_t>(held.size() < capacity ? held.size() : capacity - 1);
    std::memcpy(text, held.data(), size);
    text[size] = '\0';
    return size;
  }
};

template <class T>
constexpr atoll_plugin_v1_t describe(const PluginDescription& d) {
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
          d.provides.data(),
          d.needs.data(),
          d.options.data(),
          static_cast<uint32_t>(d.provides.size()),
          static_cast<uint32_t>(d.needs.size()),
          static_cast<uint32_t>(d.options.size()),
          0,
          &Shims<T>::create,
          &Shims<T>::start,
          &Shims<T>::drain,
          &Shims<T>::stop,
          &Shims<T>::destroy,
          &Shims<T>::query,
          &Shims<T>::holding};
}

}  // namespace plugin_detail
}  // namespace atl

/// Defines the one exported symbol. The second argument is a braced PluginDescription.
#define ATOLL_PLUGIN(Class, ...)                                                                        \
  extern "C" __attribute__((visibility("default"))) constinit const atoll_plugin_v1_t atoll_plugin_v1 = \
      ::atl::plugin_detail::describe<Class>(::atl::PluginDescription __VA_ARGS__)
