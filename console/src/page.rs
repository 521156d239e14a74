//! The page: a few files that are part of the program. Nothing is read from a disk and nothing is fetched from
//! elsewhere; the policy that goes with them forbids browsers to do so.

use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::server::Server;

/// Address, type and text of each file.
const FILES: [(&str, &str, &str); 6] = [
    ("/", "text/html; charset=utf-8", include_str!("../page/index.html")),
    ("/console.css", "text/css; charset=utf-8", include_str!("../page/console.css")),
    ("/console.js", "text/javascript; charset=utf-8", include_str!("../page/console.js")),
    ("/link.js", "text/javascript; charset=utf-8", include_str!("../page/link.js")),
    ("/record.js", "text/javascript; charset=utf-8", include_str!("../page/record.js")),
    ("/scene.js", "text/javascript; charset=utf-8", include_str!("../page/scene.js")),
];
/// What a browser may do with them: scripts and styles of the page alone, pictures that it was sent, its own socket.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The addresses of the files.
pub(crate) fn routes() -> Router<Arc<Server>> {
    FILES.into_iter().fold(Router::new(), |router, (address, kind, text)| {
        router.route(address, get(move || async move { file(kind, text) }))
    })
}

fn file(kind: &'static str, text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

/// What every response says. A browser keeps no place with a connection that it does not use.
pub(crate) fn guard(response: &mut Response) {
    let is_upgrade = response.status() == StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    if !is_upgrade {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
}

#[cfg(test)]
mod tests {
    use super::FILES;
    use crate::picture::LABELS;

    /// Of 1.5 MB that a page may have, this is uncompressed.
    const PAGE_MAX_BYTES: usize = 300_000;

    #[test]
    fn the_page_is_small_and_fetches_nothing_from_elsewhere() {
        assert!(FILES.iter().map(|(.., text)| text.len()).sum::<usize>() < PAGE_MAX_BYTES);
        for (address, _, text) in FILES {
            let elsewhere = text.match_indices("http").map(|(at, _)| text[at..].chars().take(40).collect::<String>());
            // The name of a name space is no address that is fetched.
            let fetched: Vec<_> =
                elsewhere.filter(|found| found.contains("://") && !found.contains("w3.org")).collect();
            assert!(fetched.is_empty(), "{address}: {fetched:?}");
        }
    }

    #[test]
    fn the_legend_of_classes_has_the_colours_of_pictures() {
        let (.., script) = FILES.iter().find(|(address, ..)| *address == "/console.js").expect("the script");
        for (class, [red, green, blue]) in ["ground", "rock", "rover", "object"].iter().zip(&LABELS[1..]) {
            let entry = format!("[\"{class}\", \"#{red:02x}{green:02x}{blue:02x}\"]");
            assert!(script.contains(&entry), "{entry}");
        }
    }

    #[test]
    fn every_input_of_the_page_has_a_name_for_screen_readers() {
        let (_, _, html) = FILES[0];
        for input in html.split('<').filter(|tag| ["input ", "select ", "canvas "].iter().any(|of| tag.starts_with(of)))
        {
            let id = input.split("id=\"").nth(1).and_then(|rest| rest.split('"').next());
            let is_labelled = id.is_some_and(|id| html.contains(&format!("for=\"{id}\"")));
            assert!(is_labelled || input.contains("aria-label="), "<{input}");
        }
    }
}
