import type { Page } from 'playwright-core';
import { guideBlocksOf } from './guide.ts';

/** Surroundings in which a guide with browser steps is followed. */
export interface Follower {
  page: Page;
  /** URL of the service at which the guide's http://localhost:3000 is served. */
  url: string;
  /** Runs the command lines of a block; returns their output. */
  run(commands: string): Promise<string>;
  /** Called at each image of the guide, with its path relative to the guide. */
  atImage(path: string): Promise<void>;
}

interface Context extends Follower {
  /** Output of the latest command. */
  output: string;
}

type Step = readonly [pattern: RegExp, act: (context: Context, ...words: string[]) => Promise<unknown>];

/** The sentences that a numbered step of a guide can have. */
const STEPS: readonly Step[] = [
  [
    /^Open `http:\/\/(localhost|127\.0\.0\.1):3000(\/[^`]*)`$/,
    ({ page, url }, host, path) => page.goto(url.replace('localhost', host) + path),
  ],
  [/^Open the link that the command printed$/, openPrintedLink],
  [/^Click \*\*([^*]+)\*\*$/, ({ page }, name) => clickNamed(page, name)],
  [/^Click \*\*([^*]+)\*\* and save the file `([^`]+)`$/, ({ page }, name, file) => save(page, name, file)],
  [/^Type `([^`]+)` into \*\*([^*]+)\*\*$/, ({ page }, text, label) => labelled(page, label).fill(text)],
  [/^Press Enter$/, ({ page }) => settled(page, () => page.keyboard.press('Enter'))],
  [
    /^Choose \*\*([^*]+)\*\* in \*\*([^*]+)\*\*$/,
    ({ page }, option, label) => labelled(page, label).selectOption({ label: option }),
  ],
  [/^Scroll to "([^"]+)"$/, ({ page }, text) => seen(page, text).evaluate((element) => element.scrollIntoView())],
  [/^The page shows "([^"]+)"$/, ({ page }, text) => seen(page, text).waitFor()],
];

/**
 * Follows a guide from its first line to its last: runs every `sh` block, and does every numbered step in the browser. Returns the
 * number of sentences done. Rejects at the first sentence that it does not know or that fails, with the line of the guide.
 */
export async function followGuide(markdown: string, follower: Follower): Promise<number> {
  const context: Context = { ...follower, output: '' };
  const blocks = new Map(guideBlocksOf(markdown).map((block) => [block.line, block]));
  const lines = markdown.split('\n');
  let done = 0;
  for (let index = 0; index < lines.length; index++) {
    const block = blocks.get(index + 1);
    if (block) {
      if (block.language === 'sh') context.output = await follower.run(block.text);
      index += block.text.split('\n').length + 1;
      continue;
    }
    const image = /^!\[[^\]]*\]\(([^)]+)\)$/.exec(lines[index]!.trim())?.[1];
    if (image !== undefined) await follower.atImage(image);
    const step = /^\d+\. (.*)/.exec(lines[index]!)?.[1];
    if (step === undefined) continue;
    const line = index + 1;
    let text = step;
    while (/^ {3}\S/.test(lines[index + 1] ?? '')) text += ` ${lines[++index]!.trim()}`;
    done += await doStep(context, text, line);
  }
  return done;
}

async function doStep(context: Context, text: string, line: number): Promise<number> {
  const sentences = text.replace(/\.$/, '').split(/\. (?=[A-Z])/);
  for (const sentence of sentences) {
    const known = STEPS.find(([pattern]) => pattern.test(sentence));
    if (!known) throw new Error(`line ${line}: no step is written "${sentence}"`);
    const [pattern, act] = known;
    try {
      await act(context, ...pattern.exec(sentence)!.slice(1));
    } catch (error) {
      const seen = await context.page.locator('body').innerText();
      const where = `${context.page.url()} shows:\n${seen}`;
      throw new Error(`line ${line}: ${sentence}: ${(error as Error).message}\n${where}`, { cause: error });
    }
  }
  return sentences.length;
}

async function openPrintedLink({ page, url, output }: Context): Promise<void> {
  const path = /https?:\/\/[^/\s]+(\/\S+)/.exec(output)?.[1];
  if (path === undefined) throw new Error(`the command printed no link: ${output}`);
  await page.goto(url + path);
}

/** The visible field with the label. Folded forms can have fields of the same name. */
function labelled(page: Page, label: string) {
  return page.getByLabel(label).filter({ visible: true }).first();
}

/** The visible link, button or folded part with the name. */
function named(page: Page, name: string) {
  return page
    .getByRole('button', { name, exact: true })
    .or(page.getByRole('link', { name, exact: true }))
    .or(page.locator('summary', { hasText: name }))
    .filter({ visible: true })
    .first();
}

/** Clicks the link or button with the name, and waits for the page to which it leads. */
async function clickNamed(page: Page, name: string): Promise<void> {
  await settled(page, () => named(page, name).click());
}

/** Clicks a link that downloads a file, whose name begins with `file`. */
async function save(page: Page, name: string, file: string): Promise<void> {
  const [download] = await Promise.all([page.waitForEvent('download'), named(page, name).click()]);
  const failure = await download.failure();
  if (failure !== null) throw new Error(failure);
  if (download.suggestedFilename() !== file) throw new Error(`the file is called ${download.suggestedFilename()}`);
}

/** The first visible element with the text. */
function seen(page: Page, text: string) {
  return page.getByText(text).filter({ visible: true }).first();
}

/** Does something that can load another page, and waits until the page has loaded. */
async function settled(page: Page, act: () => Promise<unknown>): Promise<void> {
  await act();
  await page.waitForTimeout(50);
  await page.waitForLoadState('load');
}
