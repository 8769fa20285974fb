// Franz is franz-go in the report card: main.go BOOTSTRAP PREFIX ITEM...
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

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"jbodlab/clients/ledger"
)

const (
	replicas    = 3
	module      = "github.com/twmb/franz-go"
	batch       = 50
	abortsEvery = 3
)

func main() {
	items := map[string]func([]string, string) (string, error){
		"admin":        admin,
		"produce":      produce,
		"group":        group,
		"transactions": transactions,
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

func topicConfigs() map[string]*string {
	count := "2"
	return map[string]*string{"min.insync.replicas": &count}
}

func create(ctx context.Context, client *kadm.Client, topic string) error {
	_, err := client.CreateTopic(ctx, ledger.Partitions, replicas, topicConfigs(), topic)
	return err
}

func admin(bootstrap []string, prefix string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), ledger.Deadline)
	defer cancel()
	connection, err := kgo.NewClient(kgo.SeedBrokers(bootstrap...))
	if err != nil {
		return "", err
	}
	defer connection.Close()
	client, topic := kadm.NewClient(connection), prefix+"-admin"
	if err := create(ctx, client, topic); err != nil {
		return "", err
	}
	if err := create(ctx, client, topic); !errors.Is(err, kerr.TopicAlreadyExists) {
		return "", fmt.Errorf("created twice: %v", err)
	}
	if err := configure(ctx, client, topic); err != nil {
		return "", err
	}
	if _, err := client.UpdatePartitions(ctx, 2*ledger.Partitions, topic); err != nil {
		return "", err
	}
	err = ledger.Until("each partition has its replicas", func() bool {
		topics, err := client.ListTopics(ctx, topic)
		return err == nil && len(topics[topic].Partitions) == 2*ledger.Partitions && topics[topic].Partitions.NumReplicas() == replicas
	})
	if err != nil {
		return "", err
	}
	if _, err := client.DescribeAllLogDirs(ctx, nil); err != nil {
		return "", err
	}
	if _, err := client.DeleteTopic(ctx, topic); err != nil {
		return "", err
	}
	err = ledger.Until("the topic is gone", func() bool {
		topics, err := client.ListTopics(ctx)
		return err == nil && !topics.Has(topic)
	})
	return "topics, configurations, partitions, log dirs", err
}

func configure(ctx context.Context, client *kadm.Client, topic string) error {
	value := "1234567"
	changed := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: &value}}
	responses, err := client.AlterTopicConfigs(ctx, changed, topic)
	if err != nil {
		return err
	}
	if err := responses[0].Err; err != nil {
		return err
	}
	return ledger.Until("the configuration is described as it was set", func() bool {
		described, err := client.DescribeTopicConfigs(ctx, topic)
		if err != nil || len(described) != 1 {
			return false
		}
		found := map[string]string{}
		for _, config := range described[0].Configs {
			found[config.Key] = config.MaybeValue()
		}
		return found["retention.ms"] == value && found["min.insync.replicas"] == "2"
	})
}

// writer gives a ledger's send: asynchronous, idempotent, acknowledged by all.
func writer(client *kgo.Client, book *ledger.Ledger, topic string) func(key, value string) {
	return func(key, value string) {
		record := &kgo.Record{Topic: topic, Key: []byte(key), Value: []byte(value)}
		client.Produce(context.Background(), record, func(_ *kgo.Record, err error) {
			if err != nil {
				book.Fail(err)
			}
		})
	}
}

func produce(bootstrap []string, prefix string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), ledger.Deadline)
	defer cancel()
	topic, book := prefix+"-produce", &ledger.Ledger{}
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap...))
	if err != nil {
		return "", err
	}
	defer client.Close()
	if err := create(ctx, kadm.NewClient(client), topic); err != nil {
		return "", err
	}
	book.Write(topic, ledger.Coordinated{}, writer(client, book, topic))
	if err := client.Flush(ctx); err != nil {
		return "", err
	}
	written, _ := book.Total()
	if err := readAll(ctx, bootstrap, topic, book, written); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d records, idempotent", written), book.Judge(true)
}

