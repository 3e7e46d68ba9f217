#include "frontends/common/codec/error_map.h"

#include <gtest/gtest.h>

#include "atoll/models/model.h"
#include "frontends/common/call/model_version.h"

namespace atl::frontends {
namespace {

TEST(ErrorMap, MapsTheCodesOfTheProtocol) {
  struct Row {
    Code code;
    int grpc;
    int http;
  };
  for (Row row :
       {Row{Code::kOk, 0, 200}, Row{Code::kUnknown, 2, 400}, Row{Code::kInvalidArgument, 3, 400},
        Row{Code::kAlreadyExists, 6, 400}, Row{Code::kCancelled, 1, 400}, Row{Code::kNotFound, 5, 404},
        Row{Code::kUnavailable, 14, 503}, Row{Code::kUnimplemented, 12, 501}, Row{Code::kInternal, 13, 500},
        Row{Code::kResourceExhausted, 8, 429}}) {
    EXPECT_EQ(grpc_code(row.code), row.grpc) << code_name(row.code);
    EXPECT_EQ(http_status(row.code), row.http) << code_name(row.code);
  }
  EXPECT_EQ(grpc_code(static_cast<Code>(99)), 2);
  EXPECT_EQ(http_status(static_cast<Code>(99)), 400);
}

TEST(ErrorMap, ClientsGetTheMessageWithoutNotes) {
  Status status = not_found("no such thing");
  status.note("while looking").set_origin("models");
  EXPECT_EQ(client_text(status), "no such thing");
}

TEST(ModelVersion, ReadsNumbersAsClientsWriteThem) {
  struct Row {
    const char* text;
    int64_t version;
  };
  for (Row row : {Row{"", ModelCatalog::kLatest}, Row{"1", 1}, Row{"1x", 1}, Row{" 12", 12}, Row{"+3", 3},
                  Row{"0", 0}, Row{"007", 7}, Row{"9223372036854775807", INT64_MAX}, Row{"1e3", 1}}) {
    Result<int64_t> version = parse_model_version(row.text);
    ASSERT_TRUE(version.ok()) << row.text;
    EXPECT_EQ(version.value(), row.version) << row.text;
  }
}

TEST(ModelVersion, RefusesWhatIsNoNumber) {
  for (const char* text : {"x", "-", " ", "99999999999999999999", "x1"}) {
    Result<int64_t> version = parse_model_version(text);
    ASSERT_FALSE(version.ok()) << text;
    EXPECT_EQ(version.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(version.status().message(), "failed to get model version from specified version string '" +
                                              std::string(text) +
                                              "' (details: stol), version should be an integral value > 0");
  }
  Result<int64_t> negative = parse_model_version("-1");
  ASSERT_FALSE(negative.ok());
  EXPECT_EQ(negative.status().message(),
            "invalid model version specified '-1' , version should be an integral value > 0");
}

}  // namespace
}  // namespace atl::frontends
