#include "atoll/runtime/manifest_control.h"

#include <algorithm>
#include <utility>

#include "atoll/core/guarded.h"
#include "atoll/core/moved_option.h"
#include "atoll/runtime/option_table.h"
#include "atoll/runtime/reload_counts.h"
#include "atoll/runtime/value_text.h"

namespace atl::runtime {
namespace {

Status inside_a_program() {
  return Status(Code::kUnimplemented, "a server inside a program reads its manifest once");
}

std::vector<OptionDifference> option_differences(const DescribedInstance& before,
                                                 const DescribedInstance& after) {
  std::vector<OptionDifference> differences;
  if (before.shown.plugin != after.shown.plugin) return differences;
  for (const OptionState& option : after.shown.options) {
    const auto was = before.values.find(option.key);
    if (was != before.values.end() && was->second == after.values.find(option.key)->second) continue;
    const std::string was_text =
        was == before.values.end() || option.is_secret ? std::string() : value_text(was->second);
    differences.push_back({option.key, was_text, option.value, option.is_secret});
  }
  return differences;
}

const DescribedInstance* find(std::span<const DescribedInstance> instances, const std::string& name) {
  const auto found = std::find_if(instances.begin(), instances.end(),
                                  [&](const auto& one) { return one.shown.instance == name; });
  return found == instances.end() ? nullptr : &*found;
}

}  // namespace

DescribedInstance describe_instance(std::string_view instance, std::string_view plugin,
                                    std::span<const atoll_option_v1> table, const OptionValues& values) {
  DescribedInstance described{{std::string(instance), std::string(plugin), {}}, values.all()};
  for (const atoll_option_v1& row : table) {
    const auto value = described.values.find(row.key);
    if ((row.flags & ATOLL_OPTION_MOVED) != 0 || value == described.values.end()) continue;
    OptionState option{row.key,       std::string(option_type_name(row.type)), {}, {}, row.help, false,
                       is_secret(row)};
    const bool is_required = (row.flags & ATOLL_OPTION_REQUIRED) != 0;
    const TypedValue preset = default_value(row);
    option.is_default = !is_required && value->second == preset;
    if (!option.is_secret) {
      option.value = value_text(value->second);
      if (!is_required) option.default_value = value_text(preset);
    }
    described.shown.options.push_back(std::move(option));
  }
  return described;
}

std::vector<InstanceDifference> instance_differences(std::span<const DescribedInstance> running,
                                                     std::span<const DescribedInstance> planned,
                                                     const std::map<std::string, std::string>& why) {
  using Kind = InstanceDifference::Kind;
  std::vector<InstanceDifference> all;
  for (const DescribedInstance& after : planned) {
    const std::string& reason = why.at(after.shown.instance);
    InstanceDifference one{after.shown.instance, after.shown.plugin, Kind::kAdded, {}, {}};
    if (reason != ReloadChanges::kNew) {
      if (const auto* before = find(running, one.instance)) one.options = option_differences(*before, after);
      if (reason.empty() && one.options.empty()) continue;
      one.kind = reason.empty() ? Kind::kChanged : Kind::kReplaced;
      one.why = reason;
    }
    all.push_back(std::move(one));
  }
  for (const DescribedInstance& before : running) {
    if (find(planned, before.shown.instance) == nullptr)
      all.push_back({before.shown.instance, before.shown.plugin, Kind::kRemoved, {}, {}});
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.instance < b.instance; });
  return all;
}

void ManifestControl::serve(Compare compare, std::function<void()> apply) {
  compare_ = std::move(compare);
  std::lock_guard lock(mutex_);
  apply_ = std::move(apply);
}

void ManifestControl::set_running(uint64_t generation, std::vector<DescribedInstance> instances) {
  auto running = std::make_shared<RunningManifest>();
  running->generation = generation;
  for (const DescribedInstance& one : instances) running->instances.push_back(one.shown);
  described_ = std::move(instances);
  std::lock_guard lock(mutex_);
  running_ = std::move(running);
}

std::shared_ptr<const RunningManifest> ManifestControl::running() const noexcept {
  std::lock_guard lock(mutex_);
  return running_;
}

void ManifestControl::compare(std::optional<std::string> text, Compared done) noexcept {
  loop_.post(make_task([this, text = std::move(text), done = std::move(done)] {
    done(guarded("comparing a manifest", [&]() -> Result<ManifestDifference> {
      if (!compare_) return inside_a_program();
      return compare_(text ? &*text : nullptr);
    }));
  }));
}

Status ManifestControl::apply() noexcept {
  std::lock_guard lock(mutex_);
  if (!apply_) return inside_a_program();
  apply_();
  return {};
}

}  // namespace atl::runtime
