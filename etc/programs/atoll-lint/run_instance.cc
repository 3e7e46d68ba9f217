#include "run_instance.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <filesystem>
#include <optional>
#include <span>
#include <thread>

#include "atoll/runtime/manifest_check.h"
#include "atoll/runtime/option_values.h"
#include "atoll/runtime/problems.h"
#include "atoll/runtime/typed_value.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/option_table.h"

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

void set_value(test::FakeOptions& options, const atoll_option_v1& row, const Options& values) {
  test::set_option(options, row, values);
  if (row.type != ATOLL_OPTION_STRING) return;
  options.set_string(row.key, without_port(row.key, values.get_string(row.key)));
}

/// A value that the row takes, as option tables write them; nothing: none was thought of.
std::optional<std::string> made_up(const atoll_option_v1& row) {
  if (row.choices != nullptr) return std::string(row.choices, std::strcspn(row.choices, "|"));
  static constexpr const char* kGuesses[] = {"false", "1", "1", "lint", "1s", "1", "[\"lint\"]", "{}"};
  for (const char* text : {kGuesses[row.type], row.minimum, row.maximum}) {
    auto value = text == nullptr ? std::nullopt : runtime::parse_typed_value(row.type, text);
    if (value && runtime::is_allowed(row, *value)) return text;
  }
  return std::nullopt;
}

/// The table with made-up values as defaults of what a manifest must give, and what these are:
/// paths = ["lint"]. \param texts  keeps the values
std::vector<atoll_option_v1> complete(std::span<const atoll_option_v1> table,
                                      const runtime::RawValue::Table& settings,
                                      std::deque<std::string>& texts, std::string& made_up_text) {
  std::vector<atoll_option_v1> rows(table.begin(), table.end());
  for (atoll_option_v1& row : rows) {
    bool given =
        std::any_of(settings.begin(), settings.end(), [&](const auto& s) { return s.key == row.key; });
    if (given || (row.flags & ATOLL_OPTION_REQUIRED) == 0) continue;
    row.flags &= ~ATOLL_OPTION_REQUIRED;
    const std::optional<std::string> value = made_up(row);
    row.default_value = value ? texts.emplace_back(*value).c_str() : nullptr;
    made_up_text += cat(made_up_text.empty() ? "" : ", ", row.key, " = ", value.value_or("nothing"));
  }
  return rows;
}

std::string required_needs(const atoll_plugin_v1_t& descriptor) {
  std::string text;
  for (const atoll_need_v1& need : std::span(descriptor.needs, descriptor.needs_count)) {
    if ((need.flags & (ATOLL_NEED_OPTIONAL | ATOLL_NEED_MANY)) == 0)
      text += cat(text.empty() ? "" : ", ", need.id);
  }
  return text;
}

/// A step of the plugin's that may fail for want of real options.
class Steps {
 public:
  Steps(std::string made_up_text, Report& report) : made_up_(std::move(made_up_text)), report_(report) {}
  /// Whether it succeeded.
  bool run(std::string_view name, atoll_status* result) { return run(name, Status::take(result)); }
  bool run(std::string_view name, const Status& status) {
    if (status.ok()) return true;
    if (made_up_.empty()) {
      report_.problem(cat(name, " failed: ", status.text()));
    } else {
      report_.note(cat(name, " failed with made-up options (", made_up_, "): ", status.text(),
                       "; give real ones with --set"));
    }
    return false;
  }

 private:
  std::string made_up_;
  Report& report_;
};

/// What the plugin itself says of the options, before anything is made of them.
Status check(const atoll_plugin_v1_t& descriptor, const runtime::RawValue::Table& settings,
             const runtime::OptionValues& values) {
  runtime::Problems problems;
  runtime::SourceLocation nowhere{"options", 0, 0};
  runtime::check_entry({"plugin", nowhere, settings, values, descriptor}, problems);
  return problems.status();
}

void query_all(const atoll_plugin_v1_t& descriptor, void* self, Report& report) {
  for (const atoll_provided_v1& row : std::span(descriptor.provides, descriptor.provides_count)) {
    report.step(cat("query for ", row.id));
    if (descriptor.query(self, row.id) == nullptr)
      report.problem(cat("query failed: it provides ", row.id, ", but gave no implementation"));
  }
}

void start_and_stop(const atoll_plugin_v1_t& descriptor, void* self, test::FakeHost& host, Steps& steps,
                    Report& report) {
  report.step("start");
  if (!steps.run("start", descriptor.start(self))) return;
  host.run_ready();
  host.gate().close();
  report.step("drain");
  descriptor.drain(self, host.clock().now_ns());
  host.run_ready();
  report.step("stop");
  descriptor.stop(self);
}

}  // namespace

void run_instance(const atoll_plugin_v1_t& descriptor, const runtime::RawValue::Table& settings,
                  Report& report) {
  std::string made_up_text;
  std::deque<std::string> texts;
  auto table = complete({descriptor.options, descriptor.options_count}, settings, texts, made_up_text);
  runtime::Problems problems;
  auto values = runtime::read_options("plugin", {}, settings, table, {}, problems);
  if (!problems.empty()) return report.problem(problems.status().message());
  test::FakeHost host("lint");
  for (const atoll_option_v1& row : table) set_value(host.options(), row, *values);
  // The thread sanitizer starts a helper of its own with the first thread: it is not the plugin's.
  std::thread([] {}).join();
  const size_t threads_before = threads();
  Steps steps(made_up_text, report);
  void* self = nullptr;
  report.step("check");
  if (!steps.run("check", check(descriptor, settings, *values))) return;
  if (threads() > threads_before) report.problem("check left a thread running, expected no side effects");
  report.step("create");
  auto* raw_host = reinterpret_cast<atoll_host*>(static_cast<Host*>(&host));
  if (!steps.run("create", descriptor.create(raw_host, &self))) return;
  if (self == nullptr) return report.problem("create succeeded without making an instance");
  query_all(descriptor, self, report);
  if (std::string needs = required_needs(descriptor); needs.empty()) {
    start_and_stop(descriptor, self, host, steps, report);
  } else {
    report.note(cat("was not started: it needs ", needs));
  }
  report.step("destroy");
  descriptor.destroy(self);
  host.run_ready();
  if (threads() > threads_before) {
    report.problem(cat("left ", threads() - threads_before, " threads running after destroy"));
  }
  if (host.gate().count() != 0) {
    report.problem(cat("left ", host.gate().count(), " passes of its gate after destroy"));
  }
}

}  // namespace atl::lint
