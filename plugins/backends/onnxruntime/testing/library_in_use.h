/// The ONNX Runtime of a test program, opened with its first use and never closed.
#pragma once

#include <gtest/gtest.h>

#include "backends/onnxruntime/library/library_use.h"

namespace atl::ort::test {

inline void use_library() {
  static const auto* const used = [] {
    std::vector<std::string> passed_over;
    return new Result<OrtLibrary>(OrtLibrary::begin(ATOLL_ONNXRUNTIME, {}, passed_over));
  }();
  ASSERT_TRUE(used->ok()) << used->status().text();
}

}  // namespace atl::ort::test
