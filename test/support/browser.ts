import chromium from '@sparticuz/chromium';
import { type Browser, type BrowserContextOptions, type Page, chromium as launcher } from 'playwright-core';

const LAUNCH_TRIES = 120;
const RETRY_MS = 1000;
/** What never comes to pass is not waited for longer. */
const PATIENCE_MS = 60_000;

/** A real Chromium, from npm alone. `await using` closes it. */
export async function startBrowser(): Promise<Browser> {
  for (let attempt = 1; ; attempt++) {
    try {
      const executablePath = await chromium.executablePath();
      return await launcher.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'], headless: true });
    } catch (error) {
      // The first run unpacks the browser: another test process may be at it just now.
      if (attempt === LAUNCH_TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

/** A page that keeps a record of what must not happen. */
export interface WatchedPage {
  page: Page;
  /** Every request, as `METHOD url`. */
  requests: string[];
  /** Errors, failed assets and violations of the content security policy. */
  complaints: string[];
}

export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 360, height: 740 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const requests: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => requests.push(`${request.method()} ${request.url()}`));
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  return { page, requests, complaints };
}

/** A page that ends a checkout leads on to the merchant after some seconds: not in here, however long it is looked at. */
export async function openStayingPage(browser: Browser, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const watched = await openPage(browser, options);
  // What counts those seconds.
  await watched.page.addInitScript('globalThis.setInterval = () => 0');
  return watched;
}
