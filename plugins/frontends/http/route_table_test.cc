// Paths and the calls they name.
#include "frontends/http/route_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace atl::frontends::http {
namespace {

TEST(RouteTable, EveryPath) {
  struct Case {
    const char* path;
    Endpoint endpoint;
    ApiCategory category;
    const char* methods;
    const char* model = "";
    const char* version = "";
    const char* other = "";  ///< repository or region
  };
  using enum Endpoint;
  const Case cases[] = {
      {"/v2/health/live", kServerLive, ApiCategory::kHealth, "GET"},
      {"/v2/health/ready", kServerReady, ApiCategory::kHealth, "GET"},
      {"/v2", kServerMetadata, ApiCategory::kMetadata, "GET"},
      {"/v2/models/m/ready", kModelReady, ApiCategory::kHealth, "GET", "m"},
      {"/v2/models/m/versions/1/ready", kModelReady, ApiCategory::kHealth, "GET", "m", "1"},
      {"/v2/models/m", kModelMetadata, ApiCategory::kMetadata, "GET", "m"},
      {"/v2/models/m/versions/12", kModelMetadata, ApiCategory::kMetadata, "GET", "m", "12"},
      {"/v2/models/m/versions/", kModelMetadata, ApiCategory::kMetadata, "GET", "m", ""},
      {"/v2/models/m/config", kModelConfig, ApiCategory::kModelConfig, "GET", "m"},
      {"/v2/models/m/versions/1/config", kModelConfig, ApiCategory::kModelConfig, "GET", "m", "1"},
      {"/v2/models/m/stats", kStatistics, ApiCategory::kStatistics, "GET", "m"},
      {"/v2/models/m/versions/1/stats", kStatistics, ApiCategory::kStatistics, "GET", "m", "1"},
      {"/v2/models/stats", kStatistics, ApiCategory::kStatistics, "GET"},
      {"/v2/models/stats/stats", kStatistics, ApiCategory::kStatistics, "GET", "stats"},
      {"/v2/models/m/infer", kInfer, ApiCategory::kInference, "POST", "m"},
      {"/v2/models/m/versions/x/infer", kInfer, ApiCategory::kInference, "POST", "m", "x"},
      {"/v2/models/m/versions//infer", kInfer, ApiCategory::kInference, "POST", "m", ""},
      {"/v2/models/m/generate", kGenerate, ApiCategory::kInference, "POST", "m"},
      {"/v2/models/m/versions/1/generate", kGenerate, ApiCategory::kInference, "POST", "m", "1"},
      {"/v2/models/m/generate_stream", kGenerateStream, ApiCategory::kInference, "POST", "m"},
      {"/v2/models/m/versions/1/generate_stream", kGenerateStream, ApiCategory::kInference, "POST", "m", "1"},
      {"/v2/repository/index", kRepositoryIndex, ApiCategory::kModelRepository, "POST"},
      {"/v2/repository/r/index", kRepositoryIndex, ApiCategory::kModelRepository, "POST", "", "", "r"},
      {"/v2/repository/models/m/load", kRepositoryLoad, ApiCategory::kModelRepository, "POST", "m"},
      {"/v2/repository/models/m/unload", kRepositoryUnload, ApiCategory::kModelRepository, "POST", "m"},
      {"/v2/repository/r/models/m/load", kRepositoryLoad, ApiCategory::kModelRepository, "POST", "m", "",
       "r"},
      {"/v2/repository/r/models/m/unload", kRepositoryUnload, ApiCategory::kModelRepository, "POST", "m", "",
       "r"},
      {"/v2/systemsharedmemory/status", kSystemRegionStatus, ApiCategory::kSharedMemory, "GET"},
      {"/v2/systemsharedmemory/region/n/status", kSystemRegionStatus, ApiCategory::kSharedMemory, "GET", "",
       "", "n"},
      {"/v2/systemsharedmemory/register", kSystemRegionRegister, ApiCategory::kSharedMemory, "POST"},
      {"/v2/systemsharedmemory/region/n/register", kSystemRegionRegister, ApiCategory::kSharedMemory, "POST",
       "", "", "n"},
      {"/v2/systemsharedmemory/unregister", kSystemRegionUnregister, ApiCategory::kSharedMemory, "POST"},
      {"/v2/systemsharedmemory/region/n/unregister", kSystemRegionUnregister, ApiCategory::kSharedMemory,
       "POST", "", "", "n"},
      {"/v2/cudasharedmemory/status", kCudaRegionStatus, ApiCategory::kSharedMemory, "GET"},
      {"/v2/cudasharedmemory/region/n/status", kCudaRegionStatus, ApiCategory::kSharedMemory, "GET", "", "",
       "n"},
      {"/v2/cudasharedmemory/register", kCudaRegionRegister, ApiCategory::kSharedMemory, "POST"},
      {"/v2/cudasharedmemory/region/n/register", kCudaRegionRegister, ApiCategory::kSharedMemory, "POST", "",
       "", "n"},
      {"/v2/cudasharedmemory/unregister", kCudaRegionUnregister, ApiCategory::kSharedMemory, "POST"},
      {"/v2/cudasharedmemory/region/n/unregister", kCudaRegionUnregister, ApiCategory::kSharedMemory, "POST",
       "", "", "n"},
      {"/v2/trace/setting", kTraceSetting, ApiCategory::kTrace, "GET, POST"},
      {"/v2/models/m/trace/setting", kTraceSetting, ApiCategory::kTrace, "GET, POST", "m"},
      {"/v2/logging", kLogging, ApiCategory::kLogging, "GET, POST"},
  };
  for (const Case& wanted : cases) {
    Route route;
    ASSERT_TRUE(find_route(wanted.path, &route)) << wanted.path;
    EXPECT_EQ(route.endpoint, wanted.endpoint) << wanted.path;
    EXPECT_EQ(route.category, wanted.category) << wanted.path;
    EXPECT_EQ(route.allowed_methods(), wanted.methods) << wanted.path;
    EXPECT_EQ(route.model, wanted.model) << wanted.path;
    EXPECT_EQ(route.version, wanted.version) << wanted.path;
    EXPECT_EQ(route.has_version, std::string_view(wanted.path).find("/versions/") != std::string_view::npos);
    EXPECT_EQ(std::string(route.repository) + std::string(route.region), wanted.other) << wanted.path;
    EXPECT_EQ(route.allows("GET"), std::string_view(wanted.methods).find("GET") != std::string_view::npos);
    EXPECT_EQ(route.allows("POST"), std::string_view(wanted.methods).find("POST") != std::string_view::npos);
    EXPECT_FALSE(route.allows("HEAD") || route.allows("get") || route.allows(""));
  }
}

TEST(RouteTable, OtherPathsAreNone) {
  Route route;
  for (const char* path :
       {"", "/", "v2", "*", "/v2/", "/V2", "/v2/health", "/v2/health/live/", "/v2//health/live", "/v2/models",
        "/v2/models/", "/v2/models//infer", "/v2/models/m/Infer", "/v2/models/m/infer/",
        "/v2/models/m/versions/1/trace/setting", "/v2/repository/models//load", "/v2/a/b/c/d/e/f/g",
        "/v2/a/b/c/d/e/f/g/h/i", "http://host/v2"}) {
    EXPECT_FALSE(find_route(path, &route)) << path;
  }
}

TEST(RouteTable, PercentCodes) {
  for (const char* path :
       {"/a%00", "/%1f", "/%7F", "/%2e", "/%2F", "/%5c", "/%", "/%2", "/%zz", "/a%20%2e"}) {
    EXPECT_TRUE(has_unsafe_percent_code(path)) << path;
  }
  for (const char* path : {"/", "/a.b", "/a%20b", "/%C3%A9", "/%25"}) {
    EXPECT_FALSE(has_unsafe_percent_code(path)) << path;
    EXPECT_FALSE(has_unsafe_percent_code(path, /*allows_slash=*/true)) << path;
  }
  EXPECT_FALSE(has_unsafe_percent_code("/a%2Fb%2f", /*allows_slash=*/true));
  EXPECT_TRUE(has_unsafe_percent_code("/a%2F%2e%2e", /*allows_slash=*/true));
}

TEST(RouteTable, NamesAreDecoded) {
  const std::string path = "/v2/repository/r%20r/models/a%20%22b%25%C3%A9/load";
  Route route;
  ASSERT_TRUE(find_route(path, &route));
  std::vector<char> storage;
  ASSERT_TRUE(decode_names(&route, &storage));
  const std::vector<char> moved = std::move(storage);
  EXPECT_EQ(route.model, "a \"b%\u00e9");
  EXPECT_EQ(route.repository, "r r");
  EXPECT_EQ(route.region, "");
  for (const char* code : {"%ff", "%c3", "%c3%20"}) {
    const std::string bad = std::string("/v2/models/a") + code + "/infer";
    ASSERT_TRUE(find_route(bad, &route));
    EXPECT_FALSE(decode_names(&route, &storage)) << code;
  }
}

}  // namespace
}  // namespace atl::frontends::http
