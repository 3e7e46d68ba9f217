// ModelStreamInfer: what is answered, in which order and form.
#include "frontends/common/grpc/testing/stream_fixture.h"

namespace atl::frontends::grpc_cases {
namespace {

using grpc::StatusCode;

TEST_F(StreamTest, AnEmptyStreamEndsWell) {
  start();
  grpc::ClientContext context;
  auto stream = open(&context);
  EXPECT_TRUE(finish(*stream).ok());
}

TEST_F(StreamTest, EveryRequestIsAnsweredInOrder) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  start();
  grpc::ClientContext context;
  auto stream = open(&context);
  for (size_t i = 0; i < 50; ++i) {
    const size_t elements = i % 10 == 3 ? 100'000 + i : i;
    ASSERT_TRUE(stream->Write(numbered("m", std::to_string(i), elements)));
  }
  stream->WritesDone();
  for (size_t i = 0; i < 50; ++i) {
    Answer answer = read(*stream);
    EXPECT_EQ(answer.error_message(), "");
    const inference::ModelInferResponse& response = answer.infer_response();
    EXPECT_EQ(response.id(), std::to_string(i));
    EXPECT_EQ(response.model_name(), "m");
    EXPECT_EQ(response.model_version(), "1");
    EXPECT_EQ(final_flag(answer), "true");
    ASSERT_EQ(response.outputs_size(), 1);
    const size_t elements = i % 10 == 3 ? 100'000 + i : i;
    EXPECT_EQ(response.raw_output_contents(0), request("m", elements).raw_input_contents(0));
  }
  EXPECT_TRUE(ended(*stream).ok());
  EXPECT_TRUE(eventually([&] { return model.references() == 0; }));
  EXPECT_TRUE(all_gone());
}

TEST_F(StreamTest, ALaterAnswerWaitsForAnEarlierOneAcrossModels) {
  HeldModel slow(catalog_.add_identity("slow"));
  HeldModel other(catalog_.add_identity("other"));
  start();
  grpc::ClientContext context;
  auto stream = open(&context);
  stream->Write(numbered("slow", "0"));
  stream->Write(numbered("other", "1"));
  stream->Write(numbered("unknown", "2"));
  stream->Write(numbered("slow", "3"));
  slow.at(1);
  other.answer(0);
  slow.answer(1);
  slow.answer(0);
  for (const char* id : {"0", "1", "2", "3"}) EXPECT_EQ(id_of(read(*stream)), id);
  EXPECT_TRUE(finish(*stream).ok());
}

TEST_F(StreamTest, DecoupledAnswersNeitherWaitNorAreWaitedFor) {
  HeldModel slow(catalog_.add_identity("slow"));
  HeldModel decoupled(add_decoupled("d"));
  start();
  grpc::ClientContext context;
  auto stream = open(&context);
  stream->Write(numbered("slow", "s0"));
  stream->Write(numbered("d", "d0"));
  stream->Write(numbered("slow", "s1"));
  slow.at(1);
  for (char i = 0; i < 3; ++i) {
    send_bytes(decoupled.at(0), 1, i, 0);
    Answer answer = read(*stream);
    EXPECT_EQ(id_of(answer), "d0");
    EXPECT_EQ(answer.infer_response().raw_output_contents(0), std::string(1, i));
    EXPECT_EQ(final_flag(answer), "false");
  }
  slow.answer(0);
  EXPECT_EQ(id_of(read(*stream)), "s0");
  slow.answer(1);
  EXPECT_EQ(id_of(read(*stream)), "s1");
  end_request(decoupled.at(0));
  EXPECT_TRUE(finish(*stream).ok()) << "the final event without data is not sent";
}

TEST_F(StreamTest, TheEmptyFinalResponseIsSentIfAskedFor) {
  HeldModel decoupled(add_decoupled("d"));
  start();
  grpc::ClientContext context;
  auto stream = open(&context);
  inference::ModelInferRequest message = numbered("d", "x");
  (*message.mutable_parameters())["triton_enable_empty_final_response"].set_bool_param(true);
  stream->Write(message);
  send_bytes(decoupled.at(0), 1, 'a', 0);
  end_request(decoupled.at(0));
  EXPECT_EQ(final_flag(read(*stream)), "false");
  Answer last = read(*stream);
  EXPECT_EQ(last.error_message(), "");
  EXPECT_EQ(final_flag(last), "true");
  EXPECT_EQ(id_of(last), "x");
  EXPECT_EQ(last.infer_response().model_name(), "d");
  EXPECT_EQ(last.infer_response().model_version(), "");
  EXPECT_EQ(last.infer_response().outputs_size(), 0);
  EXPECT_EQ(last.infer_response().parameters_size(), 1);
  message.set_model_version("1");
  stream->Write(message);
  end_request(decoupled.at(1));
  EXPECT_EQ(read(*stream).infer_response().model_version(), "1");
  EXPECT_TRUE(finish(*stream).ok());
}

TEST_F(StreamTest, TheEmptyFinalResponseMeansNothingToOtherModels) {
  catalog_.add_identity("m");
  start();
  grpc::ClientContext context;
  auto stream = open(&context);
  inference::ModelInferRequest message = numbered("m", "x");
  (*message.mutable_parameters())["triton_enable_empty_final_response"].set_bool_param(true);
  stream->Write(message);
  EXPECT_EQ(final_flag(read(*stream)), "true");
  EXPECT_TRUE(finish(*stream).ok());
}

TEST_F(StreamTest, AFinalFlagOnDataIsShown) {
  HeldModel decoupled(add_decoupled("d"));
  start();
  grpc::ClientContext context;
  auto stream = open(&context);
  stream->Write(numbered("d", "x"));
  send_bytes(decoupled.at(0), 1, 'a', 0);
  send_bytes(decoupled.at(0), 5000, 'b', kFinal);
  send_bytes(decoupled.at(0), 1, 'c', 0);  // after the final one: dropped
  (void)decoupled.at(0).release().ok();
  EXPECT_EQ(final_flag(read(*stream)), "false");
  Answer last = read(*stream);
  EXPECT_EQ(final_flag(last), "true");
  EXPECT_EQ(last.infer_response().raw_output_contents(0), std::string(5000, 'b'));
  EXPECT_TRUE(finish(*stream).ok());
}

TEST_F(StreamTest, ADecoupledRequestMayHaveNoAnswer) {
  HeldModel decoupled(add_decoupled("d"));
  start();
  grpc::ClientContext context;
  auto stream = open(&context);
  for (int i = 0; i < 3; ++i) stream->Write(numbered("d", "x"));
  for (size_t i = 0; i < 3; ++i) end_request(decoupled.at(i));
  EXPECT_TRUE(finish(*stream).ok());
  EXPECT_TRUE(all_gone());
}

TEST_F(StreamTest, AHalfCloseWaitsForWhatIsOutstanding) {
  HeldModel held(catalog_.add_identity("m"));
  start();
  grpc::ClientContext context;
  auto stream = open(&context);
  stream->Write(numbered("m", "0"));
  stream->Write(numbered("m", "1"));
  stream->WritesDone();
  held.at(1);
  held.answer(1);
  held.answer(0);
  EXPECT_EQ(id_of(read(*stream)), "0");
  EXPECT_EQ(id_of(read(*stream)), "1");
  EXPECT_TRUE(ended(*stream).ok());
}

TEST_F(StreamTest, FailuresBeforeTheModelHaveOnlyTheId) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  model.refuse = [](Request&) { return unavailable("[request id: b] Exceeds maximum queue size"); };
  start();
  grpc::ClientContext context;
  auto stream = open(&context);
  inference::ModelInferRequest bad_version = numbered("m", "c");
  bad_version.set_model_version("-1");
  inference::ModelInferRequest no_data = numbered("m", "d");
  no_data.clear_raw_input_contents();
  inference::ModelInferRequest no_id = numbered("m", "");
  stream->Write(numbered("x", "a"));
  stream->Write(numbered("m", "b"));
  stream->Write(bad_version);
  stream->Write(no_data);
  stream->Write(no_id);
  const std::pair<const char*, const char*> expected[] = {
      {"a", "Request for unknown model: 'x' is not found"},
      {"b", "[request id: b] Exceeds maximum queue size"},
      {"c", "invalid model version specified '-1' , version should be an integral value > 0"},
      {"d", "unable to find data for input tensor 'INPUT0' for model 'm' in request."},
      {"", "[request id: b] Exceeds maximum queue size"}};
  for (const auto& [id, text] : expected) {
    Answer answer = read(*stream);
    EXPECT_EQ(answer.error_message(), text);
    ASSERT_TRUE(answer.has_infer_response());
    inference::ModelInferResponse only_id;
    only_id.set_id(id);
    EXPECT_EQ(answer.infer_response().SerializeAsString(), only_id.SerializeAsString());
  }
  EXPECT_TRUE(finish(*stream).ok());
}

