// Any bytes as what a Redis server sends, cut into pieces of as many bytes as the first byte says; what comes out as a
// text is read as an answer.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "atoll/testing/recording_sink.h"
#include "caches/common/answer_message.h"
#include "caches/redis/protocol.h"
#include "fuzz_target.h"

using atl::caches::ReadAnswer;
using atl::caches::RedisReply;
using atl::caches::ReplyReader;

namespace {

constexpr uint64_t kReplyBytesMax = 1 << 16;

const atl::ModelInfo& model() {
  static const atl::ModelInfo info = [] {
    atl::ModelInfo made;
    made.name = "m";
    made.version_text = "1";
    made.outputs.resize(2);
    made.outputs[0].name = "N";
    made.outputs[0].datatype = atl::DataType::kInt32;
    made.outputs[1].name = "T";
    made.outputs[1].datatype = atl::DataType::kBytes;
    return made;
  }();
  return info;
}

void read_answer(const std::string& text) {
  atl::test::TestRequest request;
  atl::Result<ReadAnswer> answer = ReadAnswer::read(text, model(), request.request());
  if (!answer.ok()) {
    if (answer.status().message().empty()) std::abort();
    return;
  }
  request.mark_accepted();
  answer->answer(request.request());
  if (request.response().code != atl::Code::kOk || !request.problems().empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const size_t piece = size_t{data[0]} + 1;
  ReplyReader reader(kReplyBytesMax);
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    const atl::Status status = reader.feed(bytes.substr(0, piece), [](RedisReply& reply) {
      if (reply.text.size() > kReplyBytesMax) std::abort();
      if (reply.kind == RedisReply::Kind::kText) read_answer(reply.text);
    });
    if (status.ok()) continue;
    if (status.message().empty()) std::abort();
    return 0;
  }
  return 0;
}
