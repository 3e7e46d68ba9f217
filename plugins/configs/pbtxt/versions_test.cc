#include "configs/pbtxt/versions.h"

#include "configs/pbtxt/testing/config_fixture.h"

namespace atl::pbtxt {
namespace {

struct Selection {
  std::vector<int64_t> versions;
  std::vector<std::string> warnings;
  std::string failure;
};

Selection select(const std::string& policy, const std::vector<int64_t>& present) {
  std::vector<RepositoryVersion> versions;
  for (int64_t version : present) versions.push_back({version, cat("/models/m/", version)});
  Selection selection;
  auto selected = select_versions(config_of("name: 'm' " + policy), versions, &selection.warnings);
  if (!selected.ok()) {
    EXPECT_EQ(selected.status().code(), Code::kInvalidArgument);
    selection.failure = selected.status().message();
    return selection;
  }
  for (const auto& version : *selected) {
    EXPECT_EQ(version.path, cat("/models/m/", version.version));
    selection.versions.push_back(version.version);
  }
  return selection;
}

constexpr const char* kNone = "at least one version must be available under the version policy of model 'm'";
using Versions = std::vector<int64_t>;

TEST(Versions, EachPolicy) {
  EXPECT_EQ(select("", {1, 3, 20}).versions, (Versions{20}));
  EXPECT_EQ(select("version_policy { latest { num_versions: 2 } }", {1, 3, 20}).versions, (Versions{3, 20}));
  EXPECT_EQ(select("version_policy { latest { num_versions: 4294967295 } }", {1, 3}).versions,
            (Versions{1, 3}));
  EXPECT_EQ(select("version_policy { all { } }", {20, 1, 3}).versions, (Versions{1, 3, 20}));
  EXPECT_EQ(select("version_policy { specific { versions: [ 3, 1, 3 ] } }", {1, 3, 20}).versions,
            (Versions{1, 3}));
}

TEST(Versions, AbsentOnesAreToldOf) {
  auto selection = select("version_policy { specific { versions: [ 7, 1 ] } }", {1, 3});
  EXPECT_EQ(selection.versions, (Versions{1}));
  EXPECT_EQ(selection.warnings,
            (std::vector<std::string>{
                "version 7 is specified for model 'm', but the version directory is not present"}));
}

TEST(Versions, NoneIsAnError) {
  EXPECT_EQ(select("", {}).failure, kNone);
  EXPECT_EQ(select("version_policy { latest { } }", {1}).failure, kNone);
  EXPECT_EQ(select("version_policy { all { } }", {}).failure, kNone);
  EXPECT_EQ(select("version_policy { specific { } }", {1}).failure, kNone);
  EXPECT_EQ(select("version_policy { specific { versions: 2 } }", {1}).failure, kNone);
}

}  // namespace
}  // namespace atl::pbtxt
