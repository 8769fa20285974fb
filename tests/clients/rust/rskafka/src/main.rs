//! rskafka in the report card: BOOTSTRAP PREFIX ITEM...

mod ledger;

use std::collections::BTreeMap;

use chrono::Utc;
use ledger::{until, Ledger, PARTITIONS};

use rskafka::client::partition::{Compression, OffsetAt, PartitionClient, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder};
use rskafka::record::Record;

const VERSION: &str = "0.6.0";
const REPLICAS: i16 = 3;
const TIMEOUT_MS: i32 = 30_000;
const BYTES: std::ops::Range<i32> = 1..1_000_000;
const WAIT_MS: i32 = 100;

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

async fn create(client: &Client, topic: &str) -> Result<(), String> {
    let controller = client.controller_client().map_err(told)?;
    let created = controller
        .create_topic(topic, PARTITIONS as i32, REPLICAS, TIMEOUT_MS)
        .await;
    created.map_err(told)
}

async fn is_listed(client: &Client, topic: &str) -> Result<bool, String> {
    let topics = client.list_topics().await.map_err(told)?;
    Ok(topics
        .iter()
        .any(|each| each.name == topic && each.partitions.len() == PARTITIONS))
}

async fn admin(client: &Client, prefix: &str) -> Result<String, String> {
    let topic = format!("{prefix}-admin");
    create(client, &topic).await?;
    match create(client, &topic).await {
        Err(error) if error.contains("TopicAlreadyExists") => {}
        other => return Err(format!("created twice: {other:?}")),
    }
    until("the topic is listed", || is_listed(client, &topic)).await?;
    let controller = client.controller_client().map_err(told)?;
    controller
        .delete_topic(&topic, TIMEOUT_MS)
        .await
        .map_err(told)?;
    until("the topic is gone", || async {
        Ok(!is_listed(client, &topic).await?)
    })
    .await?;
    Ok("topics".into())
}

async fn send(to: &PartitionClient, key: usize, number: usize) -> Result<(), String> {
    let record = Record {
        key: Some(key.to_string().into_bytes()),
        value: Some(number.to_string().into_bytes()),
        headers: BTreeMap::new(),
        timestamp: Utc::now(),
    };
    to.produce(vec![record], Compression::NoCompression)
        .await
        .map_err(told)?;
    Ok(())
}

/// Reads a partition from its beginning to its end.
async fn read(from: &PartitionClient, book: &mut Ledger) -> Result<(), String> {
    let end = from.get_offset(OffsetAt::Latest).await.map_err(told)?;
    let mut offset = 0;
    while offset < end {
        let (records, _) = from
            .fetch_records(offset, BYTES, WAIT_MS)
            .await
            .map_err(told)?;
        for each in records {
            let text =
                |part: Option<Vec<u8>>| String::from_utf8(part.unwrap_or_default()).map_err(told);
            book.read(&text(each.record.key)?, &text(each.record.value)?);
            offset = each.offset + 1;
        }
    }
    Ok(())
}

async fn produce(client: &Client, prefix: &str) -> Result<String, String> {
    let topic = format!("{prefix}-produce");
    create(client, &topic).await?;
    let mut partitions = Vec::new();
    for number in 0..PARTITIONS as i32 {
        let found = client
            .partition_client(&topic, number, UnknownTopicHandling::Retry)
            .await;
        partitions.push(found.map_err(told)?);
    }
    let mut book = Ledger::default();
    book.write(&topic, |key, number| {
        send(&partitions[key % PARTITIONS], key, number)
    })
    .await;
    for each in &partitions {
        read(each, &mut book).await?;
    }
    book.judge()?;
    Ok(format!(
        "{} records, {} of them twice",
        book.total(),
        book.again
    ))
}

#[tokio::main]
async fn main() -> Result<(), String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let bootstrap = words[0].split(',').map(String::from).collect();
    let client = ClientBuilder::new(bootstrap).build().await.map_err(told)?;
    println!(r#"{{"version": {VERSION:?}}}"#);
    for item in &words[2..] {
        let result = match item.as_str() {
            "admin topics" => admin(&client, &words[1]).await,
            "produce at least once" => produce(&client, &words[1]).await,
            _ => Err("no such item".into()),
        };
        let ok = result.is_ok();
        let told = result.unwrap_or_else(|error| error);
        println!(r#"{{"item": {item:?}, "ok": {ok}, "told": {told:?}}}"#);
    }
    Ok(())
}
