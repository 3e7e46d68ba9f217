#include "backends/onnxruntime/files/onnx_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "atoll/testing/followed_fake.h"
#include "backends/onnxruntime/testing/backend_fixture.h"

namespace atl::ort::test {
namespace {

using atl::test::values_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string field(int number, const std::string& bytes) {
  std::string text;
  for (uint64_t rest : {static_cast<uint64_t>(number) << 3 | 2, static_cast<uint64_t>(bytes.size())}) {
    for (; rest >= 128; rest >>= 7) text.push_back(static_cast<char>(rest | 128));
    text.push_back(static_cast<char>(rest));
  }
  return text + bytes;
}

/// A tensor whose data is in a file.
std::string tensor(const std::string& location) {
  return field(8, "name") + field(13, field(1, "offset") + field(2, "0")) +
         field(13, field(1, "location") + field(2, location)) + std::string("\x70\x01");
}

std::vector<std::string> external(const std::string& model) {
  return external_data_of(std::as_bytes(std::span(model)));
}

TEST(ExternalData, IsFoundWhereverATensorMayBe) {
  const std::string inner = field(5, tensor("in_branch"));
  const std::string node = field(5, field(6, inner)) + field(5, field(5, tensor("in_attribute")));
  const std::string graph = field(1, node) + field(5, tensor("b")) + field(5, tensor("a")) +
                            field(5, tensor("a")) + field(15, field(1, tensor("sparse")));
  const std::string model = std::string("\x08\x08") + field(2, "producer") + field(7, graph) +
                            field(25, field(7, field(5, field(10, tensor("in_function")))));
  EXPECT_THAT(external(model), ElementsAre("a", "b", "in_attribute", "in_branch", "in_function", "sparse"));
}

TEST(ExternalData, IsNoneOfWhatIsNoModel) {
  EXPECT_THAT(external(""), IsEmpty());
  EXPECT_THAT(external("this is no model"), IsEmpty());
  EXPECT_THAT(external(std::string(1000, '\xff')), IsEmpty());
  const std::string model = field(7, field(5, tensor("a")));
  for (size_t size = 1; size < model.size(); ++size)
    EXPECT_THAT(external(model.substr(0, size)), IsEmpty()) << size;
  std::string deep;
  for (int i = 0; i < 200; ++i) deep = field(1, field(5, field(6, deep)));
  EXPECT_THAT(external(field(7, deep)), IsEmpty());
}

/// What a file is called in place of its plain bytes.
class FakeModelFiles final : public ModelFiles {
 public:
  virtual ~FakeModelFiles() = default;
  struct Bytes final : ModelFileBytes {
    Bytes(std::string text, int& count) : text_(std::move(text)), count_(++count) {}
    ~Bytes() override { --count_; }
    std::span<const std::byte> bytes() const noexcept override { return std::as_bytes(std::span(text_)); }
    const std::string text_;
    int& count_;
  };
  Result<std::unique_ptr<ModelFileBytes>> read(const std::string& path,
                                               const std::string& folder) noexcept override {
    ++reads;
    const auto found = plain.find(std::filesystem::path(path).lexically_relative(folder));
    if (found == plain.end()) return make_status(Code::kFailedPrecondition, "no key for '", path, "'");
    return std::unique_ptr<ModelFileBytes>(new Bytes(found->second, alive));
  }
  std::map<std::string, std::string> plain;
  int alive = 0, reads = 0;
};

class OnnxFileTest : public BackendFixture {
 protected:
  void SetUp() override {
    BackendFixture::SetUp();
    ASSERT_TRUE(followed_.open().ok());
    context_.model_files = &followed_;
    backend_.open(context_, defaults_);
    write(cat(kEncryptedFileMagic, "cipher text"));
  }
  void provide() {
    host_.registry().publish<ModelFiles>("keys", files_);
    atl::test::publish_service_changed(host_, ModelFiles::kInterfaceId, "keys");
  }
  std::string failure() {
    const Status status = load("");
    return cat(code_name(status.code()), " ", status.message());
  }

