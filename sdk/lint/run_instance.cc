#include "run_instance.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <thread>

#include "atoll/runtime/option_values.h"
#include "atoll/runtime/problems.h"
#include "atoll/testing/fake_host.h"

namespace atl::lint {
namespace {

size_t threads() {
  std::error_code ignored;
  auto tasks = std::filesystem::directory_iterator("/proc/self/task", ignored);
  return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

/// Somebody else may listen on the default port of an `address`: the system chooses one.
std::string without_port(std::string_view key, std::string_view value) {
  size_t colon = value.rfind(':');
  if (key != "address" || colon == std::string_view::npos) return std::string(value);
  return cat(value.substr(0, colon), ":0");
}

void set_option(test::FakeOptions& options, const atoll_option_v1& row, const Options& values) {
  switch (row.type) {
    case ATOLL_OPTION_BOOL:
      options.set_bool(row.key, values.get_bool(row.key));
      break;
    case ATOLL_OPTION_INT:
      options.set_int(row.key, values.get_int(row.key));
      break;
    case ATOLL_OPTION_FLOAT:
      options.set_float(row.key, values.get_float(row.key));
      break;
    case ATOLL_OPTION_STRING:
      options.set_string(row.key, without_port(row.key, values.get_string(row.key)));
      break;
    case ATOLL_OPTION_DURATION:
      options.set_duration_ns(row.key, values.get_duration_ns(row.key));
      break;
    case ATOLL_OPTION_BYTES:
      options.set_bytes(row.key, values.get_bytes(row.key));
      break;
    case ATOLL_OPTION_STRING_LIST:
      options.set_strings(row.key, values.get_strings(row.key));
      break;
    case ATOLL_OPTION_STRING_MAP:
      options.set_map(row.key, values.get_map(row.key));
      break;
    default:
      break;  // the descriptor check has refused it
  }
}

bool set_defaults(test::FakeHost& host, std::span<const atoll_option_v1> table) {
  for (const atoll_option_v1& row : table) {
    if ((row.flags & ATOLL_OPTION_REQUIRED) != 0) return false;
  }
  runtime::Problems ignored;
  auto values = runtime::read_options("plugin.lint", {}, {}, table, {}, ignored);
  for (const atoll_option_v1& row : table) set_option(host.options(), row, *values);
  return true;
}

bool needs_a_service(const atoll_plugin_v1_t& descriptor) {
  std::span<const atoll_need_v1> needs(descriptor.needs, descriptor.needs_count);
  return std::any_of(needs.begin(), needs.end(), [](const atoll_need_v1& need) {
    return (need.flags & (ATOLL_NEED_OPTIONAL | ATOLL_NEED_MANY)) == 0;
  });
}

}  // namespace

void run_instance(const atoll_plugin_v1_t& descriptor, std::vector<std::string>& problems) {
  test::FakeHost host("lint");
  if (!set_defaults(host, {descriptor.options, descriptor.options_count})) return;
  // The thread sanitizer starts a helper of its own with the first thread: it is not the plugin's.
  std::thread([] {}).join();
  const size_t threads_before = threads();
  void* self = nullptr;
  auto* raw_host = reinterpret_cast<atoll_host*>(static_cast<Host*>(&host));
  if (Status created = Status::take(descriptor.create(raw_host, &self)); !created.ok()) {
    problems.push_back(cat("create failed with the default options: ", created.text()));
    return;
  }
  if (!needs_a_service(descriptor)) {
    if (Status started = Status::take(descriptor.start(self)); started.ok()) {
      host.run_ready();
      host.gate().close();
      descriptor.drain(self, host.clock().now_ns());
      host.run_ready();
      descriptor.stop(self);
    } else {
      problems.push_back(cat("start failed with the default options: ", started.text()));
    }
  }
  descriptor.destroy(self);
  host.run_ready();
  if (threads() > threads_before) {
    problems.push_back(cat("left ", threads() - threads_before, " threads running after destroy"));
  }
  if (host.gate().count() != 0) {
    problems.push_back(cat("left ", host.gate().count(), " passes of its gate after destroy"));
  }
}

}  // namespace atl::lint
