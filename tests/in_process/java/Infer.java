import static org.bytedeco.tritonserver.global.tritonserver.*;

import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.IntPointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerPointer;
import org.bytedeco.javacpp.SizeTPointer;
import org.bytedeco.tritonserver.tritonserver.*;

/**
 * Loads a model through Triton's Java bindings and sends it a request: Infer REPOSITORY MODEL. The bindings' own loader is to be
 * turned off (org.bytedeco.javacpp.loadlibraries=false): it wants the wrappers of CUDA and TensorRT, too.
 */
public final class Infer {
  static {
    System.loadLibrary("jnijavacpp");
    System.loadLibrary("jnitritonserver");
  }

  private static void check(TRITONSERVER_Error error) {
    if (error == null || error.isNull()) return;
    String text = TRITONSERVER_ErrorCodeString(error) + ": " + TRITONSERVER_ErrorMessage(error);
    TRITONSERVER_ErrorDelete(error);
    throw new IllegalStateException(text);
  }

  private static final class Allocate extends TRITONSERVER_ResponseAllocatorAllocFn_t {
    @Override
    public TRITONSERVER_Error call(TRITONSERVER_ResponseAllocator allocator, String name, long bytes,
        int preferredType, long preferredId, Pointer userp, PointerPointer buffer, PointerPointer bufferUserp,
        IntPointer type, LongPointer id) {
      buffer.put(0, Pointer.malloc(bytes));
      bufferUserp.put(0, null);
      type.put(0, TRITONSERVER_MEMORY_CPU);
      id.put(0, 0);
      return null;
    }
  }

  private static final class GiveBack extends TRITONSERVER_ResponseAllocatorReleaseFn_t {
    @Override
    public TRITONSERVER_Error call(TRITONSERVER_ResponseAllocator allocator, Pointer buffer, Pointer bufferUserp,
        long bytes, int type, long id) {
      Pointer.free(buffer);
      return null;
    }
  }

  private static final class Released extends TRITONSERVER_InferenceRequestReleaseFn_t {
    final CompletableFuture<Integer> flags = new CompletableFuture<>();

    @Override
    public void call(TRITONSERVER_InferenceRequest request, int given, Pointer userp) {
      flags.complete(given);
    }
  }

  private static final class Completed extends TRITONSERVER_InferenceResponseCompleteFn_t {
    final CompletableFuture<TRITONSERVER_InferenceResponse> response = new CompletableFuture<>();

    @Override
    public void call(TRITONSERVER_InferenceResponse given, int flags, Pointer userp) {
      response.complete(given);
    }
  }

  private static TRITONSERVER_Server start(String repository) {
    TRITONSERVER_ServerOptions options = new TRITONSERVER_ServerOptions(null);
    check(TRITONSERVER_ServerOptionsNew(options));
    check(TRITONSERVER_ServerOptionsSetModelRepositoryPath(options, repository));
    check(TRITONSERVER_ServerOptionsSetModelControlMode(options, TRITONSERVER_MODEL_CONTROL_EXPLICIT));
    TRITONSERVER_Server server = new TRITONSERVER_Server(null);
    check(TRITONSERVER_ServerNew(server, options));
    check(TRITONSERVER_ServerOptionsDelete(options));
    return server;
  }

  private static boolean isReady(TRITONSERVER_Server server, String model) {
    boolean[] ready = {false};
    check(TRITONSERVER_ServerModelIsReady(server, model, -1, ready));
    return ready[0];
  }

  private static float[] outputOf(TRITONSERVER_InferenceResponse response) {
    check(TRITONSERVER_InferenceResponseError(response));
    BytePointer name = new BytePointer((Pointer) null);
    LongPointer shape = new LongPointer((Pointer) null);
    Pointer base = new Pointer();
    Pointer userp = new Pointer();
    IntPointer type = new IntPointer(1), memory = new IntPointer(1);
    LongPointer dims = new LongPointer(1), id = new LongPointer(1);
    SizeTPointer bytes = new SizeTPointer(1);
    check(TRITONSERVER_InferenceResponseOutput(response, 0, name, type, shape, dims, base, bytes, memory, id, userp));
    if (!name.getString().equals("OUTPUT0") || type.get() != TRITONSERVER_TYPE_FP32 || dims.get() != 1) {
      throw new IllegalStateException("an output that was not asked for: " + name.getString());
    }
    float[] values = new float[(int) (bytes.get() / Float.BYTES)];
    new FloatPointer(base).get(values);
    check(TRITONSERVER_InferenceResponseDelete(response));
    return values;
  }

  private static float[] infer(TRITONSERVER_Server server, String model, float[] values) throws Exception {
    try (Allocate allocate = new Allocate(); GiveBack giveBack = new GiveBack(); Released released = new Released();
        Completed completed = new Completed(); FloatPointer data = new FloatPointer(values)) {
      TRITONSERVER_ResponseAllocator allocator = new TRITONSERVER_ResponseAllocator(null);
      check(TRITONSERVER_ResponseAllocatorNew(allocator, allocate, giveBack, null));
      TRITONSERVER_InferenceRequest request = new TRITONSERVER_InferenceRequest(null);
      check(TRITONSERVER_InferenceRequestNew(request, server, model, -1));
      check(TRITONSERVER_InferenceRequestAddInput(
          request, "INPUT0", TRITONSERVER_TYPE_FP32, new long[] {values.length}, 1));
      check(TRITONSERVER_InferenceRequestAppendInputData(
          request, "INPUT0", data, (long) values.length * Float.BYTES, TRITONSERVER_MEMORY_CPU, 0));
      check(TRITONSERVER_InferenceRequestSetReleaseCallback(request, released, null));
      check(TRITONSERVER_InferenceRequestSetResponseCallback(request, allocator, null, completed, null));
      check(TRITONSERVER_ServerInferAsync(server, request, null));
      float[] answer = outputOf(completed.response.get(60, TimeUnit.SECONDS));
      released.flags.get(60, TimeUnit.SECONDS);
      check(TRITONSERVER_InferenceRequestDelete(request));
      check(TRITONSERVER_ResponseAllocatorDelete(allocator));
      return answer;
    }
  }

  public static void main(String[] arguments) throws Exception {
    String model = arguments[1];
    TRITONSERVER_Server server = start(arguments[0]);
    check(TRITONSERVER_ServerLoadModel(server, model));
    float[] values = {1, 2.5f, -3, 0};
    float[] answer = infer(server, model, values);
    if (!isReady(server, model) || !Arrays.equals(values, answer)) {
      throw new IllegalStateException("found " + Arrays.toString(answer) + ", expected " + Arrays.toString(values));
    }
    try {
      infer(server, "nobody", values);
      throw new IllegalStateException("a model that is not there answered");
    } catch (IllegalStateException refused) {
      if (!refused.getMessage().contains("'nobody' is not found")) throw refused;
    }
    check(TRITONSERVER_ServerUnloadModel(server, model));
    check(TRITONSERVER_ServerDelete(server));
    System.out.println("answered: " + Arrays.toString(answer));
  }
}
