import { type Command, Option } from 'commander';
import { type CommandContext, CommandError, type Paint, type Terminal, describedCommand } from './command-context.ts';
import { durationOf } from './duration.ts';
import { brokenAtWords, facts } from './table.ts';
import { collect, contentOf, environmentOption, option } from './options.ts';
import { type Diagnosis, type NamedSecret, type Received, ageText, diagnose } from './webhook-diagnosis.ts';
import { plain } from './cells.ts';

/** `headers`, `header` and `body` name the parts of a request; the standard input has the parts that no option names. */
interface Options {
  secret?: string[];
  headers?: string;
  header: string[];
  body?: string;
  environment?: 'sandbox' | 'production';
  tolerance: string;
}

const STDIN = '-';
const REQUEST_HINT =
  "pass the request to the standard input (header lines, an empty line, the body), or its headers with --headers FILE or --header 'name: value'";
const WIDTH = 100;
const LABEL_WIDTH = 'Proven  '.length;

/** `webhook verify`: tells whether a delivery is genuine, and the likely cause if it is not. Sends no request. */
export function webhookVerifyCommand(context: CommandContext): Command {
  const command = describedCommand('verify', {
    summary: 'Verify a webhook, and explain why it is not genuine',
    details:
      'Takes the request as your endpoint received it: its headers, and its body as raw bytes. Without --headers and ' +
      '--header the standard input is the whole request: header lines, an empty line, the body; a file of --headers may ' +
      'be one too. A line end at the end of a whole request belongs to the file. If the signature is wrong, the eight ' +
      'common causes are checked: wrong secret, secret of the other environment, rotated secret, body parsed and ' +
      'serialized again, body trimmed or re-encoded, header missing, header changed, clock skew. Exit code 0: genuine, ' +
      '1: not. No service is asked.',
    examples: [
      'tillway webhook verify --secret whsec_... < request.txt',
      'tillway webhook verify --secret whsec_... --headers headers.txt --body body.json',
      "tillway webhook verify --secret whsec_... --header 'x-gateway-signature: t=...,v1=...' < body.json",
      'tillway webhook verify --secret production=whsec_... --secret sandbox=whsec_... --headers headers.txt --body body.json',
    ],
    options: [
      new Option(
        '--secret <secret>',
        'what it was signed with; several times with a name: sandbox=whsec_...; default WEBHOOK_SECRET',
      ).argParser((text: string, before: string[] | undefined) => collect(text, before ?? [])),
      option('--headers <file>', 'the headers: "name: value" lines, or a JSON object; or the whole request'),
      new Option('--header <header>', 'one header, "name: value"; may be given several times')
        .argParser(collect)
        .default([], 'none'),
      option('--body <file>', 'the body as it was received; default -, the standard input'),
      environmentOption('the one that you expect'),
      option('--tolerance <time>', 'how old it may be; default 5m').default('5m'),
    ],
    remote: false,
  });
  return command.action(async ({ environment, ...options }: Options) => {
    const secrets = secretsOf(options.secret, context.terminal.webhookSecret);
    const toleranceSeconds = durationOf(options.tolerance, '--tolerance');
    const request = await requestOf(options, context.terminal);
    const now = Math.floor(context.terminal.now() / 1000);
    const diagnosis = await diagnose({ ...request, secrets, now, toleranceSeconds, environment });
    context.tell(command, { object: 'webhook_verification', ...diagnosis }, tellDiagnosis);
    if (!diagnosis.genuine) context.fail();
  });
}

function secretsOf(given: readonly string[] | undefined, fromEnvironment: string | undefined): NamedSecret[] {
  if (given) {
    return given.map((text) => {
      const [, name = null, secret = text] = /^([a-z][a-z0-9-]*)=(.*)$/s.exec(text) ?? [];
      return { name, secret };
    });
  }
  if (fromEnvironment !== undefined) return [{ name: null, secret: fromEnvironment }];
  throw new CommandError(2, 'name the signing secret: --secret whsec_..., or WEBHOOK_SECRET in this shell');
}

