/// The fields of a sequence as parameters of responses, by which members say what goes on and ensembles tell it.
#pragma once

#include "atoll/request/request.h"
#include "schedulers/ensemble/tensor_values.h"

namespace atl::ensemble {

/// What the response's parameters `sequence_id` (a number or a text), `sequence_start` and `sequence_end` say takes
/// the place of what is there. Texts are borrowed from the response.
void override_sequence(const Response& response, SequenceFields* fields) noexcept;

/// Adds the three of them. Texts are copied.
void add_sequence_parameters(const SequenceFields& fields, Response& response) noexcept;

}  // namespace atl::ensemble
