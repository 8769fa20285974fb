// Writes a record by the protocol and mechanism of the JSON file that is the argument.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

type way struct{ Servers, Protocol, Mechanism, User, Password, Token, Ca, Certificate, Key string }

func main() {
	var asked way
	text, err := os.ReadFile(os.Args[1])
	must(err)
	must(json.Unmarshal(text, &asked))
	options := []kgo.Opt{kgo.SeedBrokers(asked.Servers)}
	if strings.HasSuffix(asked.Protocol, "SSL") {
		options = append(options, kgo.DialTLSConfig(certificates(asked)))
	}
	if asked.Mechanism != "" {
		options = append(options, kgo.SASL(login(asked)))
	}
	client, err := kgo.NewClient(options...)
	must(err)
	defer client.Close()
	sent, err := client.ProduceSync(context.Background(), &kgo.Record{Topic: "orders", Value: []byte("hello")}).First()
	must(err)
	fmt.Printf("%s-%d\n", sent.Topic, sent.Partition)
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

func login(asked way) sasl.Mechanism {
	switch asked.Mechanism {
	case "PLAIN":
		return plain.Auth{User: asked.User, Pass: asked.Password}.AsMechanism()
	case "SCRAM-SHA-256":
		return scram.Auth{User: asked.User, Pass: asked.Password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scram.Auth{User: asked.User, Pass: asked.Password}.AsSha512Mechanism()
	default:
		return oauth.Auth{Token: asked.Token}.AsMechanism()
	}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
