/// A version directory and a model, for unit tests.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/models/model_description.h"
#include "atoll/testing/temporary_directory.h"
#include "backends/cuda/pipeline/pipeline.h"

namespace atl::test {

inline TensorSpec tensor_spec(std::string name, DataType datatype, std::vector<int64_t> dims) {
  TensorSpec spec;
  spec.name = std::move(name);
  spec.datatype = datatype;
  spec.dims = std::move(dims);
  return spec;
}

/// X and Y [B, -1] of FP32, Z [B, 4] of INT8; parameters "factor" and "rows".
inline ModelDescription test_model() {
  ModelDescription model;
  model.name = "m";
  model.max_batch_size = 8;
  model.inputs = {tensor_spec("X", DataType::kFp32, {-1})};
  model.outputs = {tensor_spec("Y", DataType::kFp32, {-1}), tensor_spec("Z", DataType::kInt8, {4})};
  model.parameters = {{"factor", "1.5"}, {"rows", "-3"}, {"text", "many"}};
  return model;
}

class VersionFolder {
 public:
  std::string path() const { return directory_.path().string(); }
  void write(const std::string& name, std::string_view bytes) const {
    const std::filesystem::path file = directory_.path() / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << bytes;
  }

 private:
  TemporaryDirectory directory_;
};

/// What K.json of the Triton language's compiler has, less what nobody reads.
inline std::string triton_json(std::string_view change_from = "", std::string_view change_to = "") {
  std::string text =
      R"({"hash":"0f","target":{"backend":"cuda","arch":90,"warp_size":32},"num_warps":4,"num_ctas":1,"num_stages":3,)"
      R"("cluster_dims":[1,1,1],"ptx_version":null,"launch_cooperative_grid":false,"launch_pdl":false,"shared":1040,)"
      R"("tmem_size":0,"global_scratch_size":0,"global_scratch_align":1,"profile_scratch_size":0,)"
      R"("profile_scratch_align":1,"name":"add_kernel"})";
  const size_t at = text.find(change_from);
  if (at == std::string::npos)
    ADD_FAILURE() << change_from;
  else
    text.replace(at, change_from.size(), change_to);
  return text;
}

}  // namespace atl::test
