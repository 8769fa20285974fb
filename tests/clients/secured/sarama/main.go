// Writes a record by what Servers and Security, of the client file, say.
package main

import (
	"fmt"

	"github.com/IBM/sarama"
)

func main() {
	config := Security()
	config.Producer.Return.Successes = true
	producer, err := sarama.NewSyncProducer(Servers, config)
	if err != nil {
		panic(err)
	}
	defer producer.Close()
	message := &sarama.ProducerMessage{Topic: "orders", Value: sarama.StringEncoder("hello")}
	partition, _, err := producer.SendMessage(message)
	if err != nil {
		panic(err)
	}
	fmt.Printf("orders-%d\n", partition)
}
