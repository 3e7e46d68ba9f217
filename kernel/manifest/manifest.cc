#include "kernel/manifest/manifest.h"

#include <algorithm>

#include "atoll/core/file_check.h"
#include "atoll/core/option_table.h"
#include "atoll/lib/toml.h"
#include "atoll/runtime/descriptor_check.h"
#include "atoll/runtime/option_table.h"
#include "atoll/runtime/option_values.h"

namespace atl::kernel {
namespace {

using runtime::OptionSection;
using runtime::OptionValues;
using runtime::Problems;
using runtime::RawValue;

constexpr size_t kInstancesMax = 1024;

constexpr OptionTable kServerOptions{
    option_duration("drain_timeout", "30s")
        .range("0s", "24h")
        .help("How long an instance that is stopped or replaced may take to finish what it holds."),
    option_duration("trial_timeout", "60s")
        .range("100ms", "1h")
        .help("How long a reload's trial of new plugin files may take; after that the reload is refused."),
    option_string_list("plugin_path")
        .help("Folders searched for ROLE/NAME.so, before the folder of the installed plugins."),
    option_int("worker_threads", 4)
        .range(1, 64)
        .help("Threads for long control work, such as loading models."),
};

constexpr OptionTable kLogOptions{
    option_string("level", "info")
        .choices("trace|debug|info|warning|error")
        .help("Records below this level are not written."),
    option_string("format", "text")
        .choices("text|json")
        .help("One line of text or one JSON object a record."),
    option_string("time_format", "default")
        .choices("default|ISO8601")
        .help("Time of a record, ISO 8601 and UTC either way: with microseconds (default) or in whole "
              "seconds."),
    option_string("file").help(
        "File that records are appended to, opened again by a reload; empty: standard error."),
};

/// A table's members; none, and a problem, if it is no table.
RawValue::Table members_of(std::string_view name, const RawValue& value, Problems& problems) {
  if (value.table() != nullptr) return *value.table();
  problems.add(value.where, name, ": found ", found_text(value), ", expected table [", name, "]");
  return {};
}

std::unique_ptr<OptionValues> read_section(const RawValue& root, const OptionSection& section,
                                           Problems& problems) {
  const auto* member = root.find(section.name);
  auto options = member == nullptr ? RawValue::Table() : members_of(section.name, member->value, problems);
  return read_options(section.name, {}, options, section.options, {}, problems);
}

InstanceConfig read_instance(const RawValue::Member& member, Problems& problems) {
  InstanceConfig instance;
  instance.name = member.key;
  instance.where = member.where;
  const std::string title = cat("plugin.", member.key);
  auto members = members_of(title, member.value, problems);
  auto foreign = std::stable_partition(members.begin(), members.end(), [](const auto& option) {
    auto reserved = runtime::reserved_options();
    return std::any_of(reserved.begin(), reserved.end(), [&](const auto& r) { return option.key == r.key; });
  });
  instance.options.assign(std::move_iterator(foreign), std::move_iterator(members.end()));
  members.erase(foreign, members.end());
  auto values = read_options(title, member.where, members, runtime::reserved_options(), {}, problems);
  instance.enabled = values->get_bool("enabled");
  instance.file = values->get_string("file");
  instance.needs = values->get_map("needs");
  if (const auto* needs = member.value.find("needs")) instance.needs_where = needs->value.where;
  const auto* use = member.value.find("use");
  const auto* file = member.value.find("file");
  instance.plugin_where = file != nullptr  ? file->value.where
                          : use != nullptr ? use->value.where
                                           : member.where;
  instance.use = use == nullptr ? instance.name : values->get_string("use");
  const bool is_text = use == nullptr || std::holds_alternative<std::string>(use->value.data);
  if (is_text && (use == nullptr ? instance.file.empty() : !runtime::is_plugin_name(instance.use))) {
    instance.use.clear();
    problems.add(use == nullptr ? member.where : use->value.where, title, ".use: found ",
                 use == nullptr ? "nothing" : cat('\'', values->get_string("use"), '\''),
                 ", expected role/name (\"frontends/grpc\")");
  }
  return instance;
}

std::vector<InstanceConfig> read_instances(const RawValue& root, Problems& problems) {
  std::vector<InstanceConfig> instances;
  const auto* plugins = root.find("plugin");
  if (plugins == nullptr) return instances;
  auto members = members_of("plugin", plugins->value, problems);
  if (members.size() > kInstancesMax) {
    problems.add(plugins->where, "found ", members.size(), " plugin instances, expected at most ",
                 kInstancesMax);
    return instances;
  }
  for (const auto& member : members) {
    if (!runtime::is_name(member.key)) {
      problems.add(member.where, "found instance name '", member.key, "', expected [A-Za-z0-9_.-]{1,64}");
    } else if (member.value.table() == nullptr) {
      (void)members_of(cat("plugin.", member.key), member.value, problems);  // says that it is no table
    } else {
      instances.push_back(read_instance(member, problems));
    }
  }
  std::sort(instances.begin(), instances.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return instances;
}

Manifest read_tables(const RawValue& root, Problems& problems) {
  constexpr std::string_view kSections[] = {"atoll", "log", "plugin"};
  for (const auto& member : *root.table()) {
    if (std::find(std::begin(kSections), std::end(kSections), member.key) == std::end(kSections)) {
      problems.add(member.where, "unknown key '", member.key, "' at the top level",
                   runtime::suggestion(member.key, kSections));
    }
  }
  Manifest manifest;
  auto server = read_section(root, manifest_sections()[0], problems);
  manifest.server.drain_timeout_ns = server->get_duration_ns("drain_timeout");
  manifest.server.trial_timeout_ns = server->get_duration_ns("trial_timeout");
  manifest.server.plugin_path = server->get_strings("plugin_path");
  manifest.server.worker_threads = static_cast<uint32_t>(server->get_int("worker_threads"));
  auto log = read_section(root, manifest_sections()[1], problems);
  manifest.log.level = log->get_string("level");
  manifest.log.format = log->get_string("format") == "json" ? LogFormat::kJson : LogFormat::kText;
  manifest.log.time_format = log->get_string("time_format");
  manifest.log.file = log->get_string("file");
  if (Status file = manifest.log.file.empty() ? Status() : check_creatable_file(manifest.log.file);
      !file.ok())
    problems.add(root.find("log")->value.find("file")->value.where, "log.file: ", file.text());
  manifest.instances = read_instances(root, problems);
  return manifest;
}

}  // namespace

std::span<const OptionSection> manifest_sections() {
  static const OptionSection kSections[] = {
      {"atoll", "", kServerOptions},
      {"log", "", kLogOptions},
      {"plugin.NAME", "Keys of every instance; the others are its plugin's.", runtime::reserved_options()}};
  return kSections;
}

Result<Manifest> read_manifest(const std::string& path, const std::vector<Override>& overrides,
                               Problems& problems) {
  auto text = path.empty() ? Result<std::string>(std::string()) : lib::read_toml_file(path);
  if (!text.ok()) return std::move(text).status();
  return parse_manifest(text.value(), path, overrides, problems);
}

Result<Manifest> parse_manifest(std::string_view text, const std::string& name,
                                const std::vector<Override>& overrides, runtime::Problems& problems) {
  auto root = lib::parse_toml(text, name, problems);
  if (!root) return problems.status();
  apply_overrides(overrides, *root, problems);
  return read_tables(*root, problems);
}

}  // namespace atl::kernel