  atl::test::FakeHost host_;
  Followed<ModelFiles> followed_{host_};
  FakeModelFiles files_;
};

TEST_F(OnnxFileTest, AnEncryptedModelIsServedFromMemoryThatIsGivenBack) {
  provide();
  files_.plain["model.onnx"] = identity_graph(DataType::kFp32, {kBatch, 2}).file();
  auto completed = backend_.complete_config(source(""));
  ASSERT_TRUE(completed.ok()) << completed.status().text();
  ModelSource completed_source = source("");
  completed_source.config = *completed;
  auto model = backend_.load(completed_source);
  ASSERT_TRUE(model.ok()) << model.status().text();
  model_ = std::move(model).value();
  EXPECT_EQ(files_.reads, 2);
  EXPECT_EQ(files_.alive, 0) << "the plain bytes go as soon as there is a session";
  ASSERT_TRUE(make_instance().ok());
  TestRequest request;
  request.add_input<float>("INPUT0", DataType::kFp32, {1, 2}, {1, 2});
  request.add_output("OUTPUT0");
  request->batch_size = 1;
  execute({&request});
  EXPECT_THAT(values_of<float>(output_bytes(request, "OUTPUT0")), ElementsAre(1, 2));
}

TEST_F(OnnxFileTest, WithoutKeysTheErrorNamesFileAndPlugin) {
  EXPECT_THAT(
      failure(),
      HasSubstr(cat(
          "FAILED_PRECONDITION model file '", model_path().string(),
          "' is encrypted, and the server has no plugin with the keys of models: add security/model_keys")));
  provide();
  EXPECT_EQ(failure(), cat("FAILED_PRECONDITION no key for '", model_path().string(), "'"));
  EXPECT_EQ(files_.alive, 0);
}

TEST_F(OnnxFileTest, ExternalDataIsReadByItsNameInTheVersion) {
  provide();
  std::filesystem::create_directory(version_folder() / "sub");
  std::ofstream(version_folder() / "sub" / "weights") << kEncryptedFileMagic;
  files_.plain["model.onnx"] = field(7, field(5, tensor("sub/weights")));
  EXPECT_EQ(failure(),
            cat("FAILED_PRECONDITION no key for '", (version_folder() / "sub" / "weights").string(), "'"));
  files_.plain["sub/weights"] = "plain";
  EXPECT_THAT(failure(), testing::Not(HasSubstr("no key")));
}

TEST_F(OnnxFileTest, PlainBytesThatAreNoModelAreRefused) {
  provide();
  files_.plain["model.onnx"] = "this is no model";
  EXPECT_THAT(failure(), HasSubstr(cat("model file '", model_path().string(), "': ")));
  files_.plain["model.onnx"] = "";
  EXPECT_THAT(failure(), HasSubstr("found an empty file, expected an ONNX file"));
  EXPECT_EQ(files_.alive, 0);
}

TEST_F(OnnxFileTest, PlainAndEncryptedFilesDoNotMix) {
  provide();
  files_.plain["model.onnx"] = field(7, field(5, tensor("weights")));
  EXPECT_THAT(failure(), HasSubstr("weights': No such file"));
  std::ofstream(version_folder() / "weights") << "plain";
  EXPECT_THAT(
      failure(),
      HasSubstr("weights': found a plain file, expected an encrypted one, as it is external data of"));
  files_.plain["model.onnx"] = field(7, field(5, tensor("../weights")));
  EXPECT_THAT(failure(), HasSubstr("expected a path inside the version directory"));
  std::ofstream(version_folder() / "weights") << kEncryptedFileMagic;
  write(identity_graph(DataType::kFp32, {kBatch, 2}).file());
  EXPECT_THAT(failure(), HasSubstr(cat("weights' is encrypted, but '", model_path().string(), "' is not")));
}

}  // namespace
}  // namespace atl::ort::test
