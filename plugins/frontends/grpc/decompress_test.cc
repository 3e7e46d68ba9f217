#include "decompress.h"

#include <grpc/byte_buffer.h>
#include <grpc/slice.h>
#include <sys/resource.h>
#include <zlib.h>

#include "frontend_fixture.h"

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

using DecompressTest = FrontendTest;

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
  message.set_name(std::string(10'000, 'm'));
  EXPECT_EQ(ask().error_code(), grpc::StatusCode::NOT_FOUND);
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

}  // namespace
}  // namespace atl::frontends::grpc_frontend
