/// A backend to copy: the probabilities of logits, and the label of the most probable class.
#include "atoll/core/plugin.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "atoll/backend/parameters.h"
#include "atoll/backend/responder.h"

namespace {

using namespace atl;

/// What every instance of a model version reads.
struct SoftmaxConfig {
  const Clock& clock;
  double temperature = 1;
  std::vector<std::string> labels;  ///< one a class
};

class SoftmaxInstance final : public BackendInstance {
 public:
  SoftmaxInstance(const SoftmaxConfig& config, InferenceReporter* reporter)
      : config_(config), responder_(reporter) {}
  Status execute(const Batch& batch) noexcept override {
    responder_.answer_each(batch, config_.clock, [this](uint32_t i) { return answer(i); });
    return {};
  }

 private:
  Status answer(uint32_t i) {
    Request& request = responder_.request(i);
    Result<std::span<const float>> logits = backends::input_values<float>(request, "LOGITS");
    if (!logits.ok()) return std::move(logits).status();
    const std::span<const int64_t> shape = request.find_input("LOGITS")->shape;
    const size_t classes = config_.labels.size();
    if (shape.empty() || shape.back() != static_cast<int64_t>(classes)) {
      return invalid_argument("input 'LOGITS' has shape ", shape_text(shape), ", expected ", classes,
                              " as its last dimension");
    }
    std::vector<float> probabilities(logits->begin(), logits->end());
    std::vector<std::string> labels;
    for (size_t row = 0; row < probabilities.size(); row += classes) {
      labels.push_back(config_.labels[softmax(std::span(probabilities).subspan(row, classes))]);
    }
    std::vector<int64_t> label_shape(shape.begin(), shape.end());
    label_shape.back() = 1;
    for (const RequestedOutput& wanted : request.outputs) {
      if (wanted.name == "P") responder_.add_values<float>(i, wanted, shape, probabilities);
      if (wanted.name == "LABEL") responder_.add_texts(i, wanted, label_shape, labels);
    }
    return {};
  }

  /// In place. \returns the most probable class
  size_t softmax(std::span<float> row) const {
    const auto best = std::max_element(row.begin(), row.end()) - row.begin();
    const float largest = row[static_cast<size_t>(best)];
    float sum = 0;
    for (float& x : row) sum += x = static_cast<float>(std::exp((x - largest) / config_.temperature));
    for (float& x : row) x /= sum;
    return static_cast<size_t>(best);
  }

  const SoftmaxConfig& config_;
  backends::BatchResponder responder_;
};

class SoftmaxModel final : public BackendModel {
 public:
  explicit SoftmaxModel(SoftmaxConfig config) : config_(std::move(config)) {}
  Result<std::unique_ptr<BackendInstance>> create_instance(const InstanceSpec& spec) noexcept override {
    return std::make_unique<SoftmaxInstance>(config_, spec.reporter);
  }

 private:
  const SoftmaxConfig config_;
};

class Softmax final : public Plugin, public Backend {
 public:
  explicit Softmax(Host& host) : host_(host) {}
  BackendTraits traits() const noexcept override { return {{{InstanceKind::kCpu, 0, {}}}}; }
  Result<std::string> complete_config(const ModelSource& source) noexcept override { return source.config; }
  Result<std::unique_ptr<BackendModel>> load(const ModelSource& source) noexcept override {
    const double standard = host_.options().get_float("temperature");
    Result<double> temperature = backends::float_parameter(source.model, "temperature", standard, 1e-3, 1e3);
    if (!temperature.ok()) return std::move(temperature).status();
    SoftmaxConfig config{host_.clock(), *temperature, {}};
    const std::string path = source.version_directory + "/labels.txt";
    std::ifstream file(path);
    for (std::string label; std::getline(file, label);) config.labels.push_back(label);
    if (config.labels.empty()) return not_found("model '", source.model.name, "': no labels in '", path, "'");
    const TensorSpec* logits = source.model.find_input("LOGITS");
    if (logits == nullptr || logits->dims != std::vector{static_cast<int64_t>(config.labels.size())}) {
      return invalid_argument("model '", source.model.name, "': expected an input 'LOGITS' with dims [",
                              config.labels.size(), "], the number of labels in '", path, "'");
    }
    return std::make_unique<SoftmaxModel>(std::move(config));
  }

 private:
  Host& host_;
};

constexpr OptionTable kOptions{
    option_float("temperature", 1.0).range(0.001, 1000).help("Divides the logits of models that do not say."),
};

}  // namespace

ATOLL_PLUGIN(Softmax, {.name = "examples/softmax",
                       .version = "1.0.0",
                       .license = "Apache-2.0",
                       .help = "Runs models that turn logits into probabilities and a label.",
                       .provides = {provide<Backend>()},
                       .options = kOptions});
