/// What backends report of executions.
#include <limits>

#include "testing/executed_request.h"

namespace atl::triton {
namespace {

class CStatistics : public ExecutedRequest {
 protected:
  TRITONSERVER_Error* report(bool success) {
    return TRITONBACKEND_ModelInstanceReportStatistics(&instance, handle(), success, 10, 20, 30, 40);
  }
  uint64_t cancelled() {
    return reporter.all().not_executed[static_cast<uint32_t>(FailureReason::kCanceled)];
  }
};

TEST_F(CStatistics, ARequestIsReportedOnce) {
  EXPECT_DONE(report(true));
  EXPECT_EQ(text_of(report(true)), "request 'r1' was reported already");
  EXPECT_EQ(reporter.of("r1").succeeded, 1u);
  EXPECT_EQ(reporter.all().total(), 1u);
  finish();
}

TEST_F(CStatistics, Failures) {
  EXPECT_DONE(report(false));
  EXPECT_EQ(reporter.all().failed, 1u);
  finish();
}

TEST_F(CStatistics, AnAnswerOfCancelledIsCountedAsCancelled) {
  TRITONSERVER_Error* error = TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_CANCELLED, "");
  EXPECT_DONE(TRITONBACKEND_ResponseSend(new_response(), kFinal, error));
  TRITONSERVER_ErrorDelete(error);
  EXPECT_DONE(report(false));
  EXPECT_EQ(cancelled(), 1u);
  EXPECT_EQ(reporter.all().total(), 1u);
  release();
}

TEST_F(CStatistics, ACancelledRequestThatIsNotAnsweredYetIsCountedAsCancelled) {
  request.cancel();
  EXPECT_DONE(report(false));
  EXPECT_EQ(cancelled(), 1u);
  finish();
}

TEST_F(CStatistics, ACancelledRequestMayFailOtherwise) {
  request.cancel();
  send_final();
  EXPECT_DONE(report(false));
  EXPECT_EQ(cancelled(), 0u);
  EXPECT_EQ(reporter.all().failed, 1u);
  release();
}

TEST_F(CStatistics, MomentsThatAreOutOfOrderAreNot) {
  EXPECT_DONE(TRITONBACKEND_ModelInstanceReportStatistics(&instance, handle(), true, 40, 0, UINT64_MAX, 10));
  EXPECT_EQ(reporter.disordered_times(), 0u);
  EXPECT_EQ(reporter.all().succeeded, 1u);
  finish();
}

TEST_F(CStatistics, Batches) {
  EXPECT_DONE(TRITONBACKEND_ModelInstanceReportBatchStatistics(&instance, 7, 1, 2, 3, 4));
  EXPECT_DONE(TRITONBACKEND_ModelInstanceReportBatchStatistics(&instance, 0, 1, 2, 3, 4));
  EXPECT_REFUSED(TRITONBACKEND_ModelInstanceReportBatchStatistics(&instance, uint64_t{1} << 32, 1, 2, 3, 4));
  EXPECT_REFUSED(TRITONBACKEND_ModelInstanceReportBatchStatistics(nullptr, 7, 1, 2, 3, 4));
  EXPECT_EQ(reporter.batches(), std::vector<uint32_t>{7});
  finish();
}

TEST_F(CStatistics, NobodyNeedsToListen) {
  instance.reporter = nullptr;
  EXPECT_DONE(report(true));
  EXPECT_DONE(TRITONBACKEND_ModelInstanceReportBatchStatistics(&instance, 7, 1, 2, 3, 4));
  EXPECT_REFUSED(TRITONBACKEND_ModelInstanceReportStatistics(nullptr, handle(), true, 1, 2, 3, 4));
  EXPECT_REFUSED(TRITONBACKEND_ModelInstanceReportStatistics(&instance, nullptr, true, 1, 2, 3, 4));
  finish();
}

TEST_F(CStatistics, OfAResponseAreReported) {
  TRITONBACKEND_ResponseFactory* factory = new_factory();
  TRITONBACKEND_ModelInstanceResponseStatistics* statistics = nullptr;
  EXPECT_DONE(TRITONBACKEND_ModelInstanceResponseStatisticsNew(&statistics));
  auto report_it = [&] { return TRITONBACKEND_ModelInstanceReportResponseStatistics(statistics); };
  EXPECT_REFUSED(report_it());
  EXPECT_DONE(TRITONBACKEND_ModelInstanceResponseStatisticsSetModelInstance(statistics, &instance));
  EXPECT_REFUSED(report_it()) << "there is no factory";
  EXPECT_DONE(TRITONBACKEND_ModelInstanceResponseStatisticsSetResponseFactory(statistics, factory));
  EXPECT_DONE(report_it()) << "moments may be 0";
  EXPECT_DONE(TRITONBACKEND_ModelInstanceResponseStatisticsSetResponseStart(statistics, 10));
  EXPECT_DONE(TRITONBACKEND_ModelInstanceResponseStatisticsSetResponseEnd(statistics, 30));
  EXPECT_DONE(report_it()) << "an empty response";
  EXPECT_DONE(TRITONBACKEND_ModelInstanceResponseStatisticsSetComputeOutputStart(statistics, 20));
  TRITONSERVER_Error* error = TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_CANCELLED, "");
  EXPECT_DONE(TRITONBACKEND_ModelInstanceResponseStatisticsSetError(statistics, error));
  TRITONSERVER_ErrorDelete(error);
  EXPECT_DONE(report_it());
  EXPECT_DONE(TRITONBACKEND_ModelInstanceResponseStatisticsSetError(statistics, nullptr));
  EXPECT_DONE(report_it());
  const auto reported = reporter.responses();
  ASSERT_EQ(reported.size(), 4u);
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(reported[i].index, i);
  EXPECT_EQ(reported[0].times.end_ns, 0);
  EXPECT_EQ(reported[1].times.output_start_ns, 0);
  EXPECT_EQ(reported[2].outcome, Code::kCancelled);
  EXPECT_EQ(reported[3].outcome, Code::kOk);
  EXPECT_EQ(reported[3].times.start_ns, 10);
  EXPECT_EQ(reported[3].times.output_start_ns, 20);
  EXPECT_EQ(reported[3].times.end_ns, 30);

