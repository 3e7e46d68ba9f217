/// What the server and a worker process say to each other, and where. README.md of this folder has the whole story.
///
/// Everything is little-endian and lies in memory that both processes map, so the other side may change it at any time: copy a record
/// first, then check the copy. Offsets called "in the payload" count from the payload of the message's block, those of DataRef from the
/// start of the slab. Records are aligned to 8 bytes. The worker's side of these layouts is python/atoll_worker/layout.py.
#pragma once

#include <cstdint>

namespace atl::python {

inline constexpr uint32_t kProtocolMagic = 0x59505441;  // "ATPY"
/// Both sides must have the same one.
inline constexpr uint32_t kProtocolVersion = 1;

// --- the control socket: AF_UNIX, SOCK_SEQPACKET, one struct a packet ---

/// First packet, from the server, with the descriptor of the control region.
struct Hello {
  uint32_t magic = kProtocolMagic;
  uint32_t version = kProtocolVersion;
  uint64_t control_size_bytes = 0;
};
static_assert(sizeof(Hello) == 16);

/// The worker's answer, and all that it ever says on the socket.
struct HelloReply {
  uint32_t magic = kProtocolMagic;
  uint32_t version = kProtocolVersion;
  uint32_t pid = 0;
  uint32_t python_version = 0;  ///< sys.hexversion
};
static_assert(sizeof(HelloReply) == 16);

enum class SlabOwner : uint32_t {
  kServer = 0,  ///< the server allocates blocks in it
  kWorker = 1,  ///< the worker does
};

/// Any number of these follow from the server, each with the descriptor of a slab. One of the server's own is sent before the first message
/// that names it. One for the worker answers kSlabWanted, in order; size 0 and no descriptor: there is none to be had.
struct SlabPacket {
  uint32_t magic = kProtocolMagic;
  uint32_t index = 0;  ///< below kMaxSlabs, never used again
  SlabOwner owner = SlabOwner::kServer;
  uint32_t reserved = 0;
  uint64_t size_bytes = 0;
};
static_assert(sizeof(SlabPacket) == 24);
inline constexpr uint32_t kMaxSlabs = 1024;

// --- blocks ---

/// A slab is cut into blocks by its owner: aligned to kBlockAlignment, this header first, the payload right after it.
struct BlockHeader {
  /// The owner stores 1 before it sends the block, the receiver 0 when it is done with it: nothing else is ever stored. Futex word.
  uint32_t held = 0;
  uint32_t waiting =
      0;  ///< the owner stores 1 before it waits for `held` to become 0, and the receiver wakes it up then
  uint32_t reserved[14] = {};
};
static_assert(sizeof(BlockHeader) == 64);
inline constexpr uint32_t kBlockAlignment = 64;

// --- rings: messages of 64 bytes in the control region, one producer and one consumer ---

enum class MessageType : uint32_t {
  // Work ring, server to worker: one at a time.
  kAutoComplete = 1,  ///< JSON; answered by kAutoCompleted
  kInitialize = 2,    ///< JSON; answered by kInitialized
  kExecute = 3,       ///< BatchHeader; `id` is the batch; answered by kResponses with kExecuteReturned
  kFinalize = 4,      ///< answered by kFinalized, then the worker exits with 0

  // Side ring, server to worker: replies to calls, which start with kInitialize; kProbe after kInitialized.
  kInferResponse = 16,  ///< ResponsesHeader with one record, or nothing but kFinal; `id` is the call
  kReply = 17,  ///< to a call that is not kInfer; `id` is the call, `value` the result, JSON if it failed
  kProbe = 18,  ///< is_ready(), if kInitialized said that there is one; answered by kProbed with the same id

