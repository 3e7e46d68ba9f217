#include "launchers/kubernetes/http_cluster_calls.h"

#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <memory>
#include <optional>

#include "atoll/core/stop_executor.h"
#include "atoll/testing/fake_log.h"
#include "atoll/testing/temporary_directory.h"
#include "atoll/testing/thread_executor.h"
#include "launchers/kubernetes/api_refusal.h"
#include "launchers/kubernetes/testing/api_double.h"

namespace atl::launchers {
namespace {

constexpr const char* kPods = "/api/v1/namespaces/serving/pods";
constexpr const char* kAdded = R"({"type":"ADDED","object":{"metadata":{"name":"p","resourceVersion":"7"}}})";

/// What was heard of a watch until its end.
struct HeardWatch {
  std::vector<WatchEvent> events;
  Result<HttpAnswer> end = unavailable("it has not ended");
};

class HttpClusterCallsTest : public ::testing::Test {
 protected:
  ~HttpClusterCallsTest() override { end(); }
  /// Everything is said by `say`.
  void serve(std::function<ApiReply(const ApiRequest&)> say) {
    api_.emplace(std::move(say));
    access_.server = api_->url();
  }
  void begin() {
    calls_ = std::make_unique<HttpClusterCalls>(access_, timeout_ns_, silence_ns_, clock_, log_);
    ASSERT_TRUE(calls_->start(executors_, *executor_).ok());
  }
  void end() {
    if (calls_ != nullptr) calls_->stop();
    stop_executor(executor_);
    calls_.reset();
  }
  Result<HttpAnswer> call(ApiCall wanted = {.path = kPods}) {
    if (calls_ == nullptr) begin();
    std::promise<Result<HttpAnswer>> promise;
    executor_->post(make_task([&] {
      calls_->call(wanted, [&](Result<HttpAnswer> answer) { promise.set_value(std::move(answer)); });
    }));
    return promise.get_future().get();
  }
  HeardWatch watch() {
    if (calls_ == nullptr) begin();
    HeardWatch heard;
    std::promise<void> ended;
    executor_->post(make_task([&] {
      calls_->watch(
          cat(kPods, "?watch=1"), [&](WatchEvent event) { heard.events.push_back(std::move(event)); },
          [&](Result<HttpAnswer> answer) {
            heard.end = std::move(answer);
            ended.set_value();
          });
    }));
    ended.get_future().wait();
    return heard;
  }
  /// Credentials are what the file says. \param more  of the shell, before that
  void login_by_program(const std::string& more = {}) {
    access_.exec.words = {
        "sh", "-c",
        cat(more, R"(echo '{"kind":"ExecCredential","apiVersion":"v1","status":{"token":"'$(cat )",
            token_path_, R"()'"}}')")};
    access_.exec.api_version = "v1";
  }
  void write_token(const std::string& token) { std::ofstream(token_path_) << token; }

