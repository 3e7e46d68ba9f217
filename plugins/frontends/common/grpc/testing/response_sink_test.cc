// What every sink owes, by the calls that run models, with a client behind them.
#include "atoll/testing/conformance/response_sink.h"

#include "frontends/common/grpc/testing/stream_fixture.h"

namespace atl::test {
namespace {

using frontends::grpc_cases::HeldModel;

/// The part that both kinds of calls share.
class GrpcCall : public SinkUnderTest, protected frontends::grpc_cases::StreamTest {
 public:
  Request& request() override { return held_.at(0); }
  int ends(int expected) override {
    if (expected != 0) {
      take_answers();
      EXPECT_TRUE(all_gone() && frontends::eventually([this] { return model_.references() == 0; }));
    }
    return calls() == 0 ? 1 : 0;
  }

 protected:
  explicit GrpcCall(bool decoupled)
      : model_(decoupled ? add_decoupled("m") : catalog_.add_identity("m")), held_(model_) {
    start();
  }

  virtual void take_answers() = 0;

 private:
  void TestBody() override {}

  FakeServedModel& model_;
  HeldModel held_;
};

class Unary final : public GrpcCall {
 public:
  Unary() : GrpcCall(false) {
    answer_ = infer_async("m");
    (void)request();
  }

 private:
  void take_answers() override {
    if (answer_.valid()) (void)answer_.get();
  }
  std::future<grpc::Status> answer_;
};

class Stream final : public GrpcCall {
 public:
  explicit Stream(bool decoupled) : GrpcCall(decoupled), stream_(open(&context_)) {
    EXPECT_TRUE(stream_->Write(numbered("m", "1")));
    (void)request();
  }

 private:
  void take_answers() override {
    if (stream_ == nullptr) return;
    stream_->WritesDone();
    Answer answer;
    while (stream_->Read(&answer)) {
    }
    EXPECT_TRUE(stream_->Finish().ok());
    stream_.reset();
  }
  grpc::ClientContext context_;
  std::unique_ptr<ClientStream> stream_;
};

template <class Call, class... Arguments>
ResponseSinkProvider provider(const char* name, Arguments... arguments) {
  auto make = [=](std::span<char>) { return std::make_shared<Call>(arguments...); };
  return {name,
          make,
          10,
          {unsupported("APlaceOfTheClientsIsUsedAndItsSizeKept", "needs a region; see frontends/common")}};
}

INSTANTIATE_TEST_SUITE_P(Grpc, ResponseSinkConformance,
                         ::testing::Values(provider<Unary>("ModelInfer"),
                                           provider<Stream>("ModelStreamInfer", false),
                                           provider<Stream>("ModelStreamInfer, decoupled", true)));

}  // namespace
}  // namespace atl::test
