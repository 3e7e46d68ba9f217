#include "model_encryption.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "atoll/lib/encrypted_file.h"
#include "atoll/testing/print.h"
#include "atoll/testing/temporary_directory.h"

namespace atl::ctl {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class ModelEncryptionTest : public ::testing::Test {
 protected:
  ModelEncryptionTest() {
    fs::create_directories(root() / "m" / "1" / "sub");
    write("m/config.pbtxt", "config");
    write("m/labels.txt", "labels");
    write("m/1/model.onnx", "plain model");
    write("m/1/sub/weights", "");
    write("keys", "a:" + std::string(64, '1') + "\nb:" + std::string(64, '2') + "\n");
    ::chmod((root() / "keys").c_str(), 0600);
  }
  const fs::path& root() const { return folder_.path(); }
  void write(const fs::path& name, const std::string& text) const { std::ofstream(root() / name) << text; }
  std::string text(const fs::path& name) const {
    std::ifstream file(root() / name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  Result<EncryptedModel> encrypt(const std::string& key = "a", const std::string& out = "new") const {
    return encrypt_model({(root() / "m").string(), out.empty() ? out : (root() / out).string(),
                          (root() / "keys").string(), key});
  }
  std::string refusal(const std::string& key = "a", const std::string& out = "new") const {
    const auto made = encrypt(key, out);
    EXPECT_FALSE(made.ok());
    return std::string(made.status().message());
  }
  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(root())) found.insert(entry.path().filename());
    return found;
  }
  /// With the key 'a' or 'b' of the file. \returns the id it names, and the plain bytes
  std::string decrypted(const fs::path& name, const fs::path& version = "new/1") const {
    auto keys = EncryptionKeys::read((root() / "keys").string(), false);
    auto file = EncryptedFile::open((root() / name).string(), (root() / version).string());
    if (!file.ok()) return file.status().text();
    std::string plain(file->plain_bytes(), ' ');
    const Status status =
        file->decrypt(*keys->find(file->key_id()), std::as_writable_bytes(std::span(plain)));
    return status.ok() ? file->key_id() + " " + plain : status.text();
  }

  const test::TemporaryDirectory folder_;
};

TEST_F(ModelEncryptionTest, FilesOfVersionsAreEncryptedAndOthersCopied) {
  fs::create_symlink(root() / "m" / "labels.txt", root() / "m" / "1" / "link");
  ::chmod((root() / "m" / "1" / "model.onnx").c_str(), 0640);
  ::chmod((root() / "m" / "1").c_str(), 0555);
  auto made = encrypt("b");
  ASSERT_TRUE(made.ok()) << made.status().text();
  EXPECT_EQ(made->folder, (root() / "new").string());
  EXPECT_EQ(made->key_id, "b");
  EXPECT_EQ(made->files, 3u);
  EXPECT_EQ(text("new/config.pbtxt"), "config");
  EXPECT_EQ(text("new/labels.txt"), "labels");
  EXPECT_EQ(decrypted("new/1/model.onnx"), "b plain model");
  EXPECT_EQ(decrypted("new/1/sub/weights"), "b ");
  EXPECT_EQ(decrypted("new/1/link"), "b labels");
  EXPECT_EQ(text("m/1/model.onnx"), "plain model") << "the old folder stays as it is";
  EXPECT_EQ(fs::status(root() / "new" / "1" / "model.onnx").permissions(), fs::perms(0640));
  EXPECT_EQ(fs::status(root() / "new" / "1").permissions(), fs::perms(0555));
  EXPECT_EQ(fs::status(root() / "new").permissions(), fs::status(root() / "m").permissions());
  EXPECT_THAT(names(), UnorderedElementsAre("keys", "m", "new")) << "nothing else is left";
  for (const char* name : {"m", "new"}) ::chmod((root() / name / "1").c_str(), 0755);
}

TEST_F(ModelEncryptionTest, AFileHasItsNameInItsVersion) {
  fs::create_directory(root() / "m" / "02");
  write("m/02/model.onnx", "second");
  ASSERT_TRUE(encrypt().ok());
  EXPECT_EQ(decrypted("new/02/model.onnx", "new/02"), "a second");
  fs::rename(root() / "new" / "1", root() / "new" / "3");
  EXPECT_EQ(decrypted("new/3/model.onnx", "new/3"), "a plain model") << "a version may get another number";
  EXPECT_EQ(decrypted("new/3/sub/weights", "new/3"), "a ");
  fs::rename(root() / "new" / "3" / "sub" / "weights", root() / "new" / "3" / "weights");
  EXPECT_THAT(decrypted("new/3/weights", "new/3"),
              HasSubstr("encrypted under the name 'sub/weights', expected 'weights'"));
}

TEST_F(ModelEncryptionTest, ANameThatCannotBeIsNamed) {
  write("m/1/a\nb", "x");
  EXPECT_THAT(refusal(), HasSubstr("found the name of a file that cannot be encrypted"));
  EXPECT_THAT(names(), UnorderedElementsAre("keys", "m"));
}

TEST_F(ModelEncryptionTest, TheNewFolderHasANameOfItsOwnUnlessItIsSaid) {
  auto made = encrypt_model({(root() / "m").string() + "/", "", (root() / "keys").string(), "a"});
  ASSERT_TRUE(made.ok()) << made.status().text();
  EXPECT_EQ(made->folder, (root() / "m.encrypted").string());
}

TEST_F(ModelEncryptionTest, TheOnlyKeyNeedNotBeNamed) {
  EXPECT_THAT(refusal(""), HasSubstr("has several keys; say which one by --key-id: a, b"));
  EXPECT_THAT(refusal("c"), HasSubstr("has no key 'c'; it has a, b"));
  write("keys", "a:" + std::string(64, '1') + "\n");
  EXPECT_EQ(encrypt("")->key_id, "a");
}

TEST_F(ModelEncryptionTest, WhatCannotBeEncryptedLeavesNothing) {
  ASSERT_TRUE(encrypt().ok());
  EXPECT_THAT(refusal(), HasSubstr("new' is there already"));
  EXPECT_THAT(refusal("a", "none/new"), HasSubstr("cannot be made: No such file"));
  fs::copy_file(root() / "new" / "1" / "model.onnx", root() / "m" / "1" / "copy");
  EXPECT_THAT(refusal("a", "next"), HasSubstr("1/copy' is encrypted already"));
  fs::remove(root() / "m" / "1" / "copy");
  ASSERT_EQ(::mkfifo((root() / "m" / "1" / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(refusal("a", "next"), HasSubstr("1/fifo' is neither a file nor a folder"));
  fs::remove(root() / "m" / "1" / "fifo");
  fs::create_directory_symlink(root() / "m", root() / "m" / "1" / "loop");
  EXPECT_THAT(refusal("a", "next"), HasSubstr("loop"));
  fs::remove(root() / "m" / "1" / "loop");
  fs::remove_all(root() / "m" / "1");
  EXPECT_THAT(refusal("a", "next"), HasSubstr("has no folder of a version with a file in it"));
  fs::remove_all(root() / "m");
  EXPECT_THAT(refusal("a", "next"), HasSubstr("m' is not a folder"));
  EXPECT_THAT(names(), UnorderedElementsAre("keys", "new"));
}

}  // namespace
}  // namespace atl::ctl
