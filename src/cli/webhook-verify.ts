import { type Command, Option } from 'commander';
import { type CommandContext, CommandError, type Paint, describedCommand } from './command-context.ts';
import { durationOf } from './duration.ts';
import { requestOf } from './received-request.ts';
import { brokenAtWords, facts } from './table.ts';
import { collect, environmentOption, option } from './options.ts';
import { type Diagnosis, type NamedSecret, ageText, diagnose } from './webhook-diagnosis.ts';
import { plain } from './cells.ts';

interface Options {
  secret?: string[];
  headers?: string;
  header: string[];
  body?: string;
  environment?: 'sandbox' | 'production';
  tolerance: string;
}

const WIDTH = 100;
const LABEL_WIDTH = 'Proven  '.length;

/** `webhook verify`: tells whether a delivery is genuine, and the likely cause if it is not. Asks no service. */
export function webhookVerifyCommand(context: CommandContext): Command {
  const command = describedCommand('verify', {
    summary: 'Say whether a webhook is genuine, and why not',
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
  throw new CommandError(2, 'name what it was signed with: --secret whsec_..., or WEBHOOK_SECRET in this shell');
}

function tellDiagnosis({ genuine, findings, event, schemes, secret, ageSeconds }: Diagnosis, paint: Paint): string {
  const width = Math.min(WIDTH, paint.columns ?? WIDTH) - LABEL_WIDTH;
  const paragraph = (label: string, style: 'red' | 'yellow' | 'cyan', text: string) => {
    const lines = brokenAtWords(plain(text), width).join(`\n${' '.repeat(LABEL_WIDTH)}`);
    return `${paint(style, label)}${' '.repeat(LABEL_WIDTH - label.length)}${lines}\n`;
  };
  const told = facts(
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
  return `${paint(['bold', genuine ? 'green' : 'red'], genuine ? 'Genuine' : 'Not genuine')}\n${told}${reasons.join('')}`;
}
