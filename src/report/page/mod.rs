//! What does a data owner look at?
//!
//! One self-contained page: no font, no network, no date and no path, so the same release gives the same bytes. It says
//! what was not computed, and why. Texts reach the page through `maud`, which escapes them, or as JSON. It can be read
//! without scripts; with them, `breach.js` computes what the check computes, and `explore.js` shows it.
//!
//! There is a file per section: `front` puts them in order, `claims` shows what was required and what was found,
//! `distributions` what someone who knows distributions learns, `explorer` how sure an adversary could become of each of the
//! `values`, `data` what scripts compute with, `scope` what the policy covers, `attacks` whom attacks affect, `worth` the utility, `binds` why groups are not finer, `unchanged` the kept columns, and `origin` where the release comes from.
//!
//! Memory: the page; at most 2 MB of data and 40 rows of a table.

mod attacks;
mod binds;
mod claims;
mod contents;
mod data;
mod distributions;
mod explorer;
mod front;
mod origin;
mod scope;
mod unchanged;
mod values;
mod worth;

pub use binds::{BoundPeople, PolicyChange, PolicyChanges};
pub use contents::{Asked, Compared, Contents, Origin, Penalties, Reader, WITHOUT_ORIGINAL};
pub use front::to_html;
