// Segmentio is kafka-go in the report card: main.go BOOTSTRAP PREFIX ITEM...
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"

	"jbodlab/clients/ledger"
)

const (
	replicas = 3
	module   = "github.com/segmentio/kafka-go"
	// attempts are a minute's, when each waits for a second.
	attempts = 60
	soon     = 5 * time.Millisecond
	maxWait  = 100 * time.Millisecond
	// metadataTTL is how long a writer may write to who leads no longer; of itself it asks each 6 s.
	metadataTTL = time.Second
)

func main() {
	items := map[string]func([]string, string) (string, error){
		"admin":                 admin,
		"produce at least once": produce,
		"group":                 group,
	}
	ledger.Run(version(), items, strings.Split(os.Args[1], ","))
}

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			return dependency.Version
		}
	}
	return "unknown"
}

func connect(bootstrap []string) *kafka.Client {
	return &kafka.Client{Addr: kafka.TCP(bootstrap...), Timeout: ledger.Deadline, Transport: transport()}
}

func transport() *kafka.Transport {
	return &kafka.Transport{MetadataTTL: metadataTTL}
}

func create(ctx context.Context, client *kafka.Client, topic string) error {
	configs := []kafka.ConfigEntry{{ConfigName: "min.insync.replicas", ConfigValue: "2"}}
	wanted := kafka.TopicConfig{
		Topic: topic, NumPartitions: ledger.Partitions, ReplicationFactor: replicas, ConfigEntries: configs,
	}
	response, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{wanted}})
	if err != nil {
		return err
	}
	return response.Errors[topic]
}

func admin(bootstrap []string, prefix string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), ledger.Deadline)
	defer cancel()
	client, topic := connect(bootstrap), prefix+"-admin"
	if err := create(ctx, client, topic); err != nil {
		return "", err
	}
	if err := create(ctx, client, topic); !errors.Is(err, kafka.TopicAlreadyExists) {
		return "", fmt.Errorf("created twice: %v", err)
	}
	if err := configure(ctx, client, topic); err != nil {
		return "", err
	}
	more := []kafka.TopicPartitionsConfig{{Name: topic, Count: 2 * ledger.Partitions}}
	grown, err := client.CreatePartitions(ctx, &kafka.CreatePartitionsRequest{Topics: more})
	if err == nil {
		err = grown.Errors[topic]
	}
	if err != nil {
		return "", err
	}
	err = ledger.Until("each partition has its replicas", func() bool { return isGrown(ctx, client, topic) })
	if err != nil {
		return "", err
	}
	deleted, err := client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{topic}})
	if err == nil {
		err = deleted.Errors[topic]
	}
	if err != nil {
		return "", err
	}
	err = ledger.Until("the topic is gone", func() bool {
		told, err := client.Metadata(ctx, &kafka.MetadataRequest{})
		return err == nil && !slices.ContainsFunc(told.Topics, func(each kafka.Topic) bool { return each.Name == topic })
	})
	return "topics, configurations, partitions", err
}

func isGrown(ctx context.Context, client *kafka.Client, topic string) bool {
	told, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
	if err != nil || len(told.Topics) != 1 || len(told.Topics[0].Partitions) != 2*ledger.Partitions {
		return false
	}
	return !slices.ContainsFunc(told.Topics[0].Partitions, func(each kafka.Partition) bool {
		return len(each.Replicas) != replicas
	})
}

func configure(ctx context.Context, client *kafka.Client, topic string) error {
	value := "1234567"
	changed := kafka.IncrementalAlterConfigsRequestResource{
		ResourceType: kafka.ResourceTypeTopic,
		ResourceName: topic,
		Configs: []kafka.IncrementalAlterConfigsRequestConfig{
			{Name: "retention.ms", Value: value, ConfigOperation: kafka.ConfigOperationSet},
		},
	}
	resources := []kafka.IncrementalAlterConfigsRequestResource{changed}
	response, err := client.IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{Resources: resources})
	if err != nil {
		return err
	}
	if err := response.Resources[0].Error; err != nil {
		return err
	}
	asked := []kafka.DescribeConfigRequestResource{{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic}}
	return ledger.Until("the configuration is described as it was set", func() bool {
		described, err := client.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{Resources: asked})
		if err != nil || len(described.Resources) != 1 {
			return false
		}
		found := map[string]string{}
		for _, config := range described.Resources[0].ConfigEntries {
			found[config.ConfigName] = config.ConfigValue
		}
		return found["retention.ms"] == value && found["min.insync.replicas"] == "2"
	})
}

