#include "demo.h"

#include <string_view>

#include "atoll/core/text.h"
#include "onnx_writer.h"

namespace atl::serve {
namespace {

constexpr int kPixels = 64, kHidden = 32, kLabels = 10;

#include "demo_digits.inc"

static_assert(std::size(kHiddenWeights) == kPixels * kHidden && std::size(kHiddenBias) == kHidden &&
              std::size(kOutputWeights) == kHidden * kLabels && std::size(kOutputBias) == kLabels);

}  // namespace

std::span<const DemoDigit> demo_digits() noexcept { return kDigits; }

std::string demo_model() {
  OnnxGraph graph("digits");
  graph.add_weights("hidden_weights", {kPixels, kHidden}, kHiddenWeights, kHiddenScale);
  graph.add_weights("hidden_bias", {kHidden}, kHiddenBias, kHiddenBiasScale);
  graph.add_weights("output_weights", {kHidden, kLabels}, kOutputWeights, kOutputScale);
  graph.add_weights("output_bias", {kLabels}, kOutputBias, kOutputBiasScale);
  graph.add_node("Gemm", {"image", "hidden_weights", "hidden_bias"}, "hidden_sum");
  graph.add_node("Relu", {"hidden_sum"}, "hidden");
  graph.add_node("Gemm", {"hidden", "output_weights", "output_bias"}, "scores");
  graph.add_node("Softmax", {"scores"}, "probabilities", {{"axis", 1}});
  graph.add_node("ArgMax", {"probabilities"}, "label", {{"axis", 1}, {"keepdims", 1}});
  graph.add_input("image", OnnxType::kFloat, kPixels);
  graph.add_output("probabilities", OnnxType::kFloat, kLabels);
  graph.add_output("label", OnnxType::kInt64, 1);
  return graph.file();
}

std::string demo_request(const DemoDigit& digit) {
  std::string data;
  for (const int8_t pixel : digit.pixels) data += cat(data.empty() ? "" : ",", static_cast<int>(pixel));
  return cat(R"({"inputs":[{"name":"image","shape":[1,64],"datatype":"FP32","data":[)", data,
             R"(]}],"outputs":[{"name":"label"}]})");
}

std::string demo_drawing(const DemoDigit& digit) {
  constexpr std::string_view kInks[] = {"  ", "..", "++", "##"};
  std::string out;
  for (int at = 0; at < kPixels; ++at) {
    const int ink = digit.pixels[at];
    out += kInks[ink == 0 ? 0 : ink < 6 ? 1 : ink < 12 ? 2 : 3];
    if (at % 8 == 7) out.resize(out.find_last_not_of(' ') + 1), out += '\n';
  }
  return out;
}

}  // namespace atl::serve
