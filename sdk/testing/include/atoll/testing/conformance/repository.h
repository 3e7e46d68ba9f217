/// Conformance of "atoll.repository/1": for repositories that are made from paths of the local disk.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "atoll/models/repository.h"
#include "atoll/testing/conformance/conformance.h"
#include "atoll/testing/fake_host.h"
#include "atoll/testing/temporary_directory.h"

namespace atl::test {

struct RepositoryProvider {
  std::string name;
  /// A started repository over the paths.
  std::function<std::shared_ptr<Repository>(FakeHost&, const std::vector<std::string>& paths)> make;
  std::vector<ConformanceException> exceptions;
  friend void PrintTo(const RepositoryProvider& provider, std::ostream* out) { *out << provider.name; }
};

class RepositoryConformance : public Conformance<RepositoryProvider> {
 protected:
  void TearDown() override { repository_.reset(); }
  /// A repository over this folder of the test's own.
  std::string folder(const std::string& name = "models") const {
    std::filesystem::create_directories(root_.path() / name);
    return root_.path() / name;
  }
  Repository& open(const std::vector<std::string>& paths) {
    repository_.reset();
    repository_ = GetParam().make(host_, paths);
    return *repository_;
  }
  static void put(const std::string& folder, const std::string& model,
                  const std::vector<std::string>& versions, const std::string& config = {}) {
    std::filesystem::create_directories(folder + "/" + model);
    for (const std::string& version : versions)
      std::filesystem::create_directories(folder + "/" + model + "/" + version);
    if (!config.empty()) std::ofstream(folder + "/" + model + "/config.pbtxt") << config;
  }
  static std::vector<std::string> names(Repository& repository) {
    std::vector<std::string> names;
    auto entries = repository.list();
    EXPECT_TRUE(is_ok(entries));
    if (entries.ok()) {
      for (const RepositoryEntry& entry : entries.value()) names.push_back(entry.name);
    }
    return names;
  }

