#include "testing/executed_request.h"

namespace atl::triton {
namespace {

class CFactory : public ExecutedRequest {};

TEST_F(CFactory, AnswersAfterTheRelease) {
  TRITONBACKEND_ResponseFactory* factory = new_factory();
  release();
  for (const char* bytes : {"1", "2"}) {
    TRITONBACKEND_Response* response = nullptr;
    EXPECT_DONE(TRITONBACKEND_ResponseNewFromFactory(&response, factory));
    write(add_output(response, "A"), bytes);
    EXPECT_DONE(TRITONBACKEND_ResponseSend(response, 0, nullptr));
  }
  EXPECT_DONE(TRITONBACKEND_ResponseFactorySendFlags(factory, 0)) << "sends nothing";
  EXPECT_DONE(TRITONBACKEND_ResponseFactorySendFlags(factory, kFinal));
  const auto answers = request.responses();
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[1].find("A")->bytes, "2");
  EXPECT_TRUE(answers[2].empty && answers[2].final());
  EXPECT_DONE(TRITONBACKEND_ResponseFactoryDelete(factory));
}

TEST_F(CFactory, SendsNothingAfterTheFinalResponse) {
  TRITONBACKEND_ResponseFactory* factory = new_factory();
  finish();
  TRITONBACKEND_Response* response = nullptr;
  EXPECT_REFUSED(TRITONBACKEND_ResponseFactorySendFlags(factory, kFinal));
  EXPECT_REFUSED(TRITONBACKEND_ResponseFactorySendFlags(factory, 0));
  EXPECT_REFUSED(TRITONBACKEND_ResponseNewFromFactory(&response, factory));
  EXPECT_EQ(response, nullptr);
  EXPECT_DONE(TRITONBACKEND_ResponseFactoryDelete(factory));
  EXPECT_EQ(request.responses().size(), 1u);
}

TEST_F(CFactory, AFinalFlagDropsWhatWasNotSent) {
  TRITONBACKEND_ResponseFactory* factory = new_factory();
  TRITONBACKEND_Response* forgotten = new_response();
  EXPECT_DONE(TRITONBACKEND_ResponseFactorySendFlags(factory, kFinal));
  EXPECT_REFUSED(TRITONBACKEND_ResponseSend(forgotten, 0, nullptr));
  EXPECT_REFUSED(TRITONBACKEND_ResponseFactoryNew(&factory, handle()));
  release();
}

TEST_F(CFactory, TheLastOneThatIsDeletedWithoutAnAnswerAnswersWithAnError) {
  TRITONBACKEND_ResponseFactory* first = new_factory();
  TRITONBACKEND_ResponseFactory* second = new_factory();
  release();
  EXPECT_DONE(TRITONBACKEND_ResponseFactoryDelete(first));
  EXPECT_FALSE(request.got_final());
  EXPECT_DONE(TRITONBACKEND_ResponseFactoryDelete(second));
  EXPECT_EQ(request.response().code, Code::kInternal);
}

TEST_F(CFactory, KnowsOfCancellation) {
  TRITONBACKEND_ResponseFactory* factory = new_factory();
  bool cancelled = true;
  EXPECT_DONE(TRITONBACKEND_ResponseFactoryIsCancelled(factory, &cancelled));
  EXPECT_FALSE(cancelled);
  release();
  request.cancel();
  EXPECT_DONE(TRITONBACKEND_ResponseFactoryIsCancelled(factory, &cancelled));
  EXPECT_TRUE(cancelled);
  EXPECT_DONE(TRITONBACKEND_ResponseFactorySendFlags(factory, kFinal));
  request->cancellation.reset();  // as the request's maker does, which may use it again
  EXPECT_DONE(TRITONBACKEND_ResponseFactoryIsCancelled(factory, &cancelled));
  EXPECT_TRUE(cancelled);
  EXPECT_DONE(TRITONBACKEND_ResponseFactoryDelete(factory));
}

TEST_F(CFactory, MisuseIsAnError) {
  TRITONBACKEND_ResponseFactory* factory = new_factory();
  TRITONBACKEND_ResponseFactory* none = nullptr;
  TRITONBACKEND_Response* response = nullptr;
  bool flag = false;
  EXPECT_REFUSED(TRITONBACKEND_ResponseFactorySendFlags(factory, 2));
  EXPECT_REFUSED(TRITONBACKEND_ResponseFactoryIsCancelled(factory, nullptr));
  EXPECT_REFUSED(TRITONBACKEND_ResponseNewFromFactory(nullptr, factory));
  EXPECT_REFUSED(TRITONBACKEND_ResponseFactoryNew(nullptr, handle()));
  EXPECT_REFUSED(TRITONBACKEND_ResponseFactoryNew(&none, nullptr));
  EXPECT_DONE(TRITONBACKEND_ResponseFactoryDelete(factory));
  for (TRITONBACKEND_ResponseFactory* gone : {factory, none}) {
    EXPECT_REFUSED(TRITONBACKEND_ResponseFactoryDelete(gone));
    EXPECT_REFUSED(TRITONBACKEND_ResponseFactorySendFlags(gone, kFinal));
    EXPECT_REFUSED(TRITONBACKEND_ResponseFactoryIsCancelled(gone, &flag));
    EXPECT_REFUSED(TRITONBACKEND_ResponseNewFromFactory(&response, gone));
  }
  finish();
}

}  // namespace
}  // namespace atl::triton
