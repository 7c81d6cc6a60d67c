import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort, startServiceProgram } from '../process/program.ts';
import { addAuthenticator, openPage, startBrowser } from '../support/browser.ts';
import { startMerchant } from '../support/http-server.ts';
import { type Follower, followGuide } from './browser-guide.ts';
import { environmentOf } from './guide.ts';

export const DASHBOARD_GUIDE = new URL('../../docs/dashboard.md', import.meta.url);
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const DESKTOP = { width: 1120, height: 700 };

interface Options {
  /** Further settings of the service. */
  variables?: Record<string, string>;
  /** Limit for each step. */
  stepMs?: number;
  /** Called before the first step. */
  prepare?(follower: Follower): Promise<void>;
  /** Called at each image. */
  atImage?(path: string, page: Follower['page']): Promise<void>;
}

/** Follows a guide with a service of its own that has a webhook endpoint, and a browser with a passkey authenticator. */
export async function followWithService(
  markdown = readFileSync(DASHBOARD_GUIDE, 'utf8'),
  { variables = {}, stepMs = 20_000, prepare, atImage }: Options = {},
): Promise<number> {
  const home = mkdtempSync(join(tmpdir(), 'tillway-dashboard-'));
  try {
    const port = String(await freePort());
    await using receiver = await startMerchant();
    const webhook = { WEBHOOK_URL: `${receiver.url}/webhooks`, WEBHOOK_SECRET: SECRET };
    const env = environmentOf(home, { PORT: port, TILLWAY_URL: `http://127.0.0.1:${port}`, ...webhook, ...variables });
    await using service = await startServiceProgram(env);
    await using browser = await startBrowser();
    const { page } = await openPage(browser, { viewport: DESKTOP, colorScheme: 'light' });
    page.setDefaultTimeout(stepMs);
    await addAuthenticator(page);
    const follower: Follower = {
      page,
      url: service.url.replace('127.0.0.1', 'localhost'),
      async run(commands) {
        const { stdout } = await promisify(execFile)('bash', ['--noprofile', '--norc', '-euc', commands], { env });
        return stdout;
      },
      atImage: async (path) => atImage?.(path, page),
    };
    await prepare?.(follower);
    return await followGuide(markdown, follower);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}
