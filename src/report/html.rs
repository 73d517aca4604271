//! The parts shared by all pages: the surrounding document, and texts that contain code.

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// A self-contained page. `style` is CSS of this crate, never text from data.
pub fn document(title: &str, style: &'static str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(style)) }
            }
            body { main { (body) } }
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

/// Tags contain no control characters: any that are present came from data, and XML allows none of them.
pub fn without_control_characters(text: &str) -> String {
    let shown = |c: char| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_leave_its_place() {
        let page = document("<a href='x'>&\"\u{1b}", "p{}", &with_code("a `b<c` d`"));
        assert!(page.contains("<title>&lt;a href='x'&gt;&amp;&quot;\u{fffd}</title>"), "{page}");
        assert!(page.contains("<main>a <code>b&lt;c</code> d<code></code></main>"), "{page}");
    }
}
