#include "answer_difference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "atoll/core/text.h"

namespace atl::replay {
namespace {

using recording::v1::Tensor;

float from_fp16(uint16_t bits) {
  const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
  const int exponent = bits >> 10 & 31;
  const auto fraction = static_cast<float>(bits & 1023);
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

float from_bf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

bool is_close(double recorded, double answered, const Tolerance& tolerance) {
  if (std::isnan(recorded) || std::isnan(answered)) return std::isnan(recorded) && std::isnan(answered);
  if (std::isinf(recorded) || std::isinf(answered)) return recorded == answered;
  return std::abs(recorded - answered) <= tolerance.absolute + tolerance.relative * std::abs(recorded);
}

/// Where the first two numbers are that are not close, in words.
template <class Stored, class Read>
std::string numbers_difference(std::string_view recorded, std::string_view answered,
                               const Tolerance& tolerance, Read read) {
  for (size_t at = 0; at + sizeof(Stored) <= recorded.size(); at += sizeof(Stored)) {
    Stored a, b;
    std::memcpy(&a, recorded.data() + at, sizeof a);
    std::memcpy(&b, answered.data() + at, sizeof b);
    if (is_close(read(a), read(b), tolerance)) continue;
    return cat("element ", at / sizeof(Stored), " was ", read(a), " and is ", read(b));
  }
  return {};
}

std::string data_difference(const Tensor& recorded, const Tensor& answered, const Tolerance& tolerance) {
  const std::string& a = recorded.data();
  const std::string& b = answered.data();
  if (a == b) return {};
  if (a.size() != b.size()) return cat("it had ", a.size(), " bytes and has ", b.size());
  const std::string& type = recorded.datatype();
  if (type == "FP32") return numbers_difference<float>(a, b, tolerance, [](float value) { return value; });
  if (type == "FP64") return numbers_difference<double>(a, b, tolerance, [](double value) { return value; });
  if (type == "FP16") return numbers_difference<uint16_t>(a, b, tolerance, from_fp16);
  if (type == "BF16") return numbers_difference<uint16_t>(a, b, tolerance, from_bf16);
  const auto place = std::mismatch(a.begin(), a.end(), b.begin());
  return cat("byte ", place.first - a.begin(), " of its values is different");
}

const Tensor* find(const recording::v1::Response& response, const std::string& name) {
  for (const Tensor& output : response.outputs()) {
    if (output.name() == name) return &output;
  }
  return nullptr;
}

bool has_classes(const recording::v1::Request& request, const std::string& name) {
  return std::any_of(request.outputs().begin(), request.outputs().end(), [&](const auto& output) {
    return output.name() == name && output.classification() != 0;
  });
}

std::string tensor_difference(const Tensor& recorded, const Tensor& answered, const Tolerance& tolerance) {
  if (recorded.datatype() != answered.datatype())
    return cat("it was ", recorded.datatype(), " and is ", answered.datatype());
  if (!std::equal(recorded.shape().begin(), recorded.shape().end(), answered.shape().begin(),
                  answered.shape().end()))
    return "it has another shape";
  if (!recorded.has_data() || !answered.has_data()) return {};
  return data_difference(recorded, answered, tolerance);
}

}  // namespace

std::string answer_difference(const recording::v1::Request& request,
                              const std::vector<recording::v1::Response>& recorded,
                              const std::vector<recording::v1::Response>& answered,
                              const Tolerance& tolerance) {
  if (recorded.size() != answered.size())
    return cat("there were ", recorded.size(), " responses and are ", answered.size());
  for (size_t i = 0; i < recorded.size(); ++i) {
    for (const Tensor& output : recorded[i].outputs()) {
      const Tensor* const other = find(answered[i], output.name());
      if (other == nullptr) return cat("output '", output.name(), "' is missing");
      if (has_classes(request, output.name())) continue;
      if (std::string text = tensor_difference(output, *other, tolerance); !text.empty())
        return cat("output '", output.name(), "': ", text);
    }
  }
  return {};
}

}  // namespace atl::replay
