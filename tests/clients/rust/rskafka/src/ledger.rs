//! Numbered records per key, and what was read held against what was written; the same rules as in
//! `../../go/ledger`.

use std::future::Future;
use std::io::BufRead;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub const KEYS: usize = 12;
pub const PARTITIONS: usize = 6;
const HALF: usize = 600;
const PACE: Duration = Duration::from_millis(1);
const DEADLINE: Duration = Duration::from_secs(120);

#[derive(Default)]
pub struct Ledger {
    written: [usize; KEYS],
    seen: [usize; KEYS],
    pub again: usize,
    errors: Vec<String>,
}

impl Ledger {
    /// Gives the next record to write.
    fn next(&mut self) -> (usize, usize) {
        let key = self.total() % KEYS;
        self.written[key] += 1;
        (key, self.written[key] - 1)
    }

    pub fn total(&self) -> usize {
        self.written.iter().sum()
    }

    /// Takes a record that was read: no key may leave a number out.
    pub fn read(&mut self, key: &str, value: &str) {
        let (Ok(key), Ok(number)) = (key.parse::<usize>(), value.parse::<usize>()) else {
            return self
                .errors
                .push(format!("read {key}={value}, which nobody wrote"));
        };
        if number < self.seen[key] {
            self.again += 1;
        } else if number > self.seen[key] {
            self.errors.push(format!(
                "key {key}: {number} came before {}",
                self.seen[key]
            ));
        } else {
            self.seen[key] += 1;
        }
    }

    /// An error unless all is read in the order of each key, and no error reached the application.
    pub fn judge(&self) -> Result<(), String> {
        match self.errors.first() {
            Some(first) => Err(format!("{} errors, the first: {first}", self.errors.len())),
            None if self.written != self.seen => Err("records are lost".into()),
            None => Ok(()),
        }
    }

    /// Sends until HALF records after a disk was dealt with, HALF before it.
    pub async fn write<F: Future<Output = Result<(), String>>>(
        &mut self,
        topic: &str,
        send: impl Fn(usize, usize) -> F,
    ) {
        self.write_while(&send, |count| count < HALF).await;
        println!(r#"{{"halfway": {topic:?}, "group": "", "transactional_id": ""}}"#);
        let done = Arc::new(AtomicBool::new(false));
        let told = done.clone();
        std::thread::spawn(move || {
            let _ = std::io::stdin().lock().read_line(&mut String::new());
            told.store(true, Ordering::Relaxed);
        });
        self.write_while(&send, |_| !done.load(Ordering::Relaxed))
            .await;
        self.write_while(&send, |count| count < HALF).await;
    }

    async fn write_while<F: Future<Output = Result<(), String>>>(
        &mut self,
        send: impl Fn(usize, usize) -> F,
        goes_on: impl Fn(usize) -> bool,
    ) {
        let mut count = 0;
        while goes_on(count) {
            let (key, number) = self.next();
            if let Err(error) = send(key, number).await {
                self.errors.push(error);
            }
            tokio::time::sleep(PACE).await;
            count += 1;
        }
    }
}

/// Waits for a condition.
pub async fn until<F: Future<Output = Result<bool, String>>>(
    what: &str,
    condition: impl Fn() -> F,
) -> Result<(), String> {
    let end = Instant::now() + DEADLINE;
    while !condition().await? {
        if Instant::now() > end {
            return Err(format!("not so after {DEADLINE:?}: {what}"));
        }
        tokio::time::sleep(20 * PACE).await;
    }
    Ok(())
}