  TemporaryDirectory root_;
  FakeHost host_;
  std::shared_ptr<Repository> repository_;
};

TEST_P(RepositoryConformance, NamesAreOrderedAndHiddenOnesLeftOut) {
  check([&] {
    std::string models = folder();
    for (const char* name : {"zebra", "alpha", "mid.dle", "_under", "Upper", ".hidden"})
      put(models, name, {"1"});
    std::ofstream(models + "/README.md") << "a file is no model";
    EXPECT_EQ(names(open({models})),
              (std::vector<std::string>{"Upper", "_under", "alpha", "mid.dle", "zebra"}));
  });
}

TEST_P(RepositoryConformance, AnEmptyRepositoryHasNoModels) {
  check([&] { EXPECT_TRUE(names(open({folder()})).empty()); });
}

TEST_P(RepositoryConformance, AModelIsReadWithItsVersionsAndConfiguration) {
  check([&] {
    std::string models = folder();
    put(models, "m", {"10", "2", "1"}, "name: \"m\"\n");
    auto model = open({models}).open("m");
    ASSERT_TRUE(is_ok(model));
    EXPECT_EQ(model->entry.name, "m");
    EXPECT_EQ(model->entry.repository, models);
    EXPECT_EQ(model->config_text, "name: \"m\"\n");
    EXPECT_FALSE(model->config_path.empty());
    ASSERT_EQ(model->versions.size(), 3u);
    EXPECT_EQ(model->versions[0].version, 1);
    EXPECT_EQ(model->versions[1].version, 2);
    EXPECT_EQ(model->versions[2].version, 10);
    EXPECT_TRUE(std::filesystem::is_directory(model->versions[2].path));
  });
}

TEST_P(RepositoryConformance, AModelMayHaveNoConfiguration) {
  check([&] {
    std::string models = folder();
    put(models, "bare", {"1"});
    auto model = open({models}).open("bare");
    ASSERT_TRUE(is_ok(model));
    EXPECT_EQ(model->config_path, "");
    EXPECT_EQ(model->config_text, "");
  });
}

TEST_P(RepositoryConformance, OnlyCanonicalNumbersAreVersions) {
  check([&] {
    std::string models = folder();
    put(models, "m", {"1", "01", "0", "-1", "+2", "1a", "abc", "99999999999999999999999"});
    std::ofstream(models + "/m/7") << "a file is no version";
    auto model = open({models}).open("m");
    ASSERT_TRUE(is_ok(model));
    ASSERT_EQ(model->versions.size(), 1u);
    EXPECT_EQ(model->versions[0].version, 1);
    std::string warnings;
    for (const std::string& warning : model->ignored) warnings += warning + "\n";
    EXPECT_NE(warnings.find("'01'"), std::string::npos) << warnings;
  });
}

TEST_P(RepositoryConformance, UnknownModelsAreNotFound) {
  check([&] {
    std::string models = folder();
    put(models, "m", {"1"});
    EXPECT_TRUE(is_failure(open({models}).open("other"), Code::kNotFound, "other"));
  });
}

TEST_P(RepositoryConformance, NamesThatLeaveTheRepositoryAreRefused) {
  check([&] {
    std::string models = folder();
    put(models, "m", {"1"});
    put(folder("outside"), "secret", {"1"});
    Repository& repository = open({models});
    for (std::string_view name :
         {std::string_view(""), std::string_view("."), std::string_view(".."),
          std::string_view("../outside/secret"), std::string_view("m/../../outside/secret"),
          std::string_view("/etc"), std::string_view("m/1"), std::string_view("./m"), std::string_view("m/"),
          std::string_view("m\0", 2)}) {
      EXPECT_FALSE(repository.open(name).ok()) << "'" << name << "' was opened";
    }
    EXPECT_FALSE(repository.open(std::string(5000, 'a')).ok());
  });
}

TEST_P(RepositoryConformance, TheSameNameInTwoRepositories) {
  check([&] {
    std::string first = folder("first"), second = folder("second");
    put(first, "twice", {"1"});
    put(second, "twice", {"2"});
    put(second, "once", {"3"});
    Repository& repository = open({first, second});
    EXPECT_EQ(names(repository), (std::vector<std::string>{"once", "twice", "twice"}));
    EXPECT_TRUE(is_failure(repository.open("twice"), Code::kFailedPrecondition,
                           "model appears in two or more repositories"));
    EXPECT_TRUE(is_ok(repository.open("once")));
  });
}

TEST_P(RepositoryConformance, AMissingRepositoryIsNamed) {
  check([&] {
    std::string gone = folder("gone");
    Repository& repository = open({gone});
    std::filesystem::remove_all(gone);
    EXPECT_TRUE(is_failure(repository.list(), Code::kUnavailable, gone));
  });
}

TEST_P(RepositoryConformance, AConfigurationOutsideTheRepositoryIsNotFollowed) {
  check([&] {
    std::string models = folder(), outside = folder("outside");
    put(models, "m", {"1"});
    std::ofstream(outside + "/config.pbtxt") << "name: \"stolen\"";
    std::filesystem::create_symlink(outside + "/config.pbtxt", models + "/m/config.pbtxt");
    EXPECT_TRUE(is_failure(open({models}).open("m"), Code::kInvalidArgument));
  });
}

TEST_P(RepositoryConformance, ADeviceIsNoConfiguration) {
  check([&] {
    std::string models = folder();
    put(models, "m", {"1"});
    ASSERT_EQ(mkfifo((models + "/m/config.pbtxt").c_str(), 0600), 0);
    EXPECT_TRUE(is_failure(open({models}).open("m"), Code::kInvalidArgument));
  });
}

TEST_P(RepositoryConformance, AConfigurationHasAnUpperSize) {
  check([&] {
    std::string models = folder();
    put(models, "m", {"1"}, "#");
    std::filesystem::resize_file(models + "/m/config.pbtxt", (16u << 20) + 1);
    EXPECT_TRUE(is_failure(open({models}).open("m"), Code::kInvalidArgument));
  });
}

TEST_P(RepositoryConformance, ChangesAreSeen) {
  check([&] {
    std::string models = folder();
    put(models, "a", {"1"}, "one");
    Repository& repository = open({models});
    EXPECT_EQ(names(repository), (std::vector<std::string>{"a"}));
    put(models, "b", {"1"});
    put(models, "a", {"2"}, "two");
    EXPECT_EQ(names(repository), (std::vector<std::string>{"a", "b"}));
    auto model = repository.open("a");
    ASSERT_TRUE(is_ok(model));
    EXPECT_EQ(model->config_text, "two");
    EXPECT_EQ(model->versions.size(), 2u);
    std::filesystem::remove_all(models + "/a");
    EXPECT_EQ(names(repository), (std::vector<std::string>{"b"}));
    EXPECT_TRUE(is_failure(repository.open("a"), Code::kNotFound));
  });
}

TEST_P(RepositoryConformance, StampsTellWhatChanged) {
  check([&] {
    std::string models = folder();
    put(models, "m", {"1", "2"}, "one");
    std::ofstream(models + "/m/labels.txt") << "cat";
    Repository& repository = open({models});
    // Of a change of this moment stamps are unlike any other; after a while they are settled.
    auto settled = [&] {
      while (true) {
        auto first = repository.stamps("m"), second = repository.stamps("m");
        if (!first.ok() || !second.ok() || first.value() == second.value()) return second;
      }
    };
    auto before = settled();
    ASSERT_TRUE(is_ok(before));
    ASSERT_EQ(before->size(), 4u);
    EXPECT_EQ((*before)[0].part, RepositoryStamp::Part::kVersion);
    EXPECT_EQ((*before)[1].version, 2);
    EXPECT_EQ((*before)[2].part, RepositoryStamp::Part::kConfiguration);
    EXPECT_EQ((*before)[3].part, RepositoryStamp::Part::kOther);
    std::ofstream(models + "/m/2/model") << "weights";
    auto after = settled();
    ASSERT_TRUE(is_ok(after));
    for (size_t i = 0; i < after->size(); ++i) EXPECT_EQ((*after)[i] == (*before)[i], i != 1) << i;
    EXPECT_TRUE(is_failure(repository.stamps("other"), Code::kNotFound));
    EXPECT_FALSE(repository.stamps("../models").ok());
  });
}

TEST_P(RepositoryConformance, FilesOfClientsMakeAModelThatGoesWithItsHolder) {
  check([&] {
    std::string path;
    {
      auto made = open({folder()}).open_files("m", {{"1/model", "weights"}, {"3/model", ""}});
      ASSERT_TRUE(is_ok(made));
      EXPECT_EQ(made->model.entry.name, "m");
      ASSERT_EQ(made->model.versions.size(), 2u);
      EXPECT_EQ(made->model.versions[1].version, 3);
      path = made->model.versions[0].path;
      EXPECT_EQ(std::filesystem::file_size(path + "/model"), 7u);
    }
    EXPECT_FALSE(std::filesystem::exists(path));
    for (const char* bad : {"../x", "/x", "1/../../x", ""}) {
      EXPECT_TRUE(is_failure(repository_->open_files("m", {{bad, ""}}), Code::kInvalidArgument)) << bad;
    }
    EXPECT_FALSE(repository_->open_files("../m", {{"1/model", ""}}).ok());
  });
}

TEST_P(RepositoryConformance, ADirectoryElsewhereIsReadAsAModel) {
  check([&] {
    Repository& repository = open({folder()});
    const std::string elsewhere = folder("elsewhere");
    put(elsewhere, "moved", {"2", "1"}, "name: \"m\"\n");
    auto model = repository.open_at("m", elsewhere + "/moved");
    ASSERT_TRUE(is_ok(model));
    EXPECT_EQ(model->entry.name, "m");
    EXPECT_EQ(model->entry.path, elsewhere + "/moved");
    ASSERT_EQ(model->versions.size(), 2u);
    EXPECT_EQ(model->versions[1].path, elsewhere + "/moved/2");
    EXPECT_EQ(model->config_path, elsewhere + "/moved/config.pbtxt");
    EXPECT_EQ(model->config_text, "name: \"m\"\n");
    EXPECT_EQ(repository.open_at("m", elsewhere + "/none").status().code(), Code::kNotFound);
    std::filesystem::create_symlink(elsewhere, elsewhere + "/moved/3");
    EXPECT_EQ(repository.open_at("m", elsewhere + "/moved").status().code(), Code::kInvalidArgument);
  });
}

TEST_P(RepositoryConformance, ThreadsReadAtTheSameTime) {
  check([&] {
    std::string models = folder();
    for (int i = 0; i < 20; ++i) put(models, cat("m", i), {"1"}, cat("name: 'm", i, "'"));
    Repository& repository = open({models});
    std::atomic<uint32_t> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) {
          auto entries = repository.list();
          auto model = repository.open(cat("m", i));
          if (!entries.ok() || entries->size() != 20 || !model.ok() ||
              model->config_text != cat("name: 'm", i, "'"))
            ++wrong;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0u);
  });
}

}  // namespace atl::test
