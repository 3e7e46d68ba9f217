/// Random ModelInferRequests as bytes, in all the shapes the wire format allows, and what they should be read
/// as, computed from protobuf's own objects.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/testing/random.h"
#include "frontends/common/testing/codec_test_support.h"
#include "grpc_service.pb.h"

namespace atl::frontends {

/// A request that is well formed and makes sense, serialized with fields in random order, repeated numbers
/// packed or not, `contents` in pieces and unknown fields in between.
std::string random_message(test::Random& random);

/// Compares what the codec read with what protobuf read. \returns the first difference; empty: none.
std::string difference(const inference::ModelInferRequest& expected, const ReadMessage& read);

}  // namespace atl::frontends
