#include "backends/common/python_packages.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "atoll/core/text.h"
#include "atoll/testing/temporary_directory.h"

namespace atl::backends {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class PythonPackagesTest : public testing::Test {
 protected:
  std::string folder(const std::string& name) const {
    fs::create_directories(root_ / name);
    return (root_ / name).string();
  }
  std::string at(const std::string& name) const { return (root_ / name).string(); }
  void program(const std::string& name) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << "not run";
    fs::permissions(root_ / name, fs::perms::owner_all);
  }
  void link(const std::string& name, const std::string& target) const {
    fs::create_directories((root_ / name).parent_path());
    fs::create_symlink(target, root_ / name);
  }
  /// What `python3 -m venv` makes of the Python in usr.
  std::string environment(const std::string& name, const std::string& settings) const {
    link(name + "/bin/python3", at("usr/bin/python3"));
    std::ofstream(root_ / name / "pyvenv.cfg") << settings;
    link(name + "/lib64", "lib");
    return folder(name + "/lib/python3.11/site-packages");
  }
  /// What Debian's package of Python installs.
  void system_python() const {
    program("usr/bin/python3.11");
    link("usr/bin/python3", "python3.11");
    folder("usr/lib/python3.11");
    folder("usr/lib/python3/dist-packages");
    folder("usr/local/lib/python3.11/dist-packages");
    folder("usr/lib/python3.9/site-packages");  // that of another Python
  }
  std::vector<std::string> found() const { return python_package_folders(search_); }

  test::TemporaryDirectory made_;
  fs::path root_ = fs::canonical(made_.path());
  PythonSearch search_{at("plugins/backends/x.so"), "", "", ""};
};

TEST_F(PythonPackagesTest, WithoutAPythonThereAreNone) {
  EXPECT_THAT(found(), IsEmpty());
  search_ = {"", at("nowhere"), cat(at("nowhere/bin"), "::.:bin:", at("nowhere")), at("nowhere")};
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(PythonPackagesTest, AServerOfAWheelLooksBesideItself) {
  const std::string site = folder("v/lib/python3.11/site-packages");
  search_.own_file = site + "/atoll_server/lib/atoll/plugins/backends/onnxruntime.so";
  EXPECT_THAT(found(), ElementsAre(site));
  search_.own_file = site + "/other/lib/atoll/plugins/backends/onnxruntime.so";
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(PythonPackagesTest, OfSeveralVersionsTheNewestComesFirst) {
  search_.virtual_env = at("v");
  const std::string older = folder("v/lib/python3.9/site-packages"),
                    newer = folder("v/lib/python3.12/site-packages");
  folder("v/lib/python3.13");
  folder("v/lib/pythonic");
  EXPECT_THAT(found(), ElementsAre(newer, older));
}

TEST_F(PythonPackagesTest, ThePythonInPathIsFoundThroughItsLinks) {
  system_python();
  search_.path = cat("bin::", at("empty"), ":", at("usr/bin/"));
  search_.user_base = at("home/.local");
  EXPECT_THAT(found(),
              ElementsAre(at("usr/local/lib/python3.11/dist-packages"), at("usr/lib/python3/dist-packages")));
  const std::string own = folder("home/.local/lib/python3.11/site-packages");
  folder("home/.local/lib/python3.12/site-packages");
  EXPECT_THAT(found(), ElementsAre(own, at("usr/local/lib/python3.11/dist-packages"),
                                   at("usr/lib/python3/dist-packages")));
}

TEST_F(PythonPackagesTest, AProgramWithoutAVersionInItsNameMeansThoseThatAreThere) {
  program("opt/bin/python3");
  const std::string site = folder("opt/lib/python3.12/site-packages");
  search_.path = at("opt/bin");
  EXPECT_THAT(found(), ElementsAre(site));
}

TEST_F(PythonPackagesTest, WhatOnlyChoosesAPythonIsPassedOver) {
  system_python();
  program("shims/python3");
  fs::create_directories(root_ / "folders" / "python3");
  std::ofstream(fs::path(folder("unusable")) / "python3") << "not executable";
  search_.path = cat(at("shims"), ":", at("folders"), ":", at("unusable"), ":", at("usr/bin"));
  EXPECT_THAT(found(),
              ElementsAre(at("usr/local/lib/python3.11/dist-packages"), at("usr/lib/python3/dist-packages")));
}

TEST_F(PythonPackagesTest, AnEnvironmentInPathHidesTheSystemUnlessItIsToldNotTo) {
  system_python();
  const std::string site = environment("v", "home = /usr/bin\ninclude-system-site-packages = false\n");
  search_.path = cat(at("v/bin"), ":", at("usr/bin"));
  EXPECT_THAT(found(), ElementsAre(site));
  const std::string open = environment("w", "home = /usr/bin\ninclude-system-site-packages = true\n");
  search_.path = at("w/bin");
  EXPECT_THAT(found(), ElementsAre(open, at("usr/local/lib/python3.11/dist-packages"),
                                   at("usr/lib/python3/dist-packages")));
}

TEST_F(PythonPackagesTest, EachFolderIsNamedOnceAndTheOrderIsKept) {
  system_python();
  const std::string active = environment("active", ""), holder = environment("holder", "");
  search_.own_file = holder + "/atoll_server/lib/atoll/plugins/backends/onnxruntime.so";
  search_.virtual_env = at("active");
  search_.path = at("usr/bin");
  EXPECT_THAT(found(), ElementsAre(holder, active, at("usr/local/lib/python3.11/dist-packages"),
                                   at("usr/lib/python3/dist-packages")));
  search_.path = at("active/bin");
  EXPECT_THAT(found(), ElementsAre(holder, active));
  search_.virtual_env = "active";
  EXPECT_THAT(found(), ElementsAre(holder, active)) << "by PATH; what is relative counts for nothing";
}

}  // namespace
}  // namespace atl::backends
