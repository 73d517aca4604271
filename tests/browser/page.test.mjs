// The page of a release in a real browser: its numbers are those of `skyveil check`, its texts are texts, it fits.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const SKYVEIL = process.env.SKYVEIL;
const CENSUS = new URL("../../datasets/census", import.meta.url).pathname;
const place = mkdtempSync(join(tmpdir(), "skyveil-browser-"));
let browser;

/** Numbers that are the same in every run. */
function draws(seed) {
  let state = BigInt(seed);
  return (below) => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & ((1n << 64n) - 1n);
    return Number((state >> 33n) % BigInt(below));
  };
}

function skyveil(...call) {
  try {
    return execFileSync(SKYVEIL, call, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 28 });
  } catch (failed) {
    // Exit code 1 is an answer: not safe.
    if (failed.status === 1) return failed.stdout;
    throw new Error(failed.stderr);
  }
}

/** A page in a browser that fails the test if it complains or asks for anything. */
async function open(file, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    if (request.url() !== pathToFileURL(file).href) complaints.push(`request: ${request.url()}`);
  });
  await page.goto(pathToFileURL(file).href);
  return { page, close: async () => { assert.deepEqual(complaints, []); await context.close(); } };
}

const part = (name) => `[data-part="${name}"]`;
const fits = (page) => page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth);

async function choose(page, value) {
  await page.fill(part("search"), value);
  await page.getByRole("button", { name: value, exact: true }).click();
}

async function move(page, [l, k, m]) {
  await page.fill(part("l-number"), String(l));
  await page.fill(part("k-number"), String(k));
  await page.fill(part("m-number"), String(m));
}

/** Random points of some values in the page against `check --json`: breach and verdict, exactly. */
async function agree(file, table, values, { points, most, seed }) {
  const { page, close } = await open(file);
  const draw = draws(seed);
  const confidences = ["1/2", "4/5", "0.95", "1", "1/3", "0.6180339887"];
  for (const value of values) {
    await choose(page, value);
    const asked = [];
    for (let i = 0; i < points; i++) {
      asked.push([draw(most[0] + 1), draw(most[1] + 1), draw(most[2] + 1), confidences[draw(confidences.length)]]);
    }
    const flags = asked.flatMap((point) => ["--point", point.join(",")]);
    const found = JSON.parse(skyveil("check", ...table, ...flags, "--value", value, "--json", "--all")).points;
    const seen = new Map(found.map((point) => [[point.l, point.k, point.m, point.confidence].join(), point]));
    for (const [l, k, m, confidence] of asked) {
      await page.fill(part("confidence-text"), confidence);
      await move(page, [l, k, m]);
      const exact = await page.getAttribute(part("breach"), "data-exact");
      const verdict = await page.textContent(part("verdict"));
      const fraction = await page.evaluate(([text]) => { const { above, below } = parseConfidence(text); return below === 1n ? `${above}` : `${above}/${below}`; }, [confidence]);
      const expected = seen.get([l, k, m, fraction].join());
      assert.ok(expected, `${value} ${l},${k},${m},${fraction} was not checked`);
      assert.equal(exact, expected.breach_exact, `${value} at ${l},${k},${m}`);
      assert.equal(verdict, expected.safe ? "safe" : "unsafe", `${value} at ${l},${k},${m},${confidence}`);
    }
  }
  await close();
}

before(async () => {
  const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"];
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args });
  skyveil("anonymize", `${CENSUS}.csv`, "--policy", `${CENSUS}.toml`, "--out", join(place, "census"));
});

after(async () => {
  await browser.close();
  rmSync(place, { recursive: true });
});

test("the numbers of the census page are those of the check", async () => {
  const release = join(place, "census");
  const values = ["None", "HIV", "Injury", "Back pain", "Migraine"];
  await agree(join(release, "report.html"), [release], values, { points: 60, most: [7, 12, 8], seed: 1 });
});

for (const kind of ["single", "set", "multiset"]) {
  test(`the numbers of a table of ${kind} values are those of the check`, async () => {
    const draw = draws(7);
    const names = ["ague", "boils", "cough", "dropsy", "eczema", "fever"];
    let rows = kind === "single" ? "grp,s\n" : "grp,who,s\n";
    let who = 0;
    for (let group = 0; group < 40; group++) {
      for (let person = 0; person < 5 + draw(20); person++, who++) {
        const own = kind === "single" ? 1 : draw(4);
        const held = new Set(Array.from({ length: own }, () => names[Math.min(draw(6), draw(6))]));
        if (kind === "single") rows += `${group},${[...held][0]}\n`;
        else if (held.size === 0) rows += `${group},${who},\n`;
        else for (const value of held) rows += `${group},${who},${value}\n`;
      }
    }
    const csv = join(place, `${kind}.csv`);
    writeFileSync(csv, rows);
    const table = [csv, "--group", "grp", "--sensitive", "s"];
    if (kind !== "single") table.push("--individual", "who", "--values", kind);
    const file = join(place, `${kind}.html`);
    skyveil("explore", ...table, "--no-open", "--out", file);
    await agree(file, table, names.slice(0, 3), { points: 40, most: [5, 10, 6], seed: 3 });
  });
}

