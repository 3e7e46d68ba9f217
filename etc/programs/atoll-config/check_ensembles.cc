#include "check_ensembles.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "advice.h"
#include "atoll/core/text.h"

namespace atl::config {
namespace {

using inference::ModelConfig;
using Step = inference::ModelEnsembling::Step;
using Names = std::map<std::string, std::string>;
using Models = std::map<std::string, const ModelReport*>;

/// What one model says of a tensor of the ensemble.
struct Claim {
  std::string model;
  inference::DataType type = inference::TYPE_INVALID;
  std::vector<int64_t> dims;
  bool batches = false;

  std::vector<int64_t> full_dims() const {
    std::vector<int64_t> full = dims;
    if (batches) full.insert(full.begin(), -1);
    return full;
  }
};

template <class Tensor>
Claim claim_of(const ModelConfig& config, const Tensor& tensor, bool as_clients_see_it) {
  Claim claim{config.name(), tensor.data_type(), {}, config.max_batch_size() > 0};
  const bool reshaped = !as_clients_see_it && tensor.has_reshape();
  const auto& dims = reshaped ? tensor.reshape().shape() : tensor.dims();
  claim.dims.assign(dims.begin(), dims.end());
  return claim;
}

bool agree(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](int64_t x, int64_t y) { return x == y || x == -1 || y == -1; });
}

std::string dims_text(const std::vector<int64_t>& dims) {
  std::string text = "[";
  for (int64_t dim : dims) text += cat(text.size() == 1 ? "" : ",", dim);
  return text + "]";
}

template <class Tensors>
std::vector<std::string> names_of(const Tensors& tensors) {
  std::vector<std::string> names;
  for (const auto& tensor : tensors) names.push_back(tensor.name());
  return names;
}

template <class Tensors>
auto find_tensor(const Tensors& tensors, const std::string& name) {
  return std::find_if(tensors.begin(), tensors.end(), [&](const auto& t) { return t.name() == name; });
}

class EnsembleCheck {
 public:
  EnsembleCheck(ModelReport& report, const Models& models)
      : report_(report), config_(*report.read), models_(models) {
    for (const auto& input : config_.input()) claims_.emplace(input.name(), claim_of(config_, input, false));
    for (const auto& output : config_.output())
      claims_.emplace(output.name(), claim_of(config_, output, false));
  }

  void run() {
    for (int i = 0; i < config_.ensemble_scheduling().step_size(); ++i) {
      const Step& step = config_.ensemble_scheduling().step(i);
      auto member = models_.find(step.model_name());
      if (member == models_.end() || !member->second->read) continue;
      field_ = cat("ensemble_scheduling.step[", i, "]");
      check_step(step, *member->second);
    }
  }

 private:
  template <class... Parts>
  void report(const Parts&... parts) {
    report_as(Severity::kError, cat(parts...));
  }
  void report_as(Severity severity, std::string text) {
    const pbtxt::SourceMap::Place place = report_.source->find(field_);
    report_.problems.push_back(
        {severity, report_.config_path, place.line, place.column, field_, std::move(text)});
  }

  /// A backend may add tensors to a model, but hardly ones that are called almost as one of its configuration.
  void report_near(const ModelReport& member, const char* kind, const std::string& name,
                   const std::vector<std::string>& known) {
    if (const std::string near = meant(name, known); !near.empty())
      report_as(Severity::kWarning,
                cat("in ensemble ", config_.name(), ", the configuration of model ", member.name, " has no ",
                    kind, " ", name, near, " Its backend would have to add it"));
  }
  void check_version(const Step& step, const ModelReport& member) {
    const std::vector<int64_t>& versions = member.versions;  // none: the member has an error of its own
    if (step.model_version() <= 0 || versions.empty() ||
        std::ranges::find(versions, step.model_version()) != versions.end())
      return;
    std::string served;
    for (const int64_t version : versions) served += cat(served.empty() ? "" : ", ", version);
    report("in ensemble ", config_.name(), ", version ", step.model_version(), " of model ", member.name,
           " is not served; served: ", served);
  }

