#include "discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "atoll/core/text.h"
#include "made_folder.h"
#include "model_text.h"
#include "testing/folder_fixture.h"

namespace atl::serve {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kPythonModel = "import os\nclass TritonPythonModel:\n    pass\n";
constexpr const char* kOpenVino = "<?xml version=\"1.0\"?>\n<net name=\"n\" version=\"11\"></net>";

class DiscoveryTest : public FolderTest {
 protected:
  /// \param missing  a backend that is not there
  Discovery look(const fs::path& path, const std::string& missing = "") {
    auto found = discover(path, [&](std::string_view backend) {
      return backend == missing ? cat("it needs the backend ", backend) : std::string();
    });
    EXPECT_TRUE(found.ok()) << found.status().text();
    return found.ok() ? std::move(found).value() : Discovery();
  }
  static std::vector<std::string> loose(const Discovery& found) {
    std::vector<std::string> texts;
    for (const LooseModel& model : found.loose) {
      std::string files;
      for (const FolderLink& file : model.files)
        files += cat(" ", file.name, "=", file.target.filename().string());
      texts.push_back(cat(model.name, " ", model.kind->backend, files));
    }
    return texts;
  }
  static std::vector<std::string> folders(const Discovery& found) {
    std::vector<std::string> names;
    for (const FolderLink& link : found.folders) names.push_back(link.name);
    return names;
  }
};

TEST_F(DiscoveryTest, ARepositoryIsServedAsItIs) {
  write("a/config.pbtxt");
  write("b/1/model.onnx");
  fs::create_directories(folder / "c" / "3");
  write(".hidden/config.pbtxt");
  write(".hidden.onnx");
  const Discovery found = look(folder);
  EXPECT_TRUE(found.is_repository);
  EXPECT_EQ(found.folder, folder);
  EXPECT_THAT(folders(found), ElementsAre("a", "b", "c"));
  EXPECT_THAT(loose(found), IsEmpty());
  EXPECT_THAT(found.remarks, IsEmpty());
}

TEST_F(DiscoveryTest, LooseModelsOfEveryKind) {
  write("a.onnx");
  write("a2.onnx");
  write("a2.onnx.data");
  write("a2.onnx_data");
  write("b.xml", kOpenVino);
  write("b.bin");
  write("c/saved_model.pb");
  write("d.tflite");
  write("e.gguf");
  write("f.py", kPythonModel);
  const Discovery found = look(folder);
  EXPECT_FALSE(found.is_repository);
  EXPECT_THAT(
      loose(found),
      ElementsAre("c tensorflow model.savedmodel=c", "a onnxruntime model.onnx=a.onnx",
                  "a2 onnxruntime model.onnx=a2.onnx a2.onnx.data=a2.onnx.data a2.onnx_data=a2.onnx_data",
                  "b openvino model.xml=b.xml model.bin=b.bin", "d openvino model.tflite=d.tflite",
                  "e llamacpp model.gguf=e.gguf", "f python model.py=f.py"));
  EXPECT_THAT(found.remarks, IsEmpty());
  EXPECT_EQ(configuration_of(found.loose.back()), "backend: \"python\"\n");
  EXPECT_EQ(configuration_of(found.loose[5]),
            "backend: \"llamacpp\"\ndefault_model_filename: \"model.gguf\"\n");
}

TEST_F(DiscoveryTest, WhatIsBesideFoldersOfModels) {
  write("a/config.pbtxt");
  write("docs/notes.md");
  write("b.onnx");
  const Discovery found = look(folder);
  // As it is, the server would take docs for a model.
  EXPECT_FALSE(found.is_repository);
  EXPECT_THAT(folders(found), ElementsAre("a"));
  EXPECT_THAT(loose(found), ElementsAre("b onnxruntime model.onnx=b.onnx"));
  EXPECT_THAT(found.remarks,
              ElementsAre("docs: not served: the folder has neither config.pbtxt nor a folder of a "
                          "version, such as 1"));
  fs::remove_all(folder / "docs");
  EXPECT_TRUE(look(folder).is_repository);
}

TEST_F(DiscoveryTest, WhatIsNotServedSaysWhy) {
  write("a.onnx");
  write("b.gguf");
  write("c.py", "def f():\n    class TritonPythonModel:\n        pass\n");
  write("d.pt");
  write("e.txt");
  write("f.xml", "<html></html>");
  fs::create_symlink("nowhere", folder / "g.onnx");
  ASSERT_EQ(::mkfifo((folder / "h.py").c_str(), 0600), 0);
  write("i\n\x1b[0m.txt");
  const Discovery found = look(folder, "llamacpp");
  EXPECT_THAT(loose(found), ElementsAre("a onnxruntime model.onnx=a.onnx"));
  EXPECT_THAT(
      found.remarks,
      ElementsAre("g.onnx: not served: a link that leads nowhere",
                  "f.xml: not served: it is no model of OpenVINO, which begins with <net",
                  "b.gguf: not served: it needs the backend llamacpp",
                  "c.py: not served: it defines no class TritonPythonModel",
                  "h.py: not served: it is no regular file", HasSubstr("d/config.pbtxt, such as  backend: "),
                  "e.txt: not served: its name ends in none of .onnx, .xml, .tflite, .gguf, .py",
                  HasSubstr("i\\n\\x1b[0m.txt: not served")));
}

TEST_F(DiscoveryTest, OneNameIsOneModel) {
  write("a/config.pbtxt");
  write("a.onnx");
  write("b c.onnx");
  write("b_c.onnx");
  write("d.onnx");
  write("d.tflite");
  const Discovery found = look(folder);
  EXPECT_THAT(loose(found),
              ElementsAre("b_c onnxruntime model.onnx=b c.onnx", "d onnxruntime model.onnx=d.onnx"));
  EXPECT_THAT(
      found.remarks,
      ElementsAre(
          "a.onnx: not served: its model would be called a, as that of a is; rename one of them",
          "b_c.onnx: not served: its model would be called b_c, as that of b c.onnx is; rename one of them",
          "d.tflite: not served: its model would be called d, as that of d.onnx is; rename one of them"));
  EXPECT_THAT(loose(look(folder, "onnxruntime")), ElementsAre("d openvino model.tflite=d.tflite"))
      << "what is not served takes no name";
}

TEST_F(DiscoveryTest, AModelsOwnFolderAndAFile) {
  write("net/1/model.onnx");
  write("named/config.pbtxt");
  write("saved/saved_model.pb");
  write("x.onnx");
  write("x.onnx.data");
  write("y.onnx");
  EXPECT_THAT(folders(look(folder / "net")), ElementsAre("net"));
  EXPECT_FALSE(look(folder / "net").is_repository);
  EXPECT_THAT(folders(look(folder / "named" / "")), ElementsAre("named"));
  EXPECT_THAT(loose(look(folder / "saved")), ElementsAre("saved tensorflow model.savedmodel=saved"));
  EXPECT_THAT(loose(look(folder / "x.onnx")),
              ElementsAre("x onnxruntime model.onnx=x.onnx x.onnx.data=x.onnx.data"));
  EXPECT_EQ(discover(folder / "none", nullptr).status().code(), Code::kNotFound);
}

TEST_F(DiscoveryTest, AModelThatIsCalledLikeAVersion) {
  write("1/1/model.onnx");
  write("2/config.pbtxt");
  const Discovery found = look(folder);
  EXPECT_TRUE(found.is_repository);
  EXPECT_THAT(folders(found), ElementsAre("1", "2"));
}

/// What `look` says where this process is not allowed everything, as root is.
bool as_somebody(const std::function<bool()>& look) {
  if (::geteuid() != 0) return look();
  constexpr uid_t kNobody = 65534;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::setresuid(kNobody, kNobody, kNobody) == 0 && look() ? 0 : 1);
  int status = 1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

TEST_F(DiscoveryTest, WhatCannotBeReadSaysSo) {
  write("a.onnx");
  write("b.onnx");
  write("closed/1/model.onnx");
  fs::permissions(folder / "a.onnx", fs::perms::none);
  fs::permissions(folder / "closed", fs::perms::none);
  EXPECT_TRUE(as_somebody([&] {
    const Discovery found = look(folder);
    return found.loose.size() == 1 && found.remarks.size() == 2 &&
           found.remarks[0] == "closed: not served: it cannot be read: Permission denied" &&
           found.remarks[1] == "a.onnx: not served: it cannot be read: Permission denied";
  }));
  EXPECT_TRUE(as_somebody([&] {
    const Status failure = discover(folder / "closed", nullptr).status().clone();
    return failure.text() == cat((folder / "closed").string(), ": cannot be read: Permission denied");
  }));
  fs::permissions(folder / "closed", fs::perms::owner_all);
}

TEST_F(DiscoveryTest, LinksLeadToWhatIsMeant) {
  write("blobs/abc");
  fs::create_directories(folder / "snapshot");
  fs::create_symlink("../blobs/abc", folder / "snapshot" / "net.onnx");
  const Discovery found = look(folder / "snapshot");
  ASSERT_EQ(found.loose.size(), 1u);
  EXPECT_EQ(found.loose[0].name, "net");
  EXPECT_EQ(found.loose[0].files[0].target, folder / "blobs" / "abc");
}

TEST(ModelNames, AreMadeValid) {
  EXPECT_EQ(model_name_of("resnet-50.v1_a"), "resnet-50.v1_a");
  EXPECT_EQ(model_name_of("my model (1)"), "my_model_1_");
  EXPECT_EQ(model_name_of("mod\xc3\xa8le"), "mod_le");
  EXPECT_EQ(model_name_of("..a"), "_.a");
  EXPECT_EQ(model_name_of("a/../b"), "a_.._b");
  EXPECT_EQ(model_name_of("\xff"), "_");
  EXPECT_EQ(model_name_of(""), "model");
  EXPECT_EQ(model_name_of(std::string(300, 'x')).size(), 128u);
}

TEST(ModelTexts, PythonModels) {
  for (const char* text : {"class TritonPythonModel:", "#x\nclass  TritonPythonModel(object):\n",
                           "a\r\nclass\tTritonPythonModel :\r\n"})
    EXPECT_TRUE(defines_python_model(text)) << text;
  for (const char* text :
       {"", "class TritonPythonModels:", "classTritonPythonModel:", " class TritonPythonModel:",
        "# class TritonPythonModel:", "class TritonPythonModel", "class"})
    EXPECT_FALSE(defines_python_model(text)) << text;
}

TEST(ModelTexts, OpenVinoModels) {
  for (const char* text :
       {"<net name=\"a\">", "\xef\xbb\xbf<?xml?>\n<!-- <html> -->\n<net>", "<net\n name=''>"})
    EXPECT_TRUE(is_openvino_text(text)) << text;
  for (const char* text : {"", "net", "<network>", "<!-- <net>", "<html><net>", "<net"})
    EXPECT_FALSE(is_openvino_text(text)) << text;
}

TEST_F(DiscoveryTest, WhatIsMadeIsPrivateAndGoes) {
  write("a.onnx");
  write("named/config.pbtxt");
  write("other/notes");
  const Discovery found = look(folder);
  fs::path path;
  {
    auto made = MadeFolder::make();
    ASSERT_TRUE(made.ok()) << made.status().text();
    path = made->path();
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    auto repository = made->make_repository(found.loose, found.folders);
    ASSERT_TRUE(repository.ok()) << repository.status().text();
    EXPECT_EQ(fs::read_symlink(*repository / "a" / "1" / "model.onnx"), folder / "a.onnx");
    EXPECT_EQ(fs::read_symlink(*repository / "named"), folder / "named");
    EXPECT_EQ(text_of(*repository / "a" / "config.pbtxt"), "backend: \"onnxruntime\"\n");
  }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(fs::exists(folder / "named" / "config.pbtxt")) << "what links lead to stays";
}

}  // namespace
}  // namespace atl::serve
