/// From the request of a client to what it gets.
#include "frontends/tfserving/serving_routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "frontends/tfserving/testing/serving_fixture.h"

namespace atl::frontends::tfserving {
namespace {

class ServingRoutesTest : public testing::Test {
 protected:
  std::string predict(std::string body, const std::string& model = "echo") {
    const test::ReceivedHttpReply reply =
        scripted.ask("POST", "/v1/models/" + model + ":predict", std::move(body));
    EXPECT_EQ(reply.content_type, "application/json");
    return reply.status == 200 ? reply.body : cat(reply.status, " ", reply.body);
  }
  std::string get(const std::string& path) {
    const test::ReceivedHttpReply reply = scripted.ask("GET", path);
    return reply.status == 200 ? reply.body : cat(reply.status, " ", reply.body);
  }
  void expect_error(const std::string& body, const std::string& text, const std::string& model = "echo") {
    EXPECT_EQ(predict(body, model), cat(R"(400 {"error":")", text, "\"}")) << body;
  }
  /// The model answers each request with this output.
  void answer_with(std::string name, DataType type, std::vector<int64_t> shape, std::string bytes) {
    scripted.echo->respond = [=](Request& request) {
      Response* const response = request.sink->new_response();
      OutputTensor& output = response->add_output(name, type, shape);
      EXPECT_TRUE(response->allocate(output, bytes.size()).ok());
      if (!bytes.empty()) std::memcpy(output.buffer.data, bytes.data(), bytes.size());
      response->send(kFinal);
      (void)request.release().ok();
    };
  }

  ScriptedServing scripted;
};

TEST_F(ServingRoutesTest, RowsAndColumns) {
  EXPECT_EQ(predict(R"({"instances":[[1,2.5],[3,-1e3]]})"), R"({"predictions":[[1.0,2.5],[3.0,-1000.0]]})");
  EXPECT_EQ(predict(R"({"inputs":[[1],[2]],"signature_name":"serving_default"})"),
            R"({"outputs":[[1.0],[2.0]]})");
  EXPECT_EQ(predict(R"({"inputs":{"INPUT0":[[1]]}})"), R"({"outputs":[[1.0]]})");
  EXPECT_EQ(predict(R"({"instances":[{"INPUT0":[1]},{"INPUT0":[2]}]})"), R"({"predictions":[[1.0],[2.0]]})");
  EXPECT_EQ(predict(R"({"instances":[[NaN,Infinity,-Infinity]]})"),
            R"({"predictions":[[NaN,Infinity,-Infinity]]})");
}

TEST_F(ServingRoutesTest, SeveralOutputsHaveNames) {
  const std::string rows = R"({"instances":[{"x":1,"text":"a"},{"text":{"b64":"YmI="},"x":2}]})";
  EXPECT_EQ(predict(rows, "pair"), R"({"predictions":[{"x":[1.0],"text":["a"]},{"x":[2.0],"text":["bb"]}]})");
  EXPECT_EQ(predict(R"({"inputs":{"x":[1,2],"text":["a",""]}})", "pair"),
            R"({"outputs":{"x":[[1.0],[2.0]],"text":[["a"],[""]]}})");
}

TEST_F(ServingRoutesTest, MoreRowsThanABatchAreSeveralRequests) {
  std::vector<int64_t> batches;
  scripted.echo->refuse = [&](Request& request) -> Status {
    batches.push_back(request.inputs[0].shape[0]);
    return {};
  };
  EXPECT_EQ(predict(R"({"instances":[[0],[1],[2],[3],[4],[5],[6],[7],[8]]})"),
            R"({"predictions":[[0.0],[1.0],[2.0],[3.0],[4.0],[5.0],[6.0],[7.0],[8.0]]})");
  EXPECT_EQ(batches, (std::vector<int64_t>{4, 4, 1}));
}

TEST_F(ServingRoutesTest, TextsOfManyRowsAreCutWhereTheyBegin) {
  std::string body, expected;
  for (int i = 0; i < 19; ++i) {
    const std::string text(static_cast<size_t>(i), 'x');
    body += cat(i == 0 ? "" : ",", R"({"x":0,"text":")", text, "\"}");
    expected += cat(i == 0 ? "" : ",", R"({"x":[0.0],"text":[")", text, "\"]}");
  }
  EXPECT_EQ(predict(cat(R"({"instances":[)", body, "]}"), "pair"),
            cat(R"({"predictions":[)", expected, "]}"));
}

