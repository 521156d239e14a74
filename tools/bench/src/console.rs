//! Ten clients on the console of a run, which request the state and the camera's newest image repeatedly, as the page
//! does. The clients run here, on the same machine, so the measured cost includes their reading.

use std::io::{self, BufRead, BufReader, Write};
use std::process::ChildStderr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::json;

use crate::client::{Client, ConsoleAddress};

/// Number of clients.
const CLIENTS: usize = 10;
/// Pause before a topic that has not been published yet is requested again.
const AGAIN: Duration = Duration::from_millis(100);

/// Watches the run that prints its console's address on `errors`, until it ends; returns the number of images received.
pub(crate) fn watch(errors: ChildStderr) -> JoinHandle<u64> {
    thread::spawn(move || {
        let pictures = Arc::new(AtomicU64::new(0));
        let mut clients = Vec::new();
        for line in BufReader::new(errors).lines().map_while(Result::ok) {
            match ConsoleAddress::parse(&line) {
                Some(place) => clients.extend((0..CLIENTS).map(|_| client(place.address.clone(), &pictures))),
                // A closed standard error must not end the measurement.
                None => _ = writeln!(io::stderr(), "{line}"),
            }
        }
        clients.into_iter().for_each(|client| _ = client.join());
        pictures.load(Ordering::Relaxed)
    })
}

fn client(address: String, pictures: &Arc<AtomicU64>) -> JoinHandle<()> {
    let pictures = Arc::clone(pictures);
    // A client ends with its run, by an error of the connection.
    thread::spawn(move || _ = Client::open(&address).and_then(|mut client| look(&mut client, &pictures)))
}

/// Repeats the requests until the run ends.
fn look(client: &mut Client, pictures: &AtomicU64) -> io::Result<()> {
    client.request_state(&json!(0))?;
    client.request_picture(&json!(0))?;
    loop {
        let reported = client.reported()?;
        match reported["is"].as_str() {
            Some("state") => client.request_state(&reported["number"])?,
            Some("image") => {
                pictures.fetch_add(1, Ordering::Relaxed);
                client.request_picture(&reported["number"])?;
            }
            Some("answer") => {
                thread::sleep(AGAIN);
                client.request_picture(&json!(0))?;
            }
            _ => {}
        }
    }
}
