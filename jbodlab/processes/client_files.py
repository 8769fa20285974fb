"""What a user needs to come in by SASL_SSL, for each kind of client, as texts of files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

MECHANISM: Final = "SCRAM-SHA-512"
_SCRAM_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"


def client_files(user: str, password: str, servers: Sequence[str], ca_file: Path) -> dict[str, str]:
    """Return texts by name of file; passwords are letters and digits, which need no quoting."""
    given = {
        "user": user,
        "password": password,
        "servers": ",".join(servers),
        "list": json.dumps(list(servers)),
        "go_list": json.dumps(list(servers)).strip("[]"),
        "ca": str(ca_file),
        "ca_text": json.dumps(str(ca_file)),
        "mechanism": MECHANISM,
    }
    return {
        f"{user}{ending}": template.format_map(given) for ending, template in _TEMPLATES.items()
    }


_TEMPLATES: Final = {
    ".properties": f"""\
# Java clients and Kafka's tools (--command-config), and those of jbodlab.
bootstrap.servers={{servers}}
security.protocol=SASL_SSL
ssl.truststore.type=PEM
ssl.truststore.location={{ca}}
sasl.mechanism={{mechanism}}
sasl.jaas.config={_SCRAM_MODULE} required username="{{user}}" password="{{password}}";
""",
    ".librdkafka.conf": """\
# librdkafka: kcat -F, and as a dictionary the settings of confluent-kafka.
bootstrap.servers={servers}
security.protocol=SASL_SSL
ssl.ca.location={ca}
sasl.mechanism={mechanism}
sasl.username={user}
sasl.password={password}
""",
    "_kafka_python.py": """\
# kafka-python: KafkaProducer(**SETTINGS)
SETTINGS = dict(
    bootstrap_servers={list},
    security_protocol="SASL_SSL",
    ssl_cafile={ca_text},
    sasl_mechanism="{mechanism}",
    sasl_plain_username="{user}",
    sasl_plain_password="{password}",
)
""",
    "_aiokafka.py": """\
# aiokafka: AIOKafkaProducer(**SETTINGS)
import ssl

SETTINGS = dict(
    bootstrap_servers={list},
    security_protocol="SASL_SSL",
    ssl_context=ssl.create_default_context(cafile={ca_text}),
    sasl_mechanism="{mechanism}",
    sasl_plain_username="{user}",
    sasl_plain_password="{password}",
)
""",
    ".kafkajs.js": """\
// kafkajs: new Kafka(require("./{user}.kafkajs.js"))
module.exports = {{
  brokers: {list},
  ssl: {{ ca: [require("fs").readFileSync({ca_text}, "utf-8")] }},
  sasl: {{ mechanism: "scram-sha-512", username: "{user}", password: "{password}" }},
}};
""",
    "_franz.go": """\
// franz-go: kgo.NewClient(Security()...)
package main

import (
	"crypto/tls"
	"crypto/x509"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

func Security() []kgo.Opt {{
	ca, err := os.ReadFile({ca_text})
	if err != nil {{
		panic(err)
	}}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	login := scram.Auth{{User: "{user}", Pass: "{password}"}}
	return []kgo.Opt{{
		kgo.SeedBrokers({go_list}),
		kgo.DialTLSConfig(&tls.Config{{RootCAs: pool}}),
		kgo.SASL(login.AsSha512Mechanism()),
	}}
}}
""",
    "_sarama.go": """\
// sarama: sarama.NewClient(Servers, Security()). PLAIN, as its SCRAM needs a library beside it.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"os"

	"github.com/IBM/sarama"
)

var Servers = []string{{{go_list}}}

func Security() *sarama.Config {{
	ca, err := os.ReadFile({ca_text})
	if err != nil {{
		panic(err)
	}}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	config := sarama.NewConfig()
	config.Version = sarama.V3_6_0_0
	config.Net.TLS.Enable = true
	config.Net.TLS.Config = &tls.Config{{RootCAs: pool}}
	config.Net.SASL.Enable = true
	config.Net.SASL.Mechanism = sarama.SASLTypePlaintext
	config.Net.SASL.User = "{user}"
	config.Net.SASL.Password = "{password}"
	return config
}}
""",
}
"""By what follows the user's name in the file's."""
