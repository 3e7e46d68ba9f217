// What every sink owes, by the contexts of calls with one answer and with many.
#include "atoll/testing/conformance/response_sink.h"

#include <cstdlib>

#include "atoll/testing/fake_catalog.h"
#include "frontends/common/call/infer_context.h"
#include "frontends/common/call/unary_infer_context.h"

namespace atl::test {
namespace {

using frontends::InferContext;
using frontends::UnaryInferContext;

/// A context whose transport writes at once.
template <class Context>
class ContextUnderTest : public SinkUnderTest, protected Context {
 public:
  explicit ContextUnderTest(std::span<char> place) : served_(catalog_.add_identity("m", DataType::kUint8)) {
    served_.respond = [](Request&) {};  // it is the suite's
    this->begin(0);
    Context::request.add_output().name = "OUTPUT0";
    if (!place.empty()) {
      RequestedOutput& placed = Context::request.add_output();
      placed.name = "PLACED";
      placed.placement.data = place.data();
      placed.placement.size_bytes = place.size();
    }
    this->model = catalog_.acquire("m", 1).value();
    EXPECT_TRUE(is_ok(this->submit()));
  }
  Request& request() override { return Context::request; }
  int ends(int) override { return ends_; }
  std::vector<std::string> problems() override {
    if (served_.references() == 0) return {};
    return {"the model is still held"};
  }

 protected:
  Result<bool> parse_request() noexcept override { return true; }
  Status read_head() noexcept override { return {}; }
  void to_own_thread() noexcept override {}
  void recycle() noexcept override {
    this->reset_request();
    ++ends_;
  }

 private:
  FakeModelCatalog catalog_;
  FakeServedModel& served_;
  int ends_ = 0;
};

class OneAnswer final : public ContextUnderTest<UnaryInferContext> {
 public:
  using ContextUnderTest::ContextUnderTest;

 private:
  void answer(Response& response) noexcept override { drop_outputs(response); }
  void answer_error(const Status&) noexcept override {}
};

class ManyAnswers final : public ContextUnderTest<InferContext> {
 public:
  using ContextUnderTest::ContextUnderTest;
  std::optional<std::vector<ReceivedResponse>> received() override { return received_; }

 private:
  void refuse(const Status&) noexcept override {}
  void on_response(Response* response, uint32_t flags) noexcept override {
    received_.push_back(ReceivedResponse::of(response, flags));
    if (response != nullptr) discard(response);
  }
  std::vector<ReceivedResponse> received_;
};

template <class Context>
std::shared_ptr<SinkUnderTest> make(std::span<char> place) {
  return std::make_shared<Context>(place);
}

INSTANTIATE_TEST_SUITE_P(Contexts, ResponseSinkConformance,
                         ::testing::Values(ResponseSinkProvider{"one answer", make<OneAnswer>, 100, {}},
                                           ResponseSinkProvider{"many answers", make<ManyAnswers>, 100, {}}));

}  // namespace
}  // namespace atl::test
