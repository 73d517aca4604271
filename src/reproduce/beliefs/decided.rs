//! How many of the groups that are tried can be decided, and what is published of all of Adult?

use super::adversary::PaperAdversary;
use super::{B, BANDWIDTHS, ESTIMATED, MODELS, PROVED, QUASI, Study, TABLE_V};
use crate::error::Result;
use crate::math::beliefs::group::Passes;
use crate::reproduce::ResultTable;

impl Study<'_> {
    /// For how many of the groups that are tried does the test have an answer, and for how many would it have one
    /// without blocks and without the closer bounds?
    pub fn decided(&mut self) -> Result<()> {
        let columns = [
            "b",
            "parameters",
            "groups tried",
            "by states and the first bound",
            "decided",
            "share",
            "groups",
        ];
        let mut table = ResultTable::new("decided", "How many groups are decided, proved releases", &columns);
        let (mut least, mut least_plainly) = (1.0f64, 1.0f64);
        for bandwidth in BANDWIDTHS {
            let adversary = PaperAdversary::new(&self.rows, &[bandwidth; QUASI.len()])?;
            for parameters in self.setting.scale.pick(&TABLE_V[..], &TABLE_V[..1], &TABLE_V[..1]) {
                let threshold = parameters.threshold()?;
                let (mut tried, mut plainly, mut decided) = (0u64, 0u64, 0u64);
                let groups = self.rows.proved(&mut |part| {
                    if part.len() < parameters.k {
                        return Ok(Passes::No);
                    }
                    let passes = adversary.proves(&self.rows, part, &threshold, &self.comparison);
                    let plain = adversary.proves_plainly(&self.rows, part, &threshold, &self.comparison);
                    tried += 1;
                    plainly += u64::from(plain != Passes::Unknown);
                    decided += u64::from(passes != Passes::Unknown);
                    Ok(passes)
                })?;
                let share = |decided: u64| decided as f64 / tried.max(1) as f64;
                least = least.min(share(decided));
                least_plainly = least_plainly.min(share(plainly));
                table.push(vec![
                    bandwidth.into(),
                    parameters.name.into(),
                    tried.into(),
                    plainly.into(),
                    decided.into(),
                    share(decided).into(),
                    groups.len().into(),
                ]);
            }
            (self.setting.tell)(&format!("groups decided at b = {bandwidth}"));
        }
        let percent = |share: f64| (share * 1000.0).floor() / 10.0;
        self.findings.compared.push(format!(
            "Of the groups that are tried for a proved release, at least {:.1}% are decided, for any b and parameters; by the states of whole \
             groups and the first bound alone, without blocks and closer bounds, at least {:.1}%.",
            percent(least),
            percent(least_plainly)
        ));
        self.findings.tables.push(table);
        Ok(())
    }

    /// Figures 1 and 5 for these rows in brief: the paper's release and the proved one at b' = b.
    pub fn whole_table(&mut self) -> Result<ResultTable> {
        let columns = [
            "rows",
            "parameters",
            "model",
            "groups",
            "vulnerable rows at b' = b",
            "undecided rows",
            "certainty penalty (0 to 1)",
            "elapsed (s)",
        ];
        let title = "Figures 1 and 5 for both parts of Adult, b = 0.3";
        let mut table = ResultTable::new("whole", title, &columns);
        for parameters in &TABLE_V {
            for model in [ESTIMATED, PROVED] {
                let release = self.release(model, parameters, None)?;
                let attack = self.attack(B, &release.groups, parameters)?;
                table.push(vec![
                    self.rows.len().into(),
                    parameters.name.into(),
                    MODELS[model].into(),
                    release.groups.len().into(),
                    attack.vulnerable.into(),
                    attack.undecided.into(),
                    self.rows.certainty_penalty(&release.groups).into(),
                    release.seconds.into(),
                ]);
            }
            (self.setting.tell)(&format!("{}, {} rows", parameters.name, self.rows.len()));
        }
        Ok(table)
    }
}