// writer gives what sends to a topic: asynchronous, acknowledged by all, one batch of a partition at a time.
func writer(bootstrap []string, book *ledger.Ledger, topic string) *kafka.Writer {
	return &kafka.Writer{
		Addr:         kafka.TCP(bootstrap...),
		Topic:        topic,
		Balancer:     &kafka.Hash{},
		RequiredAcks: kafka.RequireAll,
		MaxAttempts:  attempts,
		BatchTimeout: soon,
		Async:        true,
		Transport:    transport(),
		Completion: func(_ []kafka.Message, err error) {
			if err != nil {
				book.Fail(err)
			}
		},
	}
}

func sender(book *ledger.Ledger, to *kafka.Writer) func(key, value string) {
	return func(key, value string) {
		message := kafka.Message{Key: []byte(key), Value: []byte(value)}
		if err := to.WriteMessages(context.Background(), message); err != nil {
			book.Fail(err)
		}
	}
}

func produce(bootstrap []string, prefix string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), ledger.Deadline)
	defer cancel()
	topic, book := prefix+"-produce", &ledger.Ledger{}
	if err := create(ctx, connect(bootstrap), topic); err != nil {
		return "", err
	}
	to := writer(bootstrap, book, topic)
	book.Write(topic, ledger.Coordinated{}, sender(book, to))
	if err := to.Close(); err != nil {
		return "", err
	}
	if err := readAll(ctx, bootstrap, topic, book); err != nil {
		return "", err
	}
	written, _ := book.Total()
	return fmt.Sprintf("%d records, %d of them twice", written, book.Again()), book.Judge(false)
}

// readAll reads each partition of a topic from its beginning until all is read.
func readAll(ctx context.Context, bootstrap []string, topic string, book *ledger.Ledger) error {
	var all sync.WaitGroup
	ctx, enough := context.WithCancel(ctx)
	defer all.Wait()
	defer enough()
	for partition := range ledger.Partitions {
		reader := kafka.NewReader(kafka.ReaderConfig{
			Brokers: bootstrap, Topic: topic, Partition: partition, MaxWait: maxWait,
		})
		all.Go(func() {
			defer reader.Close()
			for {
				message, err := reader.ReadMessage(ctx)
				if err != nil {
					if ctx.Err() == nil {
						book.Fail(err)
					}
					return
				}
				book.Read(string(message.Key), string(message.Value))
			}
		})
	}
	return ledger.Until("all is read", func() bool {
		written, seen := book.Total()
		return written == seen
	})
}

// member reads a topic as one of a group until it is told to leave, and commits what it has read.
type member struct {
	reader *kafka.Reader
	read   atomic.Int64
	leaves context.CancelFunc
	left   sync.WaitGroup
}

func join(bootstrap []string, groupID, topic string, book *ledger.Ledger) *member {
	ctx, leaves := context.WithCancel(context.Background())
	one := &member{leaves: leaves}
	one.reader = kafka.NewReader(kafka.ReaderConfig{
		Brokers: bootstrap, GroupID: groupID, Topic: topic, StartOffset: kafka.FirstOffset, MaxWait: maxWait,
	})
	one.left.Go(func() {
		for {
			message, err := one.reader.FetchMessage(ctx)
			if err != nil {
				if ctx.Err() == nil {
					book.Fail(err)
				}
				return
			}
			book.Read(string(message.Key), string(message.Value))
			one.read.Add(1)
			if err := one.reader.CommitMessages(context.Background(), message); err != nil && !isTemporary(err) {
				book.Fail(fmt.Errorf("commit: %w", err))
			}
		}
	})
	return one
}

