// Calls on models that another server has: a second frontend in this process.
#include <map>
#include <set>

#include "frontends/common/grpc/testing/remote_fixture.h"

namespace atl::frontends::grpc_cases {
namespace {

using grpc::StatusCode;

TEST_F(RemoteTest, ARequestAndItsAnswerAreTheSameAsThere) {
  const test::FakeServedModel& model = there_.catalog.add_identity("m");
  start_both();
  for (const size_t elements : {0ul, 4ul, 1'000'000ul}) {
    inference::ModelInferResponse response;
    const grpc::Status status = infer(request("m", elements), &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.model_name(), "m");
    EXPECT_EQ(response.id(), "7");
    EXPECT_EQ(response.raw_output_contents(0), request("m", elements).raw_input_contents(0));
  }
  EXPECT_TRUE(all_gone());
  EXPECT_EQ(model.statistics().inference_count, 3u);
}

TEST_F(RemoteTest, ItsFailuresComeAsTheyAre) {
  test::FakeServedModel& model = there_.catalog.add_identity("m");
  model.refuse = [](Request&) { return Status(Code::kOutOfRange, "not today: \xC3\xA4"); };
  start_both();
  expect_status(infer_ok("m"), StatusCode::OUT_OF_RANGE, "not today: \xC3\xA4");
  inference::ModelInferRequest wrong = request("m");
  wrong.set_model_version("seven");
  inference::ModelInferResponse response;
  const grpc::Status here = infer(wrong, &response);
  EXPECT_EQ(here.error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(RemoteTest, AModelOfThisServerIsAnsweredHereUnlessALeaseIsNamed) {
  const test::FakeServedModel& model = there_.catalog.add_identity("m");
  test::FakeServedModel& own = catalog_.add_identity("m");
  start_both();
  EXPECT_TRUE(infer_ok("m").ok());
  EXPECT_EQ(own.statistics().inference_count, 1u);
  grpc::ClientContext context;
  context.AddMetadata("atoll-lease", "lease-of-m");
  inference::ModelInferResponse response;
  EXPECT_TRUE(infer(request("m"), &response, &context).ok());
  EXPECT_EQ(own.statistics().inference_count, 1u);
  EXPECT_EQ(model.statistics().inference_count, 1u);
  grpc::ClientContext unknown;
  unknown.AddMetadata("atoll-lease", "gone");
  expect_status(infer(request("m"), &response, &unknown), StatusCode::NOT_FOUND,
                "no lease 'gone' with model 'm'");
}

TEST_F(RemoteTest, WhatNobodyHasIsRefusedAsWithoutOthers) {
  start();
  const grpc::Status with = infer_ok("unknown");
  EXPECT_EQ(with.error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(with.error_message().find("lease"), std::string::npos) << with.error_message();
}

TEST_F(RemoteTest, OneThatIsNotReadySaysSo) {
  start_both();
  remote_.set_not_ready("lease-of-m", "m");
  expect_status(infer_ok("m"), StatusCode::UNAVAILABLE,
                "model 'm' is not ready: lease lease-of-m is DEPLOYING");
  inference::ModelReadyRequest message;
  message.set_name("m");
  inference::ModelReadyResponse ready;
  grpc::ClientContext context;
  (void)stub_->ModelReady(&context, message, &ready);
  EXPECT_FALSE(ready.ready());
}

TEST_F(RemoteTest, SharedMemoryIsRefused) {
  there_.catalog.add_identity("m");
  start_both();
  inference::ModelInferRequest message = request("m");
  message.mutable_inputs(0)->mutable_parameters()->operator[]("shared_memory_region").set_string_param("r");
  inference::ModelInferResponse response;
  const grpc::Status status = infer(message, &response);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(status.error_message().find("does not see shared memory"), std::string::npos)
      << status.error_message();
  grpc::ClientContext context;
  auto stream = open(&context);
  stream->Write(message);
  EXPECT_NE(read(*stream).error_message().find("does not see shared memory"), std::string::npos);
  EXPECT_TRUE(finish(*stream).ok());
}

TEST_F(RemoteTest, AServerThatHasGoneIsUnavailableAndIsFoundAgain) {
  there_.catalog.add_identity("m");
  start_both();
  EXPECT_TRUE(infer_ok("m").ok());
  there_.stop();
  EXPECT_EQ(infer_ok("m").error_code(), StatusCode::UNAVAILABLE);
  remote_.set("lease-of-m", "m", there_.start());
  EXPECT_TRUE(eventually([this] { return infer_ok("m").ok(); }));
}

TEST_F(RemoteTest, ACancelledCallIsCancelledThere) {
  HeldRequests held(there_.catalog.add_identity("m"));
  start_both();
  grpc::ClientContext context;
  auto answer = infer_async("m", &context);
  held.wait();
  context.TryCancel();
  EXPECT_EQ(answer.get().error_code(), StatusCode::CANCELLED);
  EXPECT_TRUE(held.wait_cancelled());
  held.answer();
  EXPECT_TRUE(all_gone());
}

TEST_F(RemoteTest, TheDeadlineGoesWithTheCall) {
  HeldRequests held(there_.catalog.add_identity("m"));
  start_both();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
  auto answer = infer_async("m", &context);
  EXPECT_NE(held.wait()->times.deadline_ns, 0);
  EXPECT_EQ(answer.get().error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(held.wait_cancelled());
  held.answer();
}

TEST_F(RemoteTest, QuestionsAboutAModelAreAnsweredThere) {
  there_.catalog.add_identity("m");
  start_both();
  inference::ModelMetadataRequest message;
  message.set_name("m");
  inference::ModelMetadataResponse metadata;
  grpc::ClientContext first, second, third;
  const grpc::Status status = stub_->ModelMetadata(&first, message, &metadata);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(metadata.name(), "m");
  EXPECT_EQ(metadata.versions_size(), 1);
  inference::ModelReadyRequest ready_message;
  ready_message.set_name("m");
  inference::ModelReadyResponse ready;
  ASSERT_TRUE(stub_->ModelReady(&second, ready_message, &ready).ok());
  EXPECT_TRUE(ready.ready());
  inference::ModelStatisticsRequest statistics_message;
  statistics_message.set_name("m");
  inference::ModelStatisticsResponse statistics;
  ASSERT_TRUE(stub_->ModelStatistics(&third, statistics_message, &statistics).ok());
  EXPECT_EQ(statistics.model_stats_size(), 1);
}

TEST_F(RemoteTest, TheIndexHasThem) {
  catalog_.add_identity("own");
  start_both();
  remote_.set_not_ready("lease-of-n", "n");
  inference::RepositoryIndexRequest message;
  inference::RepositoryIndexResponse index;
  grpc::ClientContext context;
  ASSERT_TRUE(stub_->RepositoryIndex(&context, message, &index).ok());
  std::map<std::string, std::string> states;
  for (const auto& model : index.models()) states[model.name()] = model.state();
  EXPECT_EQ(states["m"], "READY");
  EXPECT_EQ(states["d"], "READY");
  EXPECT_EQ(states["n"], "LOADING");
  message.set_ready(true);
  grpc::ClientContext second;
  index.Clear();
  ASSERT_TRUE(stub_->RepositoryIndex(&second, message, &index).ok());
  for (const auto& model : index.models()) EXPECT_NE(model.name(), "n");
}

// --- streams ---

TEST_F(RemoteTest, AStreamOfRequestsIsAnsweredInOrder) {
  there_.catalog.add_identity("m");
  start_both();
  grpc::ClientContext context;
  auto stream = open(&context);
  std::thread writer([&] {
    for (size_t i = 0; i < 500; ++i)
      ASSERT_TRUE(stream->Write(numbered("m", std::to_string(i), i % 50 == 3 ? 50'000 + i : i)));
    stream->WritesDone();
  });
  for (size_t i = 0; i < 500; ++i) {
    const Answer answer = read(*stream);
    EXPECT_EQ(answer.error_message(), "");
    EXPECT_EQ(id_of(answer), std::to_string(i));
    EXPECT_EQ(answer.infer_response().raw_output_contents(0),
              request("m", i % 50 == 3 ? 50'000 + i : i).raw_input_contents(0));
  }
  writer.join();
  EXPECT_TRUE(ended(*stream).ok());
  EXPECT_TRUE(all_gone());
}

TEST_F(RemoteTest, AStreamMayHaveModelsOfBothServers) {
  there_.catalog.add_identity("m");
  catalog_.add_identity("own");
  start_both();
  grpc::ClientContext context;
  auto stream = open(&context);
  std::set<std::string> expected, found;
  for (int i = 0; i < 20; ++i) {
    const std::string id = std::to_string(i);
    ASSERT_TRUE(stream->Write(numbered(i % 3 == 0 ? "own" : i % 3 == 1 ? "m" : "unknown", id)));
    expected.insert(id);
  }
  stream->WritesDone();
  for (int i = 0; i < 20; ++i) found.insert(id_of(read(*stream)));
  EXPECT_EQ(found, expected);
  EXPECT_TRUE(ended(*stream).ok());
  EXPECT_TRUE(all_gone());
}

TEST_F(RemoteTest, DecoupledAnswersComeAsTheyAreSent) {
  HeldModel held(add_decoupled_there("d"));
  start_both();
  grpc::ClientContext context;
  auto stream = open(&context);
  stream->Write(numbered("d", "d0"));
  for (char i = 0; i < 20; ++i) {
    send_bytes(held.at(0), 1, i, 0);
    const Answer answer = read(*stream);
    EXPECT_EQ(id_of(answer), "d0");
    EXPECT_EQ(answer.infer_response().raw_output_contents(0), std::string(1, i));
  }
  stream->WritesDone();
  send_bytes(held.at(0), 1, 'z', 0);
  EXPECT_EQ(id_of(read(*stream)), "d0") << "after the client's end";
  end_request(held.at(0));
  EXPECT_TRUE(ended(*stream).ok());
  EXPECT_TRUE(all_gone());
}

TEST_F(RemoteTest, AClientThatDoesNotReadSlowsTheOtherServerDown) {
  test::FakeServedModel& model = add_decoupled_there("d");
  std::atomic<bool> cancelled{false};
  model.respond = [&](Request& request) {
    for (int i = 0; i < 100 && !request.cancellation.cancelled(); ++i) send_bytes(request, kMiB, 'x', 0);
    cancelled = request.cancellation.cancelled();
    end_request(request);
  };
  host_.options().set_int("max_response_pool_size", 4);
  keep_client_window();
  start_both();
  grpc::ClientContext context;
  auto stream = open(&context);
  stream->Write(numbered("d", "d0"));
  int whole = 0;
  Answer answer;
  while (whole < 3 && stream->Read(&answer)) ++whole;
  EXPECT_EQ(whole, 3);
  context.TryCancel();
  while (stream->Read(&answer)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
  EXPECT_TRUE(all_gone());
}

/// The other server ends its part while an answer of it waits for the client.
TEST_F(RemoteTest, ASlowClientGetsTheLastAnswerOfAServerThatHasEnded) {
  there_.catalog.add_identity("m");
  add_decoupled_there("d").respond = [](Request& request) {
    send_bytes(request, 200'000, 'a', 0);
    send_bytes(request, 10, 'b', 0);
    end_request(request);
  };
  host_.options().set_int("max_response_pool_size", 1);
  host_.options().set_int("threads", 1);
  keep_client_window();
  start_both();
  grpc::ClientContext context, behind;
  auto stream = open(&context);
  stream->Write(numbered("d", "d0"));
  stream->WritesDone();
  EXPECT_TRUE(eventually([this] { return there_.frontend->calls() == 0; }));
  // Its answer comes behind that end, from the same server.
  inference::ModelInferResponse response;
  EXPECT_TRUE(Stub(channel()).ModelInfer(&behind, request("m"), &response).ok());
  EXPECT_EQ(read(*stream).infer_response().raw_output_contents(0), std::string(200'000, 'a'));
  EXPECT_EQ(read(*stream).infer_response().raw_output_contents(0), std::string(10, 'b'));
  EXPECT_TRUE(ended(*stream).ok());
  EXPECT_TRUE(all_gone());
}

TEST_F(RemoteTest, ACancelledStreamIsCancelledThere) {
  HeldStream held(*this);
  held.context.TryCancel();
  EXPECT_TRUE(eventually([&] { return held.request->cancellation.cancelled(); }));
  held.model.answer(0);
  EXPECT_EQ(held.stream->Finish().error_code(), StatusCode::CANCELLED);
  EXPECT_TRUE(all_gone());
}

TEST_F(RemoteTest, AStreamWhoseServerGoesEndsWithTheReason) {
  HeldStream held(*this);
  std::thread stopper([&] { there_.stop(); });
  EXPECT_TRUE(eventually([&] { return held.request->cancellation.cancelled(); }));
  held.model.answer(0);
  stopper.join();
  EXPECT_EQ(held.end().error_code(), StatusCode::UNAVAILABLE);
  EXPECT_TRUE(all_gone());
}

TEST_F(RemoteTest, AServerThatIsNotThereEndsTheStream) {
  start_both();
  there_.stop();
  grpc::ClientContext context;
  auto stream = open(&context);
  stream->Write(numbered("m", "0"));
  Answer answer;
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::UNAVAILABLE);
  EXPECT_TRUE(all_gone());
}

TEST_F(RemoteTest, ThisServerStopsWhileTheOtherOneAnswers) {
  HeldStream held(*this);
  std::thread stopper([&] { stop(); });
  EXPECT_TRUE(eventually([&] { return held.request->cancellation.cancelled(); }));
  held.model.answer(0);
  EXPECT_EQ(held.end().error_code(), StatusCode::UNAVAILABLE);
  stopper.join();
}

}  // namespace
}  // namespace atl::frontends::grpc_cases
