/// The model of `atoll demo`: a small classifier of handwritten digits, and digits to ask it about. Its numbers
/// are made by etc/models/make_demo_digits.py.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace atl::serve {

/// A digit that the model was not trained with.
struct DemoDigit {
  int label;
  int8_t pixels[64];  ///< 8 rows of 8, from 0 (paper) to 16 (ink)
};

std::span<const DemoDigit> demo_digits() noexcept;

/// The model as an ONNX file: FP32 [batch, 64] "image" to FP32 [batch, 10] "probabilities" and INT64 [batch, 1] "label".
std::string demo_model();

/// The body of a request in JSON that asks for the digit's label.
std::string demo_request(const DemoDigit& digit);

/// The digit, drawn in 8 lines.
std::string demo_drawing(const DemoDigit& digit);

}  // namespace atl::serve