test("a reader clicks through the census", async () => {
  const { page, close } = await open(join(place, "census", "report.html"));
  // What is just below the limit of 80 % does not look like it.
  const last = await page.locator(`${part("story")} li .sure`).last().textContent();
  assert.ok(Number.parseFloat(last) > 79 && Number.parseFloat(last) < 80, last);
  await choose(page, "HIV");
  await page.click('[data-cell="1,1"]');
  assert.equal(await page.inputValue(part("l-number")), "1");
  assert.equal(await page.inputValue(part("m-number")), "1");
  // The last step of the story is the breach, as `explain` says.
  const k = await page.inputValue(part("k-number"));
  const told = JSON.parse(skyveil("explain", join(place, "census"), "--value", "HIV", "--point", `1,${k},1`, "--json"));
  assert.equal(await page.getAttribute(part("breach"), "data-exact"), told.steps[3].exact);
  const steps = page.locator(`${part("story")} li`);
  assert.equal(await steps.count(), 4);
  assert.match(await steps.nth(0).textContent(), /one of \d+ people in group \d+: age /);
  // To the edge of the skyline: one more would be unsafe.
  await page.click(part("edge"));
  assert.equal(await page.textContent(part("verdict")), "safe");
  await page.fill(part("k-number"), String(Number(await page.inputValue(part("k-number"))) + 1));
  assert.equal(await page.textContent(part("verdict")), "unsafe");
  await page.click(part("reset"));
  assert.equal(await page.textContent(part("verdict")), "safe");
  // Sliders and keys do the same as clicks.
  await page.locator(part("k-slider")).focus();
  const before = Number(await page.inputValue(part("k-number")));
  await page.keyboard.press("ArrowRight");
  assert.equal(Number(await page.inputValue(part("k-number"))), before + 1);
  await page.locator('[data-cell="0,0"]').focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.inputValue(part("l-number")), "0");
  // Sort and search.
  await page.fill(part("search"), "");
  await page.getByRole("button", { name: "value", exact: true }).click();
  const first = await page.locator("table.values tbody th").first().textContent();
  assert.equal(first, "Allergy");
  await page.fill(part("search"), "nothing like this");
  assert.match(await page.textContent(part("more")), /No value/);
  await close();
});

test("texts of the table stay texts", async () => {
  const evil = ["<img src=x onerror=alert(1)>", "a\"b'c", "</script><script>alert(1)</script>", "abc\u202edef", "\u05d0\u05d1", "{{7*7}}"];
  const column = "<b>s</b>";
  const quote = (text) => `"${text.replaceAll('"', '""')}"`;
  let rows = `grp,${quote(column)}\n`;
  for (let i = 0; i < 60; i++) rows += `${i % 3},${quote(evil[i % 6])}\n`;
  const csv = join(place, "evil.csv");
  writeFileSync(csv, rows);
  const file = join(place, "evil.html");
  skyveil("explore", csv, "--group", "grp", "--sensitive", column, "--point", "1,1,1,0.9", "--no-open", "--out", file);
  const { page, close } = await open(file);
  const shown = await page.locator("table.values tbody th").allTextContents();
  assert.deepEqual(shown.sort(), evil.map((text) => text.replace("\u202e", "[U+202E]")).sort());
  for (const row of await page.locator("table.values tbody tr").all()) await row.click();
  assert.equal(await page.locator("img, b").count(), 0);
  assert.ok((await page.textContent("h1")).includes(column));
  await close();
});

test("the page forbids everything but itself", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => complaints.push(message.text()));
  await page.goto(pathToFileURL(join(place, "census", "report.html")).href);
  await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.ran = true";
    document.body.append(script);
    const image = document.createElement("img");
    image.src = "http://127.0.0.1:9/x.png";
    document.body.append(image);
    document.body.setAttribute("style", "display:none");
  });
  await page.waitForTimeout(200);
  assert.equal(await page.evaluate(() => window.ran), undefined);
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).display), "block");
  assert.ok(complaints.filter((text) => text.includes("Content Security Policy")).length >= 3, complaints.join("\n"));
  await context.close();
});

