#include "import/import_plan.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>
#include <system_error>

#include "atoll/core/text.h"
#include "atoll/core/utf8.h"
#include "atoll/lib/entry_name.h"

namespace atl::config {

namespace fs = std::filesystem;

Result<std::string> read_config_file(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error))
    return not_found(file.string(), ": ", error ? error.message() : "there is no such file");
  std::ifstream in(file, std::ios::binary);
  std::string text(kMostConfigBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad() || !in.is_open()) return unavailable(file.string(), ": it cannot be read");
  text.resize(static_cast<size_t>(in.gcount()));
  if (text.size() > kMostConfigBytes) return invalid_argument(file.string(), ": it has more than 16 MiB");
  return text;
}

Result<fs::path> model_base(const fs::path& config, const std::string& model, const std::string& base_path) {
  if (base_path.empty()) return invalid_argument("model '", model, "': base_path is missing");
  if (base_path.find("://") != std::string::npos)
    return invalid_argument("model '", model, "': base_path '", base_path,
                            "' is not a folder of this machine: copy it here first, and name the copy");
  std::error_code error;
  const fs::path base = fs::canonical(config.parent_path() / base_path, error);
  if (error || !fs::is_directory(base, error))
    return not_found("model '", model, "': base_path '", base_path, "': expected a folder, found ",
                     error ? error.message() : "something else");
  return base;
}

Result<std::map<int64_t, fs::path>> version_folders(const fs::path& base, const std::string& model,
                                                    ImportPlan& plan) {
  std::map<int64_t, fs::path> folders;
  std::error_code error;
  fs::directory_iterator entries(base, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    std::error_code ignored;
    if (!entries->is_directory(ignored)) continue;
    int64_t number = 0;
    const char* const end = name.data() + name.size();
    const auto [stop, wrong] = std::from_chars(name.data(), end, number);
    if (wrong != std::errc() || stop != end || number < 0) continue;
    if (number == 0) {
      plan.leave_out(model, "version 0", "versions begin with 1 here");
      continue;
    }
    if (!folders.emplace(number, entries->path()).second)
      return invalid_argument("model '", model, "': ", base.string(), " has version ", number, " twice");
  }
  if (error) return unavailable("model '", model, "': ", base.string(), ": ", error.message());
  return folders;
}

namespace {

/// The versions that the model's policy serves, of those that are there.
std::set<int64_t> served_versions(const ImportedModel& model) {
  if (model.choice.kind == VersionChoice::Kind::kSpecific) return model.choice.specific;
  std::set<int64_t> served;
  for (const ImportedVersion& version : model.versions) served.insert(version.number);
  if (model.choice.kind == VersionChoice::Kind::kLatest)
    while (served.size() > model.choice.latest) served.erase(served.begin());
  return served;
}

/// A letter or '_', then letters, digits, '_' and '-'.
bool is_label(std::string_view name) {
  const auto is_letter = [](unsigned char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; };
  return !name.empty() && (is_letter(static_cast<unsigned char>(name[0])) || name[0] == '_') &&
         std::ranges::all_of(name, [&](unsigned char c) {
           return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
         });
}

/// Takes labels out that would lead nowhere.
void leave_out_labels(ImportedModel& model, ImportPlan& plan) {
  const std::set<int64_t> served = served_versions(model);
  std::erase_if(model.labels, [&](const auto& label) {
    const bool has_name = is_label(label.first);
    if (has_name && served.contains(label.second)) return false;
    plan.leave_out(model.name, cat("version_labels: '", label.first, "'"),
                   has_name ? cat("version ", label.second, " is not served")
                            : "labels begin with a letter or '_' and have letters, digits, '_' and '-'");
    return true;
  });
}

}  // namespace

Status add_model(ImportedModel model, ImportPlan& plan) {
  if (model.name.empty() || leaves_directory(model.name) || model.name.front() == '.' ||
      !is_utf8(model.name) || model.name.size() > 255 ||
      std::ranges::any_of(model.name, [](unsigned char c) { return c < ' ' || c == 0x7F; }))
    return invalid_argument("model '", model.name, "': a folder cannot have this name");
  if (std::ranges::any_of(plan.models, [&](const ImportedModel& one) { return one.name == model.name; }))
    return invalid_argument("model '", model.name, "' is there twice");
  if (model.versions.empty())
    return invalid_argument("model '", model.name, "': ", model.base.string(),
                            " has no version: expected a folder such as ", (model.base / "1").string());
  const auto has = [&](int64_t number) {
    return std::ranges::any_of(model.versions,
                               [&](const ImportedVersion& one) { return one.number == number; });
  };
  std::erase_if(model.choice.specific, [&](int64_t number) {
    if (has(number)) return false;
    plan.leave_out(model.name, cat("model_version_policy: version ", number), "there is no such folder");
    return true;
  });
  if (model.choice.kind == VersionChoice::Kind::kSpecific && model.choice.specific.empty())
    return invalid_argument("model '", model.name,
                            "': none of the versions of its model_version_policy is there");
  leave_out_labels(model, plan);
  plan.models.push_back(std::move(model));
  return {};
}

}  // namespace atl::config