TEST_F(ServingRoutesTest, WrongValuesAreTold) {
  expect_error(
      R"({"instances":[[1],["a"]]})",
      "Failed to process element: 1 of 'instances' list. Error: input 'INPUT0' at [1][0]: found a string, "
      "expected a number (FP32)");
  expect_error(
      R"({"instances":[[1,2],[1]]})",
      "Failed to process element: 1 of 'instances' list. Error: input 'INPUT0' at [1]: found a list of 1, "
      "expected one of 2, as in the first place");
  expect_error(R"({"inputs":[[1],2]})",
               "input 'INPUT0' at [1]: found an integer, expected a list, as in the first place");
  expect_error(R"({"inputs":[1,[2]]})",
               "input 'INPUT0' at [1]: found a list, expected one value, as in the first place");
  expect_error(R"({"inputs":[[1e39]]})",
               "input 'INPUT0' at [0][0]: found a number out of range, expected one of FP32");
  expect_error(R"({"inputs":{"other":[[1]]}})", "the model 'echo' has no input 'other', expected 'INPUT0'");
  expect_error(R"({"inputs":{"INPUT0":[[1]],"INPUT0":[[1]]}})", "input 'INPUT0' is there twice");
  expect_error(
      R"({"instances":[{"INPUT0":[1]},[1]]})",
      "Failed to process element: 1 of 'instances' list. Error: expected an object with values by name, as in "
      "the first element");
  expect_error(
      R"({"instances":[{"x":1,"text":"a"},{"x":1}]})",
      "Failed to process element: 1 of 'instances' list. Error: expected the 2 inputs of the first element, "
      "found 1",
      "pair");
  expect_error(
      R"({"instances":[{"x":1,"text":"a"},{"x":1,"x":1}]})",
      "Failed to process element: 1 of 'instances' list. Error: input 'x' has two values here, expected one in "
      "each",
      "pair");
  expect_error(R"({"inputs":{"x":[1]}})", "the input 'text' of the model 'pair' is missing", "pair");
  expect_error(R"({"inputs":[1]})",
               "the model 'pair' has the inputs 'x', 'text': expected an object with values by their names",
               "pair");
  expect_error(
      R"({"inputs":{"x":[1],"text":[{"b64":"?"}]}})",
      R"(input 'text' at [0]: found a text that is no base64, expected a string or {\"b64\": \"<base64>\"} (BYTES))",
      "pair");
  expect_error(
      R"({"inputs":{"x":[1],"text":[{"b65":"?"}]}})",
      R"(input 'text' at [0]: found an object, expected a string or {\"b64\": \"<base64>\"} (BYTES))",
      "pair");
}

TEST_F(ServingRoutesTest, WrongBodiesAreTold) {
  expect_error("{", "JSON Parse error: invalid value at offset: 1");
  expect_error("[]", "JSON Value is not formatted as an object");
  expect_error("{}", "Missing 'inputs' or 'instances' key");
  expect_error(R"({"inputs":[],"instances":[]})",
               "Not formatted correctly: expected only one of 'inputs' and 'instances'");
  for (const char* none : {"[]", "{}", "5", "null"})
    expect_error(cat(R"({"instances":)", none, "}"),
                 "'instances' has to be a list with at least one element");
  expect_error(R"({"signature_name":5,"inputs":[]})", "'signature_name' key must be a string value");
  expect_error(
      R"({"signature_name":"other","inputs":[]})",
      R"(Serving signature name: \"other\" not found in signature def: the model 'echo' has 'serving_default')");
  expect_error(cat(R"({"inputs":)", std::string(50, '['), std::string(50, ']'), "}"),
               "JSON Parse error: more than 40 levels of objects and lists");
  expect_error(cat(R"({"inputs":)", std::string(33, '['), "1", std::string(33, ']'), "}"),
               cat(
                   "input 'INPUT0' at ",
                   [] {
                     std::string places;
                     for (int i = 0; i < 32; ++i) places += "[0]";
                     return places;
                   }(),
                   ": found a list, expected at most 32 dimensions"));
  std::string many = "0";
  for (int i = 0; i < 1000; ++i) many += ",0";
  expect_error(cat(R"({"inputs":[[)", many, "]]}"),
               "the request has more elements than the option max_elements allows");
}

