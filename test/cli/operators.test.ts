// @run needs=process
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

describe('tillway operators', () => {
  it('invites and renews on the database, and prints each link once', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'operators-'));
    const env = {
      ...process.env,
      DATABASE_URL: `sqlite:${join(folder, 'tillway.db')}`,
      DASHBOARD_URL: 'https://ops.example',
    };
    const run = async (...args: string[]) => {
      const { stdout } = await promisify(execFile)(process.execPath, [MAIN, 'operators', ...args], { env });
      return stdout;
    };
    const rejects = (args: readonly string[], complaint: RegExp) =>
      assert.rejects(run(...args), ({ stderr }: { stderr: string }) => complaint.test(stderr), args.join(' '));
    try {
      await rejects(['invite', 'bob@example.com'], /need a role in one environment/);
      await rejects(
        ['invite', 'not an address', '--production', 'viewer'],
        /must be an email address. Use an address such as/,
      );
      await rejects(['invite', 'bob@example.com', '--recover'], /The database could not be opened/);
      assert.deepEqual(readdirSync(folder), [], 'a rejected invitation creates no database');
      const invited = await run('invite', 'Ada@example.com', '--production', 'admin');
      const [link] = /https:\/\/ops\.example\/dashboard\/join#[\w-]{43}\n/.exec(invited)!;
      const renewed = await run('invite', 'ada@example.com', '--recover');
      assert.ok(!renewed.includes(link.trim()), 'every link is new');
      await rejects(['invite', 'bob@example.com', '--recover'], /No operator has the address/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
