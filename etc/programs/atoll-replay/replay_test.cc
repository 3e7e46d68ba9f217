/// Answers that are compared, bodies that are made and read, and the order in which a recording is played.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "answer_difference.h"
#include "atoll/lib/recording_writer.h"
#include "atoll/testing/print.h"
#include "atoll/testing/temporary_directory.h"
#include "player.h"
#include "recorded_traffic.h"
#include "replay_options.h"
#include "summary.h"
#include "v2_body.h"

namespace atl::replay {
namespace {

using recording::v1::Entry;
using recording::v1::Request;
using recording::v1::Response;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

Response answer(const std::string& type, std::string data, std::vector<int64_t> shape = {2}) {
  Response response;
  recording::v1::Tensor& output = *response.add_outputs();
  output.set_name("y");
  output.set_datatype(type);
  output.mutable_shape()->Add(shape.begin(), shape.end());
  output.set_data(std::move(data));
  return response;
}

std::string difference(const Response& recorded, const Response& answered, const Tolerance& tolerance = {},
                       const Request& request = {}) {
  return answer_difference(request, {recorded}, {answered}, tolerance);
}

TEST(AnswerDifference, FloatingPointNumbersHaveATolerance) {
  const float kNan = std::numeric_limits<float>::quiet_NaN(),
              kInfinity = std::numeric_limits<float>::infinity();
  const auto floats = [](float a, float b) { return answer("FP32", bytes_of<float>({a, b})); };
  EXPECT_EQ(difference(floats(1, 2), floats(1.000005F, 2)), "");
  EXPECT_EQ(difference(floats(1, 2), floats(1, 2.001F)), "output 'y': element 1 was 2 and is 2.001");
  EXPECT_EQ(difference(floats(1, 2), floats(1, 2.001F), {.relative = 1e-3, .absolute = 0}), "");
  EXPECT_EQ(difference(floats(0, 0), floats(0.5F, 0), {.relative = 0, .absolute = 0.5}), "");
  EXPECT_EQ(difference(floats(kNan, kInfinity), floats(-kNan, kInfinity)), "");
  EXPECT_NE(difference(floats(kNan, 1), floats(1, 1)), "");
  EXPECT_NE(difference(floats(kInfinity, 1), floats(-kInfinity, 1)), "");
  EXPECT_NE(difference(answer("FP64", bytes_of<double>({1, 1})), answer("FP64", bytes_of<double>({1, 1.1}))),
            "");
  EXPECT_EQ(difference(answer("FP16", bytes_of<uint16_t>({0x3C00})),
                       answer("FP16", bytes_of<uint16_t>({0x3C01})), {.relative = 1e-2, .absolute = 0}),
            "");
  EXPECT_EQ(
      difference(answer("BF16", bytes_of<uint16_t>({0x3F80})), answer("BF16", bytes_of<uint16_t>({0x4000}))),
      "output 'y': element 0 was 1 and is 2");
}

TEST(AnswerDifference, OthersAreTheSameOrNot) {
  EXPECT_EQ(
      difference(answer("INT32", "abcdefgh"), answer("INT32", "abcdefgi"), {.relative = 9, .absolute = 9}),
      "output 'y': byte 7 of its values is different");
  EXPECT_EQ(difference(answer("BYTES", "abc"), answer("BYTES", "abcd")),
            "output 'y': it had 3 bytes and has 4");
  EXPECT_EQ(difference(answer("INT8", "ab"), answer("UINT8", "ab")), "output 'y': it was INT8 and is UINT8");
  EXPECT_EQ(difference(answer("INT8", "ab", {2}), answer("INT8", "ab", {1, 2})),
            "output 'y': it has another shape");
  EXPECT_EQ(difference(answer("INT8", "ab"), {}), "output 'y' is missing");
  EXPECT_EQ(difference({}, answer("INT8", "ab")), "") << "more than was recorded is no difference";
  EXPECT_EQ(answer_difference({}, {{}, {}}, {{}}, {}), "there were 2 responses and are 1");
  Request classes;
  classes.add_outputs()->set_name("y");
  classes.mutable_outputs(0)->set_classification(2);
  EXPECT_EQ(difference(answer("FP32", "abcd"), answer("BYTES", "x"), {}, classes), "");
}

TEST(V2Body, HasWhatTheProtocolHas) {
  Request request;
  request.set_model("a/b");
  request.set_version(3);
  request.set_id("r\xFF");
  request.mutable_sequence()->set_text("seven");
  request.mutable_sequence()->set_end(true);
  recording::v1::Tensor& input = *request.add_inputs();
  input.set_name("x");
  input.set_datatype("INT8");
  input.add_shape(2);
  input.set_data("\1\2");
  request.add_outputs()->set_name("y");
  auto body = v2_body(request, true);
  ASSERT_TRUE(body.ok());
  EXPECT_EQ(body->path, "/v2/models/a%2Fb/versions/3/infer");
  EXPECT_EQ(body->bytes.substr(body->json_bytes), "\1\2");
  const auto parsed = nlohmann::json::parse(body->bytes.substr(0, body->json_bytes));
  EXPECT_EQ(parsed["parameters"].dump(),
            R"({"sequence_end":true,"sequence_id":"seven","sequence_start":false})");
  EXPECT_EQ(parsed["outputs"].dump(), R"([{"name":"y","parameters":{"binary_data":true}}])");
  EXPECT_EQ(v2_body(request, false)->path, "/v2/models/a%2Fb/infer");
  input.clear_data();
  EXPECT_EQ(v2_body(request, true).status().message(), "input 'x' was recorded without its bytes");
}

TEST(V2Body, AnswersAreReadInBothForms) {
  const std::string json =
      R"({"outputs":[{"name":"a","datatype":"INT16","shape":[2],"data":[[-1],[2]]},)"
      R"({"name":"b","datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":6}},)"
      R"({"name":"c","datatype":"BYTES","shape":[1],"data":["hi"]},{"name":"d","datatype":"BOOL","shape":[1],"data":[true]}]})";
  auto response = read_v2_answer(json + std::string("\2\0\0\0no", 6), json.size());
  ASSERT_TRUE(response.ok()) << response.status().text();
  EXPECT_EQ(response->outputs(0).data(), bytes_of<int16_t>({-1, 2}));
  EXPECT_EQ(response->outputs(1).data(), std::string("\2\0\0\0no", 6));
  EXPECT_EQ(response->outputs(2).data(), std::string("\2\0\0\0hi", 6));
  EXPECT_EQ(response->outputs(3).data(), "\1");
}

TEST(V2Body, AnswersThatAreNoneAreRefused) {
  const std::string deep = R"({"outputs":[{"name":"a","datatype":"INT8","shape":[],"data":)" +
                           std::string(100'000, '[') + std::string(100'000, ']') + "}]}";
  for (
      const std::string& body :
      {std::string(), std::string("[1]"), std::string("{"), std::string(R"({"outputs":[1]})"),
       std::string(R"({"outputs":[{"name":"a"}]})"),
       std::string(R"({"outputs":[{"name":"a","datatype":"INT8","shape":["x"]}]})"),
       std::string(
           R"({"outputs":[{"name":"a","datatype":"INT8","shape":[1],"parameters":{"binary_data_size":1}}]})"),
       std::string(
           R"({"outputs":[{"name":"a","datatype":"INT8","shape":[1],"parameters":{"binary_data_size":-1}}]})"),
       std::string(R"({"outputs":[{"name":"a","datatype":"INT8","shape":[1],"data":["x"]}]})"),
       std::string(R"({"outputs":[{"name":"a","datatype":"NONE","shape":[1],"data":[1]}]})"), deep}) {
    auto response = read_v2_answer(body, body.size());
    EXPECT_FALSE(response.ok()) << body.substr(0, 100);
    EXPECT_THAT(std::string(response.status().message()),
                HasSubstr("this is not an answer of the protocol: "));
  }
  EXPECT_FALSE(read_v2_answer("{}", 3).ok());
  EXPECT_EQ(v2_error(400, R"({"error":"no"})"), "status 400: no");
  EXPECT_EQ(v2_error(502, "<html>"), "status 502: <html>");
}

TEST(SummaryJson, IsOneObject) {
  Summary summary;
  summary.requests = 3;
  summary.failures = 1;
  summary.latencies_ns["m"] = {2'000, 1'000};
  summary.latencies_ns["gone"] = {};
  std::ostringstream out;
  print_json(out, summary);
  EXPECT_EQ(
      out.str(),
      R"({"requests":3,"failures":1,"differences":0,"models":{"gone":{},"m":{"latency_p50_us":1.0,"latency_p90_us":2.0,)"
      R"("latency_p95_us":2.0,"latency_p99_us":2.0,"latency_max_us":2.0}}})"
      "\n");
}

/// Answers at once, or, of those that are told, with another request.
class ScriptedSender final : public Sender {
 public:
  virtual ~ScriptedSender() = default;
  Status connect() override { return {}; }
  void send(Request request, const SendOptions&, Done done) override {
    const uint64_t number = request.number();
    log.push_back("send " + std::to_string(number));
    if (number == held) {
      held_done_ = std::move(done);
      return;
    }
    answer(number, done);
    if (number == frees) answer(held, held_done_);
  }
  void stop() noexcept override {}

  std::vector<std::string> log;
  uint64_t held = 0, frees = 0;

 private:
  void answer(uint64_t number, const Done& done) {
    log.push_back("answer " + std::to_string(number));
    done({{}, {Response()}});
  }
  Done held_done_;
};

class PlayerTest : public ::testing::Test {
 protected:
  /// \param sequence  0: none
  void add(uint64_t number, uint64_t sequence = 0) {
    Entry entry;
    entry.mutable_request()->set_number(number);
    entry.mutable_request()->set_model("m");
    if (sequence != 0) entry.mutable_request()->mutable_sequence()->set_number(sequence);
    ASSERT_TRUE(append_entry(entry, &bytes_));
    Entry end;
    end.mutable_end()->set_number(number);
    ASSERT_TRUE(append_entry(end, &bytes_));
  }
  Summary play(Sender& sender) {
    const std::string path = (folder_.path() / "traffic").string();
    std::ofstream(path, std::ios::binary) << bytes_;
    EXPECT_EQ(traffic_.open({path}).text(), "OK");
    return Player(traffic_, sender, options_, interrupted_,
                  [this](const std::string& line) { lines_.push_back(line); })
        .play();
  }
  PlayerTest() { EXPECT_TRUE(append_entry(header_entry(1, 1, true, true), &bytes_)); }

  test::TemporaryDirectory folder_;
  std::string bytes_;
  RecordedTraffic traffic_;
  ReplayOptions options_;
  std::atomic<bool> interrupted_{false};
  std::vector<std::string> lines_;
};

TEST_F(PlayerTest, ASequenceGoesOnWhenItsRequestIsAnswered) {
  add(1, 7);
  add(2, 7);
  add(3, 8);
  add(4);
  ScriptedSender sender;
  sender.held = 1;
  sender.frees = 4;
  EXPECT_EQ(play(sender).requests, 4U);
  EXPECT_THAT(sender.log, ElementsAre("send 1", "send 3", "answer 3", "send 4", "answer 4", "answer 1",
                                      "send 2", "answer 2"));
}

TEST_F(PlayerTest, OthersDoNotWaitForAnswersButForRoom) {
  add(1);
  add(2);
  add(3);
  ScriptedSender sender;
  sender.held = 1;
  sender.frees = 2;
  options_.in_flight_max = 2;
  EXPECT_EQ(play(sender).requests, 3U);
  EXPECT_THAT(sender.log, ElementsAre("send 1", "send 2", "answer 2", "answer 1", "send 3", "answer 3"));
}

TEST_F(PlayerTest, WhatIsInterruptedEndsWithWhatWasDone) {
  add(1);
  ScriptedSender sender;
  interrupted_ = true;
  EXPECT_EQ(play(sender).requests, 0U);
  EXPECT_THAT(sender.log, IsEmpty());
}

TEST_F(PlayerTest, ADifferentAnswerIsToldOnceAndCounted) {
  for (uint64_t number = 1; number <= 12; ++number) add(number);
  ScriptedSender sender;
  options_.compares = true;
  const Summary summary = play(sender);
  EXPECT_EQ(summary.differences, 12U);
  EXPECT_EQ(summary.compared, 12U);
  ASSERT_EQ(lines_.size(), 11U);
  EXPECT_EQ(lines_.front(),
            "request 1 of model 'm' is answered differently: there were 0 responses and are 1");
  EXPECT_EQ(lines_.back(), "further ones are counted and not told");
}

TEST(CommandLine, SaysWhatIsWrong) {
  const auto read = [](std::vector<std::string> arguments, int* code) {
    ReplayOptions options;
    std::ostringstream out, err;
    EXPECT_FALSE(read_command_line(std::move(arguments), out, err, &options, code));
    return out.str() + err.str();
  };
  int code = -1;
  EXPECT_THAT(read({"--help"}, &code), HasSubstr("--pace"));
  EXPECT_EQ(code, 0);
  EXPECT_EQ(read({"file"}, &code), "atoll-replay: --url is required (see atoll-replay --help)\n");
  EXPECT_EQ(code, 2);
  EXPECT_THAT(read({"file", "--url", "a:1", "--header", "x"}, &code), HasSubstr("NAME: VALUE"));
  EXPECT_THAT(read({"file", "--url", "ftp://a:1"}, &code),
              HasSubstr("atoll-replay: --url: found 'ftp://a:1', expected HOST:PORT or https://HOST:PORT"));
  EXPECT_THAT(read({"file", "--url", "a:1", "--jsn"}, &code), HasSubstr(", did you mean '--json'?"));
  EXPECT_THAT(read({"file", "--url", "a:1", "--ca-file", "x"}, &code),
              testing::StartsWith("atoll-replay: --ca-file needs TLS"));
  EXPECT_EQ(code, 2);
  EXPECT_THAT(read({"file", "--url", "https://a:1", "--key", "x"}, &code),
              HasSubstr("--key requires --cert"));
  EXPECT_EQ(code, 2);
  ReplayOptions secure;
  std::ostringstream nothing;
  ASSERT_TRUE(read_command_line({"a", "--url", "https://h:1", "--ca-file", "c", "--cert", "d", "--key", "e"},
                                nothing, nothing, &secure, &code));
  EXPECT_EQ(secure.url, "h:1");
  EXPECT_TRUE(secure.tls.is_used);
  EXPECT_EQ(secure.tls.ca_file + secure.tls.cert_file + secure.tls.key_file, "cde");
  ReplayOptions options;
  std::ostringstream out;
  ASSERT_TRUE(read_command_line({"a", "b", "--url", "h:1", "--header", "X: 1", "--pace", "2.5"}, out, out,
                                &options, &code));
  EXPECT_THAT(options.files, ElementsAre("a", "b"));
  EXPECT_EQ(options.pace, 2.5);
  EXPECT_EQ(options.protocol, "http");
}

TEST(CommandLine, ATokenComesFromAFileOrTheEnvironment) {
  const std::string file = testing::TempDir() + "replay_token";
  std::ofstream(file) << "atk_file\n";
  const auto read = [](std::vector<std::string> more, std::string token, std::string* said = nullptr) {
    ReplayOptions options;
    options.token = std::move(token);
    std::vector<std::string> arguments{"a", "--url", "h:1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::ostringstream out;
    int code = -1;
    EXPECT_EQ(read_command_line(std::move(arguments), out, out, &options, &code), said == nullptr)
        << out.str();
    if (said != nullptr) *said = out.str();
    return options.headers;
  };
  EXPECT_THAT(read({}, ""), ElementsAre());
  EXPECT_THAT(read({}, "atk_env"), ElementsAre("Authorization: Bearer atk_env"));
  EXPECT_THAT(read({"--token-file", file}, "atk_env"), ElementsAre("Authorization: Bearer atk_file"));
  EXPECT_THAT(read({"--header", "authorization: Basic x"}, "atk_env"), ElementsAre("authorization: Basic x"));
  std::string said;
  read({"--token-file", file, "--header", "Authorization: Basic x"}, "", &said);
  EXPECT_THAT(said, HasSubstr("only one can be sent"));
  read({"--token-file", file + "_none"}, "", &said);
  EXPECT_THAT(said, HasSubstr("it cannot be read, or has no token"));
  read({}, "a secret", &said);
  EXPECT_THAT(said, testing::AllOf(HasSubstr("no token can have"), testing::Not(HasSubstr("secret"))));
}

}  // namespace
}  // namespace atl::replay
