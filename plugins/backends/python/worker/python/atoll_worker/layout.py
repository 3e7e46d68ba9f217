"""What travels between server and worker; the layouts and their meaning are in protocol.h."""

import struct

MAGIC = 0x59505441
VERSION = 1

HELLO = struct.Struct("<IIQ")
HELLO_REPLY = struct.Struct("<IIII")
SLAB = struct.Struct("<IIIIQ")
OWNER_SERVER, OWNER_WORKER = 0, 1

BLOCK_HEADER_SIZE = 64
BLOCK_ALIGNMENT = 64

WORK_RING, WORK_ENTRIES = 64, 16
SIDE_RING, SIDE_ENTRIES = 1216, 256
OUT_RING, OUT_ENTRIES = 17728, 256

# Message types, server to worker.
AUTO_COMPLETE, INITIALIZE, EXECUTE, FINALIZE = 1, 2, 3, 4
INFER_RESPONSE, REPLY, PROBE = 16, 17, 18
# Worker to server.
AUTO_COMPLETED, INITIALIZED, RESPONSES, FINALIZED, INFER, CANCEL_INFER, LOG, SLAB_WANTED, PROBED = range(32, 41)
LOAD_MODEL, UNLOAD_MODEL, MODEL_READY, METRIC_FAMILY, METRIC, METRIC_VALUE = range(41, 47)
METRIC_UPDATE, METRIC_GONE, FAMILY_GONE, NUDGE = range(47, 51)

FINAL = 1
EXECUTE_RETURNED = 1
METRIC_INCREMENT, METRIC_SET, METRIC_OBSERVE = 0, 1, 2

OWN_BLOCK = 1

# name (offset, size), datatype, rank, shape, memory kind, device, reserved, data (slab, flags, offset, size)
TENSOR = struct.Struct("<IIIIIIiIIIQQ")
# handle, correlation id, timeout, correlation text, id, parameters, trace (offset, size each), sequence flags, cancelled,
# inputs (count, offset), outputs (count, offset)
REQUEST = struct.Struct("<QQQIIIIIIIIIIIIII")
REQUEST_CANCELLED = 60
BATCH = struct.Struct("<II")
# model (offset, size), version, flags, preferred memory kind, preferred device; the request follows
INFER_HEAD = struct.Struct("<IIqIIq")
DECOUPLED, PREFER_MEMORY = 1, 2
# handle, flags, error code, error, parameters (offset, size each), tensors (count, offset), reserved
RESPONSE = struct.Struct("<QIIIIIIIIQ")
RESPONSES_HEAD = struct.Struct("<II")
LAST, HAS_RESPONSE, HAS_ERROR, RESCHEDULE = 1, 2, 4, 8
TEXT = struct.Struct("<II")

assert (TENSOR.size, REQUEST.size, INFER_HEAD.size, RESPONSE.size) == (56, 80, 32, 48)
