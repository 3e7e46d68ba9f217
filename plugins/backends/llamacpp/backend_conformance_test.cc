#include "atoll/testing/conformance/backend.h"
#include "backends/llamacpp/testing/backend_fixture.h"

namespace atl::test {
namespace {

using llamacpp::test::add_tiny;
using llamacpp::test::completed;
using llamacpp::test::source_of;

/// The folder and a backend that completes configurations, for the life of the process.
struct Assembly {
  TemporaryDirectory models;
  FakeHost host{"completes", FakeHost::Threads::kReal};
  std::shared_ptr<llamacpp::LlamaBackend> backend = llamacpp::test::make_backend(host);
};

Assembly& assembly() {
  static Assembly all;
  return all;
}

BackendCase generates() {
  BackendCase one;
  one.name = "generates";
  one.source = completed(*assembly().backend, source_of(add_tiny(assembly().models.path(), "generates"), ""));
  const auto add = [](TestRequest& request, const std::string& prompt, const std::string& sampling) {
    request.add_bytes_input("text_input", {1}, {prompt});
    request.add_bytes_input("sampling_parameters", {1}, {sampling});
    for (const char* name : {"text_output", "finish_reason", "num_output_tokens", "num_input_tokens"})
      request.add_output(name);
  };
  one.fill = [add](TestRequest& request, uint64_t n) {
    add(request, cat("prompt ", n), R"({"temperature":0,"max_tokens":5,"ignore_eos":true})");
  };
  one.fill_bad = [add](TestRequest& request, uint64_t) { add(request, "x", R"({"temperature":-1})"); };
  one.right = [](const ReceivedResponse& response, uint64_t n) {
    const ReceivedOutput* const text = response.find("text_output");
    const ReceivedOutput* const tokens = response.find("num_output_tokens");
    if (text == nullptr || tokens == nullptr) return ::testing::AssertionFailure() << "an output is missing";
    if (tokens->bytes != bytes_of(std::vector<uint32_t>{5}))
      return ::testing::AssertionFailure() << "other tokens";
    if (text->bytes.find(cat("prompt ", n)) != 4)
      return ::testing::AssertionFailure() << "without the prompt";
    return ::testing::AssertionSuccess();
  };
  return one;
}

BackendCase embeds() {
  BackendCase one;
  one.name = "embeds";
  one.source =
      completed(*assembly().backend,
                source_of(add_tiny(assembly().models.path(), "embeds"),
                          "max_batch_size: 4 parameters { key: 'pooling' value { string_value: 'mean' } }"));
  one.max_batch_size = 4;
  one.fill = [](TestRequest& request, uint64_t n) {
    request.add_bytes_input("text_input", {1, 1}, {cat("text ", n)});
  };
  one.fill_bad = [](TestRequest& request, uint64_t) {
    request.add_bytes_input("text_input", {1, 1}, {std::string(5000, 'x')});
  };
  one.right = [](const ReceivedResponse& response, uint64_t) {
    const ReceivedOutput* const vector = response.find("embedding");
    if (vector == nullptr || vector->bytes.size() != llamacpp::test::kTinyWidth * sizeof(float))
      return ::testing::AssertionFailure() << "no embedding";
    return ::testing::AssertionSuccess();
  };
  return one;
}

BackendProvider llama_backend() {
  BackendProvider provider;
  provider.name = "llamacpp";
  provider.make = [](FakeHost& host) { return llamacpp::test::make_backend(host); };
  provider.cases = {generates(), embeds()};
  return provider;
}

INSTANTIATE_TEST_SUITE_P(LlamaCpp, BackendConformance, ::testing::Values(llama_backend()));

}  // namespace
}  // namespace atl::test
