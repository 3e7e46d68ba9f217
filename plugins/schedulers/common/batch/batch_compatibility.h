/// Whether two requests may be executed in one batch, as far as their tensors tell.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "atoll/request/request.h"

namespace atl::schedulers {

/// Inputs of fixed dimensions and ragged ones always fit. Inputs of variable dimensions must agree in all
/// but the batch dimension; shape tensors in shape and value, save for the batch size that may come before
/// the values; and where inputs are optional, both requests must give the same ones. Reads only; [any].
struct BatchCompatibility {
  struct Input {
    std::string name;
    bool shape_tensor = false;
    int64_t first_dim = -1;  ///< as configured; -1: variable, or there is none
  };
  std::vector<Input> compared;  ///< inputs that must agree; none: everything fits
  bool has_optional_inputs = false;
  bool has_batch_dimension = false;

  bool fit(const Request& first, const Request& other) const noexcept;

 private:
  bool same_inputs(const Request& first, const Request& other) const noexcept;
};

}  // namespace atl::schedulers
