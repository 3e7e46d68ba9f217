// Requests and those who observe them: everything is seen as the client sees it, and told to its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "atoll/request/request_observer.h"
#include "models/catalog/testing/admission_bench.h"

namespace atl::models {
namespace {

using test::TestRequest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string text_of(std::span<const int64_t> shape) {
  std::string text;
  for (int64_t dim : shape) text += cat(text.empty() ? "" : "x", dim);
  return text;
}

/// Writes down what it is told.
class FakeObserver final : public RequestObserver {
 public:
  explicit FakeObserver(std::vector<std::string>& log) : log_(log) {}
  virtual ~FakeObserver() = default;
  bool active() const noexcept override { return true; }
  RequestObservation* begin(const Request& request) noexcept override {
    if (!wants) return nullptr;
    std::string text = cat(name, "begin");
    for (const InputTensor& input : request.inputs)
      text += cat(" ", input.name, "=", text_of(input.shape), "/", input.size_bytes);
    log_.push_back(cat(text, " outputs=", request.outputs.size()));
    return new Observation(*this);
  }

  bool wants = true;
  std::string name;

 private:
  class Observation final : public RequestObservation {
   public:
    explicit Observation(FakeObserver& observer) : observer_(observer) {}
    virtual ~Observation() = default;
    void on_response(const Request& request, const Response* response, uint32_t flags) noexcept override {
      std::string text = cat(observer_.name, "response flags=", flags);
      if (response == nullptr) text += " empty";
      if (response != nullptr && !response->error.ok()) text += cat(" ", response->error.message());
      if (response != nullptr) {
        for (const OutputTensor& output : response->outputs)
          text += cat(" ", output.name, "=", text_of(output.shape));
      }
      observer_.log_.push_back(cat(text, request.cancelled() ? " cancelled" : ""));
    }
    void ended(const Request&, const Status& refusal) noexcept override {
      observer_.log_.push_back(cat(observer_.name, "ended ", refusal.ok() ? "" : refusal.message()));
      delete this;
    }