TEST_F(ServingRoutesTest, ModelsVersionsAndLabels) {
  const std::string body = R"({"instances":[[1]]})", answer = R"({"predictions":[[1.0]]})";
  int old_calls = 0;
  scripted.old->refuse = [&](Request&) -> Status { return ++old_calls, Status(); };
  EXPECT_EQ(predict(body, "echo/versions/3"), answer);
  EXPECT_EQ(old_calls, 0);
  EXPECT_EQ(predict(body, "echo/versions/1"), answer);
  EXPECT_EQ(predict(body, "ec%68o/labels/stable"), answer);
  EXPECT_EQ(old_calls, 2);
  EXPECT_EQ(predict(body, "none"), R"j(404 {"error":"Servable not found for request: Latest(none)"})j");
  EXPECT_EQ(predict(body, "echo/versions/2"),
            R"j(404 {"error":"Servable not found for request: Specific(echo, 2)"})j");
  expect_error(body, "Unrecognized servable version label: new", "echo/labels/new");
  expect_error(body, "the version '1x' is not a number from 0 to 9223372036854775807", "echo/versions/1x");
  EXPECT_EQ(scripted.ask("POST", "/v1/models/echo:train", body).body,
            R"({"error":"Malformed request: POST /v1/models/echo:train"})");
  EXPECT_EQ(scripted.ask("POST", "/v1/models/:predict", body).status, 400);
  const auto takes_post = [&](std::string_view path) {
    return std::ranges::any_of(scripted.routes->routes(), [&](const HttpRoute& route) {
      return route.path == path && (route.methods & kHttpPost) != 0;
    });
  };
  // Else the frontend answers 405 to actions that there are not, of models, versions and labels.
  for (const char* path : {"/v1/models/*", "/v1/models/*/versions/*", "/v1/models/*/labels/*"})
    EXPECT_TRUE(takes_post(path)) << path;
}

TEST_F(ServingRoutesTest, FailuresOfTheModelHaveItsStatus) {
  scripted.echo->refuse = [](Request&) { return Status(Code::kResourceExhausted, "too much \"waits\""); };
  EXPECT_EQ(predict(R"({"instances":[[1]]})"), R"(429 {"error":"too much \"waits\""})");
  scripted.echo->refuse = nullptr;
  scripted.echo->respond = [](Request& request) {
    request.sink->new_response()->send_error(internal_error("out of order"));
    (void)request.release().ok();
  };
  EXPECT_EQ(predict(R"({"instances":[[1],[2],[3],[4],[5]]})"), R"(500 {"error":"out of order"})");
  scripted.host.gate().close();
  EXPECT_EQ(predict("{}"), R"(503 {"error":"Server exiting"})");
}

TEST_F(ServingRoutesTest, OutputsThatCannotBeToldAreFailures) {
  answer_with("y", DataType::kFp32, {2}, std::string(8, '\0'));
  EXPECT_EQ(
      predict(R"({"instances":[[1]]})"),
      R"(500 {"error":"the output 'y' has the shape [2], expected 1 rows, one for each element of the request"})");
  answer_with("y", DataType::kFp32, {3}, std::string(8, '\0'));
  EXPECT_EQ(predict(R"({"inputs":[[1]]})"),
            R"(500 {"error":"the output 'y' has bytes that do not fit its shape [3]"})");
  answer_with("y", DataType::kBytes, {1}, std::string("\1\0\0\0\xFF", 5));
  EXPECT_EQ(predict(R"({"inputs":[[1]]})").substr(0, 3), "400");
  answer_with("y_bytes", DataType::kBytes, {1}, std::string("\1\0\0\0\xFF", 5));
  EXPECT_EQ(predict(R"({"inputs":[[1]]})"), R"({"outputs":[{"b64":"/w=="}]})");
  answer_with("y", DataType::kBytes, {1}, std::string("\2\0\0\0a", 5));
  EXPECT_EQ(predict(R"({"inputs":[[1]]})").substr(0, 3), "500");
  scripted.echo->respond = [](Request& request) {
    test::answer_identity(request, 0);
    test::answer_identity(request);
    (void)request.release().ok();
  };
  EXPECT_EQ(predict(R"({"inputs":[[1]]})").substr(0, 3), "501");
}

