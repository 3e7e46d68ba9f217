// What every sink owes, by the contexts of calls with one answer and with many.
#include "atoll/testing/conformance/response_sink.h"

#include "atoll/testing/fake_catalog.h"
#include "frontends/common/call/infer_context.h"
#include "frontends/common/call/single_response.h"

namespace atl::test {
namespace {

using frontends::InferContext;
using frontends::ResponseReceiver;
using frontends::SingleResponse;

/// A context whose transport writes at once.
class ContextUnderTest : public SinkUnderTest, private ResponseReceiver {
 public:
  explicit ContextUnderTest(std::span<char> place) : served_(catalog_.add_identity("m", DataType::kUint8)) {
    served_.respond = [](Request&) {};  // it is the suite's
    context_.begin(0);
    context_.request.add_output().name = "OUTPUT0";
    if (!place.empty()) {
      RequestedOutput& placed = context_.request.add_output();
      placed.name = "PLACED";
      placed.placement.data = place.data();
      placed.placement.size_bytes = place.size();
    }
    context_.model = catalog_.acquire("m", 1).value();
    EXPECT_TRUE(is_ok(context_.submit()));
  }
  Request& request() override { return context_.request; }
  int ends(int) override { return ends_; }
  std::vector<std::string> problems() override {
    if (served_.references() == 0) return {};
    return {"the model is still held"};
  }

 protected:
  void recycle() noexcept override {
    context_.reset();
    ++ends_;
  }

  FakeModelCatalog catalog_;
  FakeServedModel& served_;
  InferContext context_{*this};

 private:
  int ends_ = 0;
};

class OneAnswer final : public ContextUnderTest {
 public:
  using ContextUnderTest::ContextUnderTest;

 private:
  void on_response(Response* response, uint32_t flags) noexcept override {
    if (!single_.add(context_, response, flags)) return;
    Result<Response*> only = single_.take_only(context_);
    if (only.ok()) context_.discard(only.value());
  }
  SingleResponse single_;
};

class ManyAnswers final : public ContextUnderTest {
 public:
  using ContextUnderTest::ContextUnderTest;
  std::optional<std::vector<ReceivedResponse>> received() override { return received_; }

 private:
  void on_response(Response* response, uint32_t flags) noexcept override {
    received_.push_back(ReceivedResponse::of(response, flags));
    if (response != nullptr) context_.discard(response);
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
