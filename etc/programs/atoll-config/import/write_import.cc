#include "import/write_import.h"

#include <unistd.h>

#include <fstream>
#include <set>
#include <system_error>

#include "atoll/core/text.h"
#include "atoll/runtime/manifest_keys.h"

namespace atl::config {
namespace {

namespace fs = std::filesystem;
using runtime::toml_text;

/// As in the default manifest. The other servers have metrics on their port of HTTP.
constexpr uint16_t kMetricsPort = 8002;

std::string policy_text(const VersionChoice& choice) {
  if (choice.kind == VersionChoice::Kind::kAll) return "version_policy { all { } }\n";
  if (choice.kind == VersionChoice::Kind::kLatest)
    return cat("version_policy { latest { num_versions: ", choice.latest, " } }\n");
  std::string numbers;
  for (const int64_t version : choice.specific) numbers += cat(numbers.empty() ? "" : ", ", version);
  return cat("version_policy { specific { versions: [ ", numbers, " ] } }\n");
}

Status write_file(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return unavailable(path.string(), ": it cannot be written");
  return {};
}

Status write_model(const ImportedModel& model, const fs::path& repository, bool links) {
  std::error_code error;
  for (const ImportedVersion& version : model.versions) {
    const fs::path folder = repository / model.name / std::to_string(version.number);
    fs::create_directories(folder, error);
    for (const auto& [from, name] : version.files) {
      if (error) break;
      if (links) {
        fs::create_symlink(fs::canonical(from, error), folder / name, error);
      } else {
        fs::copy(from, folder / name, fs::copy_options::recursive, error);
      }
      if (error)
        return unavailable(from.string(), ": it cannot be ", links ? "linked" : "copied", ": ",
                           error.message());
    }
    if (error) return unavailable(folder.string(), ": it cannot be made: ", error.message());
  }
  return write_file(repository / model.name / "config.pbtxt", model.config + policy_text(model.choice));
}

/// Gone with this object, unless it is kept.
class PartFolder {
 public:
  explicit PartFolder(fs::path path) : path_(std::move(path)) {}
  PartFolder(const PartFolder&) = delete;
  PartFolder& operator=(const PartFolder&) = delete;
  ~PartFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const fs::path& path() const noexcept { return path_; }
  void keep() noexcept { path_.clear(); }

 private:
  fs::path path_;
};

struct Table {
  std::string name, plugin, settings;
};

std::string labels_setting(const ImportPlan& plan) {
  std::string labels;
  for (const ImportedModel& model : plan.models) {
    for (const auto& [label, version] : model.labels)
      labels += cat(labels.empty() ? "" : ",", " ", toml_text(cat(model.name, ".", label)), " = ", version);
  }
  return labels.empty() ? "" : cat("labels = {", labels, " }\n");
}

}  // namespace

std::string import_manifest(ImportPlan& plan, const fs::path& repository, const ImportOptions& options) {
  std::set<std::string> linked, backends;
  for (const ImportedModel& model : plan.models) {
    linked.insert(model.base.string());
    backends.insert(model.backend);
  }
  std::string paths = cat("paths = [", toml_text(repository.string()), "]\n");
  if (options.links) {
    std::string all;
    for (const std::string& base : linked) all += cat(all.empty() ? "" : ", ", toml_text(base));
    paths += cat("linked_paths = [", all, "]\n");
  }
  std::vector<Table> tables = {
      {"repository", "repositories/filesystem", paths},
      {"configs", "configs/pbtxt", ""},
      {"models", "models/catalog", ""},
      options.poll_seconds == 0
          ? Table{"control", "control/none", ""}
          : Table{"control", "control/poll", cat("interval = \"", options.poll_seconds, "s\"\n")},
      {"default", "schedulers/default", ""},
      {"dynamic", "schedulers/dynamic", ""},
      {"sequence_direct", "schedulers/sequence_direct", ""},
      {"sequence_oldest", "schedulers/sequence_oldest", ""},
      {"ensemble", "schedulers/ensemble", ""},
      {"host", "memory/host", ""}};
  for (const std::string& backend : backends) tables.push_back({backend, cat("backends/", backend), ""});
  if (const std::string labels = labels_setting(plan); !labels.empty())
    tables.push_back({"routing", "routing/weighted", labels});
  tables.push_back({"grpc", "frontends/grpc_nghttp2", cat("address = \"127.0.0.1:", plan.grpc_port, "\"\n")});
  tables.push_back({"http", "frontends/http", cat("address = \"127.0.0.1:", plan.http_port, "\"\n")});
  tables.push_back({"tfserving", "frontends/tfserving", ""});
  tables.push_back({"metrics", "frontends/metrics", cat("address = \"127.0.0.1:", kMetricsPort, "\"\n")});
  std::string text =
      "# Written by atoll-config import. All options: docs/manifest.md.\n"
      "# The gRPC address speaks the V2 protocol, not TensorFlow Serving's PredictionService.\n";
  for (const Table& table : tables) {
    std::error_code ignored;
    const bool is_there =
        options.plugins.empty() || fs::exists(options.plugins / (table.plugin + ".so"), ignored);
    std::string part =
        cat("[plugin.", table.name, "]\nuse = ", toml_text(table.plugin), "\n", table.settings);
    if (!is_there) {
      plan.leave_out("", table.plugin,
                     cat("this installation does not have it, so atoll.toml has it commented out; "
                         "etc/dev/build release ",
                         table.plugin, " builds it"));
      for (size_t at = 0; at < part.size() - 1; at = part.find('\n', at) + 1) part.insert(at, "# ");
    }
    text += "\n" + part;
  }
  return text;
}

Status write_import(ImportPlan& plan, const fs::path& out, const ImportOptions& options) {
  std::error_code error;
  const fs::path target = fs::weakly_canonical(fs::absolute(out), error);
  if (error) return unavailable(out.string(), ": ", error.message());
  if (fs::exists(target, error))
    return invalid_argument(out.string(), " is there already: name a folder that is to be made");
  const fs::path beside =
      target.parent_path() / cat(".", target.filename().string(), ".", ::getpid(), ".part");
  if (!fs::create_directories(beside / "models", error))
    return unavailable(beside.string(), ": it cannot be made: ", error.message());
  PartFolder part(beside);
  for (const ImportedModel& model : plan.models)
    ATOLL_RETURN_IF_ERROR(write_model(model, beside / "models", options.links));
  ATOLL_RETURN_IF_ERROR(write_file(beside / "atoll.toml", import_manifest(plan, target / "models", options)));
  fs::rename(beside, target, error);
  if (error) return unavailable(out.string(), ": it cannot be made: ", error.message());
  part.keep();
  if (options.links)
    plan.leave_out("", "new versions",
                   "links are of the versions that there are; import again when there are others");
  return {};
}

}  // namespace atl::config