function tellDiagnosis({ genuine, findings, event, schemes, secret, ageSeconds }: Diagnosis, paint: Paint): string {
  const width = Math.min(WIDTH, paint.columns ?? WIDTH) - LABEL_WIDTH;
  const paragraph = (label: string, style: 'red' | 'yellow' | 'cyan', text: string) => {
    const lines = brokenAtWords(plain(text), width).join(`\n${' '.repeat(LABEL_WIDTH)}`);
    return `${paint(style, label)}${' '.repeat(LABEL_WIDTH - label.length)}${lines}\n`;
  };
  const details = facts(
    [
      ['Event', event?.id],
      ['Type', event?.type],
      ['Environment', event?.environment],
      ['Signed', ageSeconds === null ? null : ageText(ageSeconds)],
      ['Right by', schemes.join(', ')],
      ['Secret', secret],
    ],
    paint,
  );
  const reasons = findings.map(({ certainty, message, fix }) => {
    const reason =
      certainty === 'proven' ? paragraph('Proven', 'red', message) : paragraph('Likely', 'yellow', message);
    return `\n${reason}${paragraph('Do', 'cyan', fix)}`;
  });
  return `${paint(['bold', genuine ? 'green' : 'red'], genuine ? 'Genuine' : 'Not genuine')}\n${details}${reasons.join('')}`;
}

/** The request in those files, options and the standard input. Throws {@link CommandError} 2 if it has no header. */
async function requestOf(
  { headers: file, header, body: bodyFile }: Pick<Options, 'headers' | 'header' | 'body'>,
  terminal: Pick<Terminal, 'readInput'>,
): Promise<Pick<Received, 'headers' | 'body'>> {
  const wrong = header.find((line) => Object.keys(readHeaders(line)).length === 0);
  if (wrong !== undefined) throw new CommandError(2, `--header takes 'name: value', not ${JSON.stringify(wrong)}`);
  if (file === undefined && header.length > 0) {
    return { headers: readHeaders(header.join('\n')), body: await contentOf(bodyFile ?? STDIN, terminal) };
  }
  if (file === undefined && bodyFile !== undefined) throw new CommandError(2, REQUEST_HINT);
  const source = file ?? STDIN;
  if (source === STDIN && bodyFile === STDIN) throw new CommandError(2, 'only one of them can be the standard input');
  const { head, body } = partsOf(await contentOf(source, terminal));
  const headers = readHeaders([head, ...header].join('\n'));
  if (Object.keys(headers).length === 0) {
    const missing = `${source} holds no header: write one "name: value" a line, or a JSON object`;
    throw new CommandError(2, file === undefined ? REQUEST_HINT : missing);
  }
  const isWhole = bodyFile === undefined && (source === STDIN || body.toString('latin1').trim() !== '');
  return { headers, body: isWhole ? withoutLineEnd(body, headers) : await contentOf(bodyFile ?? STDIN, terminal) };
}

/**
 * Reads `name: value` lines, the output of `curl -v`, or one JSON object of headers. Names come out in lower case, and
 * those of CGI (`HTTP_X_GATEWAY_SIGNATURE`) as the service sent them. Other lines, such as a request line, are skipped.
 */
export function readHeaders(text: string): Received['headers'] {
  const headers: Record<string, string[]> = {};
  for (const line of linesOf(text.replace(/^\u{feff}/u, ''))) {
    const [, name, value] = /^\s*(?:[<>] )?(?:HTTP_)?([\w!#$%&'*+.^`|~-]+)\s*:\s?(.*)$/is.exec(line) ?? [];
    if (name !== undefined) (headers[name.toLowerCase().replaceAll('_', '-')] ??= []).push(value!.trim());
  }
  return headers;
}

function linesOf(text: string): string[] {
  if (!text.trimStart().startsWith('{')) return text.split(/\r?\n/);
  try {
    const entries = Object.entries(JSON.parse(text) as Record<string, unknown>);
    return entries.flatMap(([name, value]) => [value].flat().map((one) => `${name}: ${String(one)}`));
  } catch {
    return [];
  }
}

/** A whole request: header lines up to an empty line, then the body, which may be empty. */
function partsOf(bytes: Buffer): { head: string; body: Buffer } {
  // Latin-1 has one character a byte, so that positions in the text are positions in the bytes.
  const text = bytes.toString('latin1');
  const gap = text.trimStart().startsWith('{') ? null : /\r?\n\r?\n/.exec(text);
  if (gap === null) return { head: bytes.toString(), body: Buffer.alloc(0) };
  return { head: bytes.subarray(0, gap.index).toString(), body: bytes.subarray(gap.index + gap[0].length) };
}

/** Editors and shells end a file with a line end, which is not sent, unless Content-Length counts it. */
function withoutLineEnd(body: Buffer, headers: Received['headers']): Buffer {
  if (headers['content-length']?.[0] === String(body.length)) return body;
  const end = /\r?\n$/.exec(body.toString('latin1'))?.[0] ?? '';
  return body.subarray(0, body.length - end.length);
}
