/// The plugin: where its keys come from, what it decrypts, and what it refuses.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "atoll/core/file_descriptor.h"
#include "atoll/lib/encrypted_file.h"
#include "atoll/models/model_files.h"
#include "atoll/testing/plugin_runner.h"
#include "atoll/testing/print.h"
#include "atoll/testing/temporary_directory.h"

namespace atl::model_keys {
namespace {

using testing::HasSubstr;

class ModelKeysTest : public testing::Test {
 protected:
  ~ModelKeysTest() override { ::unsetenv("CREDENTIALS_DIRECTORY"); }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  /// In one step, as whoever wants no half file. \param text  such as "a1b2": a key 'a' of digits '1', and so on
  void write_keys(const std::string& text, const std::string& name = "keys") const {
    std::ofstream file(path("new"));
    for (size_t i = 0; i < text.size(); i += 2)
      file << text[i] << ":" << std::string(64, text[i + 1]) << "\n";
    file.close();
    ASSERT_EQ(::chmod(path("new").c_str(), 0600), 0);
    ASSERT_EQ(::rename(path("new").c_str(), path(name).c_str()), 0);
  }
  /// \param key  as of write_keys()
  std::string write_model(const std::string& plain, const std::string& key) const {
    auto keys = EncryptionKeys::parse(key.substr(0, 1) + ":" + std::string(64, key[1]), false);
    std::ofstream(path("plain")) << plain;
    const FileDescriptor from(::open(path("plain").c_str(), O_RDONLY | O_CLOEXEC));
    const FileDescriptor to(::open(path("model").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    const Status status = encrypt_file(
        from.get(), to.get(), {"model", keys->ids()[0], *keys->find(keys->ids()[0]), 64, std::nullopt});
    EXPECT_TRUE(status.ok()) << status.text();
    return path("model");
  }
  std::string start() { return plugin_.create_and_start().text(); }
  /// The plain bytes, or "<CODE> <message>".
  std::string read(const std::string& file) {
    auto bytes = plugin_.query<ModelFiles>()->read(file, folder_.path().string());
    if (!bytes.ok()) return cat(code_name(bytes.status().code()), " ", bytes.status().message());
    return {reinterpret_cast<const char*>((*bytes)->bytes().data()), (*bytes)->bytes().size()};
  }

  const test::TemporaryDirectory folder_;
  test::FakeHost host_;
  test::PluginRunner plugin_{host_};
};

TEST_F(ModelKeysTest, DecryptsWithTheKeyThatAFileNames) {
  write_keys("a1b2");
  plugin_.set("keys_file", path("keys"));
  ASSERT_EQ(start(), "OK");
  const std::string long_one(1000, 'x');
  for (const char* key : {"a1", "b2"}) {
    for (const std::string& plain : {std::string("plain"), std::string(), long_one})
      EXPECT_EQ(read(write_model(plain, key)), plain);
  }
}

TEST_F(ModelKeysTest, NamesTheFileAndWhatIsWrongWithIt) {
  write_keys("a1");
  plugin_.set("keys_file", path("keys"));
  ASSERT_EQ(start(), "OK");
  const std::string file = "model file '" + path("model") + "'";
  EXPECT_EQ(read(path("model")), "NOT_FOUND " + file + ": No such file or directory");
  EXPECT_EQ(read(write_model("plain", "b1")), "FAILED_PRECONDITION " + file +
                                                  " is encrypted with the key 'b', which the file of keys '" +
                                                  path("keys") + "' does not have");
  EXPECT_THAT(read(write_model("plain", "a2")),
              HasSubstr("FAILED_PRECONDITION " + file + " was encrypted with another key"));
  write_model("plain", "a1");
  ASSERT_EQ(::truncate(path("model").c_str(), 140), 0);
  EXPECT_THAT(read(path("model")), HasSubstr("DATA_LOSS " + file + " is cut"));
  write_model("plain", "a1");
  ASSERT_EQ(::rename(path("model").c_str(), path("other").c_str()), 0);
  EXPECT_THAT(read(path("other")), HasSubstr("DATA_LOSS model file '" + path("other") +
                                             "' was encrypted under the name 'model', expected 'other'"));
  std::ofstream(path("model")) << "plain";
  EXPECT_EQ(read(path("model")), "INVALID_ARGUMENT " + file + " is not encrypted");
}

TEST_F(ModelKeysTest, TakesNewKeysWhenTheFileChangesAndKeepsTheOldOnesWhenItIsNoUse) {
  write_keys("a1");
  plugin_.set("keys_file", path("keys"));
  ASSERT_EQ(start(), "OK");
  const auto look = [this] {
    for (int i = 0; i < 4; ++i) {
      host_.fake_clock().advance(int64_t{1} * kNsPerSecond);
      host_.run_ready();
    }
  };
  write_keys("a1b2");
  look();
  EXPECT_EQ(read(write_model("plain", "b2")), "plain");
  write_keys("c3");
  look();
  EXPECT_THAT(read(path("model")), HasSubstr("is encrypted with the key 'b'"));
  EXPECT_EQ(read(write_model("new", "c3")), "new");
  std::ofstream(path("keys")) << "nonsense";
  look();
  EXPECT_EQ(read(path("model")), "new");
}

TEST_F(ModelKeysTest, TakesACredentialOfSystemd) {
  write_keys("a1", "model-keys");
  ::setenv("CREDENTIALS_DIRECTORY", folder_.path().c_str(), 1);
  plugin_.set("keys_credential", "model-keys");
  ASSERT_EQ(start(), "OK");
  EXPECT_EQ(read(write_model("plain", "a1")), "plain");
}

TEST_F(ModelKeysTest, TakesADescriptorThatNoChildInherits) {
  write_keys("a1");
  const FileDescriptor file(::open(path("keys").c_str(), O_RDONLY));
  plugin_.set("keys_descriptor", cat(file.get()));
  ASSERT_EQ(start(), "OK");
  EXPECT_EQ(::fcntl(file.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  EXPECT_EQ(read(write_model("plain", "a1")), "plain");
}

TEST_F(ModelKeysTest, WantsExactlyOnePlaceOfKeys) {
  EXPECT_THAT(start(), HasSubstr("expected exactly one of them"));
  write_keys("a1");
  plugin_.set("keys_file", path("keys")).set("keys_descriptor", "3");
  EXPECT_THAT(start(), HasSubstr("expected exactly one of them"));
}

TEST_F(ModelKeysTest, RefusesACredentialThatCannotBe) {
  plugin_.set("keys_credential", "model-keys");
  EXPECT_THAT(
      start(),
      HasSubstr(
          "CREDENTIALS_DIRECTORY is not in the environment; a unit of systemd with LoadCredential=model-keys:"));
  ::setenv("CREDENTIALS_DIRECTORY", folder_.path().c_str(), 1);
  EXPECT_THAT(start(), HasSubstr("cannot be read: No such file"));
  for (const char* name : {"../keys", "a/b", ".."}) {
    plugin_.set("keys_credential", name);
    EXPECT_THAT(start(), HasSubstr("expected the name of a credential")) << name;
  }
}

TEST_F(ModelKeysTest, RefusesFilesAndDescriptorsThatHaveNoKeys) {
  plugin_.set("keys_file", path("keys"));
  EXPECT_THAT(start(), HasSubstr("cannot be read: No such file"));
  std::ofstream(path("keys")) << "secret";
  ASSERT_EQ(::chmod(path("keys").c_str(), 0600), 0);
  const std::string refusal = start();
  EXPECT_THAT(refusal, HasSubstr("line 1: expected 'ID:KEY'"));
  EXPECT_THAT(refusal, testing::Not(HasSubstr("secret")));
  plugin_.set("keys_file", "").set("keys_descriptor", "1000000");
  EXPECT_THAT(start(),
              HasSubstr("file descriptor 1000000 of the option 'keys_descriptor': Bad file descriptor"));
}

}  // namespace
}  // namespace atl::model_keys
