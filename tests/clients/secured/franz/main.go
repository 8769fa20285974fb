// Writes a record by what Security, of the client file, says.
package main

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	client, err := kgo.NewClient(Security()...)
	if err != nil {
		panic(err)
	}
	defer client.Close()
	sent, err := client.ProduceSync(context.Background(), &kgo.Record{Topic: "orders", Value: []byte("hello")}).First()
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s-%d\n", sent.Topic, sent.Partition)
}
