//! Serves the page: a few files that are compiled into the program. No file is read from disk, and the page loads
//! nothing from other servers: its content security policy forbids it.

use std::io::{self, Read};
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use flate2::Compression;
use flate2::read::GzEncoder;

use crate::server::Server;

/// Path, content type and text of each file.
const FILES: [(&str, &str, &str); 8] = [
    ("/", "text/html; charset=utf-8", include_str!("../page/index.html")),
    ("/console.css", "text/css; charset=utf-8", include_str!("../page/console.css")),
    ("/console.js", "text/javascript; charset=utf-8", include_str!("../page/console.js")),
    ("/link.js", "text/javascript; charset=utf-8", include_str!("../page/link.js")),
    ("/record.js", "text/javascript; charset=utf-8", include_str!("../page/record.js")),
    ("/scene.js", "text/javascript; charset=utf-8", include_str!("../page/scene.js")),
    ("/three.js", "text/javascript; charset=utf-8", include_str!("../page/three/three.js")),
    ("/three.LICENSE", "text/plain; charset=utf-8", include_str!("../page/three/LICENSE")),
];
/// Content security policy: only scripts and styles of the page, images that it received, and its own socket.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The routes of the files. Each file is compressed once, when the first browser requests it.
pub(crate) fn routes() -> Router<Arc<Server>> {
    FILES.into_iter().fold(Router::new(), |router, (address, kind, text)| {
        let compressed = Arc::new(OnceLock::new());
        router.route(address, get(move |headers: HeaderMap| async move { file(kind, text, &compressed, &headers) }))
    })
}

fn file(kind: &'static str, text: &'static str, compressed: &OnceLock<Option<Bytes>>, headers: &HeaderMap) -> Response {
    let reported = [(header::CONTENT_TYPE, kind), (header::VARY, "accept-encoding")];
    let bytes = if takes_gzip(headers) { compressed.get_or_init(|| gzip(text).ok()).clone() } else { None };
    match bytes {
        Some(bytes) => (reported, [(header::CONTENT_ENCODING, "gzip")], bytes).into_response(),
        None => (reported, text).into_response(),
    }
}

fn gzip(text: &str) -> io::Result<Bytes> {
    let mut bytes = Vec::new();
    GzEncoder::new(text.as_bytes(), Compression::default()).read_to_end(&mut bytes)?;
    Ok(bytes.into())
}

/// Whether the client accepts gzip (RFC 9110, section 12.5.3). `*` alone gets plain text, which it accepts as well.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let codings = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    codings.flat_map(|value| value.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, "q=1"));
        let weight = weight.trim().strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok());
        name.trim().eq_ignore_ascii_case("gzip") && weight.is_some_and(|weight| weight > 0.0)
    })
}

/// Adds headers to every response. `Connection: close` keeps idle browsers from occupying places.
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
    use std::io::Read;

    use axum::http::{HeaderMap, HeaderValue, header};
    use flate2::read::GzDecoder;

    use super::{FILES, gzip, takes_gzip};
    use crate::picture::LABELS;

    /// Limit for the compressed page, of the 1.5 MB that a page may have.
    const PAGE_MAX_BYTES: usize = 300_000;

    fn text_of(wanted: &str) -> &'static str {
        FILES.iter().find_map(|(address, _, text)| (*address == wanted).then_some(*text)).expect(wanted)
    }

    #[test]
    fn the_page_is_small_and_fetches_nothing_from_elsewhere() {
        let bytes: usize = FILES.iter().map(|(.., text)| gzip(text).expect("memory").len()).sum();
        assert!(bytes < PAGE_MAX_BYTES, "{bytes}");
        for (address, _, text) in FILES {
            let elsewhere = text.match_indices("http").map(|(at, _)| text[at..].chars().take(40).collect::<String>());
            // XML namespace names look like addresses but are not fetched.
            let fetched: Vec<_> =
                elsewhere.filter(|found| found.contains("://") && !found.contains("w3.org")).collect();
            assert!(fetched.is_empty(), "{address}: {fetched:?}");
        }
    }

    #[test]
    fn files_are_compressed_for_who_takes_that() {
        for (accepted, is_taken) in [
            ("gzip, deflate, br, zstd", true),
            ("br;q=1.0, GZIP ; q=0.5", true),
            ("gzip;q=0", false),
            ("gzip;q=half", false),
            ("identity", false),
            ("*", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(accepted))]);
            assert_eq!(takes_gzip(&headers), is_taken, "{accepted}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
        for (address, _, text) in FILES {
            let mut read = String::new();
            GzDecoder::new(gzip(text).expect("memory").as_ref()).read_to_string(&mut read).expect("text");
            assert!(read == text, "{address}");
        }
    }

    #[test]
    fn what_the_view_takes_of_three_js_is_in_the_bundle_and_its_licence_is_reported() {
        let (scene, bundle) = (text_of("/scene.js"), text_of("/three.js"));
        let (_, exports) = bundle.rsplit_once("export{").expect("exports");
        let exports: Vec<_> = exports.split(['{', '}', ',', ' ']).collect();
        let names: Vec<_> = scene.split("three.").skip(1).filter(|rest| rest.starts_with(char::is_uppercase)).collect();
        assert!(names.len() > 20, "{names:?}");
        for name in names {
            let name = name.split(|letter: char| !letter.is_alphanumeric()).next().expect("a name");
            assert!(exports.contains(&name), "{name}");
        }
        assert!(text_of("/three.LICENSE").starts_with("The MIT License") && text_of("/").contains("/three.LICENSE"));
    }

    #[test]
    fn the_legend_of_classes_has_the_colours_of_pictures() {
        let script = text_of("/console.js");
        for (class, [red, green, blue]) in ["ground", "rock", "rover", "object"].iter().zip(&LABELS[1..]) {
            let entry = format!("[\"{class}\", \"#{red:02x}{green:02x}{blue:02x}\"]");
            assert!(script.contains(&entry), "{entry}");
        }
    }

    #[test]
    fn every_input_of_the_page_has_a_name_for_screen_readers() {
        let html = text_of("/");
        for input in html.split('<').filter(|tag| ["input ", "select ", "canvas "].iter().any(|of| tag.starts_with(of)))
        {
            let id = input.split("id=\"").nth(1).and_then(|rest| rest.split('"').next());
            let is_labelled = id.is_some_and(|id| html.contains(&format!("for=\"{id}\"")));
            assert!(is_labelled || input.contains("aria-label="), "<{input}");
        }
    }
}
