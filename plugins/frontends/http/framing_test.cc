// Bytes that the network may bring: the bad inputs H1 to H12 and H16 to H23, each limit from both sides.
#include "frontends/common/http/compression.h"
#include "frontends/http/testing/frontend_fixture.h"

namespace atl::frontends::http {
namespace {

class FramingTest : public HttpFrontendTest {
 protected:
  FramingTest() { catalog_.add_identity("probe"); }
  /// A request with a body in chunks of the given sizes.
  static std::string chunked(const std::string& body, size_t chunk_bytes,
                             const std::string& path = "probe/infer") {
    std::string text = "POST /v2/models/" + path + " HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (size_t at = 0; at < body.size(); at += chunk_bytes) {
      const std::string part = body.substr(at, chunk_bytes);
      char size[16];
      std::snprintf(size, sizeof size, "%zx\r\n", part.size());
      text += size + part + "\r\n";
    }
    return text + "0\r\n\r\n";
  }
  static std::string with_length(const std::string& length_headers) {
    return "POST /v2/models/probe/infer HTTP/1.1\r\nHost: x\r\n" + length_headers + "\r\n";
  }
  /// The answer has this status, holds the text, and the connection ends after it.
  void expect_refused(const std::string& bytes, int status, const std::string& text = "") {
    HttpClient one = client();
    one.send(bytes);
    const Reply reply = one.receive();
    EXPECT_EQ(reply.status, status) << bytes.substr(0, 100);
    EXPECT_NE(reply.body.find(text), std::string::npos) << reply.body;
    EXPECT_TRUE(reply.body.starts_with("{\"error\":\"")) << reply.body;
    EXPECT_EQ(reply.header("content-type"), "application/json");
    EXPECT_EQ(reply.header("connection"), "close");
    EXPECT_TRUE(one.closed_by_server());
  }
};

TEST_F(FramingTest, H1ToH4JsonLengthHeader) {
  start();
  const std::string name = "Inference-Header-Content-Length: ";
  const std::string size = std::to_string(infer_body().size());
  expect_error(infer("probe", name + "abc\r\n"), 400,
               "Unable to parse Inference-Header-Content-Length, got: abc");
  EXPECT_EQ(infer("probe", name + "99999999999\r\n").status, 400);
  EXPECT_EQ(infer("probe", name + "99999999999999999999999\r\n").status, 400);
  expect_error(infer("probe", name + "-1\r\n"), 400,
               "inference header size should be in range (0, " + size + "), got: -1");
  EXPECT_EQ(infer("probe", name + std::to_string(infer_body().size() + 1) + "\r\n").status, 400);
  const Reply cut = infer("probe", name + "20\r\n");
  EXPECT_EQ(cut.status, 400);
  EXPECT_NE(cut.body.find("failed to parse the request JSON buffer"), std::string::npos) << cut.body;
  EXPECT_EQ(infer("probe", name + "1\r\n" + name + "2\r\n").status, 400);
  EXPECT_EQ(infer("probe", name + size + "\r\n").status, 200);
  expect_alive();
}

TEST_F(FramingTest, H5ChunksUpToTheLimit) {
  start();
  std::string body = infer_body();
  body += std::string(65'537 - body.size(), ' ');
  expect_refused(
      chunked(body, 1), 400,
      "Chunked request body exceeds maximum of 65536 non-empty chunks. Send fewer or larger HTTP chunks.");
  body.pop_back();
  EXPECT_EQ(client().ask(chunked(body, 1)).body, infer_reply("probe"));
  body.pop_back();
  EXPECT_EQ(client().ask(chunked(body, 1)).body, infer_reply("probe"));
  expect_alive();
}

TEST_F(FramingTest, H6ChunkSizesThatAreNone) {
  start();
  const std::string head = "POST /v2/models/probe/infer HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const char* size : {"FFFFFFFFFFFFFFFF", "FFFFFFFFFFFFFFFFF", "-1", "0x10", "", "g", " 5", "5 x"}) {
    expect_refused(head + size + "\r\nhello\r\n0\r\n\r\n", 400);
  }
  expect_refused(head + "5;" + std::string(1 << 20, 'a') + "\r\nhello\r\n0\r\n\r\n", 400,
                 "a chunk's head takes more");
  expect_refused(head + "5\r\nhello!\r\n0\r\n\r\n", 400);
  EXPECT_EQ(client().ask(head + "0\r\n\r\n").status, 400);  // complete, and no JSON
  expect_alive();
}

TEST_F(FramingTest, ChunksInPiecesOfAnySize) {
  start();
  const std::string body = infer_body();
  for (size_t chunk : {1u, 2u, 7u, 1000u}) {
    for (size_t piece : {1u, 2u, 3u, 5u, 64u}) {
      HttpClient one = client();
      const std::string text = chunked(body, chunk);
      for (size_t at = 0; at < text.size(); at += piece) one.send(text.substr(at, piece));
      ASSERT_EQ(one.receive().body, infer_reply("probe")) << chunk << " " << piece;
    }
  }
  std::string with_trailer = chunked(body, 10);
  with_trailer.insert(with_trailer.size() - 2, "Trailer-One: 1\r\n");
  HttpClient one = client();
  EXPECT_EQ(one.ask(with_trailer).body, infer_reply("probe"));
  EXPECT_EQ(one.ask(with_trailer).body, infer_reply("probe"));
}

TEST_F(FramingTest, H7AmbiguousLengthsAreRefused) {
  start();
  for (const char* headers :
       {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: 5\r\nContent-Length: 5\r\n", "Content-Length: 5, 5\r\n", "Content-Length: +5\r\n",
        "Content-Length: -5\r\n", "Content-Length: 0x5\r\n", "Content-Length: 5 \t6\r\n",
        "Content-Length:\r\n", "Content-Length : 5\r\n", "Content-Length: 99999999999999999999\r\n",
        "Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: identity\r\n", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: xchunked\r\n"}) {
    expect_refused(with_length(headers) + "hello", 400);
  }
  expect_refused("POST /v2/models/probe/infer HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400);
  expect_alive();
}

TEST_F(FramingTest, H8BodiesOverTheLimitAreRefusedFromTheHeader) {
  host_.options().set_bytes("max_input_size", 4096);
  start();
  std::string body = infer_body();
  body += std::string(4096 - body.size(), ' ');
  EXPECT_EQ(post("/v2/models/probe/infer", body).status, 200);
  EXPECT_EQ(post("/v2/models/probe/infer", body.substr(0, 4095)).status, 200);
  expect_refused(with_length("Content-Length: 4097\r\n"), 400,
                 "request size of 4097 bytes exceeds the maximum allowed input size of 4096 bytes. Use "
                 "--http-max-input-size to increase the limit.");
  expect_refused(with_length("Content-Length: 18446744073709551615\r\n"), 400);
  expect_refused(with_length("Content-Length: 4097\r\nExpect: 100-continue\r\n"), 400);
  expect_alive();
}

TEST_F(FramingTest, H8WithTheStatusOfTheStandard) {
  host_.options().set_bytes("max_input_size", 4096);
  host_.options().set_string("payload_too_large_status", "413");
  start();
  expect_refused(with_length("Content-Length: 4097\r\n"), 413);
  expect_refused(chunked(std::string(4097, ' '), 4097), 413);
}

TEST_F(FramingTest, H9ChunkedBodiesStopAtTheLimit) {
  host_.options().set_bytes("max_input_size", 4096);
  start();
  std::string body = infer_body();
  body += std::string(4096 - body.size(), ' ');
  EXPECT_EQ(client().ask(chunked(body.substr(0, 4095), 100)).status, 200);
  EXPECT_EQ(client().ask(chunked(body, 100)).status, 200);
  expect_refused(chunked(body + " ", 100), 400,
                 "chunked request exceeds the maximum allowed input size of 4096 bytes.");
  expect_refused(chunked(body + " ", 5000), 400);
  expect_alive();
}

TEST_F(FramingTest, H10AndH11CompressedBodies) {
  host_.options().set_bytes("max_input_size", 1 << 20);
  start();
  auto pack = [](const std::string& text, Encoding encoding) {
    const iovec part{const_cast<char*>(text.data()), text.size()};
    BodyBuffer packed;
    EXPECT_TRUE(compress(encoding, {&part, 1}, &packed).ok());
    return std::string(packed.text());
  };
  auto ask = [&](const std::string& body) {
    return post("/v2/models/probe/infer", body, "Content-Encoding: gzip\r\n");
  };
  std::string plain = infer_body();
  plain += std::string((1 << 20) - plain.size(), ' ');
  for (Encoding encoding : {Encoding::kGzip, Encoding::kDeflate}) {
    EXPECT_EQ(ask(pack(plain.substr(0, plain.size() - 1), encoding)).status, 200);
    EXPECT_EQ(ask(pack(plain, encoding)).status, 200);
    expect_error(ask(pack(plain + " ", encoding)), 400,
                 "Decompressed data size exceeds the maximum allowed value of 1048576 bytes. Use "
                 "--http-max-input-size to increase the limit.");
    const std::string bomb = pack(std::string(200 << 20, '\0'), encoding);
    ASSERT_LT(bomb.size(), size_t{1} << 20);
    EXPECT_EQ(ask(bomb).status, 400);
    const std::string good = pack(infer_body(), encoding);
    for (size_t cut = 1; cut < good.size(); ++cut) EXPECT_EQ(ask(good.substr(0, cut)).status, 400) << cut;
    std::string wrong = good;
    wrong[wrong.size() - (encoding == Encoding::kGzip ? 8 : 1)] ^= 1;
    EXPECT_EQ(ask(wrong).status, 400);
    EXPECT_EQ(ask(good + "x").status, 400);
  }
  const std::string first = pack(infer_body().substr(0, 20), Encoding::kGzip);
  const std::string second = pack(infer_body().substr(20), Encoding::kGzip);
  EXPECT_EQ(ask(first + second).body, infer_reply("probe"));
  EXPECT_EQ(ask(pack(infer_body(), Encoding::kDeflate) + pack("x", Encoding::kDeflate)).status, 400);
  EXPECT_EQ(ask(infer_body()).status, 400);
  expect_error(ask(""), 400, "nothing to be decompressed");
  expect_alive();
}

TEST_F(FramingTest, H12UnknownContentEncoding) {
  start();
  for (const char* name : {"br", "gzip, deflate", "x"}) {
    const Reply reply = infer("probe", std::string("Content-Encoding: ") + name + "\r\n");
    expect_error(reply, 501, "Unsupported compression type");
    EXPECT_EQ(reply.header("accept-encoding"), "gzip, deflate");
  }
  EXPECT_EQ(infer("probe", "Content-Encoding: identity\r\n").status, 200);
}

TEST_F(FramingTest, H16ControlCharactersAndPercentCodes) {
  start();
  const std::string nul(1, '\0');
  expect_refused("GET /v2/health/" + nul + "live HTTP/1.1\r\n\r\n", 400);
  expect_refused("GET /v2/health/\rlive HTTP/1.1\r\n\r\n", 400);
  expect_refused("GET /v2/health/\nlive HTTP/1.1\r\n\r\n", 400);
  expect_refused("GET /v2/health/live HTTP/1.1\r\nA: b" + nul + "c\r\n\r\n", 400);
  expect_refused("GET /v2/health/live HTTP/1.1\r\nA: b\rc\r\n\r\n", 400);
  expect_refused("GET /v2/health/live HTTP/1.1\r\nA: b\nc\r\n\r\n", 400);
  expect_refused("GET /v2/health/live HTTP/1.1\r\nA: b\r\n c\r\n\r\n", 400, "folded");
  expect_refused("GET /v2/health/live HTTP/1.1\r\nA\x01: b\r\n\r\n", 400);
  expect_refused("GET /v2/health/live HTTP/1.1\r\n: b\r\n\r\n", 400);
  expect_refused("GET /v2/health/live HTTP/1.1\r\nno colon\r\n\r\n", 400);
  for (const char* name :
       {"%00", "a%00b", "%2e%2e%2f", "%2E%2e", "%2f", "%5c", "%0d%0a", "a%", "a%2", "a%zz"}) {
    const Reply reply = infer(name);
    EXPECT_EQ(reply.status, 400) << name;
    EXPECT_EQ(get(std::string("/v2/models/") + name).status, 400) << name;
  }
  expect_error(infer("a%20b"), 404, "Request for unknown model: 'a b' is not found");
  expect_alive();
}

TEST_F(FramingTest, H17LongLinesAndManyHeaders) {
  start();
  expect_refused("GET /" + std::string(1 << 20, 'a') + " HTTP/1.1\r\n\r\n", 414);
  const std::string line_rest = "GET / HTTP/1.1";
  for (int more : {-1, 0}) {
    const std::string path(8192 - line_rest.size() + static_cast<size_t>(more + 1) - 1, 'a');
    EXPECT_EQ(get("/" + path).status, 404) << more;
  }
  expect_refused("GET /" + std::string(8192 - line_rest.size() + 1, 'a') + " HTTP/1.1\r\n\r\n", 414);
  auto with_headers = [](int count) {
    std::string text = "GET /v2/health/live HTTP/1.1\r\n";
    for (int i = 0; i < count; ++i) text += "h" + std::to_string(i) + ": x\r\n";
    return text + "\r\n";
  };
  EXPECT_EQ(client().ask(with_headers(99)).status, 200);
  EXPECT_EQ(client().ask(with_headers(100)).status, 200);
  expect_refused(with_headers(101), 431);
  expect_refused(with_headers(10'000), 431);
  auto with_head_bytes = [](size_t bytes) {
    const std::string begin = "GET /v2/health/live HTTP/1.1\r\na: ";
    return begin + std::string(bytes - begin.size() - 4, 'x') + "\r\n\r\n";
  };
  EXPECT_EQ(client().ask(with_head_bytes(65'535)).status, 200);
  EXPECT_EQ(client().ask(with_head_bytes(65'536)).status, 200);
  expect_refused(with_head_bytes(65'537), 431);
  expect_refused(with_head_bytes(10 << 20), 431);
  expect_alive();
}

TEST_F(FramingTest, H18Methods) {
  start();
  const std::string text = "Method Not Allowed";
  expect_error(get("/v2/models/probe/infer"), 405, text);
  expect_error(post("/v2"), 405, text);
  EXPECT_EQ(post("/v2").header("allow"), "GET");
  EXPECT_EQ(client().ask(request("PUT", "/v2/logging")).header("allow"), "GET, POST");
  for (const char* method : {"PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "FOO", "get"}) {
    expect_error(client().ask(request(method, "/v2/health/live")), 405, text);
    expect_error(client().ask(request(method, "/v2/unknown")), 405, text);
    expect_error(client().ask(request(method, "/v1/unknown")), 404, "Not Found");
  }
  expect_error(client().ask("CONNECT host:80 HTTP/1.1\r\nHost: host\r\n\r\n"), 405, text);
  HttpClient head = client();
  head.send(request("HEAD", "/v2/health/live"));
  EXPECT_EQ(head.receive(true).status, 405);
  EXPECT_EQ(head.ask(request("GET", "/v2/health/live")).status, 200) << "a HEAD reply has no body";
  expect_refused(std::string(10'240, 'A') + " / HTTP/1.1\r\n\r\n", 405, text);
  expect_alive();
}

TEST_F(FramingTest, H19OtherProtocols) {
  start();
  expect_refused("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string("\0\0\0\4\0\0\0\0\0", 9), 400);
  expect_refused(std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03", 11) + std::string(200, 'x'),
                 400);
  expect_refused("GET / HTTP/3.0\r\n\r\n", 400);
  expect_refused("GET / HTTP/0.9\r\n\r\n", 400);
  expect_refused("GET /\r\n\r\n", 400);
  expect_refused("\r\n\r\n", 400);
  expect_alive();
}

TEST_F(FramingTest, H20ExpectContinue) {
  start();
  HttpClient one = client();
  const std::string body = infer_body();
  for (int i = 0; i < 2; ++i) {
    one.send(with_length("Content-Length: " + std::to_string(body.size()) + "\r\nExpect: 100-continue\r\n"));
    EXPECT_EQ(one.receive().status, 100);
    one.send(body);
    EXPECT_EQ(one.receive().body, infer_reply("probe"));
  }
  // The body comes at once: nobody waits.
  EXPECT_EQ(infer("probe", "Expect: 100-continue\r\n").status, 200);
  expect_refused(with_length("Content-Length: 5\r\nExpect: more\r\n"), 417);
  HttpClient other = client();
  other.send("POST /unknown HTTP/1.1\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  expect_error(other.receive(), 404, "Not Found");
  EXPECT_TRUE(other.closed_by_server());
}

TEST_F(FramingTest, H21Versions) {
  start();
  for (const char* version : {"-1", "1e3", "", "v1", "1x", " 1", "0x1", "99999999999999999999"}) {
    const std::string path = std::string("/v2/models/probe/versions/") + version;
    if (std::string(version) == " 1") continue;  // not a path
    EXPECT_EQ(post(path + "/infer", infer_body()).status, 400) << version;
    EXPECT_EQ(get(path).status, 400) << version;
    EXPECT_EQ(get(path + "/ready").status, 400) << version;
    EXPECT_EQ(get(path + "/stats").status, 400) << version;
  }
  EXPECT_EQ(infer("probe/versions/7").status, 404);
  EXPECT_EQ(infer("probe/versions/1").status, 200);
}

TEST_F(FramingTest, VersionsAndConnectionHeaders) {
  start();
  HttpClient one = client();
  Reply reply = one.ask("GET /v2/health/live HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(reply.version, "HTTP/1.0");
  EXPECT_EQ(reply.header("connection"), "keep-alive");
  reply = one.ask("GET /v2/health/live HTTP/1.0\r\n\r\n");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("connection"), "close");
  EXPECT_TRUE(one.closed_by_server());
  HttpClient two = client();
  reply = two.ask(request("GET", "/v2/health/live", "", "Connection: close\r\n"));
  EXPECT_EQ(reply.version, "HTTP/1.1");
  EXPECT_EQ(reply.header("connection"), "close");
  EXPECT_TRUE(two.closed_by_server());
}

TEST_F(FramingTest, PathsAreLiteral) {
  start();
  EXPECT_EQ(get("/v2/health/live?query=1/2").status, 200);
  for (const char* path : {"/", "/v2/", "/V2", "/v2/health/live/", "/v2/health", "//v2", "/v2/models//infer",
                           "/v2/models/probe/versions/1/trace/setting", "/metrics", "/v2/a/b/c/d/e/f/g/h/i/j",
                           "/v2/health/liv%65"}) {
    expect_error(get(path), 404, "Not Found");
  }
}

TEST_F(FramingTest, ABodyThatNobodyWantsIsReadOver) {
  start();
  HttpClient one = client();
  const std::string body(300'000, 'x');
  expect_error(one.ask(request("POST", "/unknown", body)), 404, "Not Found");
  expect_error(one.ask(chunked(body, 1000, "probe/unknown")), 404, "Not Found");
  EXPECT_EQ(one.ask(request("GET", "/v2/health/live", body)).status, 200);
  EXPECT_EQ(one.ask(request("POST", "/v2/models/probe/infer", infer_body())).status, 200);
}

}  // namespace
}  // namespace atl::frontends::http
