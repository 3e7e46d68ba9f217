/// Whether an answer is the one that was recorded.
#pragma once

#include <string>
#include <vector>

#include "recording.pb.h"

namespace atl::replay {

/// Two numbers are equal if they differ by at most `absolute` + `relative` times the recorded one; two that are not numbers
/// (NaN) are. Only floating point numbers have a tolerance.
struct Tolerance {
  double relative = 1e-5;
  double absolute = 1e-8;
};

/// Responses are compared in their order, outputs by their names. Outputs of which the recording has no bytes, or of which the
/// client had asked for classes, are looked at no further than their names.
/// \returns what is different, in words; empty: nothing
std::string answer_difference(const recording::v1::Request& request,
                              const std::vector<recording::v1::Response>& recorded,
                              const std::vector<recording::v1::Response>& answered,
                              const Tolerance& tolerance);

}  // namespace atl::replay