  EXPECT_DONE(TRITONBACKEND_ModelInstanceResponseStatisticsSetComputeOutputStart(statistics, 31));
  EXPECT_EQ(text_of(report_it()), "Compute output start cannot happen after response end");
  EXPECT_DONE(TRITONBACKEND_ModelInstanceResponseStatisticsSetComputeOutputStart(statistics, 9));
  EXPECT_EQ(text_of(report_it()), "Response start cannot happen after compute output start");
  EXPECT_DONE(TRITONBACKEND_ModelInstanceResponseStatisticsSetComputeOutputStart(statistics, 0));
  EXPECT_DONE(TRITONBACKEND_ResponseFactoryDelete(factory));
  EXPECT_REFUSED(report_it()) << "the factory is gone";
  EXPECT_REFUSED(TRITONBACKEND_ModelInstanceResponseStatisticsSetResponseFactory(statistics, factory));
  EXPECT_DONE(TRITONBACKEND_ModelInstanceResponseStatisticsDelete(statistics));
  EXPECT_REFUSED(TRITONBACKEND_ModelInstanceResponseStatisticsDelete(statistics)) << "twice";
  EXPECT_REFUSED(report_it());
  EXPECT_REFUSED(TRITONBACKEND_ModelInstanceResponseStatisticsSetResponseStart(statistics, 1));
  finish();
}

TEST_F(CStatistics, OfAResponseNullArgumentsAreErrors) {
  TRITONBACKEND_ModelInstanceResponseStatistics* none = nullptr;
  TRITONBACKEND_ModelInstanceResponseStatistics* statistics = nullptr;
  TRITONBACKEND_ResponseFactory* factory = new_factory();
  EXPECT_DONE(TRITONBACKEND_ModelInstanceResponseStatisticsNew(&statistics));
  for (TRITONSERVER_Error* error :
       {TRITONBACKEND_ModelInstanceResponseStatisticsNew(nullptr),
        TRITONBACKEND_ModelInstanceResponseStatisticsDelete(none),
        TRITONBACKEND_ModelInstanceResponseStatisticsSetModelInstance(none, &instance),
        TRITONBACKEND_ModelInstanceResponseStatisticsSetModelInstance(statistics, nullptr),
        TRITONBACKEND_ModelInstanceResponseStatisticsSetResponseFactory(none, factory),
        TRITONBACKEND_ModelInstanceResponseStatisticsSetResponseFactory(statistics, nullptr),
        TRITONBACKEND_ModelInstanceResponseStatisticsSetResponseStart(none, 1),
        TRITONBACKEND_ModelInstanceResponseStatisticsSetComputeOutputStart(none, 1),
        TRITONBACKEND_ModelInstanceResponseStatisticsSetResponseEnd(none, 1),
        TRITONBACKEND_ModelInstanceResponseStatisticsSetError(none, nullptr),
        TRITONBACKEND_ModelInstanceReportResponseStatistics(none)}) {
    EXPECT_REFUSED(error);
  }
  EXPECT_DONE(TRITONBACKEND_ModelInstanceResponseStatisticsDelete(statistics));
  EXPECT_DONE(TRITONBACKEND_ResponseFactoryDelete(factory));
  finish();
}

}  // namespace
}  // namespace atl::triton
