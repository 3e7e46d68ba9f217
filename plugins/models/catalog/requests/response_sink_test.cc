// What every sink owes, by those that the catalog puts before a request's own.
#include "atoll/testing/conformance/response_sink.h"

#include "models/catalog/requests/reshape.h"
#include "models/catalog/testing/admission_bench.h"

namespace atl::models {
namespace {

using test::RecordedSink;

/// A model whose output is reshaped.
class Reshaped final : public RecordedSink {
 public:
  explicit Reshaped(std::span<char> place) : RecordedSink(place) {
    TensorSpec& output = info_.outputs.emplace_back();
    output.name = "OUTPUT0";
    output.datatype = DataType::kUint8;
    output.dims = {-1, 1};
    output.reshape = {-1};
    output.has_reshape = true;
    interpose_output_reshape(made.request(), info_);
    given();
  }
  std::vector<std::string> problems() override {
    std::vector<std::string> all = RecordedSink::problems();
    for (const test::ReceivedResponse& response : made.responses()) {
      for (const test::ReceivedOutput& output : response.outputs) {
        if (output.name == "OUTPUT0" && output.shape.size() != 2)
          all.emplace_back("an output is not reshaped");
      }
    }
    return all;
  }

 private:
  ModelInfo info_;
};

/// A request that was admitted, and whose backend leaves answering to the suite.
class Admitted final : public RecordedSink {
 public:
  explicit Admitted(std::span<char> place) : RecordedSink(place) {
    bench_.publish("limits", admission_);
    bench_.bench.put("sinks", R"(backend: "fake"
      input { name: "INPUT0" data_type: TYPE_FP32 dims: 1 }
      output { name: "OUTPUT0" data_type: TYPE_UINT8 dims: -1 }
      output { name: "PLACED" data_type: TYPE_UINT8 dims: 8 })");
    EXPECT_EQ(bench_.bench.load_one("sinks").text(), "OK");
    bench_.bench.backend.behavior.answer_later = true;
    made.add_input<float>("INPUT0", DataType::kFp32, {1}, {1});
    bench_.held.push_back(bench_.bench.catalog().acquire("sinks", 1).value());
    EXPECT_EQ(made.infer(*bench_.held.back().get()).text(), "OK");
  }
  std::vector<std::string> problems() override {
    std::vector<std::string> all = RecordedSink::problems();
    if (admission_.tickets_ended.size() != 1) all.emplace_back("admission is not told of the end once");
    return all;
  }

 private:
  FakeAdmission admission_;
  AdmissionBench bench_;
};

template <class Sink>
std::shared_ptr<test::SinkUnderTest> make(std::span<char> place) {
  return std::make_shared<Sink>(place);
}

}  // namespace
}  // namespace atl::models

namespace atl::test {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Catalog, ResponseSinkConformance,
    ::testing::Values(ResponseSinkProvider{"reshape", models::make<models::Reshaped>, 100, {}},
                      ResponseSinkProvider{"admitted", models::make<models::Admitted>, 20, {}}));

}  // namespace
}  // namespace atl::test
