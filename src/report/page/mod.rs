//! What does a data owner look at?
//!
//! One self-contained page: no script, no font, no network, no date and no path, so the same release gives the same
//! bytes. It says what was not computed, and why. Texts reach the page through `maud`, which escapes them.
//!
//! There is a file per section: `front` puts them in order, `claims` shows what was required and what was found,
//! `distributions` what someone who knows distributions learns, `skylines` how much more an adversary could know,
//! `scope` what the policy covers, `worth` the utility, `unchanged` the kept columns, and `origin` where the release comes from.
//!
//! Memory: the page; at most 12 charts of skylines and 40 rows of a table.

mod claims;
mod contents;
mod distributions;
mod front;
mod origin;
mod scope;
mod skylines;
mod unchanged;
mod worth;

pub use contents::{Asked, Compared, Contents, Origin, Penalties, Reader, WITHOUT_ORIGINAL};
pub use front::to_html;
