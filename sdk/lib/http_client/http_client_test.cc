#include "atoll/lib/http_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "atoll/core/clock.h"
#include "atoll/core/file_descriptor.h"
#include "atoll/lib/http_caller.h"
#include "atoll/testing/thread_executor.h"

namespace atl {
namespace {

/// Answers each connection's first request with the next of its texts, and keeps what was asked. A text that is empty is
/// no answer: the connection stays open until the server ends.
class TextServer {
 public:
  explicit TextServer(std::vector<std::string> answers) : answers_(std::move(answers)) {
    listener_ = FileDescriptor(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    const bool listens = ::bind(listener_.get(), generic, size) == 0 && ::listen(listener_.get(), 16) == 0 &&
                         ::getsockname(listener_.get(), generic, &size) == 0;
    EXPECT_TRUE(listens);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  TextServer(const TextServer&) = delete;
  TextServer& operator=(const TextServer&) = delete;
  ~TextServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  std::string name() const { return cat("127.0.0.1:", port_); }
  std::string url(std::string_view path = "/") const { return cat("http://", name(), path); }
  std::string asked() { return asked_.get_future().get(); }

 private:
  void serve() {
    std::vector<FileDescriptor> silent;
    for (const std::string& answer : answers_) {
      FileDescriptor connection(::accept(listener_.get(), nullptr, nullptr));
      if (connection.get() < 0) return;
      std::string text(65536, '\0');
      text.resize(
          static_cast<size_t>(std::max<ssize_t>(::recv(connection.get(), text.data(), text.size(), 0), 0)));
      if (&answer == &answers_.front()) asked_.set_value(std::move(text));
      if (answer.empty()) {
        silent.push_back(std::move(connection));
      } else {
        (void)::send(connection.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
      }
    }
    while (FileDescriptor(::accept(listener_.get(), nullptr, nullptr)).get() >= 0) {
    }
  }

  const std::vector<std::string> answers_;
  std::promise<std::string> asked_;
  FileDescriptor listener_;
  uint16_t port_ = 0;
  std::thread thread_;
};

std::string answer_of(std::string_view body, int status = 200) {
  return cat("HTTP/1.1 ", status, " x\r\nConnection: close\r\nContent-Length: ", body.size(), "\r\n\r\n",
             body);
}

class HttpCallerTest : public testing::Test {
 protected:
  HttpCallerTest() { EXPECT_TRUE(caller.open().ok()); }
  HttpCaller caller;
};

TEST(HttpUrl, PercentCodesAreReadAndWrittenAndNoShellSeesAnything) {
  EXPECT_EQ(percent_encode("a-b_c.9"), "a-b_c.9");
  EXPECT_EQ(percent_encode("a b;$(x)\xc3"), "a%20b%3B%24%28x%29%C3");
  EXPECT_EQ(percent_decode("a%20b%2Fc"), "a b/c");
  EXPECT_EQ(percent_decode(percent_encode(std::string("\0\xff%", 3))), std::string("\0\xff%", 3));
  EXPECT_EQ(percent_encode(""), "");
  EXPECT_EQ(percent_decode(""), "");
}

TEST(HttpUrl, IsHttpAndNamesAHost) {
  for (const char* url : {"http://a", "https://a:1/b?c", "http://[::1]:80/"})
    EXPECT_TRUE(is_http_url(url)) << url;
  for (const char* url : {"", "a:80", "ftp://a/", "http://", "file:///etc/passwd", "http://a:port"})
    EXPECT_FALSE(is_http_url(url)) << url;
}

TEST_F(HttpCallerTest, SendsWhatWasAskedAndReadsTheAnswer) {
  TextServer server({answer_of("[1]", 404)});
  Result<HttpAnswer> answer =
      caller.call({.url = server.url("/a?b=c"), .method = "PATCH", .headers = {"X-One: 1"}, .body = "{}"});
  ASSERT_TRUE(answer.ok()) << answer.status().text();
  EXPECT_EQ(answer->status, 404);
  EXPECT_EQ(answer->body, "[1]");
  const std::string asked = server.asked();
  EXPECT_TRUE(asked.starts_with("PATCH /a?b=c HTTP/1.1\r\n")) << asked;
  EXPECT_NE(asked.find("\r\nX-One: 1\r\n"), std::string::npos) << asked;
  EXPECT_NE(asked.find("\r\nContent-Type: application/json\r\n"), std::string::npos) << asked;
  EXPECT_EQ(asked.find("Expect:"), std::string::npos) << asked;
  EXPECT_TRUE(asked.ends_with("\r\n\r\n{}")) << asked;
}

TEST_F(HttpCallerTest, FailuresNameTheServer) {
  std::string nobody;
  {
    TextServer gone({});
    nobody = gone.name();
  }
  Result<HttpAnswer> none = caller.call({.url = cat("http://", nobody, "/x")});
  EXPECT_EQ(none.status().code(), Code::kUnavailable);
  EXPECT_TRUE(none.status().message().starts_with(cat(nobody, ": "))) << none.status().message();

  TextServer silent({""});
  Result<HttpAnswer> late = caller.call({.url = silent.url("/x"), .timeout_ns = 20 * kNsPerMs});
  EXPECT_EQ(late.status().code(), Code::kDeadlineExceeded);
  EXPECT_EQ(late.status().message(), cat(silent.name(), " did not answer in 20 ms"));

  TextServer large({answer_of("12345")});
  Result<HttpAnswer> much = caller.call({.url = large.url(), .answer_bytes_max = 4});
  EXPECT_EQ(much.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(much.status().message(), cat(large.name(), " answered more than 4 bytes"));
}

TEST_F(HttpCallerTest, TheBodyIsReadAsItComes) {
  TextServer server({answer_of(std::string(100'000, 'x') + "end")});
  size_t seen = 0;
  HttpRequest request{.url = server.url(), .answer_bytes_max = 70'000};
  request.on_body = [&](std::string& body) {
    seen += body.size() - std::min<size_t>(body.size(), 3);
    body.erase(0, body.size() - std::min<size_t>(body.size(), 3));
  };
  Result<HttpAnswer> answer = caller.call(request);
  ASSERT_TRUE(answer.ok()) << answer.status().text();
  EXPECT_EQ(answer->body, "end") << "what was left";
  EXPECT_EQ(seen, 100'000u);
}

TEST_F(HttpCallerTest, AnotherThreadOrADescriptorGivesTheCallUp) {
  TextServer silent({"", ""});
  std::thread other([&] {
    silent.asked();
    caller.interrupt(true);
  });
  EXPECT_EQ(caller.call({.url = silent.url()}).status().code(), Code::kCancelled);
  other.join();
  EXPECT_EQ(caller.call({.url = silent.url()}).status().code(), Code::kCancelled)
      << "further ones are refused";
  caller.interrupt(false);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const FileDescriptor reads(ends[0]), writes(ends[1]);
  ASSERT_EQ(::write(writes.get(), "x", 1), 1);
  EXPECT_EQ(caller.call({.url = silent.url()}, reads.get()).status().code(), Code::kCancelled);
}

TEST(HttpClient, CallsRunSideBySideAndWhatIsLeftAtTheEndIsNotAnswered) {
  TextServer silent({""}), quick({answer_of("1"), answer_of("2")});
  test::ThreadExecutors threads;
  HttpClient client;
  ASSERT_TRUE(client.start(threads, "calls").ok());
  bool is_answered = false;
  client.call({.url = silent.url()}, [&](const Result<HttpAnswer>&) { is_answered = true; });
  for (const char* expected : {"1", "2"}) {
    std::promise<std::string> body;
    client.call({.url = quick.url()}, [&](Result<HttpAnswer> answer) {
      body.set_value(answer.ok() ? answer->body : answer.status().text());
    });
    EXPECT_EQ(body.get_future().get(), expected);
  }
  client.stop();
  EXPECT_FALSE(is_answered);
}

}  // namespace
}  // namespace atl
