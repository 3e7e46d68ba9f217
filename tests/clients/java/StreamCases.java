import inference.GRPCInferenceServiceGrpc.GRPCInferenceServiceStub;
import inference.GrpcService.ModelInferRequest;
import inference.GrpcService.ModelInferResponse;
import inference.GrpcService.ModelStreamInferResponse;
import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

final class StreamCases {
  private StreamCases() {}

  /** A stream whose answers wait in a queue; the last thing in it is the end. */
  private static final class Stream implements ClientResponseObserver<ModelInferRequest, ModelStreamInferResponse> {
    ClientCallStreamObserver<ModelInferRequest> call;
    private final LinkedBlockingQueue<Object> came = new LinkedBlockingQueue<>();
    private final boolean oneByOne;

    /** oneByOne: the server may send an answer when the one before it was taken. */
    Stream(GRPCInferenceServiceStub stub, boolean oneByOne) {
      this.oneByOne = oneByOne;
      stub.modelStreamInfer(this);
    }

    @Override
    public void beforeStart(ClientCallStreamObserver<ModelInferRequest> stream) {
      call = stream;
      if (oneByOne) {
        call.disableAutoRequestWithInitial(1);
      }
    }

    @Override
    public void onNext(ModelStreamInferResponse answer) {
      came.add(answer);
    }

    @Override
    public void onError(Throwable failure) {
      came.add(Status.fromThrowable(failure));
    }

    @Override
    public void onCompleted() {
      came.add(Status.OK);
    }

    private Object next() throws InterruptedException {
      Object next = came.poll(2 * Connection.PATIENCE_S, TimeUnit.SECONDS);
      Connection.check(next != null, "nothing came");
      return next;
    }

    /** The next answer, a failure that is in it included. */
    ModelStreamInferResponse answer() throws InterruptedException {
      Object next = next();
      Connection.check(next instanceof ModelStreamInferResponse, "expected an answer, got " + next);
      if (oneByOne) {
        call.request(1);
      }
      return (ModelStreamInferResponse) next;
    }

    ModelInferResponse response() throws InterruptedException {
      ModelStreamInferResponse answer = answer();
      Connection.check(answer.getErrorMessage().isEmpty(), answer.getErrorMessage());
      return answer.getInferResponse();
    }

    /** How it ended; there is no answer left. */
    Status end() throws InterruptedException {
      Object next = next();
      Connection.check(next instanceof Status, "expected the end, got " + next);
      return (Status) next;
    }

    void ends() throws InterruptedException {
      call.onCompleted();
      Status end = end();
      Connection.check(end.isOk(), "it ended with " + end);
    }
  }

  static void addTo(Client client) {
    client.add("stream", connection -> ordered(connection.streams()));
    client.add("stream_compressed", connection -> ordered(connection.streams().withCompression("gzip")));
    client.add("stream_empty", connection -> new Stream(connection.streams(), false).ends());
    client.add("stream_decoupled", connection -> decoupled(connection, false));
    client.add("stream_decoupled_one_by_one", connection -> decoupled(connection, true));
    client.add("stream_deadline", StreamCases::deadline);
    client.add("stream_cancel", StreamCases::cancel);
    client.add("stream_error_goes_on", StreamCases::error);
  }

  /** Requests of growing size, all sent before the first answer is read; each is answered, in order. */
  private static void ordered(GRPCInferenceServiceStub stub) throws InterruptedException {
    Stream stream = new Stream(stub, false);
    stream.call.setMessageCompression(true);
    List<ModelInferRequest> requests = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      requests.add(Connection.echoed("echo", Integer.toString(i), 1 + i * i));
      stream.call.onNext(requests.get(i));
    }
    for (ModelInferRequest request : requests) {
      Connection.checkEcho(request, stream.response());
    }
    stream.ends();
  }

  private static void decoupled(Connection connection, boolean oneByOne) throws InterruptedException {
    final int count = 2000;
    Stream stream = new Stream(connection.streams(), oneByOne);
    stream.call.onNext(Connection.repeated(count));
    for (int i = 0; i < count; i++) {
      ModelInferResponse answer = stream.response();
      byte[] value = answer.getRawOutputContents(0).toByteArray();
      Connection.check(value.length == 4 && (value[0] & 0xff) == i % 256 && value[1] == i / 256, "expected " + i + ", got " + answer);
    }
    stream.ends();
  }

  private static void deadline(Connection connection) throws Exception {
    connection.ends(Status.Code.DEADLINE_EXCEEDED, () -> {
      Stream stream = new Stream(connection.streams().withDeadlineAfter(UnaryCases.GIVEN_UP_AFTER_MS, TimeUnit.MILLISECONDS), false);
      stream.call.onNext(Connection.echoed("stuck", "", 4));
      throw stream.end().asException();
    });
  }

  private static void cancel(Connection connection) throws Exception {
    connection.ends(Status.Code.CANCELLED, () -> {
      Stream stream = new Stream(connection.streams(), false);
      stream.call.onNext(Connection.echoed("stuck", "", 4));
      Thread.sleep(UnaryCases.GIVEN_UP_AFTER_MS);
      stream.call.cancel("enough", null);
      throw stream.end().asException();
    });
  }

  private static void error(Connection connection) throws InterruptedException {
    Stream stream = new Stream(connection.streams(), false);
    ModelInferRequest right = Connection.echoed("echo", "right", 4);
    stream.call.onNext(Connection.echoed("nobody", "wrong", 4));
    stream.call.onNext(right);
    Connection.check(!stream.answer().getErrorMessage().isEmpty(), "expected an error message");
    Connection.checkEcho(right, stream.response());
    stream.ends();
  }
}