test("it fits a phone, a desk and a sheet of paper, in light and dark, and needs no script", async () => {
  const file = join(place, "census", "report.html");
  for (const width of [390, 1200]) {
    for (const colorScheme of ["light", "dark"]) {
      const { page, close } = await open(file, { viewport: { width, height: 900 }, colorScheme });
      assert.ok(await fits(page), `${width} px`);
      // Safety and utility are on the first screen.
      if (width === 1200) {
        for (const card of await page.locator(".card").all()) {
          const box = await card.boundingBox();
          assert.ok(box.y + box.height < 900);
        }
      }
      await close();
    }
    const { page, close } = await open(file, { viewport: { width, height: 900 }, javaScriptEnabled: false });
    assert.ok((await page.textContent("main")).includes("safe by its policy"));
    assert.equal(await page.locator("table.values tbody tr").count(), 24);
    assert.equal(await page.locator("svg.grid").count(), 1);
    await close();
  }
  const { page, close } = await open(file);
  const paper = (await page.pdf({ format: "A4" })).toString("latin1");
  const pages = paper.match(/\/Type\s*\/Page[^s]/g).length;
  assert.ok(pages <= 4, `${pages} pages`);
  await close();
});

test("the owner's report fits a phone without scrolling sideways anywhere", async () => {
  const file = join(place, "owner.html");
  skyveil("report", join(place, "census"), "--original", `${CENSUS}.csv`, "--receipt", join(place, "census.receipt.json"), "--out", file);
  const { page, close } = await open(file, { viewport: { width: 390, height: 900 } });
  assert.ok((await page.textContent("main")).includes("What binds?"));
  assert.ok(await fits(page));
  const cut = await page.locator(".scroll").evaluateAll((parts) => parts.filter((part) => part.scrollWidth > part.clientWidth).map((part) => part.textContent));
  assert.deepEqual(cut, []);
  await close();
});

test("many columns and many numbers are folded, and no name is squeezed on a phone", async () => {
  const draw = draws(11);
  const columns = Array.from({ length: 30 }, (_, i) => `column${i}`);
  let rows = `${columns},pay,illness\n`;
  for (let person = 0; person < 400; person++) rows += `${columns.map(() => draw(3))},${20_000 + draw(9_000)},i${draw(5)}\n`;
  const csv = join(place, "wide.csv");
  writeFileSync(csv, rows);
  const quasi = `quasi = [${columns.map((name) => `"${name}"`)}]`;
  const policies = {
    pay: `[columns]\nsensitive = "pay"\ndrop = ["illness"]\n${quasi}\n[[privacy.skyline]]\nwithin = 50\nconfidence = 0.9\n`,
    illness: `[columns]\nsensitive = "illness"\ndrop = ["pay"]\n${quasi}\n[[privacy.skyline]]\nl = 1\nconfidence = 0.9\n`,
  };
  for (const [name, policy] of Object.entries(policies)) {
    const [file, out] = [join(place, `${name}.toml`), join(place, `wide-${name}`)];
    writeFileSync(file, policy);
    skyveil("anonymize", csv, "--policy", file, "--out", out);
    const { page, close } = await open(join(out, "report.html"), { viewport: { width: 390, height: 900 } });
    assert.ok(await fits(page), name);
    for (const cell of await page.locator("tbody tr > :first-child").all()) {
      const box = await cell.boundingBox();
      assert.ok(box === null || box.width >= 80, `${name}: a first column of ${box?.width} px`);
    }
    if (name === "pay") assert.equal(await page.locator("table.claims tbody tr").count(), 12);
    else assert.match(await page.textContent(part("story")), /22 more columns/);
    await close();
  }
});

test("many groups and many values do not make it heavy", async () => {
  const draw = draws(5);
  let rows = "grp,s\n";
  // 100,000 groups of few people, 10,000 values.
  for (let group = 0; group < 100_000; group++) {
    for (let person = 0; person < 4 + draw(3); person++) rows += `${group},v${(group * 7 + person * 31 + draw(50)) % 10_000}\n`;
  }
  const csv = join(place, "many.csv");
  writeFileSync(csv, rows);
  const file = join(place, "many.html");
  skyveil("explore", csv, "--group", "grp", "--sensitive", "s", "--point", "1,1,1,0.9", "--no-open", "--out", file);
  const { page, close } = await open(file);
  assert.ok((await page.content()).length < 2_000_000 + 200_000);
  assert.ok((await page.locator("table.values tbody tr").count()) <= 60);
  await choose(page, "v1234");
  assert.equal(await page.textContent(part("chosen")), "v1234");
  await close();
});
