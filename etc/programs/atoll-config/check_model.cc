#include "check_model.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "advice.h"
#include "configs/pbtxt/checks/check_values.h"
#include "configs/pbtxt/checks/findings.h"
#include "configs/pbtxt/checks/validate.h"
#include "configs/pbtxt/derive.h"
#include "configs/pbtxt/instance_groups.h"
#include "configs/pbtxt/normalise.h"
#include "configs/pbtxt/parse_text.h"
#include "configs/pbtxt/pbtxt_model_configs.h"
#include "configs/pbtxt/versions.h"
#include "model_files.h"

namespace atl::config {
namespace {

using inference::ModelConfig;
using pbtxt::Findings;

constexpr size_t kTextErrorsMax = 1000;

class ModelCheck {
 public:
  ModelCheck(const RepositoryModel& model, const CheckOptions& options) : model_(model), options_(options) {
    report_.name = model.entry.name;
    report_.path = model.entry.path;
    report_.config_path = model.config_path;
  }

  ModelReport run() && {
    for (const std::string& ignored : model_.ignored) report(Severity::kWarning, {}, "", ignored);
    bool given = !model_.config_path.empty();
    if (!given && options_.strict) {
      report(Severity::kError, {}, "",
             cat("model configuration is not provided for model '", model_.entry.name, "'"));
    } else if (!given || read()) {
      check();
    }
    std::stable_sort(report_.problems.begin(), report_.problems.end(), in_order);
    report_.source = std::make_shared<const pbtxt::SourceMap>(std::move(reading_.source));
    return std::move(report_);
  }

 private:
  void report(Severity severity, pbtxt::SourceMap::Place place, std::string field, std::string text) {
    const std::string& file = model_.config_path.empty() ? model_.entry.path : model_.config_path;
    report_.problems.push_back({severity, file, place.line, place.column, std::move(field), std::move(text)});
  }
  void report_at(Severity severity, const std::string& field, std::string text) {
    report(severity, reading_.source.find(field), field, std::move(text));
  }
  void report(Severity severity, const Findings& findings) {
    for (const auto& finding : findings.list()) {
      report(severity, finding.place, finding.field, std::string(finding.status.message()));
    }
    if (findings.count() > findings.list().size()) {
      report(severity, {}, "", cat("and ", findings.count() - findings.list().size(), " more of this kind"));
    }
  }
  bool has_errors() const { return count(report_, Severity::kError) != 0; }

  /// \returns whether the text holds a configuration, if perhaps a wrong one.
  bool read() {
    reading_ = pbtxt::read_text(model_.config_path, model_.config_text, pbtxt::UnknownFields::kRefuse,
                                kTextErrorsMax);
    for (const pbtxt::TextError& error : reading_.errors) {
      report(Severity::kError, {error.line + 1, error.column + 1}, error.field, error.reason);
    }
    return reading_.complete;
  }

  void check() {
    ModelConfig& config = reading_.config;
    Findings findings(reading_.source);
    bool readable = reading_.errors.empty();
    pbtxt::check_values(config, findings);
    Status derived = pbtxt::derive(model_, reading_.source, &config);
    pbtxt::normalise(&config);
    // Without a backend the rules would say a second time that there is none.
    ModelConfig named = config;
    if (!derived.ok()) {
      findings.add("backend", std::move(derived));
      named.set_backend("unknown");
    }
    report_.read = named;
    pbtxt::validate_model(named, findings);
    pbtxt::validate_instance_counts(named, settings_.instances_max, findings);
    report(Severity::kError, findings);
    check_tensors(named);
    check_warmup_inputs(named);
    check_groups(named);
    check_versions(named);
    advise(named, options_.siblings, [&](const std::string& field, const std::string& text) {
      report_at(Severity::kWarning, field, text);
    });
    if (readable && !has_errors()) ask_the_server();
    if (!has_errors()) report_.config = config;
  }

