#include <chrono>

#include "configs/pbtxt/testing/config_fixture.h"

namespace atl::pbtxt {
namespace {

std::string step(const std::string& inputs, const std::string& outputs, const std::string& model = "x") {
  auto map = [](const char* field, const std::string& tensors) {
    std::string text;
    for (char tensor : tensors) text += cat(" ", field, " { key: 'M", tensor, "' value: '", tensor, "' }");
    return text;
  };
  return cat(" step { model_name: '", model, "' model_version: -1", map("input_map", inputs),
             map("output_map", outputs), " }");
}

std::string ensemble(const std::string& inputs, const std::string& outputs, const std::string& steps,
                     const std::string& more = "") {
  std::string text = "platform: 'ensemble' " + more;
  for (char name : inputs) text += cat(" input { name: '", name, "' data_type: TYPE_FP32 dims: 1 }");
  for (char name : outputs) text += cat(" output { name: '", name, "' data_type: TYPE_FP32 dims: 1 }");
  return text + " ensemble_scheduling {" + steps + " }";
}

TEST(ValidateEnsemble, Static) {
  expect_messages(
      "",
      {{ensemble("i", "o", step("i", "o")), "OK"},
       {"backend: 'b' ensemble_scheduling { }",
        "ensemble scheduling cannot be set for model 'm' whose platform is not ensemble"},
       {ensemble("i", "o", step("i", "o"), "instance_group { }"),
        "instance group should not be specified for ensemble 'm'"},
       {ensemble("i", "o", step("i", "o"), "optimization { }"),
        "optimization should not be specified for ensemble 'm'"},
       {ensemble("i", "o", step("i", "o"), "model_warmup { }"),
        "model_warmup can not be specified for ensemble 'm'"},
       {ensemble("i", "o", ""), "must specify 'step' for ensemble 'm'"},
       {ensemble("i", "o", step("i", "t") + step("t", "o", "")),
        "must specify 'model_name' in step 1 of ensemble 'm'"},
       {ensemble("i", "o", step("", "o")), "must specify 'input_map' in step 0 of ensemble 'm'"},
       {ensemble("i", "o", step("i", "")), "must specify 'output_map' in step 0 of ensemble 'm'"},
       {ensemble("i", "o", step("i", "o", "m")), "circular dependency between ensembles: m -> ... -> m -> m"},
       {ensemble("i", "o",
                 " step { model_name: 'x' model_version: -2 input_map { key: 'a' value: 'i' } output_map { "
                 "key: 'b' value: 'o' } }"),
        "'model_version' in step 0 of ensemble 'm' is -2, expected a version or -1 for the latest"}});
}

TEST(ValidateEnsemble, Flow) {
  expect_messages(
      "", {{ensemble("i", "o", step("i", "ab") + step("a", "c") + step("bc", "o")), "OK"},
           {ensemble("i", "o", step("i", "o") + step("i", "o")),
            "ensemble tensor 'o' can appear in an output map only once for ensemble 'm' step 1"},
           {ensemble("i", "o", step("i", "oi")),
            "ensemble tensor 'i' can appear in an output map only once for ensemble 'm' step 0"},
           {ensemble("ij", "o", step("i", "o")), "ensemble input 'j' for ensemble m' is not used"},
           {ensemble("i", "op", step("i", "o")), "ensemble output 'p' for ensemble m' is not used"},
           {ensemble("i", "o", step("i", "a") + step("u", "o") + step("a", "b")),
            "output 'o' for ensemble 'm' is not written: at least one of its depending tensors, 'u', is not "
            "connected"},
           {ensemble("i", "o", step("i", "a") + step("au", "v") + step("v", "o")),
            "output 'o' for ensemble 'm' is not written: at least one of its depending tensors, 'u', is not "
            "connected"},
           {ensemble("i", "o", step("ib", "a") + step("a", "b") + step("b", "o")),
            "output 'o' for ensemble 'm' is not written: at least one of its depending tensors, 'b', is not "
            "connected; steps 0 and 1 wait for each other"},
           {ensemble("", "o", step("o", "o")),
            "output 'o' for ensemble 'm' is not written; step 0 waits for its own output"},
           {ensemble("i", "o", step("i", "o") + step("c", "a") + step("a", "b") + step("b", "c")),
            "ensemble tensor 'a' is unused in ensemble 'm'; steps 1, 2 and 3 wait for each other"},
           {ensemble("i", "o", step("i", "ot")), "ensemble tensor 't' is unused in ensemble 'm'"},
           {ensemble("i", "o", step("i", "o") + step("u", "v") + step("v", "w")),
            "ensemble tensor 'u' is unused in ensemble 'm'"}});
}

TEST(ValidateEnsemble, PlacesNameTheStep) {
  EXPECT_EQ(
      read_status("platform: 'ensemble'\ninput { name: 'i' }\noutput { name: 'o' }\n"
                  "ensemble_scheduling {\n" +
                  step("i", "o") + "\n" + step("i", "o") + "}")
          .text(),
      "/models/m/config.pbtxt:6:2: field 'ensemble_scheduling.step[1]': ensemble tensor 'o' can appear in "
      "an output map only once for ensemble 'm' step 1");
}

TEST(ValidateEnsemble, ManySteps) {
  auto chain = [](int count) {
    std::string text = "platform: 'ensemble' input { name: 't0' } output { name: 't" + std::to_string(count) +
                       "' } ensemble_scheduling { ";
    for (int i = 0; i < count; ++i) {
      text += cat("step { model_name: 'x' input_map { key: 'a' value: 't", i,
                  "' } output_map { key: 'b' value: 't", i + 1, "' } } ");
    }
    return text + "}";
  };
  EXPECT_EQ(read_message(chain(1000)), "OK");
  EXPECT_EQ(read_message(chain(10'000)), "ensemble 'm' has 10000 steps, expected at most 1000");
}

TEST(ValidateEnsemble, WideStepsTakeLinearTime) {
  std::string text = "platform: 'ensemble' ensemble_scheduling { step { model_name: 'x' ";
  for (int i = 0; i < 20'000; ++i) {
    text += cat("input_map { key: 'i", i, "' value: 'u", i, "' } output_map { key: 'o", i, "' value: 'v", i,
                "' } ");
  }
  auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(read_message(text + "} }"), "ensemble tensor 'u0' is unused in ensemble 'm'");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

}  // namespace
}  // namespace atl::pbtxt