// isTemporary tells whether kafka-go says so of an error: what was not committed is read again.
func isTemporary(err error) bool {
	var refused kafka.Error
	return errors.As(err, &refused) && refused.Temporary()
}

func (m *member) leave() error {
	m.leaves()
	m.left.Wait()
	return m.reader.Close()
}

func group(bootstrap []string, prefix string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), ledger.Deadline)
	defer cancel()
	topic, groupID, book := prefix+"-group", prefix+"-readers", &ledger.Ledger{}
	client := connect(bootstrap)
	if err := create(ctx, client, topic); err != nil {
		return "", err
	}
	to := writer(bootstrap, book, topic)
	defer to.Close()
	if err := share(ctx, client, bootstrap, groupID, topic, book, sender(book, to)); err != nil {
		return "", errors.Join(book.Judge(false), err)
	}
	if err := resume(bootstrap, groupID, topic, book, sender(book, to)); err != nil {
		return "", errors.Join(book.Judge(false), err)
	}
	if err := listed(ctx, client, groupID); err != nil {
		return "", err
	}
	written, _ := book.Total()
	return fmt.Sprintf("%d records, %d of them twice", written, book.Again()), book.Judge(false)
}

// owned gives how many partitions each member of a group has, as the group tells: a reader does not.
func owned(ctx context.Context, client *kafka.Client, groupID string) []int {
	described, err := client.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{groupID}})
	if err != nil || len(described.Groups) != 1 || described.Groups[0].GroupState != "Stable" {
		return nil
	}
	var counts []int
	for _, each := range described.Groups[0].Members {
		count := 0
		for _, topic := range each.MemberAssignments.Topics {
			count += len(topic.Partitions)
		}
		counts = append(counts, count)
	}
	return counts
}

// share has two members read what is written meanwhile, and one of them leave.
func share(ctx context.Context, client *kafka.Client, bootstrap []string, groupID, topic string, book *ledger.Ledger, send func(key, value string)) error {
	first := join(bootstrap, groupID, topic, book)
	defer first.leave()
	var written sync.WaitGroup
	written.Go(func() { book.Write(topic, ledger.Coordinated{Group: groupID}, send) })
	if err := ledger.Until("the first member reads", func() bool { return first.read.Load() > 0 }); err != nil {
		return err
	}
	second := join(bootstrap, groupID, topic, book)
	err := ledger.Until("both share the partitions", func() bool {
		return slices.Equal(owned(ctx, client, groupID), []int{ledger.Partitions / 2, ledger.Partitions / 2})
	})
	written.Wait()
	if err := errors.Join(err, second.leave()); err != nil {
		return err
	}
	return ledger.Until("all is read", func() bool {
		total, seen := book.Total()
		return total == seen && slices.Equal(owned(ctx, client, groupID), []int{ledger.Partitions})
	})
}

// resume has a new member read what is written from now on, and nothing of what was committed.
func resume(bootstrap []string, groupID, topic string, book *ledger.Ledger, send func(key, value string)) error {
	again := book.Again()
	for range ledger.Half {
		send(book.Next())
	}
	third := join(bootstrap, groupID, topic, book)
	err := ledger.Until("what was written last is read", func() bool {
		total, seen := book.Total()
		return total == seen
	})
	if err := errors.Join(err, third.leave()); err != nil {
		return err
	}
	if book.Again() > again {
		return fmt.Errorf("%d records were read again though they were committed", book.Again()-again)
	}
	return nil
}

func listed(ctx context.Context, client *kafka.Client, groupID string) error {
	groups, err := client.ListGroups(ctx, &kafka.ListGroupsRequest{})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(groups.Groups, func(each kafka.ListGroupsResponseGroup) bool { return each.GroupID == groupID }) {
		return fmt.Errorf("%s is not listed", groupID)
	}
	described, err := client.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{groupID}})
	if err != nil {
		return err
	}
	if state := described.Groups[0].GroupState; state != "Empty" {
		return fmt.Errorf("%s is %s, not Empty", groupID, state)
	}
	deleted, err := client.DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: []string{groupID}})
	if err != nil {
		return err
	}
	return deleted.Errors[groupID]
}
