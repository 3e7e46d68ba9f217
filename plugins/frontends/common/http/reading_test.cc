// What reads requests, without sockets: heads, bodies, compression, buffers.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "atoll/testing/random.h"
#include "frontends/common/http/compression.h"
#include "frontends/common/http/request_reader.h"

namespace atl::frontends::http {
namespace {

using Step = RequestReader::Step;

// --- compression ---

TEST(Compression, ContentEncoding) {
  EXPECT_EQ(content_encoding("").value(), Encoding::kIdentity);
  EXPECT_EQ(content_encoding("Identity").value(), Encoding::kIdentity);
  EXPECT_EQ(content_encoding(" gzip ").value(), Encoding::kGzip);
  EXPECT_EQ(content_encoding("DEFLATE").value(), Encoding::kDeflate);
  for (const char* value : {"br", "x-gzip", "gzip,gzip", "*"}) {
    Result<Encoding> result = content_encoding(value);
    EXPECT_EQ(result.status().code(), Code::kUnimplemented);
    EXPECT_EQ(result.status().message(), "Unsupported compression type");
  }
}

TEST(Compression, AcceptEncoding) {
  using enum Encoding;
  const std::pair<const char*, Encoding> cases[] = {
      {"", kIdentity},
      {"*", kIdentity},
      {"br", kIdentity},
      {"gzip", kGzip},
      {"GZIP", kGzip},
      {"deflate", kDeflate},
      {"gzip, deflate", kGzip},
      {"deflate, gzip", kDeflate},
      {"identity, gzip", kIdentity},
      {"gzip;q=0.5, deflate;q=0.8", kDeflate},
      {"gzip; Q=0.5 , deflate;q=0.499", kGzip},
      {"gzip;q=0", kIdentity},
      {"gzip;q=0.000, identity;q=0.1", kIdentity},
      {"gzip;q=x", kIdentity},
      {"gzip;q=", kIdentity},
      {"gzip;q=2", kIdentity},
      {"gzip;q=1.000", kGzip},
      {"br;q=1, gzip;q=0.1", kGzip},
      {",,gzip,,", kGzip},
      {"gzip;level=9", kGzip},
  };
  for (const auto& [value, encoding] : cases) EXPECT_EQ(accepted_encoding(value), encoding) << value;
}

std::string pack(const std::vector<std::string>& parts, Encoding encoding) {
  std::vector<iovec> views;
  for (const std::string& part : parts) views.push_back({const_cast<char*>(part.data()), part.size()});
  BodyBuffer packed;
  EXPECT_TRUE(compress(encoding, views, &packed).ok());
  return std::string(packed.text());
}
Status unpack(const std::string& packed, uint64_t limit, std::string* plain) {
  BodyBuffer buffer;
  Status status =
      decompress({reinterpret_cast<const uint8_t*>(packed.data()), packed.size()}, limit, &buffer);
  *plain = std::string(buffer.text());
  return status;
}

TEST(Compression, ThereAndBack) {
  test::Random random(1);
  for (Encoding encoding : {Encoding::kGzip, Encoding::kDeflate}) {
    for (size_t size : {0u, 1u, 1000u, 16'384u, 16'385u, 300'000u}) {
      std::string text(size, '\0');
      for (char& c : text) c = static_cast<char>(random.next() % 7);
      std::string plain;
      ASSERT_TRUE(
          unpack(pack({text.substr(0, size / 3), "", text.substr(size / 3)}, encoding), size, &plain).ok());
      EXPECT_EQ(plain, text);
      EXPECT_EQ(unpack(pack({text}, encoding), size + 1, &plain).ok(), true);
      if (size == 0) continue;
      EXPECT_EQ(unpack(pack({text}, encoding), size - 1, &plain).message(),
                "Decompressed data size exceeds the maximum allowed value of " + std::to_string(size - 1) +
                    " bytes. Use --http-max-input-size to increase the limit.");
      EXPECT_LE(plain.size(), size + 16'384);
    }
  }
}

TEST(Compression, MembersAndWhatFollows) {
  std::string plain;
  const std::string gzip = pack({"one"}, Encoding::kGzip);
  EXPECT_TRUE(unpack(gzip + pack({"two"}, Encoding::kGzip) + gzip, 9, &plain).ok());
  EXPECT_EQ(plain, "onetwoone");
  EXPECT_FALSE(unpack(gzip + pack({"two"}, Encoding::kGzip) + gzip, 8, &plain).ok());
  EXPECT_FALSE(unpack(gzip + pack({"two"}, Encoding::kDeflate), 100, &plain).ok());
  EXPECT_FALSE(unpack(gzip + std::string(1, '\0'), 100, &plain).ok());
  EXPECT_FALSE(unpack(gzip + gzip.substr(0, 5), 100, &plain).ok());
  EXPECT_EQ(unpack(pack({"two"}, Encoding::kDeflate) + "xy", 100, &plain).message(),
            "cannot decompress the request's body: 2 bytes follow the end of the compressed data");
  EXPECT_EQ(unpack("", 100, &plain).message(), "nothing to be decompressed");
  EXPECT_EQ(unpack("plain text", 100, &plain).message(),
            "cannot decompress the request's body: incorrect header check");
  EXPECT_EQ(unpack(gzip.substr(0, gzip.size() - 1), 100, &plain).message(),
            "cannot decompress the request's body: it is cut off");
}

// --- requests from bytes ---

/// Reads all requests of the bytes, which come in pieces.
struct ReadRequests {
  ReadRequests(const std::string& bytes, size_t piece, uint64_t limit = 1 << 20, bool keep = true)
      : reader(limit) {
    bool in_body = false;
    size_t at = 0;
    while (true) {
      const Step step = in_body ? reader.read_body(keep) : reader.read_head();
      if (step == Step::kRefused) {
        status = reader.refusal().http_status;
        return;
      }
      if (step == Step::kComplete) {
        if (in_body) {
          heads.push_back(std::string(reader.head().method) + " " + std::string(reader.head().target) + " " +
                          std::to_string(reader.head().fields.size()));
          bodies.push_back(std::string(reader.body().text()));
          reader.next();
        }
        in_body = !in_body;
        continue;
      }
      if (at == bytes.size()) return;
      const std::span<char> space = reader.space();
      if (space.empty()) {
        ADD_FAILURE() << "no room";
        return;
      }
      const size_t count = std::min({piece, space.size(), bytes.size() - at});
      std::memcpy(space.data(), bytes.data() + at, count);
      reader.received(count);
      at += count;
    }
  }
  RequestReader reader;
  std::vector<std::string> heads, bodies;
  int status = 0;
};

TEST(RequestReader, RequestsInPiecesOfAnySize) {
  std::string bytes;
  std::vector<std::string> heads, bodies;
  test::Random random(2);
  for (int i = 0; i < 40; ++i) {
    std::string body(random.next() % (i % 10 == 0 ? 60'000 : 100), '\0');
    for (char& c : body) c = static_cast<char>(random.next());
    const std::string target = "/" + std::to_string(i) + (i % 3 == 0 ? "?a=b" : "");
    bytes += "POST " + target + " HTTP/1.1\r\nHost: x\r\n";
    if (i % 2 == 0) {
      bytes += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    } else {
      bytes += "Transfer-Encoding: chunked\r\n\r\n";
      for (size_t at = 0; at < body.size();) {
        const std::string part = body.substr(at, 1 + random.next() % 50'000);
        char size[32];
        std::snprintf(size, sizeof size, "%zX;ext=\"1\"\r\n", part.size());
        bytes += size + part + "\r\n";
        at += part.size();
      }
      bytes += "0\r\n\r\n";
    }
    heads.push_back("POST " + target + " 2");
    bodies.push_back(body);
  }
  for (size_t piece : {1u, 2u, 3u, 17u, 1000u, 16'384u, 1'000'000u}) {
    ReadRequests read(bytes, piece);
    EXPECT_EQ(read.status, 0) << read.reader.refusal().text;
    EXPECT_EQ(read.heads, heads);
    EXPECT_EQ(read.bodies, bodies);
    ReadRequests dropped(bytes, piece, 1 << 20, false);
    EXPECT_EQ(dropped.status, 0);
    EXPECT_EQ(dropped.heads, heads);
    EXPECT_EQ(dropped.bodies, std::vector<std::string>(40));
  }
}

TEST(RequestReader, TheBodyMayBeReadBehindItsEnd) {
  ReadRequests read("POST / HTTP/1.1\r\nContent-Length: 64\r\n\r\n" + std::string(64, 'x'), 1000);
  RequestReader reader(100);
  BodyBuffer& body = reader.body();
  for (size_t size : {0u, 1u, 63u, 64u, 65u, 5000u}) {
    BodyBuffer buffer;
    ASSERT_TRUE(buffer.append(std::string(size, 'x').data(), size));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % BodyBuffer::kAlignment, 0u);
    unsigned sum = 0;
    for (size_t i = 0; i < BodyBuffer::kPadding; ++i) sum += buffer.data()[size + i] & 1;
    EXPECT_LE(sum, BodyBuffer::kPadding);
    body = std::move(buffer);
    EXPECT_EQ(body.size(), size);
  }
}

TEST(RequestReader, MemoryDoesNotGrowWithWhatWaits) {
  RequestReader reader(1000);
  const std::string head = "POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n";
  std::memcpy(reader.space().data(), head.data(), head.size());
  reader.received(head.size());
  ASSERT_EQ(reader.read_head(), Step::kComplete);
  ASSERT_EQ(reader.read_body(true), Step::kComplete);
  reader.release_head();
  size_t taken = 0;
  while (!reader.space().empty()) {
    const size_t count = reader.space().size();
    std::memset(reader.space().data(), 'G', count);
    reader.received(count);
    taken += count;
    ASSERT_LT(taken, size_t{256} << 10);
  }
  EXPECT_EQ(reader.received_bytes(), head.size() + taken);
}

TEST(RequestReader, TlsIsToldApartByTheFirstByteAlone) {
  EXPECT_EQ(ReadRequests("\x16\x03\x01", 1).reader.refusal().text,
            "the client speaks TLS, and this port has no TLS: use http:// as scheme");
  EXPECT_EQ(ReadRequests("G\x16", 1).reader.refusal().text,
            "the request's head holds the control character 22");
}

TEST(RequestReader, WhatIsNoRequest) {
  const std::pair<std::string, int> cases[] = {
      {"\n", 400},
      {"GET / HTTP/1.1\n", 400},
      {"\x16\x03", 400},
      {"GET / HTTP/1.1\r\n\tfolded: x\r\n", 400},
      {std::string(8193, 'A'), 405},
      {"G " + std::string(8191, 'A'), 414},
      {"GET  / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1 \r\n\r\n", 400},
      {"GET / HTTP/1.2\r\n\r\n", 400},
      {"GET / http/1.1\r\n\r\n", 400},
      {"G\"T / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\na b: c\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Encoding: gzip\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nConnection: a b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n", 413},
  };
  for (const auto& [bytes, status] : cases) {
    for (size_t piece : {1u, 1000u, 100'000u}) {
      ReadRequests read(bytes, piece);
      EXPECT_EQ(read.status, status) << bytes.substr(0, 50);
      EXPECT_NE(read.reader.refusal().text, "");
      EXPECT_TRUE(read.heads.empty());
    }
  }
}

}  // namespace
}  // namespace atl::frontends::http
