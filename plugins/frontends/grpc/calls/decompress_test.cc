#include "frontends/grpc/calls/decompress.h"

#include <grpc/byte_buffer.h>
#include <grpc/slice.h>
#include <sys/resource.h>
#include <zlib.h>

#include "frontends/grpc/calls/received_message.h"
#include "frontends/grpc/testing/frontend_fixture.h"

namespace atl::frontends::grpc_frontend {
namespace {

constexpr int kGzip = 15 + 16;
constexpr int kDeflate = 15;

/// \param times  so often the content
std::string compress(const std::string& content, int window_bits, int times = 1) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string result(deflateBound(&stream, content.size()) + static_cast<size_t>(times) * 4096, '\0');
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  for (int i = 0; i < times; ++i) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
    stream.avail_in = static_cast<uInt>(content.size());
    EXPECT_EQ(deflate(&stream, i + 1 == times ? Z_FINISH : Z_NO_FLUSH), i + 1 == times ? Z_STREAM_END : Z_OK);
  }
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

/// A message as gRPC hands it over when it does not open it itself. (The C++ buffer is one pointer to the C
/// one, and has no function to make it of a compressed one.)
grpc::ByteBuffer compressed(const std::string& bytes, grpc_compression_algorithm algorithm,
                            size_t slice_bytes = std::string::npos) {
  std::vector<grpc_slice> slices;
  for (size_t at = 0; at < bytes.size(); at += slice_bytes) {
    const std::string part = bytes.substr(at, slice_bytes);
    slices.push_back(grpc_slice_from_copied_buffer(part.data(), part.size()));
    if (slice_bytes == std::string::npos) break;
  }
  grpc_byte_buffer* raw = grpc_raw_compressed_byte_buffer_create(slices.data(), slices.size(), algorithm);
  for (grpc_slice slice : slices) grpc_slice_unref(slice);
  grpc::ByteBuffer buffer;
  static_assert(sizeof buffer == sizeof raw);
  std::memcpy(static_cast<void*>(&buffer), &raw, sizeof raw);
  return buffer;
}

std::string text(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  std::string result;
  for (const grpc::Slice& slice : slices)
    result.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return result;
}

std::string patterned(size_t size) {
  std::string content(size, '\0');
  for (size_t i = 0; i < size; ++i) content[i] = static_cast<char>(i * i % 251);
  return content;
}

TEST(Decompress, LeavesWhatIsNotCompressedAlone) {
  grpc::ByteBuffer none;
  EXPECT_TRUE(open_message(&none, 10).ok());
  grpc::Slice slice("hello");
  grpc::ByteBuffer plain(&slice, 1);
  EXPECT_TRUE(open_message(&plain, 1).ok()) << "gRPC has checked its size";
  EXPECT_EQ(text(plain), "hello");
}

TEST(Decompress, OpensBothKindsInAnySlices) {
  for (size_t size : {0u, 1u, 16383u, 16384u, 16385u, 49152u, 5'000'000u}) {
    const std::string content = patterned(size);
    for (auto [algorithm, window] :
         {std::pair(GRPC_COMPRESS_GZIP, kGzip), std::pair(GRPC_COMPRESS_DEFLATE, kDeflate)}) {
      const std::string bytes = compress(content, window);
      for (size_t slice_bytes : {size_t{1000}, std::string::npos}) {
        grpc::ByteBuffer message = compressed(bytes, algorithm, slice_bytes);
        Status status = open_message(&message, 10'000'000);
        ASSERT_TRUE(status.ok()) << status.text();
        EXPECT_TRUE(text(message) == content) << size;
      }
    }
  }
}

TEST(Decompress, TheLimitIsExact) {
  for (size_t limit : {0u, 1u, 16384u, 1'000'000u}) {
    for (size_t size : {limit - 1, limit, limit + 1, limit + 100'000}) {
      if (size > limit + 200'000) continue;  // limit 0 has nothing below it
      grpc::ByteBuffer message = compressed(compress(patterned(size), kGzip), GRPC_COMPRESS_GZIP, 777);
      Status status = open_message(&message, limit);
      EXPECT_EQ(status.code(), size > limit ? Code::kResourceExhausted : Code::kOk)
          << size << " of " << limit;
      if (status.ok()) {
        EXPECT_EQ(message.Length(), size);
      }
    }
  }
}

TEST(Decompress, RefusesDamagedData) {
  const std::string good = compress(patterned(100'000), kGzip);
  std::string wrong_sum = good;
  wrong_sum[wrong_sum.size() - 6] ^= 1;
  for (const std::string& bytes :
       {std::string(), std::string("hello"), good.substr(0, 5), good.substr(0, good.size() / 2),
        good.substr(0, good.size() - 1), wrong_sum, good + "x", good + good}) {
    for (size_t slice_bytes : {size_t{3}, std::string::npos}) {
      grpc::ByteBuffer message = compressed(bytes, GRPC_COMPRESS_GZIP, slice_bytes);
      Status status = open_message(&message, 1'000'000);
      EXPECT_EQ(status.code(), Code::kInvalidArgument);
      EXPECT_TRUE(status.message().starts_with("the compressed message is damaged: ")) << status.message();
    }
  }
}

TEST(Decompress, ABombTakesNoMoreThanTheLimit) {
  // Half a GiB in half a MiB.
  const std::string zeros = compress(std::string(size_t{1} << 20, '\0'), kGzip, 512);
  ASSERT_LT(zeros.size(), size_t{1} << 20);
  rusage before{};
  ASSERT_EQ(getrusage(RUSAGE_SELF, &before), 0);
  for (int i = 0; i < 3; ++i) {
    grpc::ByteBuffer message = compressed(zeros, GRPC_COMPRESS_GZIP);
    EXPECT_EQ(open_message(&message, 4 << 20).code(), Code::kResourceExhausted);
  }
  rusage after{};
  ASSERT_EQ(getrusage(RUSAGE_SELF, &after), 0);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 << 10) << "KiB";
}

using DecompressTest = GrpcFrontendTest;

TEST_F(DecompressTest, EveryMethodTakesCompressedMessagesWithinTheLimit) {
  catalog_.add_identity("m");
  host_.options().set_bytes("max_message_bytes", 1 << 20);
  start();
  inference::ModelReadyRequest message;
  inference::ModelReadyResponse response;
  auto ask = [&] {
    grpc::ClientContext context;
    context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
    return stub_->ModelReady(&context, message, &response);
  };
  message.set_name("m");
  EXPECT_TRUE(ask().ok());
  EXPECT_TRUE(response.ready());
  message.set_name(std::string(10'000, 'm'));
  EXPECT_TRUE(ask().ok());
  EXPECT_FALSE(response.ready());
  message.set_name(std::string(16 << 20, 'm'));
  EXPECT_EQ(ask().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  inference::ModelInferRequest large = request("m");
  large.set_raw_input_contents(0, std::string(16 << 20, '\0'));
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_DEFLATE);
  auto stream = stub_->ModelStreamInfer(&context);
  stream->Write(large);
  inference::ModelStreamInferResponse answer;
  EXPECT_FALSE(stream->Read(&answer));
  expect_status(stream->Finish(), grpc::StatusCode::RESOURCE_EXHAUSTED,
                "Received message larger than max (more than 1048576 bytes after decompression vs. 1048576)");
}

TEST(ReceivedMessage, WhatOpensToMoreThanAMebibyteIsLeftForElsewhere) {
  for (const size_t size : {kLargeBytes, kLargeBytes + 1}) {
    ReceivedMessage received;
    received.bytes() = compressed(compress(patterned(size), kGzip), GRPC_COMPRESS_GZIP);
    const Result<bool> opened = received.open_small(8 << 20);
    ASSERT_TRUE(opened.ok());
    EXPECT_EQ(opened.value(), size == kLargeBytes);
    EXPECT_TRUE(received.open(8 << 20).ok()) << "it is as it came";
    EXPECT_EQ(text(received.bytes()), patterned(size));
  }
  ReceivedMessage received;
  received.bytes() = compressed(compress(patterned(4097), kGzip), GRPC_COMPRESS_GZIP);
  EXPECT_EQ(received.open_small(4096).status().code(), Code::kResourceExhausted) << "nobody else may open it";
}

TEST(ReceivedMessage, ManySmallSlicesAreJoined) {
  const std::string bytes = [] {
    inference::ModelInferRequest message;
    message.set_model_name("m");
    message.add_inputs()->set_name("I");
    message.add_raw_input_contents(patterned(100'000));
    return message.SerializeAsString();
  }();
  for (const size_t slice_bytes : {size_t{1}, size_t{500}, size_t{2048}}) {
    ReceivedMessage received;
    std::vector<grpc::Slice> slices;
    for (size_t at = 0; at < bytes.size(); at += slice_bytes)
      slices.emplace_back(bytes.substr(at, slice_bytes));
    received.bytes() = grpc::ByteBuffer(slices.data(), slices.size());
    Request request;
    RegionUses regions;
    ASSERT_TRUE(received.parse(request.arena()).ok());
    ASSERT_TRUE(received.message().fill(request, regions).ok());
    EXPECT_EQ(received.message().model_name(), "m");
    EXPECT_EQ(request.inputs[0].size_bytes, 100'000u);
    EXPECT_EQ(request.inputs[0].buffers.size(), slice_bytes < 1024 ? 1u : 49u) << slice_bytes;
  }
}

TEST_F(DecompressTest, LargeMessagesAreOpenedElsewhereAndKeepTheirOrder) {
  catalog_.add_identity("m");
  start();
  grpc::ClientContext unary;
  unary.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  const inference::ModelInferRequest large = request("m", kLargeBytes);
  inference::ModelInferResponse response;
  ASSERT_TRUE(stub_->ModelInfer(&unary, large, &response).ok());
  EXPECT_EQ(response.raw_output_contents(0), large.raw_input_contents(0));

  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  auto stream = stub_->ModelStreamInfer(&context);
  const std::string names[] = {"m", "x", "m", "m"};
  for (int i = 0; i < 12; ++i) {
    inference::ModelInferRequest message = i % 3 == 0 ? large : request("m");
    message.set_model_name(names[i % 4]);
    message.set_id(std::to_string(i));
    ASSERT_TRUE(stream->Write(message));
  }
  stream->WritesDone();
  inference::ModelStreamInferResponse answer;
  for (int i = 0; i < 12; ++i) {
    ASSERT_TRUE(stream->Read(&answer)) << i;
    EXPECT_EQ(answer.infer_response().id(), std::to_string(i));
    EXPECT_EQ(answer.error_message().empty(), names[i % 4] == "m") << i;
  }
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(DecompressTest, ALargeMessageThatIsDamagedEndsItsStreamOnly) {
  catalog_.add_identity("m");
  host_.options().set_bytes("max_message_bytes", 2 << 20);
  start();
  inference::ModelInferRequest too_large = request("m", 3 << 20);
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  auto stream = stub_->ModelStreamInfer(&context);
  ASSERT_TRUE(stream->Write(too_large));
  (void)stream->Write(request("m"));
  inference::ModelStreamInferResponse answer;
  EXPECT_FALSE(stream->Read(&answer));
  expect_status(stream->Finish(), grpc::StatusCode::RESOURCE_EXHAUSTED,
                "Received message larger than max (more than 2097152 bytes after decompression vs. 2097152)");
  grpc::ClientContext unary;
  inference::ModelInferResponse response;
  EXPECT_TRUE(stub_->ModelInfer(&unary, request("m"), &response).ok());
}

TEST_F(DecompressTest, CallsThatBringNoFilesTakeNoLargeMessages) {
  start();
  inference::ModelReadyRequest message;
  message.set_name(std::string(1 << 20, 'm'));
  inference::ModelReadyResponse response;
  grpc::ClientContext context;
  expect_status(stub_->ModelReady(&context, message, &response), grpc::StatusCode::RESOURCE_EXHAUSTED,
                "Received message larger than max (1048580 vs. 1048576)");
}

}  // namespace
}  // namespace atl::frontends::grpc_frontend