  /// Inputs, outputs and what refers to them; a backend may complete them first.
  void check_tensors(const ModelConfig& config) {
    Findings findings(reading_.source);
    pbtxt::validate_complete(config, findings);
    bool may_complete = !options_.strict && !config.has_ensemble_scheduling();
    bool lenient = may_complete && pbtxt::may_replace_tensors(config.backend());
    report(lenient ? Severity::kWarning : Severity::kError, findings);
    report_.may_be_completed = config.backend() == "unknown";
    if (!may_complete || config.backend() == "unknown") return;
    bool incomplete = config.input().empty() || config.output().empty() || lenient;
    report_.may_be_completed = incomplete;
    if (!incomplete) return;
    report(Severity::kNote, {}, "",
           cat("backend '", config.backend(),
               "' may complete max_batch_size, input, output and the scheduler from "
               "the model's files; it is not asked here"));
  }

  /// A warm-up sample is a request, so each of its inputs has to be one of the model's. Where the configuration has no input at
  /// all nothing is said, because the backend may complete them.
  void check_warmup_inputs(const ModelConfig& config) {
    if (config.input().empty()) return;
    const Severity severity = report_.may_be_completed ? Severity::kWarning : Severity::kError;
    for (int i = 0; i < config.model_warmup_size(); ++i) {
      for (const auto& [name, input] : config.model_warmup(i).inputs()) {
        const bool is_known = std::any_of(config.input().begin(), config.input().end(),
                                          [&](const auto& one) { return one.name() == name; });
        if (!is_known)
          report_at(severity, cat("model_warmup[", i, "].inputs"),
                    cat("warmup sample '", config.model_warmup(i).name(), "' has input '", name,
                        "', which is no input of the model"));
      }
    }
  }

  void check_groups(const ModelConfig& config) {
    if (config.platform() == "ensemble" || config.has_ensemble_scheduling()) return;
    Findings findings(reading_.source);
    pbtxt::validate_unsettled_groups(config, {settings_.instances_max, settings_.min_compute_capability},
                                     findings);
    report(Severity::kError, findings);
    const bool on_gpus = std::ranges::any_of(config.instance_group(), [](const auto& group) {
      return group.kind() == inference::ModelInstanceGroup::KIND_GPU || !group.gpus().empty();
    });
    if (on_gpus)
      report_at(Severity::kNote, "instance_group", "whether the server has these GPUs is not known here");
  }

  void check_versions(const ModelConfig& config) {
    std::vector<std::string> warnings;
    auto versions = pbtxt::select_versions(config, model_.versions, &warnings);
    for (std::string& warning : warnings) report_at(Severity::kWarning, "version_policy", std::move(warning));
    if (!versions.ok()) {
      report_at(Severity::kError, "version_policy", std::string(versions.status().message()));
      versions = std::vector<RepositoryVersion>();
    }
    for (const RepositoryVersion& version : *versions) report_.versions.push_back(version.version);
    check_model_files(config, model_, *versions, [&](const std::string& field, const std::string& text) {
      report_at(Severity::kError, field, text);
    });
  }

  /// What the server reads is what counts; it may know a rule that is checked nowhere above.
  void ask_the_server() {
    pbtxt::PbtxtModelConfigs configs(settings_, nullptr);
    auto bytes = configs.read(model_, options_.strict);
    if (bytes.ok()) return;
    // The rule that is left: the name of the model and of its directory.
    std::string_view message = bytes.status().message();
    report_at(Severity::kError, message.starts_with("unexpected directory name") ? "name" : "",
              std::string(message));
  }

  const RepositoryModel& model_;
  const CheckOptions& options_;
  const pbtxt::Settings settings_;
  pbtxt::TextReading reading_;
  ModelReport report_;
};

}  // namespace

ModelReport check_model(const RepositoryModel& model, const CheckOptions& options) {
  return ModelCheck(model, options).run();
}

}  // namespace atl::config