TEST_F(StreamTest, FailuresOfTheModelNameItAndAreFinal) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  model.respond = [](Request& request) { fail_request(request, internal_error("broken \xFF\xE2\x82\xAC")); };
  start();
  grpc::ClientContext context;
  auto stream = open(&context);
  inference::ModelInferRequest message = numbered("m", "a");
  for (const char* version : {"", "1"}) {
    message.set_model_version(version);
    stream->Write(message);
    Answer answer = read(*stream);
    EXPECT_EQ(answer.error_message(), "broken ?\xE2\x82\xAC") << "protobuf takes only UTF-8";
    EXPECT_EQ(id_of(answer), "a");
    EXPECT_EQ(answer.infer_response().model_name(), "m");
    EXPECT_EQ(answer.infer_response().model_version(), version);
    EXPECT_EQ(answer.infer_response().outputs_size(), 0);
    EXPECT_EQ(final_flag(answer), "true");
  }
  EXPECT_TRUE(finish(*stream).ok());
}

TEST_F(StreamTest, ADecoupledModelMayFailAndGoOn) {
  HeldModel decoupled(add_decoupled("d"));
  start();
  grpc::ClientContext context;
  auto stream = open(&context);
  stream->Write(numbered("d", "a"));
  decoupled.at(0).sink->new_response()->send_error(internal_error("first"), 0);
  send_bytes(decoupled.at(0), 1, 'x', 0);
  decoupled.at(0).sink->new_response()->send_error(internal_error("last"), kFinal);
  send_bytes(decoupled.at(0), 1, 'y', 0);
  (void)decoupled.at(0).release().ok();
  Answer answer = read(*stream);
  EXPECT_EQ(answer.error_message(), "first");
  EXPECT_EQ(final_flag(answer), "false");
  EXPECT_EQ(read(*stream).infer_response().raw_output_contents(0), "x");
  answer = read(*stream);
  EXPECT_EQ(answer.error_message(), "last");
  EXPECT_EQ(final_flag(answer), "true");
  EXPECT_TRUE(finish(*stream).ok());
}

