// Sarama is IBM's sarama in the report card: main.go BOOTSTRAP PREFIX ITEM...
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"

	"jbodlab/clients/ledger"
)

const (
	replicas    = 3
	module      = "github.com/IBM/sarama"
	batch       = 50
	abortsEvery = 3
	retries     = 100
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

func config() *sarama.Config {
	made := sarama.NewConfig()
	made.Version = sarama.MaxVersion
	made.Net.MaxOpenRequests = 1
	made.Producer.Idempotent = true
	made.Producer.RequiredAcks = sarama.WaitForAll
	made.Producer.Return.Successes = true
	made.Producer.Retry.Max = retries
	made.Metadata.Retry.Max = retries
	made.Consumer.Offsets.Initial = sarama.OffsetOldest
	made.Consumer.Offsets.AutoCommit.Enable = false
	made.Consumer.IsolationLevel = sarama.ReadCommitted
	return made
}

func create(client sarama.ClusterAdmin, topic string) error {
	count := "2"
	detail := &sarama.TopicDetail{
		NumPartitions:     ledger.Partitions,
		ReplicationFactor: replicas,
		ConfigEntries:     map[string]*string{"min.insync.replicas": &count},
	}
	return client.CreateTopic(topic, detail, false)
}

func admin(bootstrap []string, prefix string) (string, error) {
	client, err := sarama.NewClusterAdmin(bootstrap, config())
	if err != nil {
		return "", err
	}
	defer client.Close()
	topic := prefix + "-admin"
	if err := create(client, topic); err != nil {
		return "", err
	}
	var refused *sarama.TopicError
	if err := create(client, topic); !errors.As(err, &refused) || refused.Err != sarama.ErrTopicAlreadyExists {
		return "", fmt.Errorf("created twice: %v", err)
	}
	if err := configure(client, topic); err != nil {
		return "", err
	}
	if err := client.CreatePartitions(topic, 2*ledger.Partitions, nil, false); err != nil {
		return "", err
	}
	err = ledger.Until("each partition has its replicas", func() bool {
		topics, err := client.DescribeTopics([]string{topic})
		return err == nil && len(topics[0].Partitions) == 2*ledger.Partitions && len(topics[0].Partitions[0].Replicas) == replicas
	})
	if err != nil {
		return "", err
	}
	if _, err := client.DescribeLogDirs([]int32{1, 2, 3}); err != nil {
		return "", err
	}
	if err := client.DeleteTopic(topic); err != nil {
		return "", err
	}
	err = ledger.Until("the topic is gone", func() bool {
		topics, err := client.ListTopics()
		_, isThere := topics[topic]
		return err == nil && !isThere
	})
	return "topics, configurations, partitions, log dirs", err
}

func configure(client sarama.ClusterAdmin, topic string) error {
	value := "1234567"
	changed := map[string]sarama.IncrementalAlterConfigsEntry{
		"retention.ms": {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &value},
	}
	if err := client.IncrementalAlterConfig(sarama.TopicResource, topic, changed, false); err != nil {
		return err
	}
	return ledger.Until("the configuration is described as it was set", func() bool {
		entries, err := client.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: topic})
		found := map[string]string{}
		for _, entry := range entries {
			found[entry.Name] = entry.Value
		}
		return err == nil && found["retention.ms"] == value && found["min.insync.replicas"] == "2"
	})
}

// writer gives a ledger's send and what waits until all of it is acknowledged.
func writer(bootstrap []string, book *ledger.Ledger, topic string) (func(key, value string), func(), error) {
	producer, err := sarama.NewAsyncProducer(bootstrap, config())
	if err != nil {
		return nil, nil, err
	}
	var answered sync.WaitGroup
	answered.Go(func() {
		for range producer.Successes() {
		}
	})
	answered.Go(func() {
		for failed := range producer.Errors() {
			book.Fail(failed.Err)
		}
	})
	send := func(key, value string) {
		producer.Input() <- &sarama.ProducerMessage{
			Topic: topic, Key: sarama.StringEncoder(key), Value: sarama.StringEncoder(value),
		}
	}
	end := func() {
		producer.AsyncClose()
		answered.Wait()
	}
	return send, end, nil
}

func produce(bootstrap []string, prefix string) (string, error) {
	client, err := sarama.NewClusterAdmin(bootstrap, config())
	if err != nil {
		return "", err
	}
	defer client.Close()
	topic, book := prefix+"-produce", &ledger.Ledger{}
	if err := create(client, topic); err != nil {
		return "", err
	}
	send, end, err := writer(bootstrap, book, topic)
	if err != nil {
		return "", err
	}
	book.Write(topic, ledger.Coordinated{}, send)
	end()
	written, _ := book.Total()
	if err := readAll(bootstrap, topic, book); err != nil {
		return "", errors.Join(book.Judge(true), err)
	}
	return fmt.Sprintf("%d records, idempotent", written), book.Judge(true)
}

