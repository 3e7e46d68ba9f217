package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"atoll/tests/clients/inference"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
)

func init() {
	compressed := grpc.WithDefaultCallOptions(grpc.UseCompressor(gzip.Name))
	cases["stream"] = testCase{nil, stream}
	cases["stream_compressed"] = testCase{[]grpc.DialOption{compressed}, stream}
	cases["stream_empty"] = testCase{nil, emptyStream}
	cases["stream_decoupled"] = testCase{nil, decoupled}
	cases["stream_deadline"] = testCase{nil, streamDeadline}
	cases["stream_cancel"] = testCase{nil, streamCancel}
	cases["stream_error_goes_on"] = testCase{nil, streamError}
}

// Requests of growing size, all sent before the first answer is read; each is answered, in order.
func stream(c *client) error {
	call, err := c.ModelStreamInfer(c.context)
	if err != nil {
		return err
	}
	const count = 100
	checks := make([]func(*inference.ModelInferResponse) error, count)
	for i := range checks {
		var request *inference.ModelInferRequest
		request, checks[i] = echoed("echo", fmt.Sprint(i), 1+i*i)
		if err := call.Send(request); err != nil {
			return err
		}
	}
	if err := call.CloseSend(); err != nil {
		return err
	}
	for _, check := range checks {
		answer, err := call.Recv()
		if err != nil {
			return err
		}
		if answer.GetErrorMessage() != "" {
			return fmt.Errorf("%s", answer.GetErrorMessage())
		}
		if err := check(answer.GetInferResponse()); err != nil {
			return err
		}
	}
	return ended(call)
}

// ended returns nil if the stream has nothing more, and is OK.
func ended(call inference.GRPCInferenceService_ModelStreamInferClient) error {
	if answer, err := call.Recv(); err != io.EOF {
		return fmt.Errorf("expected the end, got: %v, %v", answer, err)
	}
	return nil
}

func emptyStream(c *client) error {
	call, err := c.ModelStreamInfer(c.context)
	if err != nil {
		return err
	}
	if err := call.CloseSend(); err != nil {
		return err
	}
	return ended(call)
}

// repeated makes a request of the model that answers once for each value, after so many milliseconds each.
func repeated(milliseconds uint32, values ...uint32) *inference.ModelInferRequest {
	in, delays := make([]byte, 4*len(values)), make([]byte, 4*len(values))
	for i, value := range values {
		binary.LittleEndian.PutUint32(in[4*i:], value)
		binary.LittleEndian.PutUint32(delays[4*i:], milliseconds)
	}
	shape := []int64{int64(len(values))}
	return &inference.ModelInferRequest{
		ModelName: "repeat", RawInputContents: [][]byte{in, delays, make([]byte, 4)},
		Inputs: []*inference.ModelInferRequest_InferInputTensor{
			{Name: "IN", Datatype: "INT32", Shape: shape}, {Name: "DELAY", Datatype: "UINT32", Shape: shape},
			{Name: "WAIT", Datatype: "UINT32", Shape: []int64{1}}},
	}
}

func decoupled(c *client) error {
	call, err := c.ModelStreamInfer(c.context)
	if err != nil {
		return err
	}
	values := make([]uint32, 200)
	for i := range values {
		values[i] = uint32(i * i)
	}
	if err := call.Send(repeated(0, values...)); err != nil {
		return err
	}
	for _, value := range values {
		answer, err := call.Recv()
		if err != nil {
			return err
		}
		raw := answer.GetInferResponse().GetRawOutputContents()
		if len(raw) != 2 || len(raw[0]) != 4 || binary.LittleEndian.Uint32(raw[0]) != value {
			return fmt.Errorf("expected %d, got: %v", value, answer)
		}
	}
	if err := call.CloseSend(); err != nil {
		return err
	}
	return ended(call)
}

// stuck has a request with a model that does not answer, until the context ends.
func (c *client) stuck(context context.Context) error {
	call, err := c.ModelStreamInfer(context)
	if err != nil {
		return err
	}
	request, _ := echoed("stuck", "", 4)
	if err := call.Send(request); err != nil {
		return err
	}
	_, err = call.Recv()
	return err
}

func streamDeadline(c *client) error {
	return c.ends("stuck", codes.DeadlineExceeded, func() error {
		context, cancel := context.WithTimeout(c.context, 300*time.Millisecond)
		defer cancel()
		return c.stuck(context)
	})
}

func streamCancel(c *client) error {
	return c.ends("stuck", codes.Canceled, func() error {
		context, cancel := context.WithCancel(c.context)
		time.AfterFunc(300*time.Millisecond, cancel)
		return c.stuck(context)
	})
}

func streamError(c *client) error {
	call, err := c.ModelStreamInfer(c.context)
	if err != nil {
		return err
	}
	wrong, _ := echoed("nobody", "wrong", 4)
	right, check := echoed("echo", "right", 4)
	for _, request := range []*inference.ModelInferRequest{wrong, right} {
		if err := call.Send(request); err != nil {
			return err
		}
	}
	answer, err := call.Recv()
	if err != nil || answer.GetErrorMessage() == "" {
		return fmt.Errorf("expected an error message, got: %v, %v", answer, err)
	}
	if answer, err = call.Recv(); err != nil {
		return err
	}
	if err := check(answer.GetInferResponse()); err != nil {
		return err
	}
	if err := call.CloseSend(); err != nil {
		return err
	}
	return ended(call)
}
