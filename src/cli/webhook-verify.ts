import type { Command } from 'commander';
import { type CommandContext, CommandError, type Paint, type Terminal, describedCommand } from './command-context.ts';
import { durationOf } from './duration.ts';
import { nameValueLines } from './table.ts';
import { contentOf, environmentOption, option } from './options.ts';
import { type Diagnosis, type Received, ageText, diagnose } from './webhook-diagnosis.ts';
import { plain } from './cells.ts';

interface Options {
  secret?: string;
  headers?: string;
  body?: string;
  environment?: 'sandbox' | 'production';
  tolerance: string;
}

/** The `webhook verify` command: checks whether a delivery is genuine, and explains the likely cause if not. Sends no request. */
export function webhookVerifyCommand(context: CommandContext): Command {
  const command = describedCommand('verify', {
    summary: 'Verify a webhook, and explain a failed verification',
    details:
      'Takes the request that your endpoint received. Standard input is the whole request: header lines, an empty ' +
      'line, the body. A newline at the end of standard input is not part of the body. With --headers and --body, the request ' +
      'is read from two files, byte by byte. If the signature is wrong, the command checks eight common causes: ' +
      'wrong secret, secret of the other environment, rotated secret, body parsed and serialized again, body ' +
      'trimmed or re-encoded, header missing, header changed, clock skew. Exit code 0: genuine, 1: not genuine. Sends no request.',
    examples: [
      'tillway webhook verify --secret whsec_... < request.txt',
      'tillway webhook verify --secret whsec_... --headers headers.txt --body body.json',
    ],
    options: [
      option('--secret <secret>', 'signing secret; default WEBHOOK_SECRET'),
      option('--headers <file>', 'file with "name: value" lines'),
      option('--body <file>', 'file with the raw body'),
      environmentOption('expected environment of the event'),
      option('--tolerance <time>', 'maximum age of the signature; default 5m').default('5m'),
    ],
    remote: false,
  });
  return command.action(async ({ secret = context.terminal.webhookSecret, environment, ...options }: Options) => {
    if (secret === undefined) {
      throw new CommandError(2, 'set the signing secret with --secret whsec_... or WEBHOOK_SECRET');
    }
    const toleranceSeconds = durationOf(options.tolerance, '--tolerance');
    const request = await requestOf(options, context.terminal);
    const now = Math.floor(context.terminal.now() / 1000);
    const diagnosis = await diagnose({ ...request, secret, now, toleranceSeconds, environment });
    context.tell(command, { object: 'webhook_verification', ...diagnosis }, tellDiagnosis);
    if (!diagnosis.genuine) context.fail();
  });
}

function tellDiagnosis({ genuine, findings, event, ageSeconds }: Diagnosis, paint: Paint): string {
  const details = nameValueLines(
    [
      ['Event', event?.id],
      ['Type', event?.type],
      ['Environment', event?.environment],
      ['Signed', ageSeconds === null ? null : ageText(ageSeconds)],
    ],
    paint,
  );
  const reasons = findings.map(({ certainty, message, fix }) => {
    const label = certainty === 'proven' ? paint('red', 'Proven') : paint('yellow', 'Likely');
    return `\n${label}  ${plain(message)}\n${paint('cyan', 'Do')}      ${plain(fix)}\n`;
  });
  return `${paint(['bold', genuine ? 'green' : 'red'], genuine ? 'Genuine' : 'Not genuine')}\n${details}${reasons.join('')}`;
}

/** Reads the request from two files or from standard input. Throws {@link CommandError} 2 if it has no header. */
async function requestOf(
  { headers: headersFile, body: bodyFile }: Pick<Options, 'headers' | 'body'>,
  terminal: Pick<Terminal, 'readInput'>,
): Promise<Pick<Received, 'headers' | 'body'>> {
  if ((headersFile === undefined) !== (bodyFile === undefined)) {
    throw new CommandError(2, 'give both --headers and --body, or the whole request on standard input');
  }
  const input = await contentOf(headersFile ?? '-', terminal);
  // Latin-1 has one character per byte, so positions in the text are byte positions.
  const [head, gap = ''] = input.toString('latin1').split(/(\r?\n\r?\n)/, 2) as [string, string?];
  const headers = readHeaders(head);
  if (Object.keys(headers).length === 0) {
    throw new CommandError(2, 'the request has no header: write header lines, an empty line, and the body');
  }
  if (bodyFile !== undefined) return { headers, body: await contentOf(bodyFile, terminal) };
  const body = input.subarray(head.length + gap.length);
  // Editors and shells add a final newline. It is removed unless Content-Length includes it.
  const end = /\r?\n$/.exec(body.toString('latin1'))?.[0] ?? '';
  const isWhole = headers['content-length'] === String(body.length);
  return { headers, body: isWhole ? body : body.subarray(0, body.length - end.length) };
}

/** Parses `name: value` lines; skips other lines, such as the request line. */
function readHeaders(text: string): Received['headers'] {
  const lines = text.split(/\r?\n/).map((line) => /^([\w-]+):\s*(.*)$/.exec(line));
  return Object.fromEntries(lines.flatMap((match) => (match ? [[match[1]!.toLowerCase(), match[2]!.trim()]] : [])));
}
