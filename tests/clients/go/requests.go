package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"atoll/tests/clients/inference"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// echoed makes a request of a model that copies its input, and a check of the answer.
func echoed(model, id string, values int) (*inference.ModelInferRequest, func(*inference.ModelInferResponse) error) {
	raw := make([]byte, 4*values)
	for i := 0; i < values; i++ {
		binary.LittleEndian.PutUint32(raw[4*i:], uint32(i*7+len(id)))
	}
	request := &inference.ModelInferRequest{
		ModelName: model, Id: id, RawInputContents: [][]byte{raw},
		Inputs: []*inference.ModelInferRequest_InferInputTensor{
			{Name: "INPUT0", Datatype: "INT32", Shape: []int64{int64(values)}}},
	}
	return request, func(answer *inference.ModelInferResponse) error {
		if answer.GetId() != id || answer.GetModelName() != model || len(answer.GetRawOutputContents()) != 1 ||
			!bytes.Equal(answer.RawOutputContents[0], raw) {
			return fmt.Errorf("request %q of %q was answered with id %q, model %q and other values",
				id, model, answer.GetId(), answer.GetModelName())
		}
		return nil
	}
}

func (c *client) infer(model, id string, values int) error {
	request, check := echoed(model, id, values)
	answer, err := c.ModelInfer(c.context, request)
	if err != nil {
		return err
	}
	return check(answer)
}

// expect returns nil if the error has the code.
func expect(code codes.Code, err error) error {
	if status.Code(err) != code {
		return fmt.Errorf("expected %v, got: %v", code, err)
	}
	return nil
}

// failed tells how many requests of a model were not answered with success.
func (c *client) failed(model string) (uint64, error) {
	statistics, err := c.ModelStatistics(c.context, &inference.ModelStatisticsRequest{Name: model})
	if err != nil {
		return 0, err
	}
	var count uint64
	for _, one := range statistics.GetModelStats() {
		count += one.GetInferenceStats().GetFail().GetCount()
	}
	return count, nil
}

// ends runs a call that is to be cancelled while its model has it, and waits until the model has let go.
func (c *client) ends(model string, code codes.Code, call func() error) error {
	before, err := c.failed(model)
	if err != nil {
		return err
	}
	if err := expect(code, call()); err != nil {
		return err
	}
	for end := time.Now().Add(patience / 2); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		now, err := c.failed(model)
		if err != nil {
			return err
		}
		if now > before {
			return c.infer("echo", "after", 4)
		}
	}
	return fmt.Errorf("the request is still with %q", model)
}
