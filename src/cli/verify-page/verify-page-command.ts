import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { type CommandContext, CommandError, type Paint, describedCommand } from '../command-context.ts';
import { plain } from '../cells.ts';
import { type Check, type Fetched, type PageManifest, comparePage, observePage } from './page-manifest.ts';

const TIMEOUT_MS = 10_000;
const MANIFEST = new URL('../../checkout/page-manifest.json', import.meta.url);

/** The `verify-page` command: compares the checkout page of a running service with this release byte by byte. */
export function verifyPageCommand(context: CommandContext): Command {
  const command = describedCommand('verify-page', {
    summary: 'Check that the checkout page is unchanged',
    details:
      'Fetches the page, its script, its style sheet and their security headers, and compares them with this release. Run it on a schedule from outside your network, as a buyer would connect. Set --url to CHECKOUT_URL.',
    examples: ['tillway verify-page', 'tillway verify-page --url https://pay.example.com --json'],
  });
  return command.action(async () => {
    const url = context.urlOf(command);
    const release = JSON.parse(readFileSync(MANIFEST, 'utf8')) as PageManifest;
    const checks = comparePage(release, await observePage(url, fetchPage), url.startsWith('https:'));
    const ok = checks.every((check) => check.ok);
    context.tell(command, { ok, url, checks }, (_, paint) => inWords(checks, paint));
    if (!ok) context.fail();
  });
}

function inWords(checks: readonly Check[], paint: Paint): string {
  const lines = checks.map(({ what, ok, expected, found }) => {
    const verdict = ok ? paint('green', 'ok     ') : paint('red', 'DIFFERS');
    const difference = ok ? '' : `\n         this release: ${plain(expected)}\n         served here:  ${plain(found)}`;
    return `${verdict}  ${plain(what)}${difference}`;
  });
  const wrong = checks.filter(({ ok }) => !ok).length;
  const summary =
    wrong === 0
      ? 'The checkout page matches this release.'
      : `${wrong} of ${checks.length} checks differ. Possible causes: another release, a proxy that changes pages, or an attacker. Buyers may be at risk until you know the cause.`;
  return `${lines.join('\n')}\n\n${summary}\n`;
}

/** Exported for the script that writes the manifest. Throws {@link CommandError} 1 if the service does not answer. */
export async function fetchPage(url: string): Promise<Fetched> {
  try {
    const answer = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
    const body = Buffer.from(await answer.arrayBuffer());
    return { status: answer.status, header: (name) => answer.headers.get(name), body };
  } catch (error) {
    throw new CommandError(1, `${new URL(url).origin} cannot be reached`, '', error);
  }
}