   private:
    FakeObserver& observer_;
  };
  std::vector<std::string>& log_;
};

struct ObserverBench : AdmissionBench {
  explicit ObserverBench(bool is_there = true) {
    if (is_there) publish("recorder", observer);
  }
  void publish(const std::string& instance, FakeObserver& provider, int32_t rank = 0) {
    bench.host.registry().publish<RequestObserver>(instance, provider, rank);
    bench.publish_change(RequestObserver::kInterfaceId, instance, ServiceChanged::Kind::kPublished);
  }
  void withdraw(const std::string& instance) {
    bench.host.registry().withdraw(std::string(RequestObserver::kInterfaceId), instance);
    bench.publish_change(RequestObserver::kInterfaceId, instance, ServiceChanged::Kind::kWithdrawn);
  }
  std::vector<std::string> log;
  FakeObserver observer{log};
};

TEST(Observer, SeesRequestAndResponseAsTheClientDoes) {
  ObserverBench bench;
  TestRequest request;
  ASSERT_EQ(bench.infer(request).text(), "OK");
  EXPECT_TRUE(request.done());
  EXPECT_THAT(bench.log,
              ElementsAre("begin INPUT0=1x2x2/16 outputs=0", "response flags=1 OUTPUT0=1x2x2", "ended "))
      << "the model has a reshape, which is behind it";
  EXPECT_EQ(request->sink, &request);
  EXPECT_THAT(request.problems(), ElementsAre());
}

TEST(Observer, SeesWhatIsRefusedAndGivesItBack) {
  ObserverBench bench;
  TestRequest invalid;
  auto model = bench.bench.catalog().acquire("m", 1);
  EXPECT_EQ(invalid.infer(*model->get()).code(), Code::kInvalidArgument);
  EXPECT_EQ(invalid->sink, &invalid);
  EXPECT_THAT(bench.log,
              ElementsAre("begin outputs=0", HasSubstr("ended [request id: <id_unknown>] expected 1")));

  bench.log.clear();
  FakeAdmission admission;
  admission.refuses = true;
  bench.AdmissionBench::publish("limits", admission);
  TestRequest refused;
  EXPECT_EQ(bench.infer(refused).code(), Code::kResourceExhausted);
  EXPECT_EQ(refused->sink, &refused);
  EXPECT_THAT(bench.log, ElementsAre(HasSubstr("begin"), "ended too much"));

  bench.log.clear();
  admission.refuses = false;
  admission.waits = true;
  TestRequest shed;
  ASSERT_EQ(bench.infer(shed).text(), "OK");
  admission.resume_all(Code::kUnavailable);
  EXPECT_TRUE(shed.done());
  EXPECT_THAT(bench.log, ElementsAre(HasSubstr("begin"), "response flags=1 shed", "ended "));
}

TEST(Observer, SeesARawInputByTheModelsName) {
  ObserverBench bench;
  TestRequest request;
  request.add_raw_input("", DataType::kInvalid, {}, std::string(16, 'x')).flags = InputTensor::kRaw;
  auto model = bench.bench.catalog().acquire("m", 1);
  ASSERT_EQ(request.infer(*model->get()).text(), "OK");
  EXPECT_EQ(bench.log.front(), "begin INPUT0=1x2x2/16 outputs=0");
}

TEST(Observer, DoesNotSeeTheServersOwnRequests) {
  ObserverBench bench;
  TestRequest step, shadow;
  step->set_parent(*TestRequest());
  EXPECT_EQ(bench.infer(step).text(), "OK");
  shadow->call_flags = kShadow;
  EXPECT_EQ(bench.infer(shadow).text(), "OK");
  EXPECT_THAT(bench.log, ElementsAre());
}

TEST(Observer, LeavesAloneWhatItDoesNotWant) {
  ObserverBench bench;
  bench.observer.wants = false;
  bench.bench.scheduler.hold = true;
  TestRequest request;
  ASSERT_EQ(bench.infer(request).text(), "OK");
  bench.withdraw("recorder");
  EXPECT_EQ(bench.bench.host.registry().holders(std::string(RequestObserver::kInterfaceId)), 0U)
      << "nobody waits for such a request";
  bench.bench.scheduler.run_held();
  EXPECT_TRUE(request.done());
  EXPECT_THAT(bench.log, ElementsAre());
}

TEST(Observer, ThatGoesSeesItsRequestsToTheEnd) {
  ObserverBench bench;
  bench.bench.scheduler.hold = true;
  TestRequest request, later;
  ASSERT_EQ(bench.infer(request).text(), "OK");
  bench.withdraw("recorder");
  EXPECT_EQ(bench.bench.host.registry().holders(std::string(RequestObserver::kInterfaceId)), 1U);
  ASSERT_EQ(bench.infer(later).text(), "OK");
  bench.bench.scheduler.run_held();
  EXPECT_TRUE(request.done() && later.done());
  EXPECT_EQ(bench.bench.host.registry().holders(std::string(RequestObserver::kInterfaceId)), 0U);
  EXPECT_THAT(bench.log, ElementsAre(HasSubstr("begin"), HasSubstr("response"), "ended "));
}

TEST(Observer, SeveralAreToldInTheOrderOfTheirRanks) {
  ObserverBench bench(false);
  FakeObserver first(bench.log), second(bench.log);
  first.name = "1 ";
  second.name = "2 ";
  bench.publish("a", second, 1);
  bench.publish("b", first, 2);
  TestRequest request;
  ASSERT_EQ(bench.infer(request).text(), "OK");
  EXPECT_THAT(bench.log, ElementsAre(HasSubstr("1 begin"), HasSubstr("2 begin"), HasSubstr("1 response"),
                                     HasSubstr("2 response"), "1 ended ", "2 ended "));
}

}  // namespace
}  // namespace atl::models
