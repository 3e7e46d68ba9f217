// models.config of TensorFlow Serving.
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <string>
#include <utility>

#include "atoll/core/text.h"
#include "import/import_plan.h"
#include "serving_models.pb.h"

namespace atl::config {
namespace {

namespace fs = std::filesystem;
constexpr int kMostLevels = 32;

/// Keeps the first error, and tells of each field that is not known.
class Complaints final : public google::protobuf::io::ErrorCollector {
 public:
  explicit Complaints(ImportPlan& plan) : plan_(plan) {}
  virtual ~Complaints() = default;

  void AddError(int line, int column, const std::string& message) override {
    if (first_.empty()) first_ = cat(line + 1, ":", column + 1, ": ", message);
  }
  void AddWarning(int line, int, const std::string& message) override {
    // Message type "..." has no field named "logging_config".
    const size_t end = message.rfind('"'),
                 begin = end == std::string::npos || end == 0 ? end : message.rfind('"', end - 1);
    if (begin == std::string::npos || message.find("no field named") == std::string::npos) return;
    plan_.leave_out("", cat("line ", line + 1, ": ", message.substr(begin + 1, end - begin - 1)),
                    "there is no such setting here");
  }
  const std::string& first() const noexcept { return first_; }

 private:
  ImportPlan& plan_;
  std::string first_;
};

VersionChoice choice_of(const serving_models::VersionPolicy& policy) {
  VersionChoice choice;
  if (policy.has_all()) choice.kind = VersionChoice::Kind::kAll;
  if (policy.has_latest() && policy.latest().num_versions() > 0)
    choice.latest = policy.latest().num_versions();
  if (policy.has_specific()) {
    choice.kind = VersionChoice::Kind::kSpecific;
    choice.specific.insert(policy.specific().versions().begin(), policy.specific().versions().end());
  }
  return choice;
}

Status add(const serving_models::ServedModel& served, const fs::path& file, ImportPlan& plan) {
  ImportedModel model;
  model.name = served.name();
  if (!served.model_platform().empty() && served.model_platform() != "tensorflow")
    return invalid_argument("model '", model.name, "': model_platform is '", served.model_platform(),
                            "', expected 'tensorflow'");
  auto base = model_base(file, model.name, served.base_path());
  if (!base.ok()) return std::move(base).status();
  model.base = std::move(base).value();
  auto folders = version_folders(model.base, model.name, plan);
  if (!folders.ok()) return std::move(folders).status();
  for (const auto& [number, folder] : *folders) {
    std::error_code error;
    if (!fs::exists(folder / "saved_model.pb", error) && !fs::exists(folder / "saved_model.pbtxt", error))
      return invalid_argument("model '", model.name, "': ", folder.string(), " has no saved_model.pb");
    model.versions.push_back({number, {{folder, "model.savedmodel"}}});
  }
  model.backend = "tensorflow";
  model.config = "platform: \"tensorflow_savedmodel\"\n";
  model.choice = choice_of(served.model_version_policy());
  for (const auto& [label, version] : served.version_labels()) model.labels[label] = version;
  return add_model(std::move(model), plan);
}

}  // namespace

Result<ImportPlan> read_serving_models(const fs::path& file) {
  auto text = read_config_file(file);
  if (!text.ok()) return std::move(text).status();
  ImportPlan plan;
  plan.grpc_port = 8500;
  plan.http_port = 8501;
  Complaints complaints(plan);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&complaints);
  parser.AllowUnknownField(true);
  parser.SetRecursionLimit(kMostLevels);
  serving_models::ServerModels models;
  google::protobuf::io::ArrayInputStream in(text->data(), static_cast<int>(text->size()));
  if (!parser.Parse(&in, &models)) return invalid_argument(file.string(), ":", complaints.first());
  if (models.model_config_list().config().empty())
    return invalid_argument(file.string(),
                            ": it has no model: expected model_config_list { config { ... } }");
  for (const auto& served : models.model_config_list().config())
    ATOLL_RETURN_IF_ERROR(add(served, file, plan));
  return plan;
}

}  // namespace atl::config
