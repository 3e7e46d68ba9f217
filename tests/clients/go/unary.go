package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"atoll/tests/clients/inference"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
)

const (
	mebibyte = 1 << 20
	// The least that gRPC for Go pings at.
	pingInterval = 10 * time.Second
)

func init() {
	large := grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(32*mebibyte), grpc.MaxCallSendMsgSize(32*mebibyte))
	compressed := grpc.WithDefaultCallOptions(grpc.UseCompressor(gzip.Name))
	pings := grpc.WithKeepaliveParams(
		keepalive.ClientParameters{Time: pingInterval, Timeout: 3 * time.Second, PermitWithoutStream: true})
	cases["unary"] = testCase{nil, func(c *client) error { return c.infer("echo", "one", 16) }}
	cases["unary_compressed"] = testCase{[]grpc.DialOption{compressed}, compressedCalls}
	cases["unary_large"] = testCase{[]grpc.DialOption{large}, func(c *client) error { return c.infer("echo", "large", 3*mebibyte) }}
	cases["unary_too_large"] = testCase{[]grpc.DialOption{large}, tooLarge}
	cases["unary_many_at_once"] = testCase{nil, manyAtOnce}
	cases["unary_deadline"] = testCase{nil, deadline}
	cases["unary_cancel"] = testCase{nil, cancel}
	cases["metadata"] = testCase{nil, sentMetadata}
	cases["errors"] = testCase{nil, errors}
	cases["health"] = testCase{nil, health}
	cases["keepalive_idle"] = testCase{[]grpc.DialOption{pings}, idle}
	cases["keepalive_in_a_call"] = testCase{[]grpc.DialOption{pings}, longCall}
}

func compressedCalls(c *client) error {
	for i := 0; i < 10; i++ {
		if err := c.infer("echo", "compressed", 1<<(2*i)); err != nil {
			return err
		}
	}
	return nil
}

func tooLarge(c *client) error {
	for i := 0; i < 3; i++ {
		if err := expect(codes.ResourceExhausted, c.infer("echo", "too large", 5*mebibyte)); err != nil {
			return err
		}
		if err := c.infer("echo", "after", 4); err != nil {
			return err
		}
	}
	return nil
}

func manyAtOnce(c *client) error {
	const workers, each = 64, 50
	failures := make(chan error, workers)
	var all sync.WaitGroup
	for worker := 0; worker < workers; worker++ {
		all.Add(1)
		go func(worker int) {
			defer all.Done()
			for i := 0; i < each; i++ {
				if err := c.infer("echo", fmt.Sprintf("%d/%d", worker, i), 1+worker*i); err != nil {
					failures <- err
					return
				}
			}
		}(worker)
	}
	all.Wait()
	close(failures)
	return <-failures
}

func deadline(c *client) error {
	return c.ends("stuck", codes.DeadlineExceeded, func() error {
		context, cancel := context.WithTimeout(c.context, 300*time.Millisecond)
		defer cancel()
		request, _ := echoed("stuck", "late", 4)
		_, err := c.ModelInfer(context, request)
		return err
	})
}

func cancel(c *client) error {
	return c.ends("stuck", codes.Canceled, func() error {
		context, cancel := context.WithCancel(c.context)
		// Or it might be cancelled before it is sent.
		time.AfterFunc(300*time.Millisecond, cancel)
		request, _ := echoed("stuck", "cancelled", 4)
		_, err := c.ModelInfer(context, request)
		return err
	})
}

// The server asks for this metadata of calls that look at its log settings.
func sentMetadata(c *client) error {
	refused := func(context context.Context) error {
		_, err := c.LogSettings(context, &inference.LogSettingsRequest{})
		return expect(codes.Unavailable, err)
	}
	if err := refused(c.context); err != nil {
		return err
	}
	if err := refused(metadata.AppendToOutgoingContext(c.context, "triton-grpc-protocol-admin-key", "another")); err != nil {
		return err
	}
	with := metadata.AppendToOutgoingContext(c.context, "some-bin", "\x00\xff,=\n", "triton-grpc-protocol-admin-key", "secret", "some-bin", "")
	var header, trailer metadata.MD
	_, err := c.LogSettings(with, &inference.LogSettingsRequest{}, grpc.Header(&header), grpc.Trailer(&trailer))
	if err != nil {
		return err
	}
	if got := header.Get("content-type"); len(got) != 1 || got[0] != "application/grpc" {
		return fmt.Errorf("the header is %v, and the trailer %v", header, trailer)
	}
	return nil
}

func errors(c *client) error {
	request, _ := echoed("nobody", "", 4)
	_, err := c.ModelInfer(c.context, request)
	if err := expect(codes.NotFound, err); err != nil {
		return err
	}
	request, _ = echoed("echo", "", 4)
	request.Inputs[0].Shape[0] = 5
	_, err = c.ModelInfer(c.context, request)
	if err := expect(codes.InvalidArgument, err); err != nil {
		return err
	}
	for _, path := range []string{"/inference.GRPCInferenceService/Nothing", "/of.Nobody/ModelInfer"} {
		err = c.connection.Invoke(c.context, path, request, &inference.ModelInferResponse{})
		if err := expect(codes.Unimplemented, err); err != nil {
			return err
		}
	}
	return c.infer("echo", "after", 4)
}

func health(c *client) error {
	answer, err := grpc_health_v1.NewHealthClient(c.connection).Check(c.context, &grpc_health_v1.HealthCheckRequest{})
	if err == nil && answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		err = fmt.Errorf("the server is %v", answer.GetStatus())
	}
	return err
}

// A ping without calls, which the server has to answer for the connection to live.
func idle(c *client) error {
	if err := c.infer("echo", "before", 4); err != nil {
		return err
	}
	waited, cancel := context.WithTimeout(c.context, pingInterval+4*time.Second)
	defer cancel()
	if c.connection.WaitForStateChange(waited, connectivity.Ready) {
		return fmt.Errorf("the connection is %v", c.connection.GetState())
	}
	return c.infer("echo", "after", 4)
}

// The same in a call.
func longCall(c *client) error {
	waited, cancel := context.WithTimeout(c.context, pingInterval+4*time.Second)
	defer cancel()
	request, _ := echoed("stuck", "long", 4)
	_, err := c.ModelInfer(waited, request)
	if err := expect(codes.DeadlineExceeded, err); err != nil {
		return err
	}
	if state := c.connection.GetState(); state != connectivity.Ready {
		return fmt.Errorf("the connection is %v", state)
	}
	return c.infer("echo", "after", 4)
}
