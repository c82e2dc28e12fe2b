package embedded_test

import (
	"context"
	"net"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

func TestServe_StopsDespiteHangingRequest(t *testing.T) {
	engine := openMemory(t)
	createTable(t, clientOf(engine), "orders")
	inject(t, engine, "hang,operation=PutItem")
	listener := must((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	ctx, end := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- engine.Serve(ctx, listener) }()
	config := engine.AWSConfig()
	config.HTTPClient = nil
	config.BaseEndpoint = aws.String("http://" + listener.Addr().String())
	client := dynamodb.NewFromConfig(config, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	answered := make(chan error, 1)
	go func() { answered <- put(t.Context(), client, "orders", "a", 1) }()
	waitFor(t, func() bool { return len(engine.Injected()) == 1 })
	end()
	if err := <-served; err != nil {
		t.Errorf("serving ended with %v", err)
	}
	if err := <-answered; !isReset(err) {
		t.Errorf("the request got %v", err)
	}
}