TEST_F(ServingRoutesTest, NumbersOfEveryType) {
  const auto of = [&](DataType type, const std::string& values) {
    scripted.catalog.add_identity("typed", type, 0);
    return predict(cat(R"({"inputs":[)", values, "]}"), "typed");
  };
  EXPECT_EQ(of(DataType::kBool, "true,false"), R"({"outputs":[true,false]})");
  EXPECT_EQ(of(DataType::kInt8, "-128,127"), R"({"outputs":[-128,127]})");
  EXPECT_EQ(of(DataType::kUint8, "0,255"), R"({"outputs":[0,255]})");
  EXPECT_EQ(of(DataType::kInt64, "-9223372036854775808"), R"({"outputs":[-9223372036854775808]})");
  EXPECT_EQ(of(DataType::kUint64, "18446744073709551615"), R"({"outputs":[18446744073709551615]})");
  EXPECT_EQ(of(DataType::kFp64, "0.1,1e300"), R"({"outputs":[0.1,1e+300]})");
  EXPECT_EQ(of(DataType::kFp16, "1.5,-65504,6e-8,NaN"), R"({"outputs":[1.5,-65504.0,5.9604645e-08,NaN]})");
  EXPECT_EQ(of(DataType::kBf16, "1.5,-2"), R"({"outputs":[1.5,-2.0]})");
  EXPECT_EQ(of(DataType::kFp16, "65519,-Infinity"), R"({"outputs":[65504.0,-Infinity]})");
  const auto too_large = [](const char* type) {
    return cat(R"j(400 {"error":"input 'INPUT0' at [0]: found a number out of range, expected one of )j",
               type, "\"}");
  };
  for (const char* value : {"65520", "-65520", "1e30", "1e300"})
    EXPECT_EQ(of(DataType::kFp16, value), too_large("FP16")) << value;
  EXPECT_EQ(of(DataType::kBf16, "3.4e38"), too_large("BF16"));
  EXPECT_EQ(
      of(DataType::kInt8, "128"),
      R"j(400 {"error":"input 'INPUT0' at [0]: found 128, expected an integer from -128 to 127 (INT8)"})j");
  EXPECT_EQ(
      of(DataType::kUint64, "-1"),
      R"j(400 {"error":"input 'INPUT0' at [0]: found -1, expected an integer from 0 to 18446744073709551615 (UINT64)"})j");
  EXPECT_EQ(of(DataType::kInt32, "1.0").substr(0, 3), "400");
  EXPECT_EQ(of(DataType::kBool, "1").substr(0, 3), "400");
}

TEST_F(ServingRoutesTest, ClassesAndScoresOfExamples) {
  const auto ask = [&](const std::string& verb, std::string body) {
    const auto reply = scripted.ask("POST", "/v1/models/pair:" + verb, std::move(body));
    return reply.status == 200 ? reply.body : cat(reply.status, " ", reply.body);
  };
  const std::string body = R"({"context":{"text":"c"},"examples":[{"x":0.5},{"x":[0.25],"text":"t"}]})";
  // One value, and a list of one, are both a feature with one value, but not side by side.
  EXPECT_EQ(ask("classify", body).substr(0, 3), "400");
  const std::string good = R"({"context":{"text":"c"},"examples":[{"x":0.5},{"x":0.25,"text":"t"}]})";
  EXPECT_EQ(ask("classify", good), R"({"result":[[["c",0.5]],[["t",0.25]]]})");
  EXPECT_EQ(ask("regress", good), R"({"result":[0.5,0.25]})");
  EXPECT_EQ(ask("regress", R"({"examples":[{"x":[0.5],"text":["t"]}]})"), R"({"result":[0.5]})");
  EXPECT_EQ(ask("classify", R"({"examples":[]})"),
            R"(400 {"error":"'examples' has to be a list with at least one object"})");
  EXPECT_EQ(
      ask("classify", R"({"examples":[5]})"),
      R"(400 {"error":"Failed to process element: 0 of 'examples' list. Error: expected an object with features by name"})");
  EXPECT_EQ(ask("classify", R"({"context":5,"examples":[{}]})"),
            R"(400 {"error":"'context' has to be an object"})");
  EXPECT_EQ(ask("classify", R"({"examples":[{"x":1,"text":"a"},{"x":1}]})"),
            R"(400 {"error":"the input 'text' has 1 values, expected one for each of 2 elements"})");
}