// readAll reads a topic from its beginning to its end, committed records only.
func readAll(ctx context.Context, bootstrap []string, topic string, book *ledger.Ledger, count int) error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap...),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	for read := 0; read < count; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return fmt.Errorf("%d of %d records read: %w", read, count, err)
		}
		fetches.EachError(func(_ string, _ int32, err error) { book.Fail(err) })
		fetches.EachRecord(func(record *kgo.Record) {
			book.Read(string(record.Key), string(record.Value))
			read++
		})
	}
	return nil
}

// member reads a topic as one of a group until it is told to leave, and commits what it has read.
type member struct {
	client *kgo.Client
	read   atomic.Int64
	owned  atomic.Int64
	leaves context.CancelFunc
	left   sync.WaitGroup
}

func join(bootstrap []string, groupID, topic string, book *ledger.Ledger) (*member, error) {
	one := &member{}
	ctx, leaves := context.WithCancel(context.Background())
	count := func(by int64) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			one.owned.Add(by * int64(len(partitions[topic])))
		}
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap...),
		kgo.ConsumerGroup(groupID),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(count(1)),
		kgo.OnPartitionsRevoked(count(-1)),
		kgo.OnPartitionsLost(count(-1)),
	)
	if err != nil {
		leaves()
		return nil, err
	}
	one.client, one.leaves = client, leaves
	one.left.Go(func() { one.consume(ctx, book) })
	return one, nil
}

func (m *member) consume(ctx context.Context, book *ledger.Ledger) {
	for ctx.Err() == nil {
		fetches := m.client.PollFetches(ctx)
		fetches.EachError(func(_ string, _ int32, err error) {
			if !errors.Is(err, context.Canceled) {
				book.Fail(err)
			}
		})
		fetches.EachRecord(func(record *kgo.Record) {
			book.Read(string(record.Key), string(record.Value))
			m.read.Add(1)
		})
		if err := m.client.CommitUncommittedOffsets(context.Background()); err != nil {
			book.Fail(fmt.Errorf("commit: %w", err))
		}
		m.client.AllowRebalance()
	}
}

func (m *member) leave() {
	m.leaves()
	m.left.Wait()
	m.client.CloseAllowingRebalance()
}

func group(bootstrap []string, prefix string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), ledger.Deadline)
	defer cancel()
	topic, groupID, book := prefix+"-group", prefix+"-readers", &ledger.Ledger{}
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap...))
	if err != nil {
		return "", err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	if err := create(ctx, admin, topic); err != nil {
		return "", err
	}
	if err := share(bootstrap, groupID, topic, book, writer(client, book, topic)); err != nil {
		return "", errors.Join(book.Judge(false), err)
	}
	if err := resume(bootstrap, groupID, topic, book, writer(client, book, topic)); err != nil {
		return "", errors.Join(book.Judge(false), err)
	}
	if err := listed(ctx, admin, groupID); err != nil {
		return "", err
	}
	written, _ := book.Total()
	return fmt.Sprintf("%d records, %d of them twice", written, book.Again()), book.Judge(false)
}

// share has two members read what is written meanwhile, and one of them leave.
func share(bootstrap []string, groupID, topic string, book *ledger.Ledger, send func(key, value string)) error {
	first, err := join(bootstrap, groupID, topic, book)
	if err != nil {
		return err
	}
	defer first.leave()
	var written sync.WaitGroup
	written.Go(func() { book.Write(topic, ledger.Coordinated{Group: groupID}, send) })
	if err := ledger.Until("the first member reads", func() bool { return first.read.Load() > 0 }); err != nil {
		return err
	}
	second, err := join(bootstrap, groupID, topic, book)
	if err != nil {
		return err
	}
	err = ledger.Until("both share the partitions", func() bool {
		return first.owned.Load() == ledger.Partitions/2 && second.owned.Load() == ledger.Partitions/2
	})
	written.Wait()
	second.leave()
	if err != nil {
		return err
	}
	return ledger.Until("all is read", func() bool {
		total, seen := book.Total()
		return total == seen && first.owned.Load() == ledger.Partitions
	})
}

