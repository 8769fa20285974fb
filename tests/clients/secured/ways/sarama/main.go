// Writes a record by the protocol and mechanism of the JSON file that is the argument.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/IBM/sarama"
	"github.com/xdg-go/scram"
)

type way struct{ Servers, Protocol, Mechanism, User, Password, Token, Ca, Certificate, Key string }

func main() {
	var asked way
	text, err := os.ReadFile(os.Args[1])
	must(err)
	must(json.Unmarshal(text, &asked))
	config := sarama.NewConfig()
	config.Version = sarama.V3_6_0_0
	config.Producer.Return.Successes = true
	if strings.HasSuffix(asked.Protocol, "SSL") {
		config.Net.TLS.Enable = true
		config.Net.TLS.Config = certificates(asked)
	}
	if asked.Mechanism != "" {
		login(config, asked)
	}
	producer, err := sarama.NewSyncProducer([]string{asked.Servers}, config)
	must(err)
	defer producer.Close()
	message := &sarama.ProducerMessage{Topic: "orders", Value: sarama.StringEncoder("hello")}
	partition, _, err := producer.SendMessage(message)
	must(err)
	fmt.Printf("orders-%d\n", partition)
}

func certificates(asked way) *tls.Config {
	ca, err := os.ReadFile(asked.Ca)
	must(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	config := &tls.Config{RootCAs: pool}
	if asked.Certificate != "" {
		own, err := tls.LoadX509KeyPair(asked.Certificate, asked.Key)
		must(err)
		config.Certificates = []tls.Certificate{own}
	}
	return config
}

func login(config *sarama.Config, asked way) {
	config.Net.SASL.Enable = true
	config.Net.SASL.Mechanism = sarama.SASLMechanism(asked.Mechanism)
	config.Net.SASL.User = asked.User
	config.Net.SASL.Password = asked.Password
	hashes := map[string]scram.HashGeneratorFcn{"SCRAM-SHA-256": scram.SHA256, "SCRAM-SHA-512": scram.SHA512}
	if hash, is_scram := hashes[asked.Mechanism]; is_scram {
		config.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return &conversation{hash: hash} }
	}
	if asked.Mechanism == sarama.SASLTypeOAuth {
		config.Net.SASL.TokenProvider = token(asked.Token)
	}
}

type token string

func (given token) Token() (*sarama.AccessToken, error) {
	return &sarama.AccessToken{Token: string(given)}, nil
}

// conversation is what sarama asks of a library for SCRAM.
type conversation struct {
	hash scram.HashGeneratorFcn
	*scram.ClientConversation
}

func (it *conversation) Begin(user, password, authzID string) error {
	client, err := it.hash.NewClient(user, password, authzID)
	if err != nil {
		return err
	}
	it.ClientConversation = client.NewConversation()
	return nil
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