  void check_step(const Step& step, const ModelReport& member) {
    const ModelConfig& config = *member.read;
    check_version(step, member);
    const int allowed = config.max_batch_size();
    if (allowed != 0 && allowed < config_.max_batch_size()) {
      report("ensemble ", config_.name(), " allows maximum batch size ", config_.max_batch_size(),
             ", but it contains model ", config.name(), " which only allows maximum batch size to be ",
             allowed);
    }
    // Tensors that a backend completes from the model's files are not known here.
    for (const auto& [name, tensor] : Names(step.input_map().begin(), step.input_map().end())) {
      auto input = find_tensor(config.input(), name);
      if (input != config.input().end()) {
        compare(tensor, claim_of(config, *input, true));
      } else if (!member.may_be_completed) {
        report("in ensemble ", config_.name(), ", ensemble tensor ", tensor,
               " is mapping to non-existing input ", name, " in model ", config.name(),
               meant(name, names_of(config.input())));
      } else {
        report_near(member, "input", name, names_of(config.input()));
      }
    }
    for (const auto& input : config.input()) {
      if (input.optional() || step.input_map().contains(input.name())) continue;
      report("in ensemble ", config_.name(), ", input ", input.name(), " in model ", config.name(),
             " is not mapped to any ensemble tensors");
    }
    for (const auto& [name, tensor] : Names(step.output_map().begin(), step.output_map().end())) {
      auto output = find_tensor(config.output(), name);
      if (output != config.output().end()) {
        compare(tensor, claim_of(config, *output, true));
      } else if (!member.may_be_completed) {
        report("in ensemble ", config_.name(), ", ensemble tensor ", tensor,
               " is mapped from non-existing output ", name, " in model ", config.name(),
               meant(name, names_of(config.output())));
      } else {
        report_near(member, "output", name, names_of(config.output()));
      }
    }
  }

  /// With who spoke of the tensor first, as the server does it.
  void compare(const std::string& tensor, const Claim& claim) {
    const auto [known, is_first] = claims_.emplace(tensor, claim);
    const Claim& first = known->second;
    if (is_first || first.type == inference::TYPE_INVALID || claim.type == inference::TYPE_INVALID) return;
    if (first.type != claim.type) {
      return contradiction(tensor, "data type", inference::DataType_Name(first.type), first,
                           inference::DataType_Name(claim.type), claim);
    }
    if (first.dims.empty() || claim.dims.empty() || agree(first.dims, claim.dims) ||
        agree(first.full_dims(), claim.full_dims()))
      return;
    contradiction(tensor, "shape", dims_text(first.dims), first, dims_text(claim.dims), claim);
  }
  void contradiction(const std::string& tensor, std::string_view what, const std::string& first_text,
                     const Claim& first, const std::string& text, const Claim& claim) {
    report("in ensemble ", config_.name(), ", ensemble tensor ", tensor, ": inconsistent ", what, ": ",
           first_text, " is inferred from model ", first.model, " while ", text, " is inferred from model ",
           claim.model);
  }

  ModelReport& report_;
  const ModelConfig& config_;
  const Models& models_;
  std::map<std::string, Claim> claims_;  // by ensemble tensor, of who spoke of it first
  std::string field_;
};

std::set<std::string> steps_of(const Models& models, const std::string& name) {
  std::set<std::string> steps;
  auto model = models.find(name);
  if (model == models.end() || !model->second->read) return steps;
  for (const Step& step : model->second->read->ensemble_scheduling().step()) steps.insert(step.model_name());
  return steps;
}

/// "a -> b -> a"; empty: the ensemble is in none of its steps.
std::string circle_through(const Models& models, const std::string& name) {
  std::map<std::string, std::string> from;  // each model that is reached, and the one it is a step of
  std::vector<std::string> open = {name};
  for (size_t next = 0; next < open.size(); ++next) {
    const std::string at = open[next];
    for (const std::string& step : steps_of(models, at)) {
      if (step == name) {
        std::string path = name;
        for (std::string back = at; back != name; back = from[back]) path = cat(back, " -> ", path);
        return cat(name, " -> ", path);
      }
      if (from.emplace(step, at).second) open.push_back(step);
    }
  }
  return "";
}

void check_circle(ModelReport& report, const Models& models) {
  const std::string path = circle_through(models, report.name);
  // Of an ensemble that is its own step the rules for one configuration tell.
  if (path.empty() || steps_of(models, report.name).contains(report.name)) return;
  const pbtxt::SourceMap::Place place = report.source->find("ensemble_scheduling");
  report.problems.push_back({Severity::kError, report.config_path, place.line, place.column,
                             "ensemble_scheduling", cat("circular dependency between ensembles: ", path)});
}

}  // namespace

void check_ensembles(std::vector<ModelReport>& reports, const std::vector<ModelReport>& others) {
  Models models;
  for (const ModelReport& report : others) models[report.name] = &report;
  for (const ModelReport& report : reports) models[report.name] = &report;
  for (ModelReport& report : reports) {
    if (!report.read || report.read->ensemble_scheduling().step().empty()) continue;
    const size_t before = report.problems.size();
    EnsembleCheck(report, models).run();
    check_circle(report, models);
    if (report.problems.size() == before) continue;
    report.config.reset();
    std::stable_sort(report.problems.begin(), report.problems.end(), in_order);
  }
}

}  // namespace atl::config
