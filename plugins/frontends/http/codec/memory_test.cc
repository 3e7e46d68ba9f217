// What reading a body takes: at most four times the body, itself included, and its tensors in the form that
// models read. Bodies up to 1 MiB are read in memory of the thread, which is not more for more requests.
#include <gtest/gtest.h>

#include <deque>

#include "atoll/testing/peak_memory.h"
#include "atoll/testing/random.h"
#include "frontends/http/codec/testing/codec_test_support.h"

namespace atl::frontends::http {
namespace {

using test::Random;

// Large enough for its figure to be exact; a sanitizer, whose figures are not judged, takes long for that.
constexpr size_t kBodyBytes = size_t{test::kSanitized ? 2 : 8} << 20;
/// Of the body, beside the body itself.
constexpr uint64_t kMostGrowth = 3;
/// A document of kMostOtherValues values, and the inexactness of measuring.
constexpr uint64_t kSlackBytes = uint64_t{8} << 20;

/// What a thread keeps for the document of a body up to kSmallJsonBytes.
constexpr uint64_t kThreadBytes = 24 * kSmallJsonBytes;

std::string repeated(const std::string& unit) {
  std::string text;
  while (text.size() + unit.size() <= kBodyBytes) text += unit;
  return text;
}

uint64_t tensor_bytes(const ReadBody& read) {
  uint64_t bytes = 0;
  for (const InputTensor& input : read.request.inputs) bytes += input.size_bytes;
  return bytes;
}

/// Requests that are held at a time, all read by one thread.
class HeldBodies {
 public:
  HeldBodies() : followed_(&memory_) {}
  void read(const PaddedText& text) {
    Held& one = held_.emplace_back();
    one.regions.set_source(followed_.get());
    (void)reader_.read({text.bytes(), std::nullopt}, model_info(), one.request, one.parts, one.regions).ok();
  }

 private:
  struct Held {
    RegionUses regions;
    Request request;
    InferParts parts;
  };
  FakeSharedMemory memory_;
  test::FollowedFake<SharedMemory> followed_;
  InferRequestReader reader_;
  std::deque<Held> held_;
};

void expect_bounded(const std::string& body, const std::string& what) {
  const uint64_t tensors = tensor_bytes(ReadBody(body));
  const PaddedText text(body);
  EXPECT_TRUE(test::grows_at_most(kMostGrowth * body.size() + tensors + kSlackBytes,
                                  [&text] { HeldBodies().read(text); }))
      << what << ", a body of " << body.size() << " bytes";
}

std::string with_data(const std::string& datatype, size_t elements, const std::string& data) {
  return cat(R"({"inputs":[{"name":"I","datatype":")", datatype, R"(","shape":[)", elements, R"(],"data":[)",
             data, "]}]}");
}

TEST(BodyMemory, OfManySmallBodiesAtATime) {
  Random random(20261123);
  const std::vector<std::pair<std::string, std::string>> forms = {
      {"FP64", "0,"},     {"UINT8", "1,"}, {"FP32", "NaN,"},          {"BYTES", "\"\","},
      {"FP32", "[[0]],"}, {"INT8", "-1,"}, {"BYTES", "\"\\u0041\","}, {"INT8", "{},"}};
  std::vector<std::string> bodies;
  uint64_t bytes = 0;
  uint64_t tensors = 0;
  while (bodies.size() < (test::kSanitized ? 10 : 50)) {
    const auto& [datatype, element] = forms[random.below(forms.size())];
    const size_t elements = (1 + random.below(kSmallJsonBytes - 4096)) / element.size();
    std::string data;
    for (size_t i = 0; i < elements; ++i) data += element;
    if (!data.empty()) data.pop_back();
    bodies.push_back(with_data(datatype, elements, data));
    ASSERT_LE(bodies.back().size(), kSmallJsonBytes);
    bytes += bodies.back().size();
    tensors += tensor_bytes(ReadBody(bodies.back()));
  }
  EXPECT_TRUE(test::grows_at_most(kMostGrowth * bytes + tensors + kThreadBytes,
                                  [&bodies] {
                                    HeldBodies held;
                                    for (const std::string& body : bodies) held.read(PaddedText(body));
                                  }))
      << "of " << bytes << " bytes";
}

TEST(BodyMemory, OfTensorsInEveryForm) {
  for (const auto& [datatype, element] :
       std::vector<std::pair<std::string, std::string>>{{"FP64", "0,"},
                                                        {"INT64", "0,"},
                                                        {"FP32", "NaN,"},
                                                        {"FP32", "99999999999999999999,"},
                                                        {"BYTES", "\"\","},
                                                        {"FP32", "[[0]],"},
                                                        {"UINT8", "1,"},
                                                        {"BYTES", "\"\\u0000\","}}) {
    std::string data = repeated(element);
    const size_t elements = data.size() / element.size();
    data.pop_back();
    expect_bounded(with_data(datatype, elements, data), cat(datatype, " of ", element));
    expect_bounded(with_data(datatype, elements, data + ",,"), cat(datatype, " of ", element, ", malformed"));
  }
}

TEST(BodyMemory, OfEverythingElseThatRepeats) {
  for (const std::string unit :
       {"{},", "{\"a\":0},", "[],", "[[[]]],", "[{}],", "\"a\",", "null,", "{\"\":{}},", " ", "[["}) {
    expect_bounded(cat("{\"x\":[", repeated(unit), "0],\"inputs\":[]}"), cat("unknown member of ", unit));
  }
  expect_bounded(cat("{", repeated("\"a\":0,"), "\"inputs\":[]}"), "members");
  expect_bounded(cat("{\"parameters\":{\"a\":\"", repeated("t"), "\"},\"inputs\":[]}"), "a long text");
  expect_bounded(cat("{\"parameters\":{\"a\":\"", repeated("t"), "\",\"b\":NaN},\"inputs\":[]}"),
                 "a text and NaN");
  expect_bounded(with_data("BYTES", 1, cat("\"", repeated("\\n"), "\"")), "one text");
  expect_bounded(repeated("x"), "no JSON");
}

TEST(BodyMemory, OfRandomBodies) {
  Random random(20261122);
  const std::vector<std::string> words = {"[",
                                          "]",
                                          "{",
                                          "}",
                                          ",",
                                          ":",
                                          "\"a\"",
                                          "0",
                                          "1.5",
                                          "NaN",
                                          "null",
                                          "true",
                                          "\"",
                                          "\\u0041",
                                          "-",
                                          "\"inputs\":",
                                          "\"data\":",
                                          "\"shape\":[1],",
                                          "\"datatype\":\"FP32\",",
                                          "\"name\":\"I\","};
  for (int i = 0; i < 12; ++i) {
    std::string unit;
    for (size_t count = 1 + random.below(12); count > 0; --count) unit += words[random.below(words.size())];
    std::string body = random.chance(50) ? with_data("FP32", 1, repeated(unit)) : repeated(unit);
    if (random.chance(30)) body[random.below(body.size())] = static_cast<char>(random.next());
    expect_bounded(body, unit);
  }
}

}  // namespace
}  // namespace atl::frontends::http
