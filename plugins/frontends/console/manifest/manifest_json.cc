#include "frontends/console/manifest/manifest_json.h"

#include <iterator>
#include <string_view>
#include <vector>

#include "atoll/lib/json_writer.h"

namespace atl::frontends::console {
namespace {

void write_option(CheckedWriter& json, const OptionState& option) {
  write_object(json, [&] {
    write_member(json, "key", option.key);
    write_member(json, "type", option.type);
    write_member(json, "value", option.value);
    write_member(json, "default", option.default_value);
    write_member(json, "is_default", option.is_default);
    write_member(json, "secret", option.is_secret);
    write_member(json, "help", option.help);
  });
}

void write_difference(CheckedWriter& json, const InstanceDifference& one) {
  constexpr std::string_view kKinds[] = {"added", "removed", "replaced", "changed"};
  const auto kind = static_cast<size_t>(one.kind);
  write_object(json, [&] {
    write_member(json, "name", one.instance);
    write_member(json, "plugin", one.plugin);
    write_member(json, "change", kind < std::size(kKinds) ? kKinds[kind] : std::string_view("unknown"));
    write_member(json, "why", one.why);
    write_array(json, "options", one.options, [&](const OptionDifference& option) {
      write_object(json, [&] {
        write_member(json, "key", option.key);
        write_member(json, "before", option.before);
        write_member(json, "after", option.after);
        write_member(json, "secret", option.is_secret);
      });
    });
  });
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0, end = 0; end != std::string::npos; at = end + 1) {
    end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
  }
  return lines;
}

}  // namespace

std::string options_json(const RunningManifest& running, const ProcessStart& start) {
  return object_json([&](CheckedWriter& json) {
    write_member(json, "run", start.run);
    write_member(json, "generation", running.generation);
    write_array(json, "instances", running.instances, [&](const InstanceOptions& instance) {
      write_object(json, [&] {
        write_member(json, "name", instance.instance);
        write_member(json, "plugin", instance.plugin);
        write_array(json, "options", instance.options,
                    [&](const OptionState& option) { write_option(json, option); });
      });
    });
  });
}

bool is_problem_of_manifest(const Status& status) noexcept {
  return status.code() == Code::kInvalidArgument || status.code() == Code::kFailedPrecondition ||
         status.code() == Code::kNotFound;
}

std::string difference_json(const Result<ManifestDifference>& found, uint64_t generation,
                            const ProcessStart& start) {
  static const ManifestDifference kNone;
  const ManifestDifference& difference = found.ok() ? found.value() : kNone;
  const auto text = [](CheckedWriter& json) {
    return [&json](const std::string& one) { write_text(json, one); };
  };
  return object_json([&](CheckedWriter& json) {
    write_member(json, "run", start.run);
    write_member(json, "generation", found.ok() ? difference.generation : generation);
    write_array(json, "problems", found.ok() ? std::vector<std::string>() : lines_of(found.status().text()),
                text(json));
    write_member(json, "own", difference.has_own_changes);
    write_array(json, "unopened", difference.unopened, text(json));
    write_array(json, "instances", difference.instances,
                [&](const InstanceDifference& one) { write_difference(json, one); });
  });
}

std::string applied_json(uint64_t generation, uint64_t since, const ProcessStart& start) {
  return object_json([&](CheckedWriter& json) {
    write_member(json, "run", start.run);
    write_member(json, "generation", generation);
    write_member(json, "since", since);
  });
}

}  // namespace atl::frontends::console