// resume has a new member read what is written from now on, and nothing of what was committed.
func resume(bootstrap []string, groupID, topic string, book *ledger.Ledger, send func(key, value string)) error {
	again := book.Again()
	for range ledger.Half {
		send(book.Next())
	}
	third, err := join(bootstrap, groupID, topic, book)
	if err != nil {
		return err
	}
	defer third.leave()
	err = ledger.Until("what was written last is read", func() bool {
		total, seen := book.Total()
		return total == seen
	})
	if err == nil && book.Again() > again {
		return fmt.Errorf("%d records were read again though they were committed", book.Again()-again)
	}
	return err
}

func listed(ctx context.Context, client *kadm.Client, groupID string) error {
	groups, err := client.ListGroups(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(groups.Groups(), groupID) {
		return fmt.Errorf("%s is not listed", groupID)
	}
	described, err := client.DescribeGroups(ctx, groupID)
	if err != nil {
		return err
	}
	if state := described[groupID].State; state != "Empty" {
		return fmt.Errorf("%s is %s, not Empty", groupID, state)
	}
	_, err = client.DeleteGroup(ctx, groupID)
	return err
}

func transactions(bootstrap []string, prefix string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), ledger.Deadline)
	defer cancel()
	source, sink := prefix+"-source", prefix+"-sink"
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap...))
	if err != nil {
		return "", err
	}
	defer client.Close()
	for _, topic := range []string{source, sink} {
		if err := create(ctx, kadm.NewClient(client), topic); err != nil {
			return "", err
		}
	}
	book := &ledger.Ledger{}
	var writing sync.WaitGroup
	copied := ledger.Coordinated{Group: prefix + "-transformers", TransactionalID: prefix + "-transform"}
	writing.Go(func() { book.Write(sink, copied, writer(client, book, source)) })
	isWritten := make(chan struct{})
	go func() {
		writing.Wait()
		close(isWritten)
	}()
	aborted, err := transform(ctx, bootstrap, prefix, isWritten, book)
	if err != nil {
		return "", errors.Join(book.Judge(false), err)
	}
	<-isWritten
	written, _ := book.Total()
	if err := readAll(ctx, bootstrap, sink, book, written); err != nil {
		return "", errors.Join(book.Judge(false), err)
	}
	return fmt.Sprintf("%d records, %d transactions aborted", written, aborted), book.Judge(true)
}

// transform copies source to sink, offsets and records in one transaction, and aborts each third.
func transform(ctx context.Context, bootstrap []string, prefix string, isWritten <-chan struct{}, book *ledger.Ledger) (int, error) {
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(bootstrap...),
		kgo.TransactionalID(prefix+"-transform"),
		kgo.ConsumerGroup(prefix+"-transformers"),
		kgo.ConsumeTopics(prefix+"-source"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RequireStableFetchOffsets(),
	)
	if err != nil {
		return 0, err
	}
	defer session.Close()
	copied, aborted := 0, 0
	for number := 1; ; number++ {
		select {
		case <-isWritten:
			if written, _ := book.Total(); copied == written {
				return aborted, nil
			}
		default:
		}
		fetches := session.PollRecords(ctx, batch)
		if err := fetches.Err(); err != nil {
			return aborted, fmt.Errorf("%d records copied: %w", copied, err)
		}
		if err := session.Begin(); err != nil {
			return aborted, err
		}
		fetches.EachRecord(func(record *kgo.Record) {
			session.Produce(ctx, &kgo.Record{Topic: prefix + "-sink", Key: record.Key, Value: record.Value}, nil)
		})
		committed, err := session.End(ctx, kgo.TransactionEndTry(number%abortsEvery != 0))
		switch {
		case err != nil:
			return aborted, fmt.Errorf("end of a transaction: %w", err)
		case committed:
			copied += fetches.NumRecords()
		default:
			aborted++
		}
	}
}