  const test::TemporaryDirectory folder_;
  const std::string token_path_ = folder_.path() / "token", runs_path_ = folder_.path() / "runs";
  test::FakeClock clock_;  // of credentials; calls have the real one
  test::RecordingLog log_;
  test::ThreadExecutors executors_{0};
  SerialExecutorPtr executor_ = std::move(executors_.create("launcher", {})).value();
  std::optional<ApiDouble> api_;
  ClusterAccess access_;
  int64_t timeout_ns_ = 60 * kNsPerSecond, silence_ns_ = 60 * kNsPerSecond;
  std::unique_ptr<HttpClusterCalls> calls_;
};

TEST_F(HttpClusterCallsTest, AnswersOfAnyStatusComeBack) {
  for (int status : {200, 201, 403, 404, 409, 410, 422, 429, 500, 503}) {
    serve([&](const ApiRequest&) {
      return api_reply(status, R"({"message":"because"})", "Retry-After: 7\r\n");
    });
    Result<HttpAnswer> answer = call({"POST", kPods, R"({"kind":"Pod"})"});
    ASSERT_TRUE(answer.ok()) << answer.status().text();
    EXPECT_EQ(answer->status, status);
    EXPECT_EQ(answer->body, R"({"message":"because"})");
    EXPECT_EQ(answer->headers.at(0), "7");
    ASSERT_EQ(api_->asked().size(), 1u) << "nothing is repeated but a refusal of what is shown";
    EXPECT_EQ(api_->asked()[0].line, cat("POST ", kPods));
    EXPECT_EQ(api_->asked()[0].body, R"({"kind":"Pod"})");
    calls_->stop();
    calls_.reset();
  }
}

TEST_F(HttpClusterCallsTest, ACallThatIsNotAnsweredEnds) {
  timeout_ns_ = 30 * kNsPerMs;
  serve([](const ApiRequest&) { return ApiReply{"HTTP/1.1 200 x\r\nContent-Length: 10\r\n\r\n12", true}; });
  EXPECT_EQ(call().status().code(), Code::kDeadlineExceeded);
  serve([](const ApiRequest&) { return ApiReply{"", true}; });
  calls_->stop();
  calls_.reset();
  EXPECT_EQ(call().status().code(), Code::kDeadlineExceeded);
}

TEST_F(HttpClusterCallsTest, HalfAnAnswerIsNone) {
  serve([](const ApiRequest&) { return ApiReply{"HTTP/1.1 200 x\r\nContent-Length: 10\r\n\r\n12"}; });
  EXPECT_EQ(call().status().code(), Code::kUnavailable);
}

TEST_F(HttpClusterCallsTest, AnAnswerThatIsTooLargeIsRefused) {
  serve([](const ApiRequest&) { return api_reply(200, std::string(3'000, ' ')); });
  EXPECT_EQ(call({.path = kPods, .answer_bytes_max = 1'000}).status().code(), Code::kResourceExhausted);
}

TEST_F(HttpClusterCallsTest, ATokenThatIsRefusedIsReadAgain) {
  write_token("first");
  access_.token_file = token_path_;
  std::string wanted = "first";
  serve([&](const ApiRequest& request) { return api_reply(request.token == wanted ? 200 : 401, "{}"); });
  EXPECT_EQ(call()->status, 200);
  write_token("second\n");
  wanted = "second";
  EXPECT_EQ(call()->status, 200);
  EXPECT_EQ(api_->asked().size(), 3u);
  wanted = "third";
  EXPECT_EQ(call()->status, 401);
  EXPECT_EQ(api_->asked().size(), 5u) << "it is tried once more, and then told";
}

TEST_F(HttpClusterCallsTest, AProgramIsRunAgainWhenWhatItGaveIsRefused) {
  write_token("first");
  login_by_program(cat("echo x >> ", runs_path_, "; "));
  std::string wanted = "first";
  serve([&](const ApiRequest& request) { return api_reply(request.token == wanted ? 200 : 401, "{}"); });
  EXPECT_EQ(call()->status, 200);
  EXPECT_EQ(call()->status, 200);
  write_token("second");
  wanted = "second";
  EXPECT_EQ(call()->status, 401) << "it was run just now";
  clock_.advance(60 * kNsPerSecond);
  EXPECT_EQ(call()->status, 200);
  std::ifstream runs(runs_path_);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(runs), {}), "x\nx\n");
}

TEST_F(HttpClusterCallsTest, WithoutCredentialsNothingIsAsked) {
  login_by_program("echo 'not logged in' >&2; exit 1; ");
  serve([](const ApiRequest&) { return api_reply(200, "{}"); });
  EXPECT_EQ(call().status().text(), "sh exited with status 1: not logged in");
  EXPECT_EQ(watch().end.status().text(), "sh exited with status 1: not logged in");
  EXPECT_TRUE(api_->asked().empty());
}

TEST_F(HttpClusterCallsTest, AWatchIsReadLineByLine) {
  serve([](const ApiRequest&) {
    return api_watch(
        cat(kAdded, "\n\n", R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}})", "\n",
            R"({"type":"ERROR","object":{"code":410,"message":"too old"}})", "\n"),
        false);
  });
  HeardWatch heard = watch();
  ASSERT_EQ(heard.events.size(), 3u);
  EXPECT_EQ(heard.events[0].pod.name, "p");
  EXPECT_EQ(heard.events[1].version, "9");
  EXPECT_EQ(heard.events[2].kind, WatchKind::kExpired);
  ASSERT_TRUE(heard.end.ok()) << heard.end.status().text();
  EXPECT_EQ(heard.end->status, 200);
}

TEST_F(HttpClusterCallsTest, HalfALineIsNotRead) {
  serve([](const ApiRequest&) {
    return api_watch(cat(kAdded, "\n", std::string_view(kAdded).substr(0, 30)), false);
  });
  HeardWatch heard = watch();
  EXPECT_EQ(heard.events.size(), 1u);
  EXPECT_TRUE(heard.end.ok());
  // The same where the connection breaks, which chunks tell.
  serve([](const ApiRequest&) {
    return ApiReply{cat("HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\n50\r\n", kAdded, "\n")};
  });
  calls_->stop();
  calls_.reset();
  heard = watch();
  EXPECT_EQ(heard.events.size(), 1u);
  EXPECT_EQ(heard.end.status().code(), Code::kUnavailable);
}

TEST_F(HttpClusterCallsTest, ASilentWatchEnds) {
  silence_ns_ = 30 * kNsPerMs;
  serve([](const ApiRequest&) { return api_watch({}, true); });
  HeardWatch heard = watch();
  EXPECT_TRUE(heard.events.empty());
  EXPECT_EQ(heard.end.status().code(), Code::kDeadlineExceeded);
}

TEST_F(HttpClusterCallsTest, AWatchThatIsRefusedSaysWhy) {
  for (int status : {401, 403, 410, 429, 500}) {
    serve([&](const ApiRequest&) { return api_reply(status, cat(kAdded, "\n"), "Retry-After: 3\r\n"); });
    HeardWatch heard = watch();
    EXPECT_TRUE(heard.events.empty()) << "what is no stream has no events";
    ASSERT_TRUE(heard.end.ok());
    EXPECT_EQ(heard.end->status, status);
    EXPECT_EQ(heard.end->headers.at(0), "3");
    calls_->stop();
    calls_.reset();
  }
}

TEST_F(HttpClusterCallsTest, ALineWithoutEndEndsTheWatch) {
  serve([](const ApiRequest&) { return api_watch(std::string(size_t{5} << 20, 'x'), true); });
  EXPECT_EQ(watch().end.status().code(), Code::kResourceExhausted);
}

TEST_F(HttpClusterCallsTest, NothingIsHeardOfAWatchThatIsGivenUp) {
  serve([](const ApiRequest& request) {
    return request.line.ends_with("first") ? api_watch("", true) : api_watch(cat(kAdded, "\n"), false);
  });
  begin();
  std::promise<void> ended;
  int wrong = 0;
  executor_->post(make_task([&] {
    calls_->watch(
        cat(kPods, "?first"), [&](WatchEvent) { ++wrong; }, [&](Result<HttpAnswer>) { ++wrong; });
    calls_->watch(
        cat(kPods, "?second"), [](WatchEvent) {}, [&](Result<HttpAnswer>) { ended.set_value(); });
  }));
  ended.get_future().wait();
  end();
  EXPECT_EQ(wrong, 0);
}

TEST_F(HttpClusterCallsTest, ItsEndWaitsForNobody) {
  login_by_program("exec sleep 1000; ");
  serve([](const ApiRequest&) { return ApiReply{"", true}; });
  begin();
  executor_->post(
      make_task([&] { calls_->call({.path = kPods}, [](Result<HttpAnswer>) { ADD_FAILURE(); }); }));
  end();
}

}  // namespace
}  // namespace atl::launchers