TEST_F(StreamTest, OfOtherModelsTheFirstResponseCounts) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  std::atomic<int> responses{0};
  model.respond = [&](Request& request) {
    for (int i = 0; i < responses; ++i) {
      if (i == 0) {
        test::answer_identity(request, 0);
      } else {
        request.sink->new_response()->send_error(internal_error("a surplus one"), 0);
      }
    }
    end_request(request);
  };
  start();
  grpc::ClientContext context;
  auto stream = open(&context);
  for (int count : {0, 1, 2, 3}) {
    responses = count;
    stream->Write(numbered("m", "a"));
    Answer answer = read(*stream);
    EXPECT_EQ(answer.error_message(), count == 0 ? "expected a single response, got 0" : "");
    EXPECT_EQ(answer.infer_response().raw_output_contents_size(), count == 0 ? 0 : 1);
    EXPECT_EQ(final_flag(answer), "true");
  }
  EXPECT_TRUE(finish(*stream).ok());
}

TEST_F(StreamTest, ClassificationWorksAndItsFailureIsTheRequests) {
  catalog_.add_identity("m");
  start();
  grpc::ClientContext context;
  auto stream = open(&context);
  for (const char* datatype : {"FP32", "FP16"}) {
    inference::ModelInferRequest message = numbered("m", "a", 50'000);
    message.mutable_inputs(0)->set_datatype(datatype);
    auto* output = message.add_outputs();
    output->set_name("OUTPUT0");
    (*output->mutable_parameters())["classification"].set_int64_param(1);
    stream->Write(message);
  }
  EXPECT_EQ(read(*stream).infer_response().outputs(0).datatype(), "BYTES");
  EXPECT_EQ(read(*stream).error_message(),
            "class result not available for output due to unsupported type 'FP16'");
  EXPECT_TRUE(finish(*stream).ok());
}

TEST_F(StreamTest, AResponseTooLargeForGrpcIsAFailure) {
  HeldModel decoupled(add_decoupled("d"));
  start();
  grpc::ClientContext context;
  auto stream = open(&context);
  stream->Write(numbered("d", "a"));
  Response* response = decoupled.at(0).sink->new_response();
  const int64_t shape[] = {1};
  OutputTensor& output = response->add_output("OUT", DataType::kUint8, shape);
  Status status = response->allocate(output, uint64_t{3} << 30);
  response->outputs.truncate(0);
  response->send_error(std::move(status));
  (void)decoupled.at(0).release().ok();
  EXPECT_EQ(read(*stream).error_message(),
            "Response has byte size 3221225472 which exceeds gRPC's byte size limit 2147483647.");
  EXPECT_TRUE(finish(*stream).ok());
}

class StreamErrorTest : public StreamTest {
 protected:
  std::unique_ptr<ClientStream> open_with(grpc::ClientContext* context, const std::string& value) {
    context->AddMetadata("triton_grpc_error", value);
    return open(context);
  }
};

TEST_F(StreamErrorTest, TheFirstFailureOfAModelEndsTheStreamIfAskedFor) {
  HeldModel held(catalog_.add_identity("m"));
  HeldModel decoupled(add_decoupled("d"));
  start();
  grpc::ClientContext context;
  auto stream = open_with(&context, "true");
  stream->Write(numbered("x", "in band"));
  stream->Write(numbered("m", "0"));
  stream->Write(numbered("m", "1"));
  stream->Write(numbered("d", "2"));
  EXPECT_EQ(read(*stream).error_message(), "Request for unknown model: 'x' is not found");
  send_bytes(decoupled.at(0), 1, 'x', 0);
  EXPECT_EQ(id_of(read(*stream)), "2");
  held.at(1);
  fail_request(held.at(1), Status(Code::kUnavailable, "worn out"));
  expect_status(ended(*stream), StatusCode::UNAVAILABLE, "worn out");
  EXPECT_TRUE(eventually([&] { return held.at(0).cancelled() && decoupled.at(0).cancelled(); }));
  send_bytes(decoupled.at(0), 1, 'y', 0);  // a model that answers on is not listened to
  end_request(decoupled.at(0));
  held.answer(0);
  EXPECT_TRUE(all_gone());
}

TEST_F(StreamErrorTest, WhatIsReadyIsWrittenBeforeTheFailure) {
  HeldModel decoupled(add_decoupled("d"));
  start();
  grpc::ClientContext context;
  auto stream = open_with(&context, "true");
  stream->Write(numbered("d", "0"));
  for (int i = 0; i < 20; ++i) send_bytes(decoupled.at(0), 100'000, 'x', 0);
  fail_request(decoupled.at(0), internal_error("at the end"));
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(read(*stream).infer_response().raw_output_contents(0).size(), 100'000u);
  expect_status(ended(*stream), StatusCode::INTERNAL, "at the end");
  EXPECT_TRUE(all_gone());
}

TEST_F(StreamErrorTest, OnlyTheWordTrueCounts) {
  test::FakeServedModel& model = catalog_.add_identity("m");
  model.respond = [](Request& request) { fail_request(request, internal_error("broken")); };
  start();
  for (const char* value : {"false", "TRUE", "1", ""}) {
    grpc::ClientContext context;
    auto stream = open_with(&context, value);
    stream->Write(numbered("m", "0"));
    EXPECT_EQ(read(*stream).error_message(), "broken");
    EXPECT_TRUE(finish(*stream).ok());
  }
}

}  // namespace
}  // namespace atl::frontends::grpc_cases
