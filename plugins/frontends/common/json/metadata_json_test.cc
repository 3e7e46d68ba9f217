#include "frontends/common/json/metadata_json.h"

#include <gtest/gtest.h>

namespace atl::frontends {
namespace {

TEST(MetadataJson, OfTheServer) {
  inference::ServerMetadataResponse metadata;
  EXPECT_EQ(server_metadata_json(metadata), R"({"name":"","version":"","extensions":[]})");
  metadata.set_name("atoll");
  metadata.set_version("1.2.3");
  metadata.add_extensions("classification");
  metadata.add_extensions("model_repository(unload_dependents)");
  EXPECT_EQ(server_metadata_json(metadata),
            R"({"name":"atoll","version":"1.2.3",)"
            "\"extensions\":[\"classification\",\"model_repository(unload_dependents)\"]}");
}

TEST(MetadataJson, OfAModel) {
  inference::ModelMetadataResponse metadata;
  metadata.set_name("m");
  metadata.add_versions("1");
  metadata.add_versions("12");
  metadata.set_platform("onnxruntime_onnx");
  auto* input = metadata.add_inputs();
  input->set_name("I");
  input->set_datatype("FP32");
  input->add_shape(-1);
  input->add_shape(INT64_MAX);
  auto* output = metadata.add_outputs();
  output->set_name("O");
  output->set_datatype("BYTES");
  EXPECT_EQ(model_metadata_json(metadata),
            R"({"name":"m","versions":["1","12"],"platform":"onnxruntime_onnx",)"
            R"("inputs":[{"name":"I","datatype":"FP32","shape":[-1,9223372036854775807]}],)"
            R"("outputs":[{"name":"O","datatype":"BYTES","shape":[]}]})");
}

TEST(MetadataJson, EscapesNames) {
  inference::ModelMetadataResponse metadata;
  metadata.set_name("a\"b\\c\n\x01\xC3\xA4");
  EXPECT_EQ(model_metadata_json(metadata),
            "{\"name\":\"a\\\"b\\\\c\\n\\u0001\xC3\xA4\",\"versions\":[],"
            "\"platform\":\"\",\"inputs\":[],\"outputs\":[]}");
}

}  // namespace
}  // namespace atl::frontends
