// A client of the inference service made with gRPC for Go: "go_client --list" names its cases, "go_client ADDRESS CASE" runs one
// and tells by its exit code how it went.
package main

import (
	"context"
	"fmt"
	"os"
	"sort"
	"time"

	"atoll/tests/clients/inference"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// patience bounds how long a case that fails may wait.
const patience = 60 * time.Second

type client struct {
	inference.GRPCInferenceServiceClient
	connection *grpc.ClientConn
	context    context.Context
}

// A case has options for its connection and what it does on it.
type testCase struct {
	options []grpc.DialOption
	run     func(*client) error
}

var cases = map[string]testCase{}

func run(address string, one testCase) error {
	context, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	options := append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}, one.options...)
	connection, err := grpc.DialContext(context, address, options...)
	if err != nil {
		return err
	}
	defer connection.Close()
	return one.run(&client{inference.NewGRPCInferenceServiceClient(connection), connection, context})
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--list" {
		names := make([]string, 0, len(cases))
		for name := range cases {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			fmt.Println(name)
		}
		return
	}
	if len(os.Args) != 3 || cases[os.Args[2]].run == nil {
		fmt.Fprintln(os.Stderr, "usage: go_client --list | ADDRESS CASE")
		os.Exit(2)
	}
	if err := run(os.Args[1], cases[os.Args[2]]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
