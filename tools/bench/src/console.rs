//! Ten pages at the console of a run, each of which asks for the state and for the newest picture of a camera again and
//! again, as the page does. The clients run here, on the machine of the run, so reading is a part of what they cost.

use std::io::{self, BufRead, BufReader, Write};
use std::process::ChildStderr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::json;

use crate::client::{Client, ConsoleAddress};

/// Pages.
const CLIENTS: usize = 10;
/// Before a topic that nobody has told yet is asked for again.
const AGAIN: Duration = Duration::from_millis(100);

/// Looks at the run that tells its console on `errors`, to its end; gives how many pictures came.
pub(crate) fn watch(errors: ChildStderr) -> JoinHandle<u64> {
    thread::spawn(move || {
        let pictures = Arc::new(AtomicU64::new(0));
        let mut clients = Vec::new();
        for line in BufReader::new(errors).lines().map_while(Result::ok) {
            match ConsoleAddress::parse(&line) {
                Some(place) => clients.extend((0..CLIENTS).map(|_| client(place.address.clone(), &pictures))),
                // Where nobody reads it, the figure is still measured.
                None => _ = writeln!(io::stderr(), "{line}"),
            }
        }
        clients.into_iter().for_each(|client| _ = client.join());
        pictures.load(Ordering::Relaxed)
    })
}

fn client(address: String, pictures: &Arc<AtomicU64>) -> JoinHandle<()> {
    let pictures = Arc::clone(pictures);
    // A client ends with the run that it looks at, by an error of its connection.
    thread::spawn(move || _ = Client::open(&address).and_then(|mut client| look(&mut client, &pictures)))
}

/// Asks again and again, until the run ends.
fn look(client: &mut Client, pictures: &AtomicU64) -> io::Result<()> {
    client.ask_state(&json!(0))?;
    client.ask_picture(&json!(0))?;
    loop {
        let told = client.told()?;
        match told["is"].as_str() {
            Some("state") => client.ask_state(&told["number"])?,
            Some("image") => {
                pictures.fetch_add(1, Ordering::Relaxed);
                client.ask_picture(&told["number"])?;
            }
            Some("answer") => {
                thread::sleep(AGAIN);
                client.ask_picture(&json!(0))?;
            }
            _ => {}
        }
    }
}