// readAll reads every partition of a topic to the last record that is committed.
func readAll(bootstrap []string, topic string, book *ledger.Ledger) error {
	consumer, err := sarama.NewConsumer(bootstrap, config())
	if err != nil {
		return err
	}
	defer consumer.Close()
	for partition := range int32(ledger.Partitions) {
		one, err := consumer.ConsumePartition(topic, partition, sarama.OffsetOldest)
		if err != nil {
			return err
		}
		defer one.Close()
		go func() {
			for message := range one.Messages() {
				book.Read(string(message.Key), string(message.Value))
			}
		}()
	}
	return ledger.Until("all is read", func() bool {
		written, seen := book.Total()
		return written == seen
	})
}

// member reads a topic as one of a group until it is told to leave, and commits what it has read.
type member struct {
	book   *ledger.Ledger
	group  sarama.ConsumerGroup
	read   atomic.Int64
	owned  atomic.Int64
	leaves context.CancelFunc
	left   sync.WaitGroup
}

func join(bootstrap []string, groupID, topic string, book *ledger.Ledger) (*member, error) {
	group, err := sarama.NewConsumerGroup(bootstrap, groupID, config())
	if err != nil {
		return nil, err
	}
	ctx, leaves := context.WithCancel(context.Background())
	one := &member{book: book, group: group, leaves: leaves}
	one.left.Go(func() {
		for ctx.Err() == nil {
			if err := group.Consume(ctx, []string{topic}, one); err != nil {
				book.Fail(err)
				return
			}
		}
	})
	return one, nil
}

// Setup is told which partitions the member owns now.
func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	total := 0
	for _, partitions := range session.Claims() {
		total += len(partitions)
	}
	m.owned.Store(int64(total))
	return nil
}

// Cleanup has nothing to do.
func (m *member) Cleanup(sarama.ConsumerGroupSession) error { return nil }

// ConsumeClaim reads one partition while it is the member's.
func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, isOpen := <-claim.Messages():
			if !isOpen {
				return nil
			}
			m.book.Read(string(message.Key), string(message.Value))
			m.read.Add(1)
			session.MarkMessage(message, "")
			if m.read.Load()%batch == 0 {
				session.Commit()
			}
		case <-session.Context().Done():
			session.Commit()
			return nil
		}
	}
}

func (m *member) leave() {
	m.leaves()
	m.left.Wait()
	if err := m.group.Close(); err != nil {
		m.book.Fail(err)
	}
}

