import chromium from '@sparticuz/chromium';
import { type Browser, type BrowserContextOptions, type Page, chromium as launcher } from 'playwright-core';

const LAUNCH_TRIES = 120;
const RETRY_MS = 1000;
/** Limit for each wait on a page. */
const PATIENCE_MS = 60_000;

/** Starts the Chromium browser of an npm package. `await using` closes it. */
export async function startBrowser(): Promise<Browser> {
  for (let attempt = 1; ; attempt++) {
    try {
      const executablePath = await chromium.executablePath();
      return await launcher.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'], headless: true });
    } catch (error) {
      // The first start unpacks the browser, and fails while another test process is unpacking it.
      if (attempt === LAUNCH_TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

/** A page with a record of its requests and errors. */
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

/** Opens a browser page on which the final page of a checkout does not redirect to the merchant by itself. */
export async function openStayingPage(browser: Browser, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const watched = await openPage(browser, options);
  // The countdown to the redirect uses `setInterval`.
  await watched.page.addInitScript('globalThis.setInterval = () => 0');
  return watched;
}

/** Gives the page an authenticator with stored passkeys, which confirms its user by itself. */
export async function addAuthenticator(page: Page, transport: 'internal' | 'usb' = 'internal'): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  const verified = { hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true };
  const options = { protocol: 'ctap2', transport, hasResidentKey: true, ...verified } as const;
  await devtools.send('WebAuthn.addVirtualAuthenticator', { options });
}
