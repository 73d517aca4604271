//! The parts shared by all pages: the surrounding document, and texts that contain code.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

/// What a page carries besides its body; everything here is text of this crate, except for the data.
#[derive(Debug, Clone, Copy)]
pub struct Attachments<'a> {
    /// CSS.
    pub style: &'a str,
    /// The script; empty if there is none.
    pub script: &'a str,
    /// JSON for the script without any `<`; empty if there is none.
    pub data: &'a str,
}

/// A self-contained page. Its policy allows this style and this script, and nothing else: no network, no frame, no form.
pub fn document(title: &str, attached: Attachments<'_>, body: &Markup) -> String {
    let allowed = |text: &str| match text {
        "" => "'none'".to_string(),
        text => format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text))),
    };
    let policy = format!(
        "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
        allowed(attached.style),
        allowed(attached.script)
    );
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(attached.style)) }
            }
            body {
                main { (body) }
                @if !attached.data.is_empty() {
                    script #release-data type="application/json" { (PreEscaped(attached.data)) }
                }
                @if !attached.script.is_empty() { script { (PreEscaped(attached.script)) } }
            }
        }
    };
    without_control_characters(&page.into_string()) + "\n"
}

/// A text in which backticks enclose code.
pub fn with_code(text: &str) -> Markup {
    html! {
        @for (i, part) in text.split('`').enumerate() {
            @if i % 2 == 0 { (part) } @else { code { (part) } }
        }
    }
}

/// Tags contain neither control characters nor marks that change the direction of text: any that are present came from
/// data. XML allows no control characters, and a mark could make a page read differently from what it says.
pub fn without_control_characters(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            c if c.is_control() => shown.push('\u{fffd}'),
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                shown.push_str(&format!("[U+{:04X}]", u32::from(c)));
            }
            c => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_leave_its_place() {
        let attached = Attachments { style: "p{}", script: "", data: "" };
        let page = document("<a href='x'>&\"\u{1b}\u{202e}", attached, &with_code("a `b<c` d`"));
        assert!(page.contains("<title>&lt;a href='x'&gt;&amp;&quot;\u{fffd}[U+202E]</title>"), "{page}");
        assert!(page.contains("<main>a <code>b&lt;c</code> d<code></code></main>"), "{page}");
    }

    #[test]
    fn the_page_allows_itself_and_nothing_else() {
        let attached = Attachments { style: "p{}", script: "1", data: "[]" };
        let page = document("t", attached, &html! {});
        // printf 1 | openssl dgst -sha256 -binary | base64
        let script = "script-src 'sha256-a4ayc/80/OGda4BO/1o/V0etpOqiLx1JwB5S3beHW0s='";
        assert!(page.contains("default-src 'none'; style-src 'sha256-") && page.contains(script), "{page}");
        let without = document("t", Attachments { script: "", data: "", ..attached }, &html! {});
        assert!(without.contains("script-src 'none'") && !without.contains("<script"), "{without}");
    }
}