func group(bootstrap []string, prefix string) (string, error) {
	client, err := sarama.NewClusterAdmin(bootstrap, config())
	if err != nil {
		return "", err
	}
	defer client.Close()
	topic, groupID, book := prefix+"-group", prefix+"-readers", &ledger.Ledger{}
	if err := create(client, topic); err != nil {
		return "", err
	}
	send, end, err := writer(bootstrap, book, topic)
	if err != nil {
		return "", err
	}
	defer end()
	if err := share(bootstrap, groupID, topic, book, send); err != nil {
		return "", errors.Join(book.Judge(false), err)
	}
	if err := resume(bootstrap, groupID, topic, book, send); err != nil {
		return "", errors.Join(book.Judge(false), err)
	}
	if err := listed(client, groupID); err != nil {
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

func listed(client sarama.ClusterAdmin, groupID string) error {
	groups, err := client.ListConsumerGroups()
	if err != nil {
		return err
	}
	if _, isThere := groups[groupID]; !isThere {
		return fmt.Errorf("%s is not listed", groupID)
	}
	described, err := client.DescribeConsumerGroups([]string{groupID})
	if err != nil {
		return err
	}
	if state := described[0].State; state != "Empty" {
		return fmt.Errorf("%s is %s, not Empty", groupID, state)
	}
	return client.DeleteConsumerGroup(groupID)
}

func transactions(bootstrap []string, prefix string) (string, error) {
	client, err := sarama.NewClusterAdmin(bootstrap, config())
	if err != nil {
		return "", err
	}
	defer client.Close()
	source, sink, book := prefix+"-source", prefix+"-sink", &ledger.Ledger{}
	for _, topic := range []string{source, sink} {
		if err := create(client, topic); err != nil {
			return "", err
		}
	}
	send, end, err := writer(bootstrap, book, source)
	if err != nil {
		return "", err
	}
	var writing sync.WaitGroup
	copied := ledger.Coordinated{Group: prefix + "-transformers", TransactionalID: prefix + "-transform"}
	writing.Go(func() {
		book.Write(sink, copied, send)
		end()
	})
	aborted, err := transform(bootstrap, prefix, &writing, book)
	if err == nil {
		err = readAll(bootstrap, sink, book)
	}
	if err != nil {
		return "", errors.Join(book.Judge(false), err)
	}
	written, _ := book.Total()
	return fmt.Sprintf("%d records, %d transactions aborted", written, aborted), book.Judge(true)
}

// transformer copies what it reads, offsets and records in one transaction, and aborts each third.
type transformer struct {
	producer sarama.SyncProducer
	groupID  string
	sink     string
	book     *ledger.Ledger
	turn     sync.Mutex
	begun    int
	aborted  int
	copied   atomic.Int64
}

func transform(bootstrap []string, prefix string, writing *sync.WaitGroup, book *ledger.Ledger) (int, error) {
	transactional := config()
	transactional.Producer.Transaction.ID = prefix + "-transform"
	transactional.Producer.Transaction.Retry.Max = retries
	producer, err := sarama.NewSyncProducer(bootstrap, transactional)
	if err != nil {
		return 0, err
	}
	defer producer.Close()
	one := &transformer{producer: producer, groupID: prefix + "-transformers", sink: prefix + "-sink", book: book}
	group, err := sarama.NewConsumerGroup(bootstrap, one.groupID, config())
	if err != nil {
		return 0, err
	}
	defer group.Close()
	ctx, ends := context.WithCancel(context.Background())
	var reading sync.WaitGroup
	reading.Go(func() {
		for ctx.Err() == nil {
			if err := group.Consume(ctx, []string{prefix + "-source"}, one); err != nil {
				book.Fail(err)
				return
			}
		}
	})
	writing.Wait()
	err = ledger.Until("all is copied", func() bool {
		written, _ := book.Total()
		return one.copied.Load() == int64(written)
	})
	ends()
	reading.Wait()
	return one.aborted, err
}

// Setup has nothing to do.
func (t *transformer) Setup(sarama.ConsumerGroupSession) error { return nil }

// Cleanup has nothing to do.
func (t *transformer) Cleanup(sarama.ConsumerGroupSession) error { return nil }

// ConsumeClaim copies one partition.
func (t *transformer) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		messages := some(session.Context(), claim)
		if len(messages) == 0 {
			return nil
		}
		for isCopied := false; !isCopied; {
			var err error
			if isCopied, err = t.copy(messages); err != nil {
				t.book.Fail(err)
				return err
			}
		}
		t.copied.Add(int64(len(messages)))
		session.MarkMessage(messages[len(messages)-1], "")
	}
}

// some gives what is there, at least one message, or none when the session ends.
func some(ctx context.Context, claim sarama.ConsumerGroupClaim) []*sarama.ConsumerMessage {
	var found []*sarama.ConsumerMessage
	more := time.After(ledger.Deadline)
	for len(found) < batch {
		select {
		case message, isOpen := <-claim.Messages():
			if !isOpen {
				return nil
			}
			found = append(found, message)
			more = time.After(batch * ledger.Pace)
		case <-more:
			return found
		case <-ctx.Done():
			return nil
		}
	}
	return found
}

// copy says whether the transaction was committed.
func (t *transformer) copy(messages []*sarama.ConsumerMessage) (bool, error) {
	t.turn.Lock()
	defer t.turn.Unlock()
	t.begun++
	if err := t.producer.BeginTxn(); err != nil {
		return false, fmt.Errorf("begin: %w", err)
	}
	copies := make([]*sarama.ProducerMessage, 0, len(messages))
	for _, message := range messages {
		copies = append(copies, &sarama.ProducerMessage{
			Topic: t.sink, Key: sarama.ByteEncoder(message.Key), Value: sarama.ByteEncoder(message.Value),
		})
	}
	if err := t.producer.SendMessages(copies); err != nil {
		return false, fmt.Errorf("send: %w", err)
	}
	last := messages[len(messages)-1]
	if err := t.producer.AddMessageToTxn(last, t.groupID, nil); err != nil {
		return false, fmt.Errorf("offsets: %w", err)
	}
	if t.begun%abortsEvery == 0 {
		t.aborted++
		return false, t.producer.AbortTxn()
	}
	return true, t.producer.CommitTxn()
}