  // Out ring, worker to server.
  kAutoCompleted = 32,  ///< JSON
  kInitialized = 33,    ///< JSON
  /// ResponsesHeader; of one batch if kExecuteReturned, else of any requests; `id` the batch or 0. `value` with kExecuteReturned: how
  /// long it took from the message to here, ns; 0: it does not say
  kResponses = 34,
  kFinalized = 35,
  /// InferHeader; `id` is the call: chosen by the worker, not 0, never again while it is open. `value`: the batch whose execute() makes it, and
  /// with which it is cancelled; 0: none
  kInfer = 36,
  kCancelInfer = 37,   ///< `id` is the call; its last response still follows
  kLog = 38,           ///< JSON
  kSlabWanted = 39,    ///< `value`: bytes it must have at least
  kProbed = 40,        ///< `value` 1: ready; JSON if it failed
  kLoadModel = 41,     ///< JSON, with files behind it; a call, as the next ones: `id`, answered by kReply
  kUnloadModel = 42,   ///< JSON
  kModelReady = 43,    ///< JSON; the result is 0 or 1
  kMetricFamily = 44,  ///< JSON; the result is the family's number
  kMetric = 45,        ///< JSON; the result is the metric's number
  kMetricValue = 46,   ///< `slab` is the metric's number; the result is a double
  kMetricUpdate =
      47,  ///< `slab` is the metric's number, `flags` a MetricUpdate, `value` a double; no reply, no wake-up
  kMetricGone = 48,  ///< `slab` is the metric's number; no reply
  kFamilyGone = 49,  ///< `slab` is the family's number; no reply
  kNudge = 50,       ///< there is room in a ring again whose producer_waiting was set
};

enum MessageFlags : uint32_t {
  kFinal = 1,  ///< kInferResponse: the last one of the call
  kExecuteReturned =
      1,  ///< kResponses: execute() has returned; a record for each request of the batch, in its order
};
enum class MetricUpdate : uint32_t { kIncrement = 0, kSet = 1, kObserve = 2 };

/// One entry of a ring. Without a payload `size_bytes` is 0.
struct RingMessage {
  MessageType type{};
  uint32_t flags = 0;
  uint64_t id = 0;
  uint32_t slab = 0;  ///< where the payload's block is
  uint32_t reserved = 0;
  uint64_t offset = 0;      ///< of the payload in the slab: the BlockHeader is right before it
  uint64_t size_bytes = 0;  ///< of the payload
  uint64_t value = 0;       ///< an integer, or the bits of a double
  uint64_t reserved2[2] = {};
};
static_assert(sizeof(RingMessage) == 64);

/// Head of a ring. `tail` and `head` count messages and wrap at 2^32; message n is in entry n % entry_count.
///
/// Producer: write the entry; store tail + 1 (release); full fence; if consumer_waiting is set, FUTEX_WAKE tail.
/// Consumer: if head == tail: store consumer_waiting = 1; full fence; load tail again; FUTEX_WAIT on it; store 0. Copy the entry; store
/// head + 1 (release); full fence; if producer_waiting is set, clear it, and then: the worker sends kNudge, the server wakes up `head`.
/// Beside the consumer's thread one other may wait for the next message, so that no third one has to be woken up (the server's, while a short
/// execute() runs): it stores direct = 1, looks at the ring, and waits on that word. A producer that is to wake somebody exchanges it for 0
/// first, and if it was 1 wakes up who waits there instead of the other. A producer may leave this out.
/// A producer that finds the ring full sets producer_waiting, fences, looks again, and waits: the worker for the futex `head`, the server
/// for kNudge (it must go on reading the out ring). Futexes are shared ones (no FUTEX_PRIVATE_FLAG).
struct alignas(64) RingHeader {
  uint32_t tail = 0;  ///< written by the producer; futex word of the consumer
  uint32_t producer_waiting = 0;
  uint32_t reserved[14] = {};
  uint32_t head = 0;  ///< written by the consumer; futex word of the producer
  uint32_t consumer_waiting = 0;
  uint32_t direct = 0;  ///< 1: another thread of the consumer waits for the next message; futex word
  uint32_t reserved2[13] = {};
};
static_assert(sizeof(RingHeader) == 128);

inline constexpr uint32_t kWorkEntries = 16;
inline constexpr uint32_t kSideEntries = 256;
inline constexpr uint32_t kOutEntries = 256;

struct WorkRing {
  RingHeader header;
  RingMessage entries[kWorkEntries];
};
struct SideRing {
  RingHeader header;
  RingMessage entries[kSideEntries];
};
struct OutRing {
  RingHeader header;
  RingMessage entries[kOutEntries];
};

/// The whole control region; its memfd may be longer.
struct ControlRegion {
  uint32_t magic = kProtocolMagic;
  uint32_t version = kProtocolVersion;
  uint32_t reserved[14] = {};
  WorkRing work;  ///< at 64
  SideRing side;  ///< at 1216
  OutRing out;    ///< at 17728
};
static_assert(sizeof(ControlRegion) == 34240);

// --- payloads in binary form ---

/// UTF-8 text in the payload, not NUL-terminated.
struct TextRef {
  uint32_t offset = 0;
  uint32_t size_bytes = 0;
};

/// A tensor's bytes. Those of an empty one are nowhere, unless it has a block of its own: where `size_bytes` is 0 the rest says nothing.
struct DataRef {
  enum Flags : uint32_t {
    /// From the server only: the bytes are the payload of a block of their own, which the worker releases apart from the message's.
    kOwnBlock = 1,
  };
  uint32_t slab = 0;
  uint32_t flags = 0;
  uint64_t offset = 0;  ///< in the slab; a multiple of 64 if the server sends it
  uint64_t size_bytes = 0;
};

/// A tensor: packed, row-major, BYTES as on the wire.
struct TensorRecord {
  TextRef name;
  uint32_t datatype = 0;  ///< atl::DataType
  uint32_t rank = 0;
  uint32_t shape = 0;        ///< offset in the payload of int64[rank]
  uint32_t memory_kind = 0;  ///< atl::MemoryKind: 0
  int32_t device_id = 0;
  uint32_t reserved = 0;
  DataRef data;
};
static_assert(sizeof(TensorRecord) == 56);

/// A request: one of a batch, or the worker's own to another model.
struct RequestRecord {
  /// How responses name it: whatever the server likes but 0. From the worker: the request whose trace the call is part of; 0: it does not say
  uint64_t handle = 0;
  uint64_t correlation_id = 0;
  uint64_t timeout_us = 0;
  TextRef correlation_text;  ///< not empty: this instead of correlation_id
  TextRef id;
  TextRef parameters;  ///< JSON object; or empty
  TextRef trace;       ///< JSON: the trace's context; or empty
  uint32_t sequence_flags = 0;
  /// The server stores 1 at the moment when the request is cancelled, at any time while the worker holds the block.
  uint32_t cancelled = 0;
  uint32_t input_count = 0;
  uint32_t inputs = 0;  ///< offset in the payload of TensorRecord[input_count]
  uint32_t output_count = 0;
  uint32_t outputs =
      0;  ///< offset in the payload of TextRef[output_count]: names of the outputs that are asked for
};
static_assert(sizeof(RequestRecord) == 80);

/// Payload of kExecute starts with it.
struct BatchHeader {
  uint32_t request_count = 0;
  uint32_t requests = 0;  ///< offset in the payload of RequestRecord[request_count]
};

/// Payload of kInfer starts with it.
struct InferHeader {
  enum Flags : uint32_t {
    kDecoupled = 1,     ///< the caller takes any number of responses
    kPreferMemory = 2,  ///< preferred_* are set
  };
  TextRef model;
  int64_t model_version = -1;  ///< -1: the newest that is served
  uint32_t flags = 0;
  uint32_t preferred_memory_kind = 0;
  int64_t preferred_device_id = 0;
  RequestRecord request;
};
static_assert(sizeof(InferHeader) == 112);

/// One response, or only news about a request.
struct ResponseRecord {
  enum Flags : uint32_t {
    kLast = 1,        ///< FINAL: nothing follows for this request
    kResponse = 2,    ///< there is a response: error or tensors; without it the rest is empty
    kError = 4,       ///< `error_code` and `error` instead of tensors
    kReschedule = 8,  ///< with kExecuteReturned only: the request goes back to its scheduler
  };
  uint64_t handle = 0;  ///< RequestRecord::handle; 0 from the server
  uint32_t flags = 0;
  uint32_t error_code = 0;  ///< of TRITONSERVER_Error_Code: 0 UNKNOWN .. 7 CANCELLED
  TextRef error;
  TextRef parameters;  ///< JSON object; or empty
  uint32_t tensor_count = 0;
  uint32_t tensors = 0;  ///< offset in the payload of TensorRecord[tensor_count]
  uint64_t reserved = 0;
};
static_assert(sizeof(ResponseRecord) == 48);

/// Payload of kResponses and kInferResponse starts with it. From the worker, tensors may lie in any slab, the server's included, and
/// nothing of them is changed before the message's block is released.
struct ResponsesHeader {
  uint32_t response_count = 0;
  uint32_t responses = 0;  ///< offset in the payload of ResponseRecord[response_count]
};

}  // namespace atl::python
