//! Admission of connections and requests. A connection gets one of a limited number of places or is closed at once, and
//! it is closed when it neither reads nor writes for a while. A request must be a GET without a body, name this machine
//! as its host and, if a page made it, come from this console's own page: a page of another site cannot reach the
//! console, neither directly (Origin) nor by a name of its own that resolves to this machine (DNS rebinding, Host).

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

use crate::counts::{Counts, RefusalReason};

/// Greatest number of open connections: browsers make a few for each page.
pub(crate) const CONNECTIONS_MAX: usize = 128;
/// A connection is closed after this time without a byte in either direction.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// Pause before the next attempt when the system cannot accept a connection.
const RETRY: Duration = Duration::from_millis(100);

/// Accepts connections as long as places are free, and closes the others at once.
pub(crate) struct Acceptor {
    listener: TcpListener,
    places: Arc<Semaphore>,
    counts: Arc<Counts>,
}

impl Acceptor {
    /// A gate with all places free.
    pub(crate) fn new(listener: TcpListener, counts: Arc<Counts>) -> Self {
        Self { listener, places: Arc::new(Semaphore::new(CONNECTIONS_MAX)), counts }
    }
}

impl Listener for Acceptor {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            let Ok((stream, from)) = self.listener.accept().await else {
                sleep(RETRY).await;
                continue;
            };
            if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
                return (Connection::new(stream, place, Arc::clone(&self.counts)), from);
            }
            self.counts.add(RefusalReason::Crowd);
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that has a place.
pub(crate) struct Connection {
    stream: TcpStream,
    silence: Pin<Box<Sleep>>,
    /// Whether any byte arrived. Browsers hold spare connections that stay silent: closing one is not a refusal.
    has_sent_bytes: bool,
    counts: Arc<Counts>,
    _place: OwnedSemaphorePermit,
}

impl Connection {
    fn new(stream: TcpStream, place: OwnedSemaphorePermit, counts: Arc<Counts>) -> Self {
        // Small messages are sent at once. Where the system cannot do so, the connection is only slower.
        let _ = stream.set_nodelay(true);
        Self { stream, silence: Box::pin(sleep(SILENCE_MAX)), has_sent_bytes: false, counts, _place: place }
    }

    /// Passes on the result of a read or write; while it is pending for too long, an error instead.
    fn received<T>(&mut self, cx: &mut Context<'_>, done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if done.is_ready() {
            self.silence.as_mut().reset(Instant::now() + SILENCE_MAX);
            return done;
        }
        if self.silence.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        if self.has_sent_bytes {
            self.counts.add(RefusalReason::Silence);
        }
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let done = Pin::new(&mut self.stream).poll_read(cx, buffer);
        self.has_sent_bytes |= buffer.filled().len() > before;
        self.received(cx, done)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.received(cx, done)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// A refused request: the reason to count, and the status and text of the response.
pub(crate) type Refused = (RefusalReason, StatusCode, &'static str);

/// The refusal of a request, if it is to be refused. Of pages, only this console's own are let in.
pub(crate) fn refusal(method: &Method, headers: &HeaderMap) -> Option<Refused> {
    refusal_unless(method, headers, is_of)
}

/// [`refusal`], where `is_let_in(origin, host)` says which pages may make requests.
pub(crate) fn refusal_unless(
    method: &Method,
    headers: &HeaderMap,
    is_let_in: impl Fn(&[u8], &str) -> bool,
) -> Option<Refused> {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()).filter(|host| is_own(host)) else {
        let reported = "this server answers to localhost and to IP addresses alone";
        return Some((RefusalReason::Host, StatusCode::MISDIRECTED_REQUEST, reported));
    };
    if headers.get(header::ORIGIN).is_some_and(|origin| !is_let_in(origin.as_bytes(), host)) {
        return Some((RefusalReason::Origin, StatusCode::FORBIDDEN, "pages of other sites are not let in"));
    }
    let length = headers.get(header::CONTENT_LENGTH).is_some_and(|length| length.as_bytes() != b"0");
    if length || headers.contains_key(header::TRANSFER_ENCODING) {
        return Some((RefusalReason::Body, StatusCode::PAYLOAD_TOO_LARGE, "requests have no body here"));
    }
    (*method != Method::GET).then_some((
        RefusalReason::Address,
        StatusCode::METHOD_NOT_ALLOWED,
        "GET alone is answered",
    ))
}

/// Whether a host is an IP address or localhost: no other site can have these as its name.
fn is_own(host: &str) -> bool {
    let is_ip = |text: &str| text.parse::<IpAddr>().is_ok();
    if host.parse::<SocketAddr>().is_ok() || is_ip(host) {
        return true;
    }
    if let Some(bare) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return is_ip(bare);
    }
    let name = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(host, |(name, _)| name);
    name.eq_ignore_ascii_case("localhost")
}

/// Whether a page of `origin` was served by `host`.
fn is_of(origin: &[u8], host: &str) -> bool {
    let of = ["http://", "https://"].iter().find_map(|scheme| origin.strip_prefix(scheme.as_bytes()));
    of.is_some_and(|of| of.eq_ignore_ascii_case(host.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::{is_own, refusal};
    use crate::counts::RefusalReason;
    use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};

    fn of(headers: &[(&'static str, &'static str)]) -> Option<RefusalReason> {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        let headers: HeaderMap = headers.iter().map(pair).collect();
        refusal(&Method::GET, &headers).map(|(refusal, ..)| refusal)
    }

    #[test]
    fn names_of_others_are_not_this_machine() {
        for own in ["localhost", "LOCALHOST:8470", "127.0.0.1:8470", "192.168.0.7", "[::1]:8470", "[::1]"] {
            assert!(is_own(own), "{own}");
        }
        for other in ["", "rebind.example", "rebind.example:8470", "localhost.example", "127.0.0.1.example:8470", ":1"]
        {
            assert!(!is_own(other), "{other}");
        }
    }

    #[test]
    fn pages_of_other_sites_and_bodies_are_refused() {
        let host = ("host", "localhost:8470");
        assert_eq!(of(&[host]), None);
        assert_eq!(of(&[host, ("origin", "http://localhost:8470")]), None);
        assert_eq!(of(&[]), Some(RefusalReason::Host));
        assert_eq!(of(&[("host", "rebind.example")]), Some(RefusalReason::Host));
        for origin in ["http://evil.example", "null", "http://localhost:8471", "file://localhost:8470"] {
            assert_eq!(of(&[host, ("origin", origin)]), Some(RefusalReason::Origin), "{origin}");
        }
        assert_eq!(of(&[host, ("content-length", "99999999999")]), Some(RefusalReason::Body));
        assert_eq!(of(&[host, ("transfer-encoding", "chunked")]), Some(RefusalReason::Body));
        assert_eq!(of(&[host, ("content-length", "0")]), None);
    }
}