TEST_F(ServingRoutesTest, StatusOfVersions) {
  const auto version = [](const char* number, const char* state) {
    return cat(R"({"version":")", number, R"(","state":")", state,
               R"(","status":{"error_code":"OK","error_message":""}})");
  };
  EXPECT_EQ(get("/v1/models/echo"), cat(R"({"model_version_status":[)", version("3", "AVAILABLE"), ",",
                                        version("1", "AVAILABLE"), "]}"));
  EXPECT_EQ(get("/v1/models/echo/labels/stable"),
            cat(R"({"model_version_status":[)", version("1", "AVAILABLE"), "]}"));
  scripted.catalog.unload({"echo"}, [](const auto&) {});
  EXPECT_EQ(get("/v1/models/echo/versions/3"),
            cat(R"({"model_version_status":[)", version("3", "END"), "]}"));
  EXPECT_EQ(get("/v1/models/none"), R"(404 {"error":"Could not find any versions of model none"})");
  EXPECT_EQ(get("/v1/models/echo/versions/9"), R"(404 {"error":"Could not find version 9 of model echo"})");
  scripted.catalog.list = []() -> Result<std::vector<ModelIndexEntry>> {
    return std::vector<ModelIndexEntry>{
        {"m", "2", "UNAVAILABLE", "no file"}, {"m", "", "", ""}, {"m", "4", "LOADING", ""}};
  };
  EXPECT_EQ(
      get("/v1/models/m"),
      cat(R"({"model_version_status":[)", version("4", "LOADING"),
          R"(,{"version":"2","state":"END","status":{"error_code":"UNKNOWN","error_message":"no file"}}]})"));
  EXPECT_EQ(get("/v1/models"), R"({"models":["m"]})");
}

TEST_F(ServingRoutesTest, MetadataSaysTheSignature) {
  EXPECT_EQ(
      get("/v1/models/echo/labels/stable/metadata"),
      R"({"model_spec":{"name":"echo","signature_name":"","version":"1"},"metadata":{"signature_def":{"signature_def":)"
      R"({"serving_default":{"inputs":{"INPUT0":{"dtype":"DT_FLOAT","tensor_shape":{"dim":[{"size":"-1","name":""},)"
      R"({"size":"-1","name":""}],"unknown_rank":false},"name":"INPUT0"}},"outputs":{"OUTPUT0":{"dtype":"DT_FLOAT",)"
      R"("tensor_shape":{"dim":[{"size":"-1","name":""},{"size":"-1","name":""}],"unknown_rank":false},"name":"OUTPUT0"}},)"
      R"("method_name":"tensorflow/serving/predict"}}}}})");
  EXPECT_EQ(get("/v1/models/none/metadata").substr(0, 3), "404");
}

TEST_F(ServingRoutesTest, LargeBodiesAreReadElsewhere) {
  const std::string blanks(100'000, ' ');
  EXPECT_EQ(predict(cat(R"({"instances":[[1]])", blanks, "}")), R"({"predictions":[[1.0]]})");
}

TEST_F(ServingRoutesTest, ATenantAndACoding) {
  std::string tenant;
  scripted.echo->refuse = [&](Request& request) -> Status {
    tenant = request.tenant;
    return {};
  };
  const std::string body = R"({"instances":[[1]]})", path = "/v1/models/echo:predict";
  EXPECT_EQ(scripted.ask("POST", path, body, {{"X-Tenant", "blue"}}).status, 200);
  EXPECT_EQ(tenant, "blue");
  EXPECT_EQ(scripted.ask("POST", path, body, {{"X-Tenant", "a"}, {"x-tenant", "b"}}).status, 400);
  EXPECT_EQ(scripted.ask("POST", path, body, {{"Content-Encoding", "gzip"}}).status, 400);
}

TEST(ServingPrefix, StandsInFrontOfEveryPath) {
  ScriptedServing scripted("/tfs", /*has_kserve_status=*/true);
  for (const HttpRoute& route : scripted.routes->routes())
    EXPECT_TRUE(route.path.starts_with("/tfs/v1/models"));
  EXPECT_EQ(scripted.ask("POST", "/tfs/v1/models/echo:predict", R"({"instances":[[1]]})").status, 200);
  EXPECT_EQ(scripted.ask("POST", "/v1/models/echo:predict", R"({"instances":[[1]]})").status, 404);
  EXPECT_TRUE(scripted.ask("GET", "/tfs/v1/models/echo").body.ends_with(R"(],"name":"echo","ready":true})"));
  for (const char* prefix : {"", "/a", "/a/b-c"}) EXPECT_EQ(wrong_prefix(prefix), "") << prefix;
  for (const char* prefix : {"/", "a", "/a/", "/a*", "/a?b", "/a b", "/%41"})
    EXPECT_NE(wrong_prefix(prefix), "") << prefix;
}

}  // namespace
}  // namespace atl::frontends::tfserving
