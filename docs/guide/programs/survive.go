// Writes to a topic, has a disk broken halfway, and counts what was lost: survive SERVERS COMMAND...
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	topic = "orders"
	count = 2000
)

func main() {
	servers, command := strings.Split(os.Args[1], ","), os.Args[2:]
	write(servers, command)
	seen, twice := read(servers)
	fmt.Printf("%d acknowledged, %d lost, %d twice\n", count, count-seen, twice)
	if seen != count || twice != 0 {
		os.Exit(1)
	}
}

// franz-go is idempotent and waits for the whole Isr unless told otherwise.
func write(servers, command []string) {
	client, err := kgo.NewClient(kgo.SeedBrokers(servers...), kgo.DefaultProduceTopic(topic))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	for number := range count {
		if number == count/2 {
			breaking := exec.Command(command[0], command[1:]...)
			breaking.Stdout, breaking.Stderr = os.Stdout, os.Stderr
			if err := breaking.Run(); err != nil {
				log.Fatal(err)
			}
		}
		text := []byte(strconv.Itoa(number))
		client.Produce(context.Background(), &kgo.Record{Key: text, Value: text}, func(_ *kgo.Record, err error) {
			if err != nil {
				log.Fatal("not acknowledged: ", err)
			}
		})
	}
	if err := client.Flush(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func read(servers []string) (int, int) {
	client, err := kgo.NewClient(kgo.SeedBrokers(servers...), kgo.ConsumeTopics(topic))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	seen, twice := map[string]bool{}, 0
	for len(seen) < count && ctx.Err() == nil {
		client.PollFetches(ctx).EachRecord(func(record *kgo.Record) {
			if seen[string(record.Value)] {
				twice++
			}
			seen[string(record.Value)] = true
		})
	}
	return len(seen), twice
}
