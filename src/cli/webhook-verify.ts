import type { Command } from 'commander';
import { type CommandContext, CommandError, type Paint, type Terminal, describedCommand } from './command-context.ts';
import { durationOf } from './duration.ts';
import { facts } from './table.ts';
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

/** `webhook verify`: tells whether a delivery is genuine, and the likely cause if it is not. Sends no request. */
export function webhookVerifyCommand(context: CommandContext): Command {
  const command = describedCommand('verify', {
    summary: 'Verify a webhook, and explain why it is not genuine',
    details:
      'Takes the request as your endpoint received it. The standard input is the whole request: header lines, an empty ' +
      'line, the body. With --headers and --body, two files are the request; a line end at the end of the standard input ' +
      'is no part of the body, one at the end of --body is. If the signature is wrong, the eight common causes are ' +
      'checked: wrong secret, secret of the other environment, rotated secret, body parsed and serialized again, body ' +
      'trimmed or re-encoded, header missing, header changed, clock skew. Exit code 0: genuine, 1: not. No service is asked.',
    examples: [
      'tillway webhook verify --secret whsec_... < request.txt',
      'tillway webhook verify --secret whsec_... --headers headers.txt --body body.json',
    ],
    options: [
      option('--secret <secret>', 'what it was signed with; default WEBHOOK_SECRET'),
      option('--headers <file>', 'the headers, as "name: value" lines'),
      option('--body <file>', 'the body as it was received'),
      environmentOption('the one that you expect'),
      option('--tolerance <time>', 'how old it may be; default 5m').default('5m'),
    ],
    remote: false,
  });
  return command.action(async ({ secret = context.terminal.webhookSecret, environment, ...options }: Options) => {
    if (secret === undefined) {
      throw new CommandError(2, 'name the signing secret: --secret whsec_..., or WEBHOOK_SECRET in this shell');
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
  const details = facts(
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

/** The request in two files or the standard input. Throws {@link CommandError} 2 if it has no header. */
async function requestOf(
  { headers: headersFile, body: bodyFile }: Pick<Options, 'headers' | 'body'>,
  terminal: Pick<Terminal, 'readInput'>,
): Promise<Pick<Received, 'headers' | 'body'>> {
  if ((headersFile === undefined) !== (bodyFile === undefined)) {
    throw new CommandError(2, 'give both --headers and --body, or the whole request to the standard input');
  }
  const input = await contentOf(headersFile ?? '-', terminal);
  // Latin-1 has one character a byte, so that positions in the text are positions in the bytes.
  const [head, gap = ''] = input.toString('latin1').split(/(\r?\n\r?\n)/, 2) as [string, string?];
  const headers = readHeaders(head);
  if (Object.keys(headers).length === 0) {
    throw new CommandError(2, 'the request has no header: write header lines, an empty line, and the body');
  }
  if (bodyFile !== undefined) return { headers, body: await contentOf(bodyFile, terminal) };
  const body = input.subarray(head.length + gap.length);
  // Editors and shells end a file with a line end, which is not sent, unless Content-Length counts it.
  const end = /\r?\n$/.exec(body.toString('latin1'))?.[0] ?? '';
  const isWhole = headers['content-length'] === String(body.length);
  return { headers, body: isWhole ? body : body.subarray(0, body.length - end.length) };
}

/** Reads `name: value` lines; other lines, such as a request line, are skipped. */
function readHeaders(text: string): Received['headers'] {
  const lines = text.split(/\r?\n/).map((line) => /^([\w-]+):\s*(.*)$/.exec(line));
  return Object.fromEntries(lines.flatMap((match) => (match ? [[match[1]!.toLowerCase(), match[2]!.trim()]] : [])));
}
